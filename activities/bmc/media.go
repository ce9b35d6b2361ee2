package bmc

// Virtual media: what is in a machine's drive, and that the machine starts from it. It
// is no step of its own: activities/boot has the steps.

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/steps"
)

// drive is what a driver can do whose machines have a drive for virtual media. Each
// of its changes is observed first, and made under a lease that lasts for it.
type drive interface {
	insert(ctx context.Context, image string) error
	eject(ctx context.Context) error
	bootFrom(ctx context.Context, from BootFrom) error
}

// Insert is idempotent by what it finds: the image is in the drive of the fenced
// operation's node, and nothing else is, and the node starts from it once. Errors:
// Invalid, Unavailable, Superseded.
func (a *Activities) Insert(ctx context.Context, fence steps.Fence, image string) error {
	return a.withDrive(ctx, fence, func(d drive) error {
		if err := d.insert(ctx, image); err != nil {
			return err
		}
		return d.bootFrom(ctx, OnceFromDrive)
	})
}

// Eject is idempotent by what it finds: nothing is in the drive of the fenced
// operation's node, which starts from something else. Errors: as Insert.
func (a *Activities) Eject(ctx context.Context, fence steps.Fence, then BootFrom) error {
	return a.withDrive(ctx, fence, func(d drive) error {
		if err := d.eject(ctx); err != nil {
			return err
		}
		return d.bootFrom(ctx, then)
	})
}

func (a *Activities) withDrive(ctx context.Context, fence steps.Fence, do func(drive) error) error {
	s, err := a.open(ctx, fence, fence.OperationID)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	d, ok := s.driver.(drive)
	if !ok {
		return hardware.Unsupported(s.node.Driver, "virtual media")
	}
	return do(d)
}

// drives are the machine's drives for discs: its own, or those of who manages it.
func (d *redfish) drives() ([]*rf.VirtualMedia, error) {
	all, err := d.system.VirtualMedia()
	if err != nil || len(all) > 0 {
		return discs(all), err
	}
	managers, err := d.system.ManagedBy()
	if err != nil {
		return nil, err
	}
	for _, m := range managers {
		media, err := m.VirtualMedia()
		if err != nil {
			return nil, err
		}
		all = append(all, media...)
	}
	return discs(all), nil
}

func discs(all []*rf.VirtualMedia) (found []*rf.VirtualMedia) {
	for _, m := range all {
		for _, kind := range m.MediaTypes {
			if kind == rf.CDMediaType || kind == rf.DVDMediaType {
				found = append(found, m)
				break
			}
		}
	}
	return found
}

// change sends something that changes what is in a drive or what is started from.
func (d *redfish) change(ctx context.Context, send func() error) error {
	if err := d.lease.Keep(ctx); err != nil {
		return err
	}
	d.fresh = false
	return d.fault(send())
}

func (d *redfish) insert(ctx context.Context, image string) error {
	all, err := d.drives()
	if err != nil {
		return d.fault(err)
	}
	if len(all) == 0 {
		return faults.New(faults.Invalid, "InvalidParameterValue", "No suitable virtual media device found")
	}
	m := all[0]
	switch {
	case holds(m) && m.Image == image:
		return nil
	case holds(m):
		if err := d.change(ctx, m.EjectMedia); err != nil {
			return err
		}
	}
	return d.change(ctx, func() error { return m.InsertMedia(image, true, true) })
}

// holds says whether something is in a drive: some BMCs keep the name of what was.
func holds(m *rf.VirtualMedia) bool {
	return m.Inserted || m.Image != "" && !strings.EqualFold(string(m.ConnectedVia), "NotConnected")
}

func (d *redfish) eject(ctx context.Context) error {
	all, err := d.drives()
	if err != nil {
		return d.fault(err)
	}
	for _, m := range all {
		if holds(m) {
			if err := d.change(ctx, m.EjectMedia); err != nil {
				return err
			}
		}
	}
	return nil
}

// undoes says whether the service can have the machine start from nothing in particular:
// one that names what it may start from, and no "none", can't.
func (d *redfish) undoes() bool {
	var said struct {
		Boot struct {
			Targets []rf.BootSourceOverrideTarget `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
		}
	}
	return json.Unmarshal(d.system.RawData, &said) != nil || len(said.Boot.Targets) == 0 || slices.Contains(said.Boot.Targets, rf.NoneBootSourceOverrideTarget)
}

// bootFrom: a machine that can't be left to itself starts from its disk.
func (d *redfish) bootFrom(ctx context.Context, from BootFrom) error {
	if from == AsUsual && !d.undoes() {
		from = FromDisk
	}
	want := rf.Boot{BootSourceOverrideEnabled: rf.DisabledBootSourceOverrideEnabled, BootSourceOverrideTarget: rf.NoneBootSourceOverrideTarget}
	switch from {
	case OnceFromDrive:
		want.BootSourceOverrideEnabled, want.BootSourceOverrideTarget = rf.OnceBootSourceOverrideEnabled, rf.CdBootSourceOverrideTarget
	case FromDisk:
		want.BootSourceOverrideEnabled, want.BootSourceOverrideTarget = rf.ContinuousBootSourceOverrideEnabled, rf.HddBootSourceOverrideTarget
	}
	now := d.system.Boot
	if now.BootSourceOverrideEnabled == want.BootSourceOverrideEnabled && (now.BootSourceOverrideTarget == want.BootSourceOverrideTarget || from == AsUsual) {
		return nil
	}
	return d.change(ctx, func() error { return d.system.SetBoot(want) })
}

// The fake driver's machines have a drive that takes whatever is put there.

func (f *fake) insert(context.Context, string) error     { return nil }
func (f *fake) eject(context.Context) error              { return nil }
func (f *fake) bootFrom(context.Context, BootFrom) error { return nil }
