package bmc

// Failures of the original that must not happen here, by their rows in the table of
// known failures.

import (
	"slices"
	"testing"
	"time"

	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
)

// Row 43: a conductor that was starved takes itself for dead, breaks the locks that it
// has itself, and works beside itself. Here one that comes back too late finds that
// another has the node's BMC, and neither writes nor sends anything.
func TestAnchor43AStarvedConductorDoesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	starved, err := w.activities(w.DB).open(t.Context(), w.Fence, w.Fence.OperationID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.leases SET until = now() - interval '1 second' WHERE node_uuid = $1`, w.Node.UUID); err != nil {
		t.Fatal(err)
	}
	refused := func(when string) {
		t.Helper()
		if err := starved.note(t.Context(), "power/ForceOff"); !faults.Is(err, faults.Unavailable) || faults.As(err).Code != "LeaseLost" {
			t.Errorf("%s it may send: %v", when, err)
		}
		if err := starved.Keep(t.Context()); !faults.Is(err, faults.Unavailable) {
			t.Errorf("%s it has the lease again: %v", when, err)
		}
	}
	other, err := w.activities(w.DB).open(t.Context(), w.Fence, w.Fence.OperationID)
	if err != nil {
		t.Fatal(err)
	}
	refused("beside another")
	other.close(t.Context())
	if out, err := w.power(provision.PowerOn); err != nil || out.PowerState != string(provision.PowerOn) {
		t.Fatalf("%+v, %v", out, err)
	}
	refused("after another")
	starved.close(t.Context())
	if asked := w.Machine.Asked(); !slices.Equal(asked, []string{"On"}) {
		t.Errorf("the BMC was asked for %v", asked)
	}
	w.Fence.Generation-- // one whose operation another run goes on with
	if _, err := w.power(provision.PowerOff); !faults.Is(err, faults.Superseded) || len(w.Machine.Asked()) != 1 {
		t.Errorf("%v, %v", err, w.Machine.Asked())
	}
}

// Row 45: a BMC forgets the task that it was given before anybody has looked, and that is
// waited for for ever. Here the answer, and whatever it names, is not what is looked at, but
// the machine: one that has done it is done, and one that hasn't fails after its time.
func TestAnchor45WhatABMCForgetsIsReadFromItsMachine(t *testing.T) {
	t.Parallel()
	for _, forgets := range []sim.Fault{sim.Drops, sim.Garbage, sim.Slow} {
		w := newWorld(t, "redfish", nil)
		w.Machine.Lag = 50 * time.Millisecond
		w.Machine.Misbehave(forgets)
		if out, err := w.power(provision.PowerOn); err != nil || out.PowerState != string(provision.PowerOn) || !slices.Equal(w.Machine.Turns(), []sim.Power{sim.On}) {
			t.Errorf("%s: %+v, %v, turned %v", forgets, out, err, w.Machine.Turns())
		}
	}
	w := newWorld(t, "redfish", nil)
	w.Machine.Misbehave(sim.Idle)
	in := w.in(provision.PowerOn)
	in.Timeout = 500 * time.Millisecond
	a := w.activities(w.DB)
	a.Patience = time.Minute
	if _, err := a.Power(t.Context(), in); err == nil || faults.As(err).Code != "PowerStateFailure" {
		t.Errorf("one that does nothing: %v", err)
	}
}
