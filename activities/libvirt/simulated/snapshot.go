package simulated

// Copies of guests' disks.

import (
	"context"
	"fmt"
	"path/filepath"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/statedir"
)

// Snapshot writes a file that says whose disk it would be.
func (d *Driver) Snapshot(ctx context.Context, serverID, mark string, confirm libvirt.Confirm) (path string, err error) {
	run, err := d.run(serverID, nil)
	if err != nil {
		return "", err
	}
	have, err := run.folder.domain()
	if err != nil {
		return "", err
	}
	if have == nil {
		return "", notFound(serverID)
	}
	name := "snapshot." + mark
	err = run.steps(ctx,
		subStep{"snapshot.clear", func() error { return run.dropSnapshots(name) }},
		subStep{"snapshot.copy", func() error { return run.copyDisk(name, confirm) }},
		subStep{"snapshot.done", nil},
	)
	return run.folder.file(name), err
}

func (r *run) copyDisk(name string, confirm libvirt.Confirm) error {
	if there, err := r.folder.exists(name); there || err != nil {
		return broken(err)
	}
	if err := confirm(); err != nil {
		return err
	}
	return broken(statedir.Replace(r.folder.file(name), fmt.Appendf(nil, "the disk of server %s\n", r.serverID)))
}

// DropSnapshots removes all of them.
func (d *Driver) DropSnapshots(ctx context.Context, serverID string) error {
	run, err := d.run(serverID, nil)
	if err != nil {
		return err
	}
	return run.steps(ctx, subStep{"snapshot.drop", func() error { return run.dropSnapshots("") }})
}

// dropSnapshots removes all but one.
func (r *run) dropSnapshots(but string) error {
	files, err := filepath.Glob(r.folder.file("snapshot.*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range files {
		if name := filepath.Base(path); name != but {
			if err := r.folder.remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}
