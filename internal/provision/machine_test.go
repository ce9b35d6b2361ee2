package provision_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/provision"
)

// contract is state-machine.json.
type contract struct {
	States []struct {
		Name   provision.State `json:"name"`
		Stable bool            `json:"stable"`
		Target provision.State `json:"target"`
	} `json:"states"`
	Events []struct {
		Name   provision.Event `json:"name"`
		Source string          `json:"source"`
	} `json:"events"`
	Transitions []struct {
		From  provision.State `json:"from"`
		Event provision.Event `json:"event"`
		To    provision.State `json:"to"`
	} `json:"transitions"`
	Lists map[string][]provision.State `json:"lists"`
	Verbs map[provision.Verb]struct {
		Event      provision.Event `json:"event"`
		MinVersion string          `json:"min_version"`
		Enforced   *bool           `json:"enforced_in_code"`
	} `json:"verbs"`
}

func read(t *testing.T) (c contract) {
	t.Helper()
	contracttest.Read(t, "baremetal/state-machine.json", &c)
	return c
}

func TestEveryPairIsTheContracts(t *testing.T) {
	t.Parallel()
	c := read(t)
	leads := map[provision.State]map[provision.Event]provision.State{}
	for _, tr := range c.Transitions {
		if leads[tr.From] == nil {
			leads[tr.From] = map[provision.Event]provision.State{}
		}
		leads[tr.From][tr.Event] = tr.To
	}
	if len(c.States) != 30 || len(c.Events) != 18 || len(c.Transitions) != 93 {
		t.Fatalf("%d states, %d events, %d transitions in the contract", len(c.States), len(c.Events), len(c.Transitions))
	}
	for _, s := range c.States {
		for _, e := range c.Events {
			want, allowed := leads[s.Name][e.Name]
			if got, ok := provision.Next(s.Name, e.Name); ok != allowed || got != want {
				t.Errorf("%s on %s: %q, %t, not %q, %t", s.Name, e.Name, got, ok, want, allowed)
			}
		}
	}
}

func TestStatesAreTheContracts(t *testing.T) {
	t.Parallel()
	c := read(t)
	lists := map[provision.Class][]provision.State{}
	for _, s := range provision.States() {
		lists[s.Class] = append(lists[s.Class], s.State)
		if s.State.Transient() != (s.Deadline > 0) {
			t.Errorf("%s: transient states have a deadline, and no others; it has %s", s.State, s.Deadline)
		}
	}
	if len(provision.States()) != len(c.States) {
		t.Errorf("%d states, not %d", len(provision.States()), len(c.States))
	}
	for _, s := range c.States {
		info, ok := provision.Lookup(s.Name)
		if !ok || info.State.Stable() != s.Stable || info.Target != s.Target {
			t.Errorf("%s: %+v, not stable %t, target %q", s.Name, info, s.Stable, s.Target)
		}
	}
	for _, l := range []struct {
		name string
		got  []provision.State
	}{
		{"STABLE_STATES", lists[provision.Stable]},
		{"UNSTABLE_STATES", append(slices.Clone(lists[provision.Working]), lists[provision.Waiting]...)},
		{"FAILURE_STATES", lists[provision.Failed]},
		{"STUCK_STATES_TREATED_AS_FAIL", lists[provision.Working]},
		{"LOOKUP_ALLOWED_STATES", all(func(s provision.State) bool { return s.Expecting(false) })},
		{"FASTTRACK_LOOKUP_ALLOWED_STATES", all(func(s provision.State) bool { return s.Expecting(true) })},
		{"UPDATE_ALLOWED_STATES", append(all(func(s provision.State) bool {
			return provision.Position{State: s, Target: provision.Active}.Update("n", microversion.V(1, 38)) == nil
		}), "service")}, // a word that no node's state is
		{"DELETE_ALLOWED_STATES", all(func(s provision.State) bool { return s != provision.Available && s.Delete("n") == nil })},
	} {
		if want := c.Lists[l.name]; !slices.Equal(sorted(l.got), sorted(want)) {
			t.Errorf("%s: %q, not %q", l.name, sorted(l.got), sorted(want))
		}
	}
}

// all are the states that keep, in order.
func all(keep func(provision.State) bool) (kept []provision.State) {
	for _, s := range provision.States() {
		if keep(s.State) {
			kept = append(kept, s.State)
		}
	}
	return kept
}

func sorted(states []provision.State) []provision.State {
	return slices.Sorted(slices.Values(states))
}

func TestVerbsAreTheContracts(t *testing.T) {
	t.Parallel()
	c := read(t)
	for _, i := range provision.Verbs() {
		want, ok := c.Verbs[i.Verb]
		if !ok || want.Event != i.Event || want.MinVersion != i.Since.String() || i.Ungated != (want.Enforced != nil && !*want.Enforced) {
			t.Errorf("%+v, not %+v", i, want)
		}
		delete(c.Verbs, i.Verb)
	}
	for verb := range c.Verbs {
		t.Errorf("no verb %s", verb)
	}
	asked := map[provision.Event]bool{}
	for _, i := range provision.Verbs() {
		asked[i.Event] = true
	}
	for _, e := range c.Events {
		if asked[e.Name] != (e.Source == "api verb") {
			t.Errorf("event %s: asked for by a verb: %t, but its source is %q", e.Name, asked[e.Name], e.Source)
		}
		if !slices.Contains(provision.Events(), e.Name) {
			t.Errorf("no event %s", e.Name)
		}
	}
}

