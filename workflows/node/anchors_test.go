package node

// Failures of the original that must not happen here, by their rows in the table of
// known failures.

import (
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
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
		"service": servicing(from("a"), silent)} {
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
