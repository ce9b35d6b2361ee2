//go:build real

package provision

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"holdfast.dev/integration/venv"
	"holdfast.dev/internal/provision"
)

// original is what machine.py prints.
type original struct {
	States []struct {
		Name   provision.State
		Stable bool
	}
	Events []provision.Event
	Verbs  map[provision.Verb]provision.Event
	// Outcomes are of every state, event and target; To is missing where the
	// event can't happen.
	Outcomes []struct {
		From   provision.State
		Event  provision.Event
		Target provision.State
		To     *struct{ State, Target provision.State }
	}
}

func ask(t *testing.T) (o original) {
	t.Helper()
	command := exec.CommandContext(t.Context(), venv.Program(t, "ironic", "python"), "machine.py")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err == nil {
		err = json.Unmarshal(out, &o)
	}
	if err != nil {
		t.Fatalf("machine.py: %v: %s", err, &stderr)
	}
	return o
}

func TestEveryPairIsTheOriginals(t *testing.T) {
	o := ask(t)
	if len(o.States) != len(provision.States()) || len(o.Events) != len(provision.Events()) {
		t.Errorf("%d states and %d events; the original has %d and %d",
			len(provision.States()), len(provision.Events()), len(o.States), len(o.Events))
	}
	for _, s := range o.States {
		if info, ok := provision.Lookup(s.Name); !ok || info.State.Stable() != s.Stable {
			t.Errorf("%s: %+v; the original's is stable: %t", s.Name, info, s.Stable)
		}
	}
	transitions, pairs := 0, 0
	for _, c := range o.Outcomes {
		got, err := provision.Position{State: c.From}.Apply(c.Event, c.Target)
		if c.Target == provision.None {
			pairs++
			if c.To != nil {
				transitions++
			}
		}
		switch {
		case c.To == nil && err == nil:
			t.Errorf("%s on %s to %q: %+v; the original refuses", c.From, c.Event, c.Target, got)
		case c.To != nil && (err != nil || got.State != c.To.State || got.Target != c.To.Target):
			t.Errorf("%s on %s to %q: %+v, %v; the original: %+v", c.From, c.Event, c.Target, got, err, *c.To)
		}
	}
	if len(o.Outcomes) == 0 || transitions != 93 {
		t.Errorf("%d outcomes with %d transitions", len(o.Outcomes), transitions)
	}
	t.Logf("| %d states, %d events: %d pairs, %d of them transitions; with every target %d outcomes |",
		len(o.States), len(o.Events), pairs, transitions, len(o.Outcomes))
}

func TestVerbsAreTheOriginals(t *testing.T) {
	o := ask(t)
	ours := map[provision.Verb]provision.Event{}
	for _, i := range provision.Verbs() {
		ours[i.Verb] = i.Event
	}
	for verb, event := range o.Verbs {
		if ours[verb] != event {
			t.Errorf("%s asks for %q; the original's for %q", verb, ours[verb], event)
		}
	}
	// Rebuild is in no table of the original: its word is its event's.
	if len(ours) != len(o.Verbs)+1 {
		t.Errorf("%d verbs; the original has %d and rebuild", len(ours), len(o.Verbs))
	}
}
