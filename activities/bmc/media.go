package bmc

// Virtual media: what is in a machine's drives, and that the machine starts from them. Of
// what it is booted from activities/boot has the steps; what users put into its drives is
// told as other commands are.

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
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

// mediaTypes are what the kinds of drives take, in Redfish's words.
var mediaTypes = map[string][]rf.VirtualMediaType{
	provision.BootCDROM:  {rf.CDMediaType, rf.DVDMediaType},
	provision.BootDisk:   {rf.USBStickMediaType},
	provision.BootFloppy: {rf.FloppyMediaType},
}

// drives are the machine's drives of some kinds, or all if none is named: its own, or
// those of who manages it.
func (d *redfish) drives(kinds ...string) ([]*rf.VirtualMedia, error) {
	all, err := d.system.VirtualMedia()
	if err != nil || len(all) > 0 {
		return of(kinds, all), d.fault(err)
	}
	managers, err := d.system.ManagedBy()
	if err != nil {
		return nil, d.fault(err)
	}
	for _, m := range managers {
		media, err := m.VirtualMedia()
		if err != nil {
			return nil, d.fault(err)
		}
		all = append(all, media...)
	}
	return of(kinds, all), nil
}

// of are the drives of some kinds, in their order.
func of(kinds []string, all []*rf.VirtualMedia) []*rf.VirtualMedia {
	return slices.DeleteFunc(inOrder(all, func(m *rf.VirtualMedia) string { return m.ODataID }), func(m *rf.VirtualMedia) bool {
		return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind string) bool {
			return slices.ContainsFunc(mediaTypes[kind], func(t rf.VirtualMediaType) bool { return slices.Contains(m.MediaTypes, t) })
		})
	})
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
	return d.attach(ctx, provision.BootCDROM, image)
}

// attach has an image be in a drive of a kind, and nothing else in the others of that
// kind: the first that takes it, since some BMCs have drives that are for others.
func (d *redfish) attach(ctx context.Context, kind, image string) error {
	all, err := d.drives(kind)
	if err != nil {
		return err
	}
	there := false
	for _, m := range all {
		if holds(m) && m.Image == image && !there {
			there = true
		} else if err := d.empty(ctx, m); err != nil {
			return err
		}
	}
	if there {
		return nil
	}
	err = faults.New(faults.Invalid, "InvalidParameterValue", "No suitable virtual media device found")
	for _, m := range all {
		if !m.SupportsMediaInsert {
			continue
		}
		if err = d.change(ctx, func() error { return m.InsertMedia(image, true, true) }); !faults.Is(err, faults.Invalid) {
			return err
		}
	}
	return err
}

// empty takes out what is in a drive.
func (d *redfish) empty(ctx context.Context, m *rf.VirtualMedia) error {
	if !holds(m) {
		return nil
	}
	return d.change(ctx, m.EjectMedia)
}

// holds says whether something is in a drive: some BMCs keep the name of what was.
func holds(m *rf.VirtualMedia) bool {
	return m.Inserted || m.Image != "" && !strings.EqualFold(string(m.ConnectedVia), "NotConnected")
}

func (d *redfish) eject(ctx context.Context) error { return d.detach(ctx, provision.BootCDROM) }

// detach takes out what is in the drives of some kinds, or in all.
func (d *redfish) detach(ctx context.Context, kinds ...string) error {
	all, err := d.drives(kinds...)
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := d.empty(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// medium is what is told of a drive; no image is not known, or none.
type medium struct {
	Types    []rf.VirtualMediaType `json:"media_types"`
	Inserted bool                  `json:"inserted"`
	Image    *string               `json:"image"`
}

func (m *redfishManager) media(context.Context) ([]medium, error) {
	all, err := m.drives()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "No suitable virtual media device found")
	}
	found := make([]medium, len(all))
	for i, drive := range all {
		if found[i] = (medium{Types: drive.MediaTypes, Inserted: drive.Inserted}); drive.Image != "" {
			found[i].Image = &drive.Image
		}
	}
	return found, nil
}

func (m *redfishManager) attachMedia(ctx context.Context, kind, image string) error {
	return m.attach(ctx, kind, image)
}

func (m *redfishManager) detachMedia(ctx context.Context, kinds ...string) error {
	return m.detach(ctx, kinds...)
}

// attachMedia puts the medium that a request names into a drive.
func attachMedia(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
	image, err := c.box.Open(c.Ask.Secret, nodes.CommandPlace(c.node))
	if err != nil {
		return out, err
	}
	return out, c.attachMedia(ctx, strings.Join(c.Ask.Media, ""), string(image))
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
