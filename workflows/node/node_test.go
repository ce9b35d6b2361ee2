package node

import (
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
)

// scenario is a story and how it ends undisturbed.
type scenario struct {
	name  string
	world func() *world
	ends  string
}

// powering is a node that is off and is to come to another power.
func powering(target provision.Power, change ...func(*world)) func() *world {
	return func() *world {
		w := &world{kind: operations.NodePower, power: provision.PowerOff, sent: map[string]int{},
			input: fmt.Sprintf(`{"target": %q, "timeout": 60000000000}`, target)}
		for _, f := range change {
			f(w)
		}
		return w
	}
}

func slow(w *world)   { w.pending = 3 }
func broken(w *world) { w.broken = true }
func blind(w *world)  { w.broken, w.blind = true, true }

// lostAt has the operation be the recovery of one that was lost in a step.
func lostAt(step string) func(*world) {
	return func(w *world) {
		w.kind, w.recovers = operations.NodeRecover, &steps.Recovered{OperationID: "lost", Kind: w.kind, Step: step}
	}
}

var scenarios = []scenario{
	{"turned on", powering(provision.PowerOn), "done, power on"},
	{"turned off slowly", powering(provision.PowerOff, slow), "done, power off"},
	{"restarted", powering(provision.PowerReboot, slow), "done, power on"},
	{"refused by its BMC", powering(provision.PowerReboot, broken),
		"failed, power off: Failed to change power state to 'power on' by 'rebooting': it can't work"},
	{"with a BMC that says nothing", powering(provision.PowerSoftOff, blind),
		"failed: Failed to change power state to 'power off' by 'soft power off': it can't work"},
	{"lost before it was told", powering(provision.PowerOn, lostAt("")),
		"done: The power was interrupted by an operator or a fault of the control plane and has been undone."},
	{"lost after it was told", powering(provision.PowerReboot, slow, lostAt(operations.StepPower)), "done, power on"},
	{"lost, and refused by its BMC", powering(provision.PowerReboot, broken, lostAt(operations.StepPower)),
		"failed, power off: Failed to change power state to 'power on' by 'rebooting': it can't work"},
}

// incidents are what can happen at any call.
var incidents = []incident{
	{name: "fails three times", times: 3, do: func(*world) error { return errBusy }},
	{name: "the answer is lost", after: true, do: func(*world) error { return errBusy }},
	{name: "fails until given up", times: 5, do: func(*world) error { return errBusy }},
	{name: "fails until given up though it acted", times: 5, after: true, do: func(*world) error { return errBusy }},
	{name: "fails for good", do: func(*world) error { return errBad }},
	{name: "fails for good though it acted", after: true, do: func(*world) error { return errBad }},
	{name: "no conductor takes it for a while", times: 12, do: func(*world) error { return temporal.NewHeartbeatTimeoutError() }},
	{name: "cancelled by row", do: cancelByRow},
	{name: "cancelled by row afterwards", after: true, do: cancelByRow},
	{name: "cancelled by Temporal", do: cancelByTemporal},
	{name: "cancelled by Temporal afterwards", after: true, do: cancelByTemporal},
	{name: "superseded", do: supersede},
	{name: "superseded afterwards", after: true, do: supersede},
	{name: "the workflow is lost", do: lose},
	{name: "the workflow is lost afterwards", after: true, do: lose},
	{name: "knocks", do: func(w *world) error { w.env.SignalWorkflow(steps.Knock, nil); return nil }},
}

func cancelByRow(w *world) error { w.cancelled = true; return nil }

func cancelByTemporal(w *world) error {
	w.cancelled = true
	w.env.CancelWorkflow()
	return nil
}

func supersede(w *world) error {
	w.foreign = true
	w.frozen = w.String()
	return nil
}

func lose(w *world) error { w.lost = true; return errSuperseded }

// allowed says whether an operation that would have ended as plain may end so
// after an incident at a call of a step. Beyond is whether it had come past its
// point of no return.
func allowed(i incident, step, plain, end string, beyond bool) bool {
	switch {
	case end == plain:
		return true
	case strings.HasPrefix(i.name, "cancelled"):
		return !beyond && strings.HasPrefix(end, "cancelled")
	case strings.HasPrefix(i.name, "fails"), strings.HasPrefix(i.name, "no conductor"):
		return step == "bmc.Power" && i.times != 3 && strings.HasPrefix(end, "failed")
	}
	return false
}

// Each story is told undisturbed, and with each incident at each call: each step
// failing, cancelled, lost, superseded.
func TestEvery(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			plain := s.world()
			plain.check(t, plain.tell(t))
			if plain.end() != s.ends {
				t.Fatalf("it ended as %q, want %q; calls %v", plain.end(), s.ends, plain.calls)
			}
			for at, step := range plain.calls {
				for _, i := range incidents {
					if local := strings.HasPrefix(step, "records."); local && (strings.HasPrefix(i.name, "fails for good") || strings.HasPrefix(i.name, "no conductor")) {
						continue // no step on our own rows ends so
					}
					i.at = at
					t.Run(fmt.Sprintf("%02d %s: %s", at, step, i.name), func(t *testing.T) { disturbed(t, s, i, step) })
				}
			}
		})
	}
}

func disturbed(t *testing.T, s scenario, i incident, step string) {
	w := s.world()
	w.incident = i
	err := w.tell(t)
	if w.lost {
		// A run from nothing, with what the database knows.
		w.lost, w.incident = false, incident{}
		err = w.tell(t)
	}
	if w.foreign && w.frozen != "" {
		if now := w.String(); now != w.frozen {
			t.Errorf("something was touched after another operation took over:\n%s\nwas\n%s", now, w.frozen)
		}
		if w.finished == 0 && err != nil {
			t.Errorf("the workflow ended with %v", err)
		}
		return
	}
	w.check(t, err)
	if beyond := step == "bmc.Power" || w.spec().Forward() || step == "records.Finish"; !allowed(i, step, s.ends, w.end(), beyond) {
		t.Errorf("it ended as %q, undisturbed as %q; calls %v", w.end(), s.ends, w.calls)
	}
}

// An operation whose group has no conductor for long is given up, and says so.
func TestNoConductorEver(t *testing.T) {
	t.Parallel()
	w := powering(provision.PowerOn)()
	w.incident = incident{at: 2, times: 10000, do: func(*world) error { return temporal.NewHeartbeatTimeoutError() }}
	w.check(t, w.tell(t))
	if want := "failed: Failed to change power state to 'power on' by 'power on': no conductor of the node's group has taken the work"; w.end() != want {
		t.Errorf("%s", w.end())
	}
}
