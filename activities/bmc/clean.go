package bmc

// The steps of cleaning, of deployments and of service.

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// settings are how steps change a machine's settings: each says whether the machine has
// to be started anew for it, or not yet has what was asked for.
var settings = map[string]func(context.Context, *session, cleaning) (steps.Effect, error){
	"bios.apply_configuration":                     applyBIOS,
	"bios.factory_reset":                           resetBIOS,
	"management.clear_secure_boot_keys":            resetKeys(rf.DeleteAllKeysResetKeysType),
	"management.reset_secure_boot_keys_to_default": resetKeys(rf.ResetAllKeysToDefaultResetKeysType),
	"management.set_bmc_clock":                     setClock,
	"raid.create_configuration":                    createRAID,
	"raid.apply_configuration":                     applyRAID,
	"raid.delete_configuration":                    deleteRAID,
	updateStep:                                     updateFirmware,
}

// cleaning is a step that is being done.
type cleaning struct {
	steps.CleanStepIn
	// act is the name under which it is noted.
	act  string
	args map[string]any
}

// CleanStep is idempotent: those of interfaces that do nothing do nothing again, those
// that change settings by what they find. Errors: as in steps.CleanActivities.
func (a *Activities) CleanStep(ctx context.Context, in steps.CleanStepIn) (steps.CleanStepOut, error) {
	n, err := baremetal.HeldNode(ctx, a.db.Pool, a.engine, in.Fence)
	if err != nil {
		return steps.CleanStepOut{}, err
	}
	phase := provision.Phase(cmp.Or(in.Phase, steps.AgentClean))
	all, err := baremetal.StepsOf(n, phase)
	if err != nil {
		return steps.CleanStepOut{}, err
	}
	known := phase.Steps(nodes.Interfaces(n))
	if in.Index < 0 || in.Index >= len(all) || !slices.ContainsFunc(known, func(s provision.Step) bool {
		return s.Interface == all[in.Index].Interface && s.Name == all[in.Index].Step
	}) {
		return steps.CleanStepOut{}, faults.New(faults.Invalid, "InvalidParameterValue", "node %s has no such step any more", n.UUID)
	}
	step := all[in.Index]
	do := settings[step.Interface+"."+step.Step]
	if do == nil || nodes.Interfaces(n)[step.Interface] != "redfish" {
		return steps.CleanStepOut{}, nil
	}
	in.Of = cmp.Or(in.Of, in.Fence.OperationID)
	effect, err := a.change(ctx, in, phase, do)
	if faults.Is(err, faults.Unavailable) && step.Interface+"."+step.Step == updateStep {
		effect, err = a.flashing(ctx, in, actOf(phase, in.Index), err)
	}
	return steps.CleanStepOut{Effect: effect}, err
}

// actOf is the name under which a step is noted.
func actOf(phase provision.Phase, index int) string { return fmt.Sprintf("%s/%d", phase, index) }

// change does a step that changes the machine's settings. What they have become is kept
// once they are what was asked for.
func (a *Activities) change(ctx context.Context, in steps.CleanStepIn, phase provision.Phase,
	do func(context.Context, *session, cleaning) (steps.Effect, error)) (effect steps.Effect, err error) {
	s, err := a.open(ctx, in.Fence, in.Of)
	if err != nil {
		return effect, err
	}
	defer s.close(ctx)
	c := cleaning{CleanStepIn: in, act: actOf(phase, in.Index)}
	if c.args, err = nodes.StepArgs(a.box, s.node, phase, in.Index); err != nil {
		return effect, err
	}
	if effect, err = do(ctx, s, c); err != nil {
		return effect, err
	}
	if effect.Restart || effect.Pending {
		power, err := s.driver.power(ctx)
		effect.PowerState = string(power)
		return effect, err
	}
	return effect, s.keepSettings(ctx)
}

// once sends what leads to the same until it has been answered.
func (s *session) once(ctx context.Context, d *redfish, act string, send func() error) error {
	if s.acts[act].Answered {
		return nil
	}
	if err := s.note(ctx, act); err != nil {
		return err
	}
	if err := d.change(ctx, send); err != nil {
		return err
	}
	return s.answered(ctx, act)
}
