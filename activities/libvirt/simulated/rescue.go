package simulated

// Rescue: the guest runs from another image until it is unrescued.

import (
	"context"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/steps"
)

// rescueDisk is what a rescue makes.
const rescueDisk = "disk.rescue"

// rescue is that of a guest.
type rescue struct {
	Image string `json:"image"`
	// WasRunning says how the guest was before.
	WasRunning bool `json:"was_running,omitempty"`
}

// Rescue makes the disk and starts the guest from it.
func (d *Driver) Rescue(ctx context.Context, serverID string, from steps.Rescue, confirm libvirt.Confirm) (libvirt.Guest, error) {
	run, err := d.run(serverID, nil)
	if err != nil {
		return libvirt.Guest{}, err
	}
	have, err := run.folder.domain()
	if err != nil {
		return libvirt.Guest{}, err
	}
	if have == nil {
		return libvirt.Guest{}, notFound(serverID)
	}
	err = run.steps(ctx,
		subStep{"rescue.image", nil},
		subStep{"rescue.disk", run.makeRescueDisk},
		subStep{"rescue.start", func() error { return run.rescue(have, from, confirm) }},
		subStep{"rescue.done", nil},
	)
	if err != nil {
		return libvirt.Guest{}, err
	}
	return run.folder.guest()
}

func (r *run) makeRescueDisk() error {
	made, err := r.folder.exists(rescueDisk)
	if err == nil && !made {
		err = statedir.Replace(r.folder.file(rescueDisk), nil)
	}
	return broken(err)
}

func (r *run) rescue(have *domain, from steps.Rescue, confirm libvirt.Confirm) error {
	if have.Rescue != nil {
		return nil
	}
	if err := confirm(); err != nil {
		return err
	}
	have.Rescue = &rescue{Image: from.ImageID, WasRunning: have.PowerState == libvirt.Running}
	return r.turn(have, libvirt.Running, "booted the rescue image "+from.ImageID)
}

// unrescue has the guest run from its own disk, or be as it was before the rescue.
func (r *run) unrescue(have *domain, asItWas bool, confirm libvirt.Confirm) error {
	if err := confirm(); err != nil {
		return err
	}
	if err := r.folder.remove(rescueDisk); err != nil {
		return err
	}
	was := have.Rescue
	have.Rescue = nil
	switch {
	case was == nil && (asItWas || have.PowerState == libvirt.Running):
		return nil
	case asItWas && !was.WasRunning:
		return r.turn(have, libvirt.Shutdown, "stopped")
	}
	return r.turn(have, libvirt.Running, "booted "+have.Spec.Hostname)
}