// Every verb in every state at every version: taken exactly where the machine
// has the event and the version knows it.
func TestVerbsAreTakenWhereTheMachineHasThem(t *testing.T) {
	t.Parallel()
	later := map[provision.State]int{provision.InspectWait: 41, provision.DeployWait: 110}
	for _, i := range provision.Verbs() {
		for _, s := range provision.States() {
			for minor := 1; minor <= 115; minor++ {
				version := microversion.V(1, minor)
				_, leads := provision.Next(s.State, i.Event)
				known := i.Ungated || !version.Less(i.Since)
				if i.Verb == provision.VerbAbort && minor < later[s.State] {
					known = false
				}
				event, err := provision.Accept(i.Verb, version, provision.Node{ID: "n", State: s.State})
				if (err == nil) != (leads && known) || err == nil && event != i.Event {
					t.Errorf("%s in %s at %s: %q, %v", i.Verb, s.State, version, event, err)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	latest := microversion.V(1, 115)
	for _, c := range []struct {
		verb    provision.Verb
		version microversion.Version
		node    provision.Node
		code    string
		kind    faults.Kind
		message string
	}{
		{"provide", latest, provision.Node{ID: "n", State: "enroll"}, "InvalidStateRequested", faults.Invalid,
			`The requested action "provide" can not be performed on node "n" while it is in state "enroll".`},
		{"fly", latest, provision.Node{ID: "n", State: "enroll"}, "InvalidStateRequested", faults.Invalid,
			`The requested action "fly" can not be performed on node "n" while it is in state "enroll".`},
		// An operation's own event is nobody's to ask for.
		{"done", latest, provision.Node{ID: "n", State: "cleaning"}, "InvalidStateRequested", faults.Invalid,
			`The requested action "done" can not be performed on node "n" while it is in state "cleaning".`},
		{"provide", latest, provision.Node{ID: "n", State: "cleaning", Reservation: "conductor-1"}, "NodeLocked", faults.Conflict,
			`Node n is locked by host conductor-1, please retry after the current operation is completed.`},
		{"manage", latest, provision.Node{ID: "n", State: "cleaning", Reservation: "conductor-1"}, "NodeLocked", faults.Conflict,
			`Node n is locked by host conductor-1, please retry after the current operation is completed.`},
		{"active", latest, provision.Node{ID: "n", State: "available", Maintenance: true}, "NodeInMaintenance", faults.Invalid,
			`The provisioning operation can't be performed on node n because it's in maintenance mode.`},
		{"manage", microversion.V(1, 3), provision.Node{ID: "n", State: "active"}, "NotAcceptable", faults.Invalid, "Request not acceptable."},
		// A wrong state wins over a version that is too old.
		{"service", microversion.V(1, 86), provision.Node{ID: "n", State: "enroll"}, "InvalidStateRequested", faults.Invalid,
			`The requested action "service" can not be performed on node "n" while it is in state "enroll".`},
		{"service", microversion.V(1, 86), provision.Node{ID: "n", State: "active"}, "NotAcceptable", faults.Invalid, "Request not acceptable."},
		{"abort", microversion.V(1, 40), provision.Node{ID: "n", State: "inspect wait"}, "NotAcceptable", faults.Invalid, "Request not acceptable."},
	} {
		_, err := provision.Accept(c.verb, c.version, c.node)
		if f := faults.As(err); f == nil || f.Code != c.code || f.Kind != c.kind || f.Message != c.message {
			t.Errorf("%s at %s on %+v: %v, not %s", c.verb, c.version, c.node, err, c.message)
		}
	}
	// deploy is not refused in maintenance: only its older word is.
	if _, err := provision.Accept("deploy", latest, provision.Node{ID: "n", State: "available", Maintenance: true}); err != nil {
		t.Error(err)
	}
}

func TestRulesOfUpdateAndDelete(t *testing.T) {
	t.Parallel()
	latest := microversion.V(1, 115)
	for _, c := range []struct {
		err  error
		want string
	}{
		{provision.Position{State: "deploying", Target: "active"}.Update("n", latest),
			"Node n can not be updated while a state transition is in progress."},
		{provision.Position{State: "inspecting", Target: "manageable"}.Update("n", latest),
			`Cannot update node "n" while it is in state "inspecting".`},
		{provision.Position{State: "inspecting", Target: "manageable"}.Update("n", microversion.V(1, 38)), ""},
		{provision.Position{State: "active"}.Update("n", latest), ""},
		{provision.State("active").Delete("n"), `Can not delete node "n" while it is in provision state "active". Valid provision states to perform deletion ` +
			`are: "('manageable', 'enroll', 'adopt failed', 'available')", or set the node into maintenance mode`},
		{provision.Available.Delete("n"), ""},
	} {
		switch f := faults.As(c.err); {
		case f == nil && c.want == "":
		case f == nil || f.Message != c.want || f.Kind != faults.Conflict:
			t.Errorf("%v, not %q", c.err, c.want)
		}
	}
}

func TestWhatOlderClientsSee(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state provision.State
		minor int
		want  provision.State
	}{
		{"available", 1, ""}, {"available", 2, "available"}, {"inspect wait", 38, "inspecting"}, {"inspect wait", 39, "inspect wait"}, {"active", 1, "active"},
	} {
		if got := c.state.Shown(microversion.V(1, c.minor)); got != c.want {
			t.Errorf("%s at 1.%d: %q, not %q", c.state, c.minor, got, c.want)
		}
	}
	if provision.Initial(microversion.V(1, 10)) != provision.Available || provision.Initial(microversion.V(1, 11)) != provision.Enroll {
		t.Error("a new node is available until 1.10 and enrolled from 1.11 on")
	}
}

// Whatever happens to a node, it stays within the machine: no event leads to a
// state that isn't one, a stable state has no target and every other has one.
func TestNoEventLeadsOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := provision.Position{State: provision.Enroll}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			var possible []provision.Event
			for _, e := range provision.Events() {
				if _, ok := provision.Next(p.State, e); ok {
					possible = append(possible, e)
				}
			}
			if len(possible) == 0 {
				t.Fatalf("no way out of %s", p.State)
			}
			target := rapid.SampledFrom([]provision.State{provision.None, provision.Manageable}).Draw(t, "target")
			next, err := p.Apply(rapid.SampledFrom(possible).Draw(t, "event"), target)
			if err != nil {
				t.Fatal(err)
			}
			if info, ok := provision.Lookup(next.State); !ok || (info.Class == provision.Stable) != (next.Target == provision.None) {
				t.Fatalf("%+v after %+v", next, p)
			}
			p = next
		}
	})
}

