package qemu

// Removing a guest and everything that Build made.

import (
	"context"
	"os"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
)

// Destroy stops the guest, removes its domain, taps and folder, and looks
// whether all is gone. What another host has of the server stays.
func (d *Driver) Destroy(ctx context.Context, serverID string, confirm libvirt.Confirm) error {
	g, err := d.guest(serverID)
	if err != nil {
		return err
	}
	have, err := g.recall()
	if err != nil && !faults.Is(err, faults.NotFound) {
		return err
	}
	return g.steps(ctx,
		subStep{"destroy.stop", func(ctx context.Context) error { return g.kill(ctx, confirm) }},
		subStep{"destroy.undefine", func(ctx context.Context) error { return g.undefine(ctx, confirm) }},
		subStep{"destroy.taps", func(ctx context.Context) error { return unplug(ctx, have.Spec.Ports) }},
		subStep{"destroy.folder", func(context.Context) error { return g.removeFolder(confirm) }},
		subStep{"destroy.verify", g.verifyGone},
		subStep{"destroy.done", nil},
	)
}

// kill ends QEMU without asking the guest.
func (g *guest) kill(ctx context.Context, confirm libvirt.Confirm) error {
	if now, err := g.state(ctx); err != nil || isOff(now) {
		return err
	}
	if err := confirm(); err != nil {
		return err
	}
	err := g.domain(ctx, endTime, "end the domain", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
		return rpc.DomainDestroyFlags(d, golibvirt.DomainDestroyDefault)
	})
	if faults.Is(err, faults.NotFound) || faults.Is(err, faults.Conflict) {
		err = nil // it ended by itself
	}
	if err != nil {
		return err
	}
	off, err := g.until(ctx, callTime, isOff)
	if err == nil && !off {
		err = faults.New(faults.Unavailable, "GuestStillRuns", "the guest of server %s still runs", g.id)
	}
	return err
}

// undefine makes libvirt forget the domain with what it keeps for it.
func (g *guest) undefine(ctx context.Context, confirm libvirt.Confirm) error {
	if now, err := g.state(ctx); err != nil || now.missing {
		return err
	}
	if err := confirm(); err != nil {
		return err
	}
	err := g.domain(ctx, callTime, "undefine the domain", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
		return rpc.DomainUndefineFlags(d, golibvirt.DomainUndefineManagedSave|golibvirt.DomainUndefineSnapshotsMetadata|
			golibvirt.DomainUndefineNvram|golibvirt.DomainUndefineCheckpointsMetadata)
	})
	if faults.Is(err, faults.NotFound) {
		return nil
	}
	return err
}

// removeFolder removes the disks. The record goes last, so that a call that is
// killed finds what it needs when it is run again.
func (g *guest) removeFolder(confirm libvirt.Confirm) error {
	if there, err := g.exists(); err != nil || !there {
		return err
	}
	if err := confirm(); err != nil {
		return err
	}
	entries, err := os.ReadDir(g.dir)
	if err != nil {
		return broken(err)
	}
	for _, entry := range entries {
		if entry.Name() == recordFile {
			continue
		}
		if err := os.RemoveAll(g.file(entry.Name())); err != nil {
			return broken(err)
		}
	}
	return broken(os.RemoveAll(g.dir))
}

// verifyGone looks for what is left.
func (g *guest) verifyGone(ctx context.Context) error {
	now, err := g.state(ctx)
	if err != nil {
		return err
	}
	there, err := g.exists()
	if err == nil && (there || !now.missing) {
		err = faults.New(faults.Unavailable, "GuestNotGone", "something of server %s is left on the host", g.id)
	}
	return err
}
