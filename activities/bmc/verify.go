package bmc

// Verify: what a node's BMC says of it.

import (
	"context"

	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
)

// firmware is how a machine boots, as far as its BMC says.
type firmware struct {
	bootMode   string // "uefi" or "bios"; empty if it isn't known
	secureBoot *bool
}

// Verify is idempotent: it reads, and what it has kept before is written over. A BMC that doesn't know how its machine
// boots is verified all the same. Errors: Invalid, Unavailable, Superseded.
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
	if err := s.keepSettings(ctx); err != nil {
		return steps.NodeVerifyOut{}, err
	}
	boots := s.driver.boots(ctx)
	return steps.NodeVerifyOut{PowerState: string(power), BootMode: boots.bootMode, SecureBoot: boots.secureBoot}, nil
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
