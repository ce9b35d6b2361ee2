package volume

// What requests leave to be done: files made, grown and deleted. Each step may
// be done twice, so one that a stop cut short is simply done again.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// file is where a volume's bytes are.
func (s *Service) file(id string) string { return filepath.Join(s.Dir, "volume-"+id) }

func (s *Service) snapshotFile(id string) string { return filepath.Join(s.Dir, "snapshot-"+id) }

// lookAgain is how long work waits that nobody announces.
const lookAgain = 2 * time.Second

// Run does the work until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	defer func() { beside.Wait(); s.asking.Wait() }()
	beside.Go(func() {
		s.migrations.Run(ctx, lookAgain, s.workOnMigrations, func(err error) { s.Log.Error("ask for migrations", "error", err) })
	})
	s.work.Run(ctx, lookAgain, s.workAll, func(err error) { s.Log.Error("work on volumes", "error", err) })
	return nil
}

// workAll works until nothing waits, oldest first.
func (s *Service) workAll(ctx context.Context) error {
	for {
		snapshots, err := rows[snapshot](ctx, s.Pool, snapColumns+`v.status IN ('creating', 'deleting') ORDER BY v.number LIMIT 100`)
		if err != nil {
			return err
		}
		for _, work := range []func(context.Context) error{s.workOnUploads, s.workOnBackups} {
			if err := work(ctx); err != nil {
				return err
			}
		}
		for _, one := range snapshots {
			if err := s.workOnSnapshot(ctx, one); err != nil {
				return err
			}
		}
		volumes, err := rows[record](ctx, s.Pool, volumeColumns+`v.status IN ('creating', 'downloading', 'extending', 'deleting') ORDER BY v.number LIMIT 100`)
		if err != nil {
			return err
		}
		for _, v := range volumes {
			if err := s.workOnVolume(ctx, v); err != nil {
				return err
			}
		}
		if len(snapshots)+len(volumes) == 0 {
			return nil
		}
	}
}

// workOnVolume does what the status says. What fails becomes the volume's
// error; only what can't be written down is returned.
func (s *Service) workOnVolume(ctx context.Context, v *record) error {
	var err error
	failed := statusError
	switch v.Status {
	case statusCreating, statusDownloading:
		err = s.makeVolume(ctx, v)
	case statusExtending:
		failed = "error_extending"
		err = os.Truncate(s.file(v.ID), int64(v.Size)*gib)
	case statusDeleting:
		failed = "error_deleting"
		err = remove(s.file(v.ID))
		if v.NameID != nil {
			err = errors.Join(err, remove(s.file(*v.NameID)))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err() // a stop isn't a failure
	}
	return s.write(ctx, func(tx pgx.Tx) error {
		switch {
		case err != nil:
			s.Log.Error("work on a volume", "volume", v.ID, "status", v.Status, "error", err)
			return setStatus(ctx, tx, v.ID, failed)
		case v.Status == statusDeleting:
			if _, err := tx.Exec(ctx, `DELETE FROM volume.volumes WHERE id = $1 AND status = 'deleting'`, v.ID); err != nil {
				return err
			}
			return nil
		}
		done, err := tx.Exec(ctx, `UPDATE volume.volumes SET bootable = bootable OR image_id IS NOT NULL, updated_at = now()
			WHERE id = $1 AND status IN ('creating', 'downloading', 'extending')`, v.ID)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		return settle(ctx, tx, v.ID)
	})
}

// makeVolume makes the file under another name, and gives it its own when it
// is whole.
func (s *Service) makeVolume(ctx context.Context, v *record) error {
	part := s.file(v.ID) + ".part"
	if err := remove(part); err != nil {
		return err
	}
	if err := s.fill(ctx, v, part); err != nil {
		_ = remove(part) // the first error says more
		return err
	}
	info, err := os.Stat(part)
	if err != nil {
		return err
	}
	if size := int64(v.Size) * gib; info.Size() > size {
		_ = remove(part) // as above
		return fmt.Errorf("the source has %d bytes, more than the volume", info.Size())
	} else if err := errors.Join(os.Truncate(part, size), os.Chmod(part, 0o600)); err != nil {
		return err
	}
	return os.Rename(part, s.file(v.ID))
}

func (s *Service) fill(ctx context.Context, v *record, part string) error {
	switch {
	case v.ImageID != nil:
		err := s.write(ctx, func(tx pgx.Tx) error { return setStatus(ctx, tx, v.ID, statusDownloading) })
		if err != nil {
			return err
		}
		return s.fetchImage(ctx, *v.ImageID, part)
	case v.SnapshotID != nil:
		return copyFile(ctx, s.snapshotFile(*v.SnapshotID), part)
	case v.SourceVolid != nil:
		return copyFile(ctx, s.file(*v.SourceVolid), part)
	}
	file, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

func (s *Service) workOnSnapshot(ctx context.Context, one *snapshot) error {
	var err error
	file := s.snapshotFile(one.ID)
	if one.Status == statusDeleting {
		err = remove(file)
	} else if err = copyFile(ctx, s.file(one.VolumeID), file+".part"); err == nil {
		err = os.Rename(file+".part", file)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	status := statusAvailable
	if err != nil {
		s.Log.Error("work on a snapshot", "snapshot", one.ID, "status", one.Status, "error", err)
		status = map[string]string{statusCreating: statusError, statusDeleting: "error_deleting"}[one.Status]
	}
	return s.write(ctx, func(tx pgx.Tx) error {
		sql, args := `UPDATE volume.snapshots SET status = $2, updated_at = now() WHERE id = $1`, []any{one.ID, status}
		if one.Status == statusDeleting && err == nil {
			sql, args = `DELETE FROM volume.snapshots WHERE id = $1`, args[:1]
		}
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
}

// copyFile copies a file without its holes, and shares its blocks where the
// file system can.
func copyFile(ctx context.Context, from, to string) error {
	return run(ctx, "cp", "--sparse=always", "--reflink=auto", "--", from, to)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
