package bmc

// What a machine starts from, as activities/boot has it.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
)

// BootFrom is what a machine starts from.
type BootFrom string

const (
	// AsUsual: what it would start from that was told nothing.
	AsUsual BootFrom = ""
	// OnceFromDrive: the medium in its drive, at its next start.
	OnceFromDrive BootFrom = "Cd"
	// OnceFromNetwork: what its boot interface serves, at its next start.
	OnceFromNetwork BootFrom = "Pxe"
	// FromDisk: its disk, from now on.
	FromDisk BootFrom = "Hdd"
)

// StartFrom is idempotent by what it finds: the fenced operation's node starts so, by its
// management interface. Errors: Invalid, Unavailable, Superseded.
func (a *Activities) StartFrom(ctx context.Context, fence steps.Fence, from BootFrom) error {
	s, err := a.open(ctx, fence, fence.OperationID)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	return s.startFrom(ctx, from)
}

// startFrom is that in a session. A machine that is to start once from the network starts
// in the mode that its node and its instance ask for.
func (s *session) startFrom(ctx context.Context, from BootFrom) error {
	m, err := s.manager()
	if err != nil {
		return err
	}
	switch from {
	case OnceFromNetwork:
		if err := s.bringMode(ctx, m); err != nil {
			return err
		}
		way, _ := nodes.NetbootOf(s.node)
		return m.setBootDevice(ctx, way.Device(s.node), false)
	case FromDisk:
		return m.setBootDevice(ctx, provision.BootDisk, true)
	}
	return m.startAsUsual(ctx)
}

// bringMode has the machine start by UEFI or as BIOSes do, if that is asked for and its BMC
// can be told.
func (s *session) bringMode(ctx context.Context, m manager) error {
	instance, err := nodes.InstanceInfo(s.box, s.node)
	if err != nil {
		return err
	}
	want, err := instance.AskedBootMode()
	if err != nil || want == "" {
		return err
	}
	now, err := m.bootMode(ctx)
	if err == nil && now != want {
		err = m.setBootMode(ctx, want)
	}
	if err != nil && faults.As(err).Code == "UnsupportedDriverExtension" {
		return nil
	}
	return err
}
