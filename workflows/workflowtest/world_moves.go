package workflowtest

// A live migration in the world: its row, its claims, and the guest on its way.

import (
	"context"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Moves is a live migration.
type Moves struct {
	// Row is its row; nil if there is none.
	Row *steps.MigrationBrief
	// Queue is how often it isn't its turn yet.
	Queue int
	// Slow has it take for ever unless it is forced to complete, which was Asked for.
	Slow, Asked bool
	// Unfit can't take the guest in; Stuck has it stay where it is; Unsettled has
	// it stand still there, and only the other host could know.
	Unfit, Stuck, Unsettled bool
	// Ended is the status of a migration that is over.
	Ended   string
	hurried bool
	// givenUp says that the source has said that the guest stays.
	givenUp bool
	looks   int
}

// hostsReturn is how often one looks for hosts that are down until they are back:
// a story past its point of no return waits for them.
const hostsReturn = 60

func (m *Moves) asked(w *World) {
	spec, _ := operations.Lookup(w.Op.Kind)
	if m.Row == nil || m.Row.Type != "live-migration" || !spec.Beyond(w.Op.Step) {
		return
	}
	if m.looks++; m.looks%hostsReturn == 0 {
		for _, h := range w.Hosts {
			h.Up, h.Answers, h.SilentFor = true, true, 0
		}
	}
}

func (m *Moves) brief() *steps.MigrationBrief {
	if m.Row == nil {
		return nil
	}
	row := *m.Row
	return &row
}

// Moving gives the server a live migration that was just asked for.
func (w *World) Moving() *World {
	w.Moves.Row = &steps.MigrationBrief{UUID: MigrationID, Type: "live-migration", Status: "accepted", Source: w.Server.Host}
	return w
}

func (r records) Moving(_ context.Context, in steps.MovingIn) (steps.MovingOut, error) {
	w := r.w
	return fenced(w, "records.Moving", in.Fence, func() (steps.MovingOut, error) {
		if in.Status == "preparing" && w.Moves.Queue > 0 {
			w.Moves.Queue--
			return steps.MovingOut{Queued: true}, nil
		}
		if in.Status != "" {
			w.Moves.Row.Status = in.Status
		}
		return steps.MovingOut{Forced: w.Moves.Asked}, nil
	})
}

func (p placement) ClaimMove(_ context.Context, in steps.MoveClaimIn) (steps.ClaimOut, error) {
	w := p.w
	return fenced(w, "placement.ClaimMove", in.Fence, func() (steps.ClaimOut, error) {
		for _, e := range w.Ledger {
			if e.Kind == operations.EffectClaim && e.Attempt == in.Attempt {
				return steps.ClaimOut{HostID: e.Host, HostName: e.Host, Effects: slices.Clone(w.Ledger)}, nil
			}
		}
		source := w.Moves.Row.Source
		for _, name := range slices.Sorted(maps.Keys(w.Hosts)) {
			h := w.Hosts[name]
			if name == source && !in.SameHost || in.Host != "" && name != in.Host || !h.Up || len(h.Claims) >= h.Room || slices.Contains(in.Exclude, name) {
				continue
			}
			delete(w.Hosts[source].Claims, ServerID)
			w.Hosts[source].Claims[MigrationID], h.Claims[ServerID] = true, true
			w.intend(operations.Effect{Kind: operations.EffectHandover, Ref: MigrationID, Host: source, Attempt: in.Attempt})
			w.intend(operations.Effect{Kind: operations.EffectClaim, Ref: ServerID, Host: name, Attempt: in.Attempt})
			if w.Moves.Row.Dest = name; w.Moves.Row.Type == "live-migration" {
				w.Moves.Row.Status = "queued"
			}
			return steps.ClaimOut{HostID: name, HostName: name, Effects: slices.Clone(w.Ledger)}, nil
		}
		return steps.ClaimOut{}, faults.New(faults.NoCapacity, "NoValidHost", "No valid host was found.")
	})
}

func (p placement) HandBack(_ context.Context, in steps.HandBackIn) (struct{}, error) {
	w := p.w
	return fenced(w, "placement.HandBack", in.Fence, func() (struct{}, error) {
		for _, e := range w.Ledger {
			h := w.Hosts[e.Host]
			if e.Seq != in.Seq || !e.Open() || !h.Claims[MigrationID] {
				continue
			}
			if h.Claims[ServerID] {
				w.broke("the server has the room on %s twice", e.Host)
			}
			delete(h.Claims, MigrationID)
			h.Claims[ServerID] = true
		}
		return struct{}{}, nil
	})
}

func (l libvirt) Depart(ctx context.Context, in steps.DepartIn) (steps.Departure, error) {
	return onHost(ctx, l, "libvirt.Depart", in.Token, func(h *Host) (steps.Departure, error) {
		if !h.Guests[ServerID] {
			return steps.Departure{}, faults.New(faults.Conflict, "InstanceNotRunning", "the guest does not run here")
		}
		return steps.Departure{Folder: "/guest"}, nil
	})
}

func (l libvirt) Land(ctx context.Context, in steps.LandIn) (steps.Landing, error) {
	return onHost(ctx, l, "libvirt.Land", in.Token, func(h *Host) (steps.Landing, error) {
		switch {
		case !h.Claims[ServerID]:
			l.w.broke("a guest was prepared for without room for it")
		case l.w.Moves.Unfit:
			return steps.Landing{}, faults.New(faults.Conflict, "MigrationPreCheckError", "Migration pre-check error: no such CPU")
		}
		return steps.Landing{URI: l.at(ctx), Folder: "/guest"}, nil
	})
}

// Migrate moves the guest, which runs on one host before and on one after.
func (l libvirt) Migrate(ctx context.Context, in steps.MigrateIn) (struct{}, error) {
	w := l.w
	stays, err := onHost(ctx, l, "libvirt.Migrate", in.Token, func(h *Host) (bool, error) {
		if in.Stays && !w.Hosts[w.Moves.Row.Dest].Answers {
			w.broke("a guest stays that may run on the other host")
		}
		switch {
		case !h.Guests[ServerID]:
			return false, nil
		case w.Moves.Unsettled && !in.Stays:
			return false, faults.New(faults.NotFound, steps.MigrationUnsettled, "the guest stands still, and may run on the other host")
		case w.Moves.Stuck, !w.Hosts[w.Moves.Row.Dest].Answers, in.Only, w.Moves.givenUp:
			w.Moves.givenUp = w.Moves.givenUp || in.Only
			return false, faults.New(faults.Conflict, "MigrationError", "Migration error: the other host does not answer")
		case w.Linger, w.Moves.Slow && !w.Moves.hurried:
			return true, nil
		}
		w.leave(h)
		return false, nil
	})
	switch {
	case err != nil || !stays:
		return struct{}{}, err
	case w.Linger:
		return struct{}{}, linger(ctx)
	}
	return struct{}{}, w.leaveOnceHurried(ctx, w.Hosts[l.at(ctx)])
}

func (w *World) leave(h *Host) {
	dest := w.Hosts[w.Moves.Row.Dest]
	delete(h.Guests, ServerID)
	dest.Guests[ServerID], dest.Power = true, h.Power
}

func (w *World) leaveOnceHurried(ctx context.Context, h *Host) error {
	for ctx.Err() == nil {
		activity.RecordHeartbeat(ctx)
		w.mu.Lock()
		hurried := w.Moves.hurried
		if hurried {
			w.leave(h)
		}
		w.mu.Unlock()
		if hurried {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return temporal.NewCanceledError()
}

func (l libvirt) ForceComplete(ctx context.Context, in steps.ForceCompleteIn) (struct{}, error) {
	return onHost(ctx, l, "libvirt.ForceComplete", in.Token, func(*Host) (struct{}, error) {
		l.w.Moves.hurried = true
		return struct{}{}, nil
	})
}

func (l libvirt) Landed(ctx context.Context, in steps.LandedIn) (steps.LandedOut, error) {
	return onHost(ctx, l, "libvirt.Landed", in.Token, func(h *Host) (steps.LandedOut, error) {
		return steps.LandedOut{Here: h.Guests[ServerID], PowerState: h.Power}, nil
	})
}

func (n neutron) Follow(_ context.Context, in steps.FollowIn) (struct{}, error) {
	w := n.w
	return fenced(w, "neutron.Follow", in.Fence, func() (struct{}, error) {
		if w.Neutron.Down {
			return struct{}{}, errDown
		}
		w.follows("ports", in.HostID)
		w.Neutron.Bound = in.HostID
		return struct{}{}, nil
	})
}

func (c cinder) Follow(_ context.Context, in steps.FollowIn) (struct{}, error) {
	w := c.w
	return fenced(w, "cinder.Follow", in.Fence, func() (struct{}, error) {
		if w.Cinder.Down {
			return struct{}{}, errDown
		}
		w.follows("volumes", in.HostID)
		w.Cinder.Attached = in.HostID
		return struct{}{}, nil
	})
}

// follows: ports and volumes go to where the guest has gone.
func (w *World) follows(what, host string) {
	if h := w.Hosts[host]; h == nil || !h.Guests[ServerID] {
		w.broke("%s follow a guest to %q, where it isn't", what, host)
	}
}
