package workflowtest

// One device of the server, a volume or a port, that comes or goes while the
// guest is there.

import (
	"context"
	"strconv"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// DeviceID is the volume's or the port's.
const DeviceID = "0d1c7d1e-5c5e-4a55-8d3f-3f6f0c2b7a10"

// DevicePosition is where a port is among the server's.
const DevicePosition = 3

// Device is what rows, service and guest have of it.
type Device struct {
	// Port says that it is Neutron's, and not Cinder's.
	Port bool
	// Row says that the server has a row of it.
	Row bool
	// Bound says that the service has it for the server, and InUse that it knows
	// that the guest has it.
	Bound, InUse bool
	// Plugged says that the guest has it.
	Plugged bool
	// Refused is what the service says to it; Stuck is a guest that keeps it.
	Refused *faults.Error
	Stuck   bool
}

// WithVolume gives the world a volume that is to come, or to go if there is one.
func (w *World) WithVolume(there bool) *World {
	w.Device = &Device{Row: true, Bound: there, InUse: there, Plugged: there && w.Server.Host != ""}
	w.Op.Input = []byte(`{"volume_id":"` + DeviceID + `"}`)
	w.hold(operations.Effect{Kind: operations.EffectVolume, Ref: DeviceID}, there)
	return w
}

// WithPort gives the world a port that is to come, or to go if there is one.
func (w *World) WithPort(there bool) *World {
	w.Device = &Device{Port: true, Row: true, Bound: there, InUse: there, Plugged: there && w.Server.Host != ""}
	w.Op.Input = []byte(`{"position":` + strconv.Itoa(DevicePosition) + `,"port_id":"` + DeviceID + `"}`)
	w.hold(operations.Effect{Kind: operations.EffectPort, Ref: strconv.Itoa(DevicePosition)}, there)
	return w
}

// hold has the row of one that comes in the ledger, as its request does.
func (w *World) hold(row operations.Effect, there bool) {
	if spec, _ := operations.Lookup(w.Op.Kind); !there && !spec.Recovers() {
		row.Attempt = 1
		w.intend(row)
	}
}

// bind is what the service does for a device that comes.
func (d *Device) bind() error {
	if d.Refused != nil {
		return d.Refused
	}
	d.Bound = true
	return nil
}

// forget is what the service does with one that goes. It goes from under no
// guest but one that owes it.
func (w *World) forget() {
	d := w.Device
	if d.Plugged && !w.owesDevice() {
		w.broke("the device was taken from under the guest")
	}
	d.Row, d.Bound, d.InUse = false, false, false
}

func (w *World) owesDevice() bool {
	for name := range w.Hosts {
		if w.owes(operations.EffectDevice, name) {
			return true
		}
	}
	return false
}

// spec is what a host is told of it.
func (d *Device) spec(s *steps.ServerSpec) {
	switch {
	case d == nil || !d.Bound:
	case d.Port:
		s.Ports = append(s.Ports, steps.Port{ID: DeviceID})
	default:
		s.Volumes = append(s.Volumes, steps.Volume{ID: DeviceID})
	}
}

func (l libvirt) Plug(ctx context.Context, in steps.PlugIn) (struct{}, error) {
	return onHost(ctx, l, "libvirt.Plug", in.Token, func(h *Host) (struct{}, error) {
		switch d := l.w.Device; {
		case !h.Guests[in.Token.ServerID]:
			return struct{}{}, faults.New(faults.NotFound, "GuestNotFound", "the host has no such guest")
		case h.Broken:
			return struct{}{}, faults.New(faults.Unavailable, "DiskFull", "no space left")
		case !d.Bound:
			l.w.broke("the guest was given what the service doesn't know of")
		case (in.Port != nil) != d.Port || (in.Volume != nil) == d.Port:
			l.w.broke("the guest was given something else")
		}
		l.w.Device.Plugged = true
		return struct{}{}, nil
	})
}

func (l libvirt) Unplug(ctx context.Context, in steps.UnplugIn) (steps.UnplugOut, error) {
	if in.Look {
		return act(l.w, "libvirt.Unplug", l.at(ctx), func() (steps.UnplugOut, error) {
			return steps.UnplugOut{Left: l.w.Device.Plugged}, nil
		})
	}
	return onHost(ctx, l, "libvirt.Unplug", in.Token, func(h *Host) (steps.UnplugOut, error) {
		switch d := l.w.Device; {
		case in.ID != DeviceID:
			l.w.broke("the guest was asked for %q", in.ID)
		case h.Broken:
			return steps.UnplugOut{}, faults.New(faults.Unavailable, "DiskFull", "no space left")
		case d.Stuck && d.Plugged:
			return steps.UnplugOut{Left: true}, faults.New(faults.Conflict, "DeviceDetachFailed", "Device detach failed for vdb: the guest keeps it")
		}
		l.w.Device.Plugged = false
		return steps.UnplugOut{}, nil
	})
}

// checkDevice: it is there wholly, or not at all, but for what is owed.
func (w *World) checkDevice(t *testing.T) {
	t.Helper()
	d := w.Device
	if d == nil {
		return
	}
	owed := w.owes(operations.EffectVolume, "") || w.owes(operations.EffectPort, "")
	if d.Bound != d.Row && !owed {
		t.Errorf("the row is there: %t, the service has it: %t", d.Row, d.Bound)
	}
	if !d.Port && d.InUse != d.Bound && !owed {
		t.Errorf("the volume is attached: %t, and in use: %t", d.Bound, d.InUse)
	}
	home := w.Hosts[w.Server.Host]
	if home == nil || !home.Answers || w.owesDevice() || owed {
		return // nobody can say what the guest has, or it is to be taken away
	}
	// A host that went silent at it could not say that the guest has let go.
	unsaid := !d.Plugged && w.Op.Result == operations.ResultFailed && w.struck != nil && w.struck.Step == "libvirt.Unplug"
	if d.Plugged != d.Row && !unsaid {
		t.Errorf("the row is there: %t, the guest has it: %t", d.Row, d.Plugged)
	}
}
