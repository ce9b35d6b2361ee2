package bmc

import (
	"fmt"
	"testing"
	"time"

	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// The clock of a BMC is set to this one's, or to what the step is told, once.
func TestTheClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.change("management_interface", "redfish")
	cleans := func(args string) {
		w.change("driver_internal_info", fmt.Sprintf(`{"clean_steps": [{"interface": "management", "step": "set_bmc_clock", "args": %s}]}`, args))
	}
	in := steps.CleanStepIn{Fence: w.Fence, Of: w.Fence.OperationID}
	for args, code := range map[string]string{`{"target_datetime": "yesterday"}`: "InvalidParameterValue", `{"target_datetime": 5}`: "InvalidParameterValue",
		`{"datetime_local_offset": "moon"}`: "InvalidParameterValue"} {
		cleans(args)
		if _, err := w.activities(w.DB).CleanStep(t.Context(), in); err == nil || faults.As(err).Code != code {
			t.Errorf("%s: %v", args, err)
		}
	}
	wanted := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	cleans(`{"target_datetime": "` + wanted + `", "datetime_local_offset": "+02:00"}`)
	w.Kill(func(db *store.DB) error {
		_, err := w.activities(db).CleanStep(t.Context(), in)
		return err
	})
	if ahead, offset := w.Machine.Clock(); ahead < 47*time.Hour || ahead > 49*time.Hour || offset != "+02:00" {
		t.Errorf("%s, %s", ahead, offset)
	}
	// Done once, it isn't done again.
	cleans(`{}`)
	if _, err := w.activities(w.DB).CleanStep(t.Context(), in); err != nil {
		t.Error(err)
	}
	if ahead, _ := w.Machine.Clock(); ahead < 47*time.Hour {
		t.Errorf("%s", ahead)
	}
}

// A clock that is wrong is set right when the node is verified, if that is wanted, wherever
// that is killed; one that can't be fails it.
func TestTheClockIsVerified(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wanted bool
		ahead  time.Duration
		fault  sim.Fault
		left   bool
	}{
		"not wanted": {false, time.Hour, "", true},
		"wrong":      {true, time.Hour, "", false},
		"late":       {true, -time.Minute, "", false},
		"right":      {true, 0, sim.Refuses, false}, // nothing is sent that it could refuse
		"refused":    {true, time.Hour, sim.Refuses, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "redfish", nil)
			w.Machine.SetClock(c.ahead, "+02:00")
			if c.fault != "" {
				w.Machine.MisbehaveMedia(c.fault)
			}
			verify := func(db *store.DB) error {
				a := w.activities(db)
				a.VerifyClock = c.wanted
				_, err := a.Verify(t.Context(), steps.NodeIn{Fence: w.Fence})
				return err
			}
			fails := c.fault != "" && c.left
			if !fails {
				w.Kill(verify)
			}
			err := verify(w.DB)
			if fails != (err != nil) || fails && faults.As(err).Code != steps.VerifyFailure {
				t.Errorf("%v", err)
			}
			ahead, offset := w.Machine.Clock()
			if wrong := ahead < -3*time.Second || ahead > 3*time.Second; wrong != c.left || !wrong && c.ahead != 0 && offset != "+00:00" {
				t.Errorf("%s, %s", ahead, offset)
			}
		})
	}
}

// Every step of verifying that a node may have can be done.
func TestVerifySteps(t *testing.T) {
	t.Parallel()
	all := provision.PhaseVerify.Steps(map[string]string{"management": "redfish"})
	for _, s := range all {
		if verifications[s.ID()] == nil {
			t.Errorf("nobody does %s", s.ID())
		}
	}
	if len(all) == 0 {
		t.Error("there are none")
	}
}
