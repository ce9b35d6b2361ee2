package agent

// What a node is cleaned or serviced by, once its ramdisk says what it has.

import (
	"cmp"
	"context"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// CleanPlan is idempotent: asked again, it writes the same. Errors: as in
// steps.AgentActivities.
func (a *Activities) CleanPlan(ctx context.Context, in steps.CleanPlanIn) (out steps.CleanPlanOut, err error) {
	asked := cmp.Or(in.Phase, steps.AgentClean)
	phase := provision.Phase(asked)
	said, err := a.Steps(ctx, steps.AgentStepsIn{Fence: in.Fence, Phase: asked})
	if err != nil {
		return out, err
	}
	offered := make([]provision.Step, len(said.Steps))
	for i, s := range said.Steps {
		offered[i] = provision.Step{Interface: s.Interface, Name: s.Step, Priority: s.Priority, Abortable: s.Abortable, Ramdisk: true, Args: map[string]bool{}}
		for name, argument := range s.ArgsInfo {
			offered[i].Args[name] = argument.Required
		}
	}
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		var held engine.Locked
		if held, err = a.engine.CheckFence(ctx, tx, in.Fence); err != nil {
			return err
		}
		n, err := baremetal.Nodes.Find(ctx, tx, held.ResourceID, false)
		if err != nil {
			return err
		}
		plan, err := nodes.Plan(n, phase, offered, in.Asked)
		if err != nil {
			return err
		}
		if err := baremetal.KeepInternal(ctx, tx, n.UUID, map[string]any{phase.List(): plan}); err != nil {
			return err
		}
		if n, err = baremetal.Nodes.Find(ctx, tx, n.UUID, false); err != nil {
			return err
		}
		out.Steps, err = baremetal.StepsOf(n, phase)
		return err
	})
	return out, err
}

// stored is one of a phase's steps in the node's row.
func (s *session) stored(phase steps.AgentPhase, at int) (map[string]any, error) {
	list, _ := s.known[provision.Phase(phase).List()].([]any)
	if at < 0 || at >= len(list) {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "node %s has no such step any more", s.node.UUID)
	}
	step, ok := list[at].(map[string]any)
	if !ok {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "node %s has no such step any more", s.node.UUID)
	}
	return step, nil
}
