package qemu

// Copies of a guest's root disk: of one that runs, libvirt makes a backup, as
// the disk was when that began; of one that is off, qemu-img converts it. Either
// way it is one qcow2 file that stands alone.

import (
	"context"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/faults"
)

// snapshotFile is the name of the copy with a mark.
func snapshotFile(mark string) string { return "snapshot." + mark }

// Snapshot copies the root disk.
func (d *Driver) Snapshot(ctx context.Context, serverID, mark string, confirm libvirt.Confirm) (path string, err error) {
	g, err := d.guest(serverID)
	if err != nil {
		return "", err
	}
	if _, err := g.read(); err != nil {
		return "", err
	}
	if there, err := exists(g.file(rootFile)); err != nil {
		return "", err
	} else if !there {
		return "", faults.New(faults.Invalid, "NoRootDisk", "server %s has no root disk on its host", serverID)
	}
	name := snapshotFile(mark)
	err = g.steps(ctx,
		subStep{"snapshot.clear", func(ctx context.Context) error { return g.dropSnapshots(ctx, name) }},
		subStep{"snapshot.copy", func(ctx context.Context) error {
			return g.make(name, func(path string) error { return g.copyDisk(ctx, path, confirm) })
		}},
		subStep{"snapshot.done", nil},
	)
	return g.file(name), err
}

// DropSnapshots removes all copies, and ends the making of one.
func (d *Driver) DropSnapshots(ctx context.Context, serverID string) error {
	g, err := d.guest(serverID)
	if err != nil {
		return err
	}
	return g.steps(ctx, subStep{"snapshot.drop", func(ctx context.Context) error { return g.dropSnapshots(ctx, "") }})
}

// dropSnapshots removes all copies but one, and what was left half-made.
func (g *guest) dropSnapshots(ctx context.Context, but string) error {
	if err := g.endBackup(ctx); err != nil {
		return err
	}
	for _, pattern := range []string{"snapshot.*", ".snapshot.*"} {
		files, err := filepath.Glob(g.file(pattern))
		if err != nil {
			return broken(err)
		}
		for _, path := range files {
			if filepath.Base(path) == but {
				continue
			}
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				return broken(err)
			}
		}
	}
	return nil
}

// copyDisk writes the root disk to path.
func (g *guest) copyDisk(ctx context.Context, path string, confirm libvirt.Confirm) error {
	now, err := g.state(ctx)
	if err != nil {
		return err
	}
	if err := confirm(); err != nil {
		return err
	}
	if !now.active {
		return images.QemuImg(ctx, "convert", "-f", "qcow2", "-O", "qcow2", g.file(rootFile), path)
	}
	if err := g.beginBackup(ctx, path); err != nil {
		return err
	}
	if err := g.awaitBackup(ctx); err != nil {
		// The next call ends what this one could not.
		_ = g.endBackup(context.WithoutCancel(ctx))
		return err
	}
	return nil
}

// beginBackup has libvirt copy the root disk of a guest that runs.
func (g *guest) beginBackup(ctx context.Context, path string) error {
	var text string
	err := g.domain(ctx, callTime, "describe the domain", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) (err error) {
		text, err = rpc.DomainGetXMLDesc(d, 0)
		return err
	})
	if err != nil {
		return err
	}
	disk, err := diskNamed(text, g.file(rootFile))
	if err != nil {
		return err
	}
	order, err := backupXML(disk, path)
	if err != nil {
		return err
	}
	return g.domain(ctx, callTime, "begin the backup", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
		return rpc.DomainBackupBegin(d, order, nil, 0)
	})
}

// diskNamed gives what a domain calls the disk in a file.
func diskNamed(text, path string) (string, error) {
	var domain libvirtxml.Domain
	if err := domain.Unmarshal(text); err != nil {
		return "", faults.Wrap(err, faults.Internal, "InvalidDomain", "libvirt's description of the domain can't be read")
	}
	if domain.Devices != nil {
		for _, disk := range domain.Devices.Disks {
			if disk.Source != nil && disk.Source.File != nil && disk.Source.File.File == path && disk.Target != nil {
				return disk.Target.Dev, nil
			}
		}
	}
	return "", faults.New(faults.Invalid, "NoRootDisk", "the domain has no root disk")
}

// backupXML asks for a copy of one disk (libvirt's formatbackup).
func backupXML(disk, path string) (string, error) {
	type driver struct {
		Type string `xml:"type,attr"`
	}
	type target struct {
		File string `xml:"file,attr"`
	}
	type entry struct {
		Name   string `xml:"name,attr"`
		Backup string `xml:"backup,attr"`
		Type   string `xml:"type,attr"`
		Driver driver `xml:"driver"`
		Target target `xml:"target"`
	}
	text, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"domainbackup"`
		Mode    string   `xml:"mode,attr"`
		Disks   []entry  `xml:"disks>disk"`
	}{Mode: "push", Disks: []entry{{disk, "yes", "file", driver{"qcow2"}, target{path}}}})
	if err != nil {
		return "", faults.Wrap(err, faults.Internal, "InvalidBackup", "the order of a backup can't be written")
	}
	return string(text), nil
}

// awaitBackup waits until libvirt has copied the disk.
func (g *guest) awaitBackup(ctx context.Context) error {
	tick := time.NewTicker(g.driver.poll)
	defer tick.Stop()
	for {
		running, err := g.backingUp(ctx)
		if err != nil {
			return err
		}
		if !running {
			return g.backedUp(ctx)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// backingUp says whether a backup of the domain is under way.
func (g *guest) backingUp(ctx context.Context) (bool, error) {
	running := true
	err := g.domain(ctx, callTime, "look at the backup", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
		_, err := rpc.DomainBackupGetXMLDesc(d, 0)
		var answer golibvirt.Error
		if errors.As(err, &answer) && golibvirt.ErrorNumber(answer.Code) == golibvirt.ErrNoDomainBackup {
			running, err = false, nil
		}
		return err
	})
	return running, err
}

// backedUp says whether the last one went well.
func (g *guest) backedUp(ctx context.Context) error {
	var ended golibvirt.DomainJobType
	err := g.domain(ctx, callTime, "look at the backup's end", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
		kind, _, err := rpc.DomainGetJobStats(d, golibvirt.DomainJobStatsCompleted)
		ended = golibvirt.DomainJobType(kind)
		return err
	})
	if err == nil && ended != golibvirt.DomainJobCompleted {
		err = faults.New(faults.Unavailable, "BackupFailed", "the copy of the disk of server %s was not finished", g.id)
	}
	return err
}

// endBackup ends one that is under way: of a call that was killed, or given up.
func (g *guest) endBackup(ctx context.Context) error {
	if now, err := g.state(ctx); err != nil || !now.active {
		return err
	}
	running, err := g.backingUp(ctx)
	if err != nil || !running {
		return err
	}
	err = g.domain(ctx, callTime, "end the backup", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error { return rpc.DomainAbortJob(d) })
	if err != nil && !faults.Is(err, faults.Conflict) { // it has just ended by itself
		return err
	}
	for deadline := time.Now().Add(callTime); time.Now().Before(deadline); time.Sleep(g.driver.poll) {
		if running, err = g.backingUp(ctx); err != nil || !running {
			return err
		}
	}
	return faults.New(faults.Unavailable, "BackupRuns", "the copy of the disk of server %s can't be ended", g.id)
}
