package node

// A model of the node that operations work on, by the rules that activities/bmc keeps.

import (
	"context"
	"fmt"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/workflowtest"
)

// world is one node and the operation that holds it.
type world struct {
	workflowtest.Model
	// power is the machine's, pending how often it asks for more time. Broken refuses
	// whatever it is told; blind can't be looked at either.
	power         provision.Power
	pending       int
	broken, blind bool
	// was is where the node is in its life.
	was provision.Position

	outcome *steps.NodeOutcome
	// sent are the names of the acts that the BMC was told of.
	sent map[string]bool
}

var errBad = faults.New(faults.Invalid, "Bad", "it can't work")

func (w *world) String() string {
	return fmt.Sprintf("%s finished %d as %q: %+v, power %s, sent %v, %v", w.Step, w.Finished, w.Result, w.outcome, w.power, w.sent, w.was)
}

func (w *world) Brief(out *steps.BeginOut) {
	out.Node = &steps.NodeBrief{ID: "n", Group: "g", Conductor: "c", PowerState: "power off", ProvisionState: string(w.was.State)}
}

// Move and Publish keep the node's place as internal/store/baremetal does.
func (w *world) Move(m steps.NodeMove) { w.to(provision.State(m.State)) }

func (w *world) to(state provision.State) {
	now, err := w.was.Move(state)
	if err != nil {
		w.Broke("%v", err)
	}
	w.was = now
}

func (w *world) Publish(in steps.FinishIn) {
	w.outcome = in.Node
	switch {
	case in.Node == nil:
	case in.Node.Failed:
		w.was = w.was.Fail()
	case in.Node.State != "":
		w.to(provision.State(in.Node.State))
	}
}

func (w *world) Families() map[string]any { return map[string]any{"bmc": bmc{w}} }

type bmc struct{ w *world }

func (b bmc) Power(_ context.Context, in steps.NodePowerIn) (steps.NodePowerOut, error) {
	w := b.w
	return workflowtest.Fenced(w, "bmc.Power", in.Fence, func() (out steps.NodePowerOut, err error) {
		if w.blind {
			return out, errBad
		}
		if in.Target == "" {
			return steps.NodePowerOut{PowerState: string(w.power)}, nil
		}
		if !w.Spec().Beyond(w.Step) {
			w.Broke("the BMC was told something before the step was written")
		}
		if w.broken {
			return out, errBad
		}
		w.sent[in.Of+" "+in.Name] = true
		if w.pending > 0 {
			w.pending--
			return steps.NodePowerOut{PowerState: string(w.power), Pending: true}, nil
		}
		w.power = provision.Power(in.Target).Target()
		return steps.NodePowerOut{PowerState: string(w.power)}, nil
	})
}

// Verify looks at the machine.
func (b bmc) Verify(_ context.Context, in steps.NodeIn) (steps.NodeVerifyOut, error) {
	w := b.w
	return workflowtest.Fenced(w, "bmc.Verify", in.Fence, func() (out steps.NodeVerifyOut, err error) {
		if w.blind {
			return out, errBad
		}
		return steps.NodeVerifyOut{PowerState: string(w.power), BootMode: provision.UEFI}, nil
	})
}

// Check: nobody works on the node, whatever became of it; the row says the machine's power, which was changed under one name.
func (w *world) Check(t *testing.T) {
	t.Helper()
	if w.outcome == nil {
		t.Errorf("nothing is said of the node")
		return
	}
	if said := w.outcome.PowerState; said != nil && *said != string(w.power) {
		t.Errorf("the row says %s of a node with %s", *said, w.power)
	}
	if w.was.State.Transient() {
		t.Errorf("the operation is over, and the node is in %q", w.was.State)
	}
	if len(w.sent) > 1 {
		t.Errorf("it was sent under more than one name: %v", w.sent)
	}
}

// End is how it ended, as a scene has it.
func (w *world) End() string {
	s := string(w.Result)
	if w.outcome != nil && w.outcome.PowerState != nil {
		s += ", " + *w.outcome.PowerState
	}
	if w.was.State != "" {
		s += ", " + string(w.was.State)
	}
	if w.Fault != nil {
		s += ": " + w.Fault.Message
	}
	return s
}
