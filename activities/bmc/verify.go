package bmc

// Verify: what a node's BMC says of it, and the steps that are done while it is asked.

import (
	"context"
	"time"

	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
)

// verifications are how steps of verifying are done.
var verifications = map[string]func(context.Context, *session) error{"management." + provision.StepVerifyClock: verifyClock}

// firmware is how a machine boots, as far as its BMC says.
type firmware struct {
	bootMode   string // "uefi" or "bios"; empty if it isn't known
	secureBoot *bool
}

// Verify is idempotent: it reads, and what it has kept before is written over; its steps look before they change
// something. A BMC that doesn't know how its machine boots is verified all the same. Errors: Invalid (code
// NodeVerifyFailure: one of the steps), Unavailable, Superseded.
func (a *Activities) Verify(ctx context.Context, in steps.NodeIn) (steps.NodeVerifyOut, error) {
	s, err := a.open(ctx, in.Fence, in.Fence.OperationID)
	if err != nil {
		return steps.NodeVerifyOut{}, err
	}
	defer s.close(ctx)
	power, err := s.driver.power(ctx)
	if err != nil {
		return steps.NodeVerifyOut{}, err
	}
	if err := s.verify(ctx); err != nil {
		return steps.NodeVerifyOut{}, err
	}
	if err := s.keepSettings(ctx); err != nil {
		return steps.NodeVerifyOut{}, err
	}
	boots := s.driver.boots(ctx)
	return steps.NodeVerifyOut{PowerState: string(power), BootMode: boots.bootMode, SecureBoot: boots.secureBoot}, nil
}

// verify does the steps that the node's interfaces have for it.
func (s *session) verify(ctx context.Context) error {
	for _, step := range provision.Automated(provision.PhaseVerify.Steps(nodes.Interfaces(s.node))) {
		err := verifications[step.ID()](ctx, s)
		switch {
		case faults.Is(err, faults.Invalid), faults.Is(err, faults.Conflict):
			return faults.Wrap(err, faults.Invalid, steps.VerifyFailure, "Node %s failed verify step %s with unexpected error: %s", s.node.UUID, step.Name, faults.As(err).Message)
		case err != nil:
			return err
		}
	}
	return nil
}

// verifyClock sets the clock of the machine's BMC if it differs from this one's by more
// than a second, and that is wanted.
func verifyClock(ctx context.Context, s *session) error {
	if !s.VerifyClock {
		return nil
	}
	d, m, err := s.clock()
	if err != nil {
		return err
	}
	said, err := time.Parse(time.RFC3339Nano, m.DateTime)
	if err != nil {
		return faults.Wrap(err, faults.Invalid, "RedfishError", redfishPrefix+"BMC clock verify step failed: it shows no time")
	}
	if late := time.Since(said); late > -time.Second && late < 2*time.Second { // whole seconds are cut
		return nil
	}
	var offset any
	if m.DateTimeLocalOffset != utc {
		offset = utc
	}
	return d.change(ctx, func() error { return d.setClock(m, time.Now().UTC(), offset) })
}

// bootModes are what the words of Redfish mean.
var bootModes = map[rf.BootSourceOverrideMode]string{rf.UEFIBootSourceOverrideMode: provision.UEFI, rf.LegacyBootSourceOverrideMode: provision.BIOS}

func (d *redfish) boots(context.Context) firmware {
	f := firmware{bootMode: bootModes[d.system.Boot.BootSourceOverrideMode]}
	if secure, err := d.system.SecureBoot(); err == nil && secure != nil {
		on := secure.SecureBootCurrentBoot == rf.EnabledSecureBootCurrentBootType
		f.secureBoot = &on
	}
	return f
}

func (*fake) boots(context.Context) firmware { return firmware{} }

func (agentPower) boots(context.Context) firmware { return firmware{} }
