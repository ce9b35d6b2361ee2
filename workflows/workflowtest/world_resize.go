package workflowtest

// Moves of a server whose guest stands still: its two sizes, and what is left of
// it where it was.

import (
	"context"
	"slices"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// CPUs of a server in the two sizes of a move.
const (
	oldCPUs = 1
	newCPUs = 2
)

// Relocating gives the server a move of a type that was just asked for.
func (w *World) Relocating(kind string) *World {
	w.Moves.Row = &steps.MigrationBrief{UUID: MigrationID, Type: kind, Status: "pre-migrating", Source: w.Server.Host, OldVMState: w.Server.VMState}
	return w
}

// Moved has the server wait for its move from a host to be confirmed or reverted;
// it was in a state before.
func (w *World) Moved(from, oldVMState string) *World {
	home := w.Server.Host
	w.Left, w.Server.CPUs, w.Hosts[home].CPUs = from, newCPUs, newCPUs
	w.Hosts[from].Claims[MigrationID] = true
	if from == home {
		w.Hosts[home].Aside = true
	} else {
		w.Hosts[from].Guests[ServerID], w.Hosts[from].Power, w.Hosts[from].CPUs = true, 4, oldCPUs
	}
	w.Moves.Row = &steps.MigrationBrief{UUID: MigrationID, Type: "resize", Status: "finished", Source: from, Dest: home, OldVMState: oldVMState, Leftover: true}
	return w
}

// settle makes o true of the move.
func (w *World) settleMove(o steps.MigrationOutcome) {
	row := w.Moves.Row
	if row == nil {
		w.broke("a migration is %s that there is not", o.Status)
		return
	}
	switch o.Flavor {
	case steps.OldSize:
		w.Server.CPUs = oldCPUs
	case steps.NewSize:
		w.Server.CPUs = newCPUs
	}
	w.Left = ""
	if o.Leftover {
		w.Left = row.Source
	}
	if row.Status = o.Status; o.Status != "finished" {
		w.Moves.Row, w.Moves.Ended = nil, o.Status
	}
}

// cpus of a server in a size.
func (w *World) cpus(size steps.Size) int {
	switch size {
	case steps.OldSize:
		return oldCPUs
	case steps.NewSize:
		return newCPUs
	}
	return max(w.Server.CPUs, oldCPUs)
}

// runsElsewhere: what a guest has is not taken from under it, unless its host is down.
func (w *World) runsElsewhere(what, host string) {
	for name, h := range w.Hosts {
		if name != host && h.Up && h.Guests[ServerID] && h.Power == 1 && !w.owes(operations.EffectGuest, name) && !w.owes(operations.EffectStarted, name) {
			w.broke("%s were taken from under the guest that runs on %s", what, name)
		}
	}
}

// quiet is how a guest is stopped whose disks are thrown away next: frozen, unless
// it has volumes, which stay.
func (w *World) quiet(h *Host, in steps.PowerIn) {
	switch {
	case in.Discarded != (w.Cinder.Asked == 0):
		w.broke("a guest with %d volumes was stopped with discarded %t", w.Cinder.Asked, in.Discarded)
	case !in.Discarded:
		h.Power = powers[steps.PowerStop]
	case h.Power == powers[steps.PowerStart]:
		h.Power = powers[steps.PowerPause]
	}
}

// Resize makes the guest of disks that are there.
func (l libvirt) Resize(ctx context.Context, in steps.ResizeIn) (steps.PowerOut, error) {
	var lingers bool
	out, err := onHost(ctx, l, "libvirt.Resize", in.Token, func(h *Host) (steps.PowerOut, error) {
		switch {
		case h.Broken:
			return steps.PowerOut{}, faults.New(faults.Unavailable, "DiskFull", "no space left")
		case !h.Guests[ServerID]:
			return steps.PowerOut{}, faults.New(faults.NotFound, "InstanceNotFound", "the host has no such guest")
		case h.Power == 1:
			return steps.PowerOut{PowerState: h.Power}, nil
		case len(h.Claims) == 0:
			l.w.broke("a guest was made without room for it")
		}
		l.w.runsElsewhere("disks", l.at(ctx))
		lingers, l.w.Linger = l.w.Linger, false
		h.Aside = h.Aside || in.Aside
		h.CPUs, h.Power = in.Spec.VCPUs, 1
		if in.Off {
			h.Power = 4
		}
		return steps.PowerOut{PowerState: h.Power}, nil
	})
	if lingers && err == nil {
		return out, linger(ctx)
	}
	return out, err
}

// leaveResize keeps the guest as it is, or has it be what was set aside.
func (h *Host) leaveResize(action steps.PowerAction) {
	if action == steps.PowerUndoResize && h.Aside {
		h.CPUs, h.Power = oldCPUs, 4
	}
	h.Aside = false
}

// payResize is what is so once the debt of a guest that was moved is paid.
func (w *World) payResize(e operations.Effect) {
	switch e.Kind {
	case operations.EffectStarted:
		w.Hosts[e.Host].Power = 4
	case operations.EffectResized:
		w.Hosts[e.Host].leaveResize(steps.PowerUndoResize)
	case operations.EffectAside:
		w.Hosts[e.Host].leaveResize(steps.PowerKeepResize)
	}
}

// checkMove: the guest has the size that its row says, what is set aside is there
// exactly if a move on that host waits, one guest runs at most, and an operation
// that has ended leaves no move under way.
func (w *World) checkMove(t *testing.T) {
	t.Helper()
	if w.Moves.Row != nil && w.Moves.Row.Status != "finished" && !w.Server.Deleted {
		t.Errorf("the migration is %q and nobody carries it out", w.Moves.Row.Status)
	}
	var running int
	for name, h := range w.Hosts {
		if h.Guests[ServerID] && h.Power == 1 {
			running++
		}
		owed := w.owes(operations.EffectAside, name) || w.owes(operations.EffectResized, name) || w.owes(operations.EffectGuest, name)
		if waits := name == w.Left && name == w.Server.Host && !w.Server.Deleted; h.Aside != waits && !owed {
			t.Errorf("%s has something set aside: %t, want %t", name, h.Aside, waits)
		}
		if want := max(w.Server.CPUs, oldCPUs); name == w.Server.Host && h.CPUs != 0 && h.CPUs != want && !owed && !w.Server.Deleted {
			t.Errorf("the guest on %s has %d CPUs, its row says %d", name, h.CPUs, want)
		}
	}
	if running > 1 && !slices.ContainsFunc(w.Ledger, func(e operations.Effect) bool { return e.State == operations.Owed }) {
		t.Errorf("the guest runs on %d hosts", running)
	}
}
