package node

// Failures of the original that must not happen here, by their rows in the table of
// known failures.

import (
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/workflows/workflowtest"
)

// Row 37: a node stays for ever in the state that its operation showed when that died.
// Here one mechanism ends every state: each has a place that its work fails to, and each
// kind of operation a row of what becomes of it when it is lost.
func TestAnchor37EveryStateEndsWithItsOperation(t *testing.T) {
	t.Parallel()
	for _, info := range provision.States() {
		if to := (provision.Position{State: info.State}).Fail(); to.State.Transient() || info.Class == provision.Held && to.State == info.State {
			t.Errorf("work that fails in %q leaves the node in %q", info.State, to.State)
		}
	}
	for _, spec := range operations.All() {
		if _, ok := recoveries[spec.Kind]; spec.Resource == operations.Node && !spec.Recovers() && !ok {
			t.Errorf("nothing is said of a %s that is lost", spec.Kind)
		}
	}
	for kind, shown := range map[operations.Kind]provision.State{
		operations.NodeManage: provision.Verifying, operations.NodeInspect: provision.Inspecting, operations.NodeAdopt: provision.Adopting,
		operations.NodeProvide: provision.Cleaning, operations.NodeClean: provision.CleanWait, operations.NodeDeploy: provision.DeployWait,
		operations.NodeRescue: provision.RescueWait, operations.NodeUnrescue: provision.Unrescuing, operations.NodeService: provision.ServiceWait,
	} {
		w := play.Told(t, moving(kind, shown, lostAt(""))())
		if info, _ := provision.Lookup(w.was.State); info.Class != provision.Failed && w.was.State != provision.Enroll || w.Fault == nil {
			t.Errorf("a %s that was lost left the node in %q with %v", kind, w.was.State, w.Fault)
		}
	}
}

// Row 42: a node waits for ever for a ramdisk that never reports. Here each wait ends by
// a word of it, by its time, or by an abort.
func TestAnchor42EveryWaitEnds(t *testing.T) {
	t.Parallel()
	silent := func(w *world) { w.silent = true }
	for name, node := range map[string]func() *world{"deploy": deploying(silent), "rescue": rescuing(silent), "clean": moving(operations.NodeProvide, provision.Cleaning, from("a"), silent),
		"service": servicing(from("a"), silent), "inspect": discovering(silent)} {
		w := play.Told(t, node())
		if info, _ := provision.Lookup(w.was.State); info.Class != provision.Failed || w.Fault == nil || w.Fault.Code != errTimeout.Code {
			t.Errorf("%s: %s", name, w.End())
		}
	}
}

// Row 46: a node fails again and again, and nobody is told why. Here it fails once, in a
// state in which it stays, with the reason.
func TestAnchor46AFailureHasAReason(t *testing.T) {
	t.Parallel()
	for name, node := range map[string]func() *world{
		"inspect": inspecting(blind), "adopt": adopting(refused), "unrescue": unrescuing(blind), "rescue": rescuing(broken),
		"clean": moving(operations.NodeClean, provision.Cleaning, manual, by("a"), broken), "service": servicing(by("a"), broken),
	} {
		w := play.Told(t, node())
		if info, _ := provision.Lookup(w.was.State); info.Class != provision.Failed || w.Fault == nil || w.Fault.Message == "" || w.Finished != 1 {
			t.Errorf("%s: %s", name, w.End())
		}
	}
}

// Row 36: a conductor dies in the middle of a deployment, and the node is deploying for
// ever. Here another goes on with it, or the deployment fails after a while, by itself.
func TestAnchor36ADeploymentOutlivesItsConductor(t *testing.T) {
	t.Parallel()
	calls := play.Told(t, deploying()()).Calls
	struck := func(step string, times int) *world {
		w := deploying()()
		w.Strike = workflowtest.Strike{At: slices.Index(calls, step), Times: times, Do: workflowtest.Fails(noneTakesIt)}
		return play.Told(t, w)
	}
	for _, step := range []string{"boot.Ramdisk", "bmc.Power", "agent.Command", "boot.Clear"} {
		if w := struck(step, 3); w.was.State != provision.Active {
			t.Errorf("%s is done by another conductor: %s", step, w.End())
		}
	}
	if w := struck("agent.Command", 100000); w.was.State != provision.DeployFailed || w.Fault == nil || w.Fault.Code != errNoConductor.Code {
		t.Errorf("it is done by nobody: %s", w.End())
	}
}

// Row 41: what nobody had foreseen goes wrong in a conductor, is swallowed, and the node
// stays where it was. Here it ends the work, with a reason, wherever it happens; work that
// is done all the same has been done as without it.
func TestAnchor41TheUnforeseenEndsTheWork(t *testing.T) {
	t.Parallel()
	unforeseen := temporal.NewNonRetryableApplicationError("index out of range", "panic", nil)
	for name, node := range map[string]func() *world{"deploy": deploying(), "clean": moving(operations.NodeProvide, provision.Cleaning, from("a")), "inspect": discovering(),
		"rescue": rescuing(), "adopt": adopting()} {
		undisturbed := play.Told(t, node())
		for at, step := range undisturbed.Calls {
			if strings.HasPrefix(step, "records.") {
				continue
			}
			w := node()
			w.Strike = workflowtest.Strike{At: at, Do: workflowtest.Fails(unforeseen)}
			play.Told(t, w)
			if told := w.Fault != nil && w.Fault.Message != ""; w.Finished != 1 || !told && w.End() != undisturbed.End() {
				t.Errorf("%s, at %s: %s", name, step, w.End())
			}
		}
	}
}

// Row 44: an instance is deleted while its node is serviced, and the node is left with the
// ramdisk of the service, or an instance, on the network of its tenant. Here the service
// gives way, wherever it is, with nothing of its ramdisk left, and what takes the instance
// away sees to it that the machine is off.
func TestAnchor44ADeleteEndsAService(t *testing.T) {
	t.Parallel()
	serviced := servicing(from("a?", "hold"), func(w *world) { w.awaited = true })
	for at, step := range play.Told(t, servicing(from("a?", "hold"))()).Calls {
		w := serviced()
		w.Strike = workflowtest.Strike{At: at, Do: workflowtest.CancelledByRow}
		play.Told(t, w)
		if w.medium || w.ramdisk || w.power == provision.PowerOn && len(w.told) > 0 && !w.disk {
			t.Errorf("cancelled at %s: %s: %s", step, w.End(), w)
		}
	}
	w := play.Told(t, undeploying()())
	if w.was.State != provision.Available || !w.vacant || w.power != provision.PowerOff {
		t.Errorf("%s", w)
	}
	if meeting := operations.Meet(operations.NodeService, operations.NodeUndeploy); meeting != operations.Preempt {
		t.Errorf("an undeployment meets a service: %s", meeting)
	}
}
