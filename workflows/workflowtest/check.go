package workflowtest

// The rules that hold after every run, whatever happened in it.

import (
	"maps"
	"slices"
	"testing"

	"holdfast.dev/internal/operations"
)

// check holds a world whose operation has ended against every rule.
func (w *World) check(t *testing.T) {
	t.Helper()
	for _, rule := range w.faulty {
		t.Error(rule)
	}
	if w.Op.Finished != 1 {
		t.Errorf("the operation was finished %d times", w.Op.Finished)
	}
	if w.Server.Owner != "" || w.Server.TaskState != "" {
		t.Errorf("the server is still held by %q for %q", w.Server.Owner, w.Server.TaskState)
	}
	if (w.Op.Fault == nil) != (w.Op.Result == operations.ResultDone) && !w.recovers() {
		t.Errorf("%s with fault %v", w.Op.Result, w.Op.Fault)
	}
	for _, e := range w.Ledger {
		if e.Open() {
			t.Errorf("%s on %s is still open in the ledger", e.Kind, e.Host)
		}
		if e.State == operations.Owed && w.well(e) && (w.struck == nil || w.struck.Host != e.Host) {
			t.Errorf("%s is owed by %s, which is well", e.Kind, e.Host)
		}
	}
	w.checkHosts(t)
	w.checkMove(t)
	w.checkRebuild(t)
	w.checkDevice(t)
	w.checkSwap(t)
	w.checkImages(t)
	w.PayDebts()
	w.checkHosts(t)
	w.checkMove(t)
	w.checkDevice(t)
	w.checkSwap(t)
	w.checkImages(t)
	if t.Failed() {
		t.Logf("the world at the end:\n%s\n%d calls, the last of them %v", w, len(w.calls), w.calls[max(0, len(w.calls)-20):])
	}
}

// well says whether whoever has the effect answers.
func (w *World) well(e operations.Effect) bool {
	switch e.Kind {
	case operations.EffectPorts, operations.EffectPort, operations.EffectBindings, operations.EffectOldBindings, operations.EffectMovedPorts:
		return !w.Neutron.Down
	case operations.EffectVolumes, operations.EffectVolume, operations.EffectConnections, operations.EffectOldConnections, operations.EffectMovedVolumes, operations.EffectOldVolume, operations.EffectSnapshots:
		return !w.Cinder.Down
	case operations.EffectNewVolume:
		return !w.Cinder.Down && !w.owesSwapped()
	case operations.EffectImage:
		return !w.Glance.Down
	}
	return w.Hosts[e.Host].Answers
}

// checkHosts: a claim is there exactly if the server is, or if it is owed; a
// guest only where a claim is, and for certain where the server is, with the
// power that the row says.
func (w *World) checkHosts(t *testing.T) {
	t.Helper()
	home, left := w.Server.Host, w.Left
	if w.Server.Deleted {
		home, left = "", ""
	}
	if bound := w.Neutron.Bound; w.Neutron.Asked > 0 && bound != home && !w.owes(operations.EffectPorts, "") && !w.owes(operations.EffectBindings, "") &&
		!w.owes(operations.EffectOldBindings, "") && !w.owes(operations.EffectMovedPorts, "") {
		t.Errorf("its ports are bound to %q, it is on %q", bound, home)
	}
	if c := w.Cinder; c.Asked > 0 && !w.owes(operations.EffectVolumes, "") && !w.owes(operations.EffectConnections, "") && !w.owes(operations.EffectOldConnections, "") && !w.owes(operations.EffectMovedVolumes, "") &&
		(c.Attached != home || c.Made != (home != "" || w.offloaded()) || c.InUse != (home != "")) {
		t.Errorf("its volumes are %+v, it is on %q", c, home)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Hosts)) {
		h := w.Hosts[name]
		for consumer, place := range map[string]string{ServerID: home, MigrationID: left} {
			if claim, want := h.Claims[consumer], name == place || w.owesClaim(consumer, name); claim != want {
				t.Errorf("claim of %s on %s: %t, want %t", consumer, name, claim, want)
			}
		}
		guest := h.Guests[ServerID]
		if name == home && !guest {
			t.Errorf("the guest on %s is missing", name)
		}
		// A power state of 0 is what the row says of a guest that nobody could look
		// at; only a soft delete and a shelve are done without such a look.
		blind := w.Op.Result != operations.ResultDone || w.Server.VMState == "soft-delete" || w.Server.VMState == "shelved" ||
			w.Recovers != nil && !w.kept()
		if said := w.Server.PowerState; name == home && said != h.Power && (said != 0 || !blind) && !w.owes(operations.EffectHalt, name) {
			t.Errorf("the row says power %d of a guest with power %d", said, h.Power)
		}
		// A guest may be on its own disk though the row says RESCUE: an unrescue
		// that failed late says ERROR.
		if said := name == home && w.Server.VMState == "rescued"; h.Rescue.On && !said && !w.owes(operations.EffectRescue, name) && (w.Op.Kind == operations.ServerRescue || w.Recovers != nil && w.Recovers.Kind == operations.ServerRescue) {
			t.Errorf("the guest on %s is left in its rescue", name)
		}
		if name == left && !guest {
			t.Errorf("what the move left on %s is missing", name)
		}
		if guest && name != home && name != left && !w.owes(operations.EffectGuest, name) {
			t.Errorf("a guest is left on %s", name)
		}
		if w.owes(operations.EffectGuest, name) && !w.owes(operations.EffectClaim, name) {
			t.Errorf("%s owes the guest but not its room", name)
		}
	}
}

func (w *World) recovers() bool {
	spec, _ := operations.Lookup(w.Op.Kind)
	return spec.Recovers()
}