func TestManualCleanKeepsItsTarget(t *testing.T) {
	t.Parallel()
	p := provision.Position{State: provision.Manageable}
	for _, s := range []struct {
		event  provision.Event
		target provision.State
		want   provision.Position
	}{
		{provision.EventClean, provision.Manageable, provision.Position{State: "cleaning", Target: "manageable"}},
		{provision.EventWait, provision.Manageable, provision.Position{State: "clean wait", Target: "manageable"}},
		{provision.EventResume, provision.Manageable, provision.Position{State: "cleaning", Target: "manageable"}},
		{provision.EventManage, provision.None, provision.Position{State: "manageable"}},
	} {
		var err error
		if p, err = p.Apply(s.event, s.target); err != nil || p != s.want {
			t.Fatalf("%+v, %v after %s", p, err, s.event)
		}
	}
	if _, err := p.Apply(provision.EventDone, provision.None); !faults.Is(err, faults.Conflict) {
		t.Errorf("done in manageable: %v", err)
	}
}

// From every state there is a way back to where a user can do something else.
func TestEveryStateLeadsToAStableOne(t *testing.T) {
	t.Parallel()
	for _, s := range provision.States() {
		seen := map[provision.State]bool{s.State: true}
		for grown := true; grown; {
			grown = false
			for from := range maps.Clone(seen) {
				for _, e := range provision.Events() {
					if to, ok := provision.Next(from, e); ok && !seen[to] {
						seen[to], grown = true, true
					}
				}
			}
		}
		if !seen[provision.Manageable] {
			t.Errorf("no way from %s to %s", s.State, provision.Manageable)
		}
	}
}

// A node is moved along transitions alone, and where it is it may stay; its work
// keeps its target until it has come to rest.
func TestMove(t *testing.T) {
	t.Parallel()
	for _, from := range provision.States() {
		for _, to := range provision.States() {
			leads := from.State == to.State
			for _, e := range provision.Events() {
				next, ok := provision.Next(from.State, e)
				leads = leads || ok && next == to.State
			}
			p := provision.Position{State: from.State, Target: from.Target}
			if from.State == provision.Cleaning {
				p.Target = provision.Manageable
			}
			got, err := p.Move(to.State)
			if (err == nil) != leads {
				t.Errorf("%s to %s: %v", from.State, to.State, err)
			}
			if err == nil && (got.State != to.State || to.State.Stable() && to.State != from.State && got.Target != provision.None) {
				t.Errorf("%s to %s: %+v", from.State, to.State, got)
			}
		}
		failed := provision.Position{State: from.State, Target: from.Target}.Fail()
		if (from.State.Transient() || from.Class == provision.Held) == (failed.State == from.State) || failed.State.Transient() {
			t.Errorf("%s fails to %+v", from.State, failed)
		}
	}
	manual := provision.Position{State: provision.Cleaning, Target: provision.Manageable}
	if waits, err := manual.Move(provision.CleanWait); err != nil || waits.Target != provision.Manageable || waits.Fail().Target != provision.Manageable {
		t.Errorf("%+v, %v", waits, err)
	}
}
