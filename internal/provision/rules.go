package provision

// Rules: what may be done to a node by its state, apart from verbs, and how its
// state is shown to older clients.

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
)

// Lists of states (contracts: state-machine.json, lists).
var (
	// updatable have a target and can be patched all the same.
	updatable = []State{DeployFailed, Inspecting, InspectFailed, InspectWait, CleanFailed, Error, Verifying, AdoptFailed, RescueFailed,
		UnrescueFailed, ServiceHold, ServiceFailed}
	deletable = []State{Manageable, Enroll, AdoptFailed, Available}
	// rewirable are those in which a node's interfaces may be changed.
	rewirable = []State{Enroll, Inspecting, InspectWait, Manageable, Available}
	// expecting are those in which a node's ramdisk may ask who it is.
	expecting = []State{Deploying, DeployWait, Cleaning, CleanWait, Inspecting, InspectWait, Rescuing, RescueWait, ServiceWait}
	// fastTrack are those in which it may when ramdisks are left running.
	fastTrack = []State{Enroll, Manageable, Available, Deploying, DeployWait, Cleaning, CleanWait, Inspecting, InspectWait, Rescuing, RescueWait,
		Servicing, ServiceWait, ServiceHold}
)

// Initial is the state of a new node.
func Initial(version microversion.Version) State {
	if version.Less(v(11)) {
		return Available
	}
	return Enroll
}

// Shown is the word that clients of a version see for a state; empty is null.
func (s State) Shown(version microversion.Version) State {
	switch {
	case s == Available && version.Less(v(2)):
		return None
	case s == InspectWait && version.Less(v(39)):
		return Inspecting
	}
	return s
}

// Update says whether a node may be patched. Errors: Conflict, it is being
// changed already.
func (p Position) Update(node string, version microversion.Version) error {
	if p.Target != None && !slices.Contains(updatable, p.State) {
		return faults.New(faults.Conflict, "ClientSideError",
			"Node %s can not be updated while a state transition is in progress.", node)
	}
	if p.State == Inspecting && !version.Less(v(39)) {
		return faults.New(faults.Conflict, "ClientSideError",
			"Cannot update node \"%s\" while it is in state \"%s\".", node, p.State)
	}
	return nil
}

// Delete says whether a node in this state may be deleted; in maintenance any
// may. Errors: Conflict.
func (s State) Delete(node string) error {
	if slices.Contains(deletable, s) {
		return nil
	}
	return faults.New(faults.Conflict, "InvalidState",
		"Can not delete node \"%s\" while it is in provision state \"%s\". Valid provision states to perform deletion are: \"%s\", or set the node into maintenance mode",
		node, s, tuple(deletable))
}

// Rewirable says whether a node's interfaces may be changed; in maintenance
// they always may.
func (s State) Rewirable() bool { return slices.Contains(rewirable, s) }

// Expecting says whether a node's ramdisk may ask who it is; fast, where
// ramdisks are left running between operations.
func (s State) Expecting(fast bool) bool {
	return slices.Contains(expecting, s) || fast && slices.Contains(fastTrack, s)
}

// heard are the states in which what a ramdisk says of itself is written down
// (contracts: agent-protocol.json, conductor_effect).
var heard = []State{DeployWait, CleanWait, RescueWait, Deploying, Cleaning, Rescuing, DeployHold, CleanHold, Servicing, ServiceWait, ServiceHold}

// Heard says whether a node in this state hears its ramdisk.
func (s State) Heard() bool { return slices.Contains(heard, s) }

// tuple is how the original prints states.
func tuple(all []State) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = fmt.Sprintf("'%s'", s)
	}
	return "(" + strings.Join(words, ", ") + ")"
}
