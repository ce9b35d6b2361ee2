package workflowtest

// The world behind the steps.

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// registry is a worker or a test environment.
type registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// control registers what control workers serve, host what the one of a host does.
func (w *World) control(r registry) {
	register[steps.RecordsActivities](r, "records", records{w})
	register[steps.PlacementActivities](r, "placement", placement{w})
	register[steps.NeutronActivities](r, "neutron", neutron{w})
	register[steps.CinderActivities](r, "cinder", cinder{w})
	register[steps.GlanceActivities](r, "glance", glance{w})
}

func (w *World) host(r registry, name string) {
	register[steps.LibvirtActivities](r, "libvirt", libvirt{w, name})
}

// register gives every method of a family's interface its name as a step.
func register[Family any](r registry, family string, impl Family) {
	t := reflect.TypeFor[Family]()
	for i := range t.NumMethod() {
		name := t.Method(i).Name
		r.RegisterActivityWithOptions(reflect.ValueOf(impl).MethodByName(name).Interface(), activity.RegisterOptions{Name: family + "." + name})
	}
}

var errSuperseded = faults.New(faults.Superseded, "Superseded", "another operation owns the server")

// act is one call of a step: counted, struck by the incident before or after
// its work, and unheard if its host is silent.
func act[Out any](w *World, name, host string, work func() (Out, error)) (out Out, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var none Out
	if w.lost {
		return none, encode(errSuperseded)
	}
	call := Call{N: len(w.calls), Step: name, Host: host}
	if w.Op.Finished > 0 && name != "records.Begin" && name != "records.Finish" {
		w.broke("%s was called after the end", name)
	}
	w.calls = append(w.calls, call)
	if err := w.strike(call, false); err != nil {
		return none, encode(err)
	}
	if host != "" && !w.hears(host) {
		err = temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	} else {
		out, err = work()
	}
	w.comeBack(name)
	if struck := w.strike(call, true); struck != nil {
		return none, encode(struck)
	}
	return out, encode(err)
}

// comeBack has the hosts be back that come with the step.
func (w *World) comeBack(step string) {
	for _, h := range w.Hosts {
		if h.BackAfter == step {
			h.Up, h.Answers, h.BackAfter = true, true, ""
		}
	}
}

func (w *World) hears(host string) bool {
	h := w.Hosts[host]
	if h.SilentFor > 0 {
		h.SilentFor--
		return false
	}
	return h.Answers
}

// encode leaves alone what isn't the error of an activity of ours.
func encode(err error) error {
	if temporal.IsTimeoutError(err) || temporal.IsCanceledError(err) {
		return err
	}
	return steps.Encode(err)
}

// holds says whether a fence still holds.
func (w *World) holds(f steps.Fence) bool {
	return w.Server.Owner == f.OperationID && w.Server.Generation == f.Generation && w.Op.RunID == f.RunID
}

// fenced runs a write of the operation.
func fenced[Out any](w *World, name string, f steps.Fence, work func() (Out, error)) (Out, error) {
	return act(w, name, "", func() (out Out, err error) {
		if !w.holds(f) || w.Op.Finished > 0 {
			return out, errSuperseded
		}
		return work()
	})
}

type records struct{ w *World }

func (r records) Begin(_ context.Context, in steps.BeginIn) (steps.BeginOut, error) {
	w := r.w
	return act(w, "records.Begin", "", func() (steps.BeginOut, error) {
		if in.Reset {
			w.Op.Resets++
		}
		if in.OperationID != w.Op.ID || w.Op.Finished > 0 || w.Server.Owner != w.Op.ID || in.Reset {
			return steps.BeginOut{Verdict: steps.Stop, Reason: "finished, superseded or reset"}, nil
		}
		if w.Op.RunID != "" {
			w.Server.Generation++ // another run takes over; in tests both have one id
		}
		w.Op.RunID = in.RunID
		before := w.Op.standing()
		if before == "" && !w.Op.CancelRequested {
			w.Op.Step = in.First
		}
		out := steps.BeginOut{
			Verdict: steps.Run, Kind: w.Op.Kind, ResourceID: ServerID, Generation: w.Server.Generation,
			Deadline: w.Op.Deadline, Step: before, Opened: in.First != "" && w.Op.Step == in.First, HostLater: true, Attempt: max(w.Op.Attempt, 1),
			Effects: slices.Clone(w.Ledger), CancelRequested: w.Op.CancelRequested, Input: w.Op.Input, Recovers: w.Recovers,
			Server: &steps.ServerBrief{
				ID: ServerID, Host: w.Server.Host, VMState: w.Server.VMState, PowerState: w.Server.PowerState, Holds: w.has(),
				Ports: w.Neutron.Asked, Volumes: w.Cinder.Asked, ShelvedImage: w.Server.ShelvedImage, Migration: w.Moves.brief(),
			},
		}
		return out, nil
	})
}

func (r records) Advance(_ context.Context, in steps.AdvanceIn) (steps.AdvanceOut, error) {
	w := r.w
	return fenced(w, "records.Advance", in.Fence, func() (steps.AdvanceOut, error) {
		spec, _ := operations.Lookup(w.Op.Kind)
		if in.Step != operations.StepUndo && !slices.Contains(spec.Steps, in.Step) {
			w.broke("%s has no step %q", w.Op.Kind, in.Step)
		}
		w.settle(in.Settle)
		if !w.Op.stays(spec, in) {
			if spec.Beyond(in.Step) && !spec.Beyond(w.Op.standing()) {
				w.Op.crossed = len(w.calls) - 1
				if w.struck != nil && w.struck.N == w.Op.crossed {
					w.beyond, w.open = true, in.Step == operations.StepMove
				}
			}
			w.Op.Step, w.Op.Attempt = in.Step, in.Attempt
			if spec.Beyond(in.Step) {
				w.Op.Beyond = in.Step
			}
			for _, e := range in.Intend {
				w.intend(e)
			}
		}
		return steps.AdvanceOut{Step: w.Op.Step, Effects: slices.Clone(w.Ledger), CancelRequested: w.Op.CancelRequested}, nil
	})
}

// stays says whether a step is not written: see the engine's.
func (o *Operation) stays(spec operations.Spec, in steps.AdvanceIn) bool {
	if in.Step == operations.StepUndo {
		return !in.Beyond && !spec.Forward() && spec.Beyond(o.Step)
	}
	return o.CancelRequested && spec.Beyond(in.Step) && !spec.Beyond(o.standing())
}

// standing is the step that says how far the operation has come: see the engine's.
func (o *Operation) standing() string {
	if o.Step == operations.StepUndo && o.Beyond != "" {
		return o.Beyond
	}
	return o.Step
}

func (w *World) settle(settlements []steps.Settlement) {
	for _, s := range settlements {
		for i := range w.Ledger {
			if w.Ledger[i].Seq == s.Seq && w.Ledger[i].Open() {
				w.Ledger[i].State = s.State
			}
		}
	}
}

// launches are the kinds of operations that make a guest: when one is done, the
// time that its server was launched at is new. One that recovers another ends as
// that would have.
var launches = []operations.Kind{operations.ServerBuild, operations.ServerRebuild, operations.ServerEvacuate, operations.ServerUnshelve,
	operations.ServerResize, operations.ServerMigrate, operations.ServerRevertResize, operations.ServerRescue}

func (r records) Finish(_ context.Context, in steps.FinishIn) (steps.FinishOut, error) {
	w := r.w
	return act(w, "records.Finish", "", func() (steps.FinishOut, error) {
		if w.Op.Finished > 0 && w.Op.RunID == in.Fence.RunID {
			return steps.FinishOut{}, nil // the run that finished it asks again
		}
		if !w.holds(in.Fence) {
			return steps.FinishOut{}, errSuperseded
		}
		spec, _ := operations.Lookup(w.Op.Kind)
		if in.Result == operations.ResultDone && w.Op.CancelRequested && !spec.Beyond(w.Op.Step) {
			return steps.FinishOut{Cancelled: true}, nil
		}
		w.settle(in.Settle)
		for i := range w.Ledger {
			if !w.Ledger[i].Open() {
				continue
			}
			if in.Result != operations.ResultDone {
				w.broke("finished as %s with %s open", in.Result, w.Ledger[i].Kind)
			}
			w.Ledger[i].State = operations.Passed
		}
		if spec.Exclusive {
			if o := in.Server; o != nil && in.Result == operations.ResultDone && w.Op.Kind != operations.ServerRecover && o.Launched != slices.Contains(launches, w.Op.Kind) {
				w.broke("%s says that a guest was made: %t", w.Op.Kind, o.Launched)
			}
			w.publish(in.Server)
		} else if in.Server != nil {
			w.broke("%s says what the server is", w.Op.Kind)
		}
		w.Op.Finished++
		w.Op.Result, w.Op.Fault, w.Op.Note = in.Result, in.Fault, in.Note
		w.Server.Owner = ""
		w.Server.Generation++
		return steps.FinishOut{}, nil
	})
}

func (w *World) publish(o *steps.ServerOutcome) {
	w.Server.TaskState = ""
	if o == nil {
		w.broke("finished without an outcome")
		return
	}
	set(&w.Server.VMState, o.VMState)
	set(&w.Server.PowerState, o.PowerState)
	set(&w.Server.Host, o.Host)
	if o.Migration != nil {
		w.Migrated = o.Migration.Status
		if w.Moves.Row != nil {
			w.settleMove(*o.Migration)
		}
	}
	if o.Rebuilt != nil {
		set(&w.Server.Rebuilt, o.Rebuilt.Name)
	}
	if o.Shelved != nil {
		w.Server.ShelvedImage = o.Shelved.ImageID
	}
	w.Server.Launched = w.Server.Launched || o.Launched
	w.Server.Deleted = w.Server.Deleted || o.Deleted
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

func (r records) Host(_ context.Context, in steps.HostIn) (steps.HostOut, error) {
	return act(r.w, "records.Host", "", func() (steps.HostOut, error) {
		r.w.Moves.asked(r.w)
		return steps.HostOut{Up: r.w.Hosts[in.HostID].Up}, nil
	})
}

func (r records) ServerSpec(_ context.Context, in steps.ServerSpecIn) (steps.ServerSpec, error) {
	return fenced(r.w, "records.ServerSpec", in.Fence, func() (steps.ServerSpec, error) {
		spec := steps.ServerSpec{ServerID: ServerID, Name: "anchor", Hostname: "anchor", VCPUs: r.w.cpus(in.Size), MemoryMB: 512}
		r.w.Device.spec(&spec)
		r.w.Swap.spec(&spec)
		return spec, nil
	})
}

type placement struct{ w *World }

func (p placement) Claim(_ context.Context, in steps.ClaimIn) (steps.ClaimOut, error) {
	w := p.w
	return fenced(w, "placement.Claim", in.Fence, func() (steps.ClaimOut, error) {
		for _, e := range w.Ledger {
			if e.Kind == operations.EffectClaim && e.Attempt == in.Attempt {
				if !e.Open() {
					w.broke("attempt %d claims again after its undo", in.Attempt)
				}
				return steps.ClaimOut{HostID: e.Host, HostName: e.Host, Effects: slices.Clone(w.Ledger)}, nil
			}
		}
		for _, name := range slices.Sorted(maps.Keys(w.Hosts)) {
			h := w.Hosts[name]
			if to := in.Destination; to != nil && to.Host != "" && to.Host != name {
				continue
			}
			if !h.Up || len(h.Claims) >= h.Room || slices.Contains(in.Exclude, name) {
				continue
			}
			h.Claims[ServerID] = true
			w.intend(operations.Effect{Kind: operations.EffectClaim, Ref: ServerID, Host: name, Attempt: in.Attempt})
			return steps.ClaimOut{HostID: name, HostName: name, Effects: slices.Clone(w.Ledger)}, nil
		}
		return steps.ClaimOut{}, faults.New(faults.NoCapacity, "NoValidHost", "No valid host was found.")
	})
}

func (p placement) Release(_ context.Context, in steps.ReleaseIn) (struct{}, error) {
	w := p.w
	return fenced(w, "placement.Release", in.Fence, func() (struct{}, error) {
		for _, e := range w.Ledger {
			if e.Seq == in.Seq && e.Open() {
				// Of a move on one host the migration's room is left.
				if h := w.Hosts[e.Host]; h.Guests[ServerID] && h.Claims[e.Ref] && len(h.Claims) == 1 {
					w.broke("the room on %s was given back under a guest", e.Host)
				}
				if in.Failed && w.Hosts[e.Host].Claims[e.Ref] {
					w.Hosts[e.Host].FailedBuilds++
				}
				delete(w.Hosts[e.Host].Claims, e.Ref)
			}
		}
		return struct{}{}, nil
	})
}

// libvirt is what the worker of one host serves. In the test environment one
// worker serves every queue and the queue says which host is meant.
type libvirt struct {
	w    *World
	host string
}

func (l libvirt) at(ctx context.Context) string {
	if l.host != "" {
		return l.host
	}
	queue := activity.GetInfo(ctx).TaskQueue
	for name := range l.w.Hosts {
		if steps.HostQueue(name) == queue {
			return name
		}
	}
	return ""
}

// onHost runs work that a host does for a token.
func onHost[Out any](ctx context.Context, l libvirt, step string, t steps.Token, work func(*Host) (Out, error)) (Out, error) {
	name := l.at(ctx)
	return act(l.w, step, name, func() (out Out, err error) {
		h := l.w.Hosts[name]
		if t.Older(h.seen) {
			return out, errSuperseded
		}
		h.seen = t
		return work(h)
	})
}

// runsAtHome says whether the server's own host is known to be up and has a guest of
// it, and is another one.
func (w *World) runsAtHome(server string, other *Host) bool {
	home := w.Hosts[w.Server.Host]
	return home != nil && home != other && home.Up && home.Guests[server]
}

func (l libvirt) Build(ctx context.Context, in steps.BuildIn) (steps.BuildOut, error) {
	out, err := onHost(ctx, l, "libvirt.Build", in.Token, func(h *Host) (steps.BuildOut, error) {
		switch {
		case l.w.BadImage:
			return steps.BuildOut{}, faults.New(faults.Invalid, "ImageUnacceptable", "Image is unacceptable: not what it claims to be")
		case h.Broken:
			return steps.BuildOut{}, faults.New(faults.Unavailable, "DiskFull", "no space left")
		case !h.Claims[in.Token.ServerID]:
			l.w.broke("a guest was built without room for it")
		case l.w.runsAtHome(in.Token.ServerID, h):
			l.w.broke("a guest was built beside one that runs")
		case in.Shared != nil && *in.Shared:
			return steps.BuildOut{}, faults.New(faults.Invalid, "InvalidSharedStorage", "Invalid state of instance files on shared storage")
		}
		h.Guests[in.Token.ServerID], h.Power = true, 1
		return steps.BuildOut{PowerState: h.Power}, nil
	})
	if l.w.Linger && err == nil {
		return out, linger(ctx)
	}
	return out, err
}

// Fetch brings a guest that stands still on its source; it doesn't run here.
func (l libvirt) Fetch(ctx context.Context, in steps.FetchIn) (steps.FetchOut, error) {
	return onHost(ctx, l, "libvirt.Fetch", in.Token, func(h *Host) (steps.FetchOut, error) {
		switch source := l.w.Hosts[in.Source]; {
		case h.Broken:
			return steps.FetchOut{}, faults.New(faults.Unavailable, "DiskFull", "no space left")
		case source == nil || !source.Answers:
			return steps.FetchOut{}, faults.New(faults.Unavailable, "HostLink", "the host can't be reached")
		case !source.Guests[in.Token.ServerID]:
			return steps.FetchOut{}, faults.New(faults.NotFound, "GuestNotFound", "the source has no such guest")
		case source.Power == powers[steps.PowerStart]:
			return steps.FetchOut{}, faults.New(faults.Conflict, "GuestRuns", "the guest runs on its source")
		case !h.Claims[in.Token.ServerID]:
			l.w.broke("disks were fetched without room for them")
		}
		h.Guests[in.Token.ServerID], h.Power = true, 0
		return steps.FetchOut{Bytes: 1}, nil
	})
}

func (l libvirt) Destroy(ctx context.Context, in steps.DestroyIn) (struct{}, error) {
	return onHost(ctx, l, "libvirt.Destroy", in.Token, func(h *Host) (struct{}, error) {
		delete(h.Guests, in.Token.ServerID)
		h.Rescue, h.CPUs, h.Aside = Rescue{}, 0, false
		return struct{}{}, nil
	})
}

// powers are the power states that actions lead to.
var powers = map[steps.PowerAction]int{
	steps.PowerStart: 1, steps.PowerReboot: 1, steps.PowerHardReboot: 1, steps.PowerUnpause: 1, steps.PowerResume: 1,
	steps.PowerStop: 4, steps.PowerForceStop: 4, steps.PowerPause: 3, steps.PowerSuspend: 4,
}

func (l libvirt) Power(ctx context.Context, in steps.PowerIn) (steps.PowerOut, error) {
	if in.Action == steps.PowerObserve {
		return l.observe(ctx, in)
	}
	var lingers bool
	out, err := onHost(ctx, l, "libvirt.Power", in.Token, func(h *Host) (steps.PowerOut, error) {
		switch {
		case !h.Guests[in.Token.ServerID]:
			return steps.PowerOut{}, faults.New(faults.NotFound, "InstanceNotFound", "the host has no such guest")
		case in.Action == steps.PowerUndoRescue:
			h.leaveRescue(in.Action)
			return steps.PowerOut{PowerState: h.Power}, nil
		case in.Action == steps.PowerUndoResize, in.Action == steps.PowerKeepResize:
			h.leaveResize(in.Action)
			return steps.PowerOut{PowerState: h.Power}, nil
		case h.Unable:
			return steps.PowerOut{}, faults.New(faults.Invalid, steps.CodeNotSupported, "no such thing")
		case h.Broken:
			return steps.PowerOut{}, faults.New(faults.Unavailable, "DiskFull", "no space left")
		case l.w.Linger:
			l.w.Linger, lingers = false, true
			return steps.PowerOut{}, nil
		case in.Action == steps.PowerUnrescue:
			h.leaveRescue(in.Action)
			return steps.PowerOut{PowerState: h.Power}, nil
		}
		switch {
		case in.Action == steps.PowerInjectNMI:
		case in.Action == steps.PowerStop && l.w.Op.Kind == operations.ServerRevertResize:
			l.w.quiet(h, in)
		default:
			h.Power = powers[in.Action]
		}
		return steps.PowerOut{PowerState: h.Power}, nil
	})
	if lingers {
		return out, linger(ctx)
	}
	return out, err
}

// observe is fenced by nothing, since it changes nothing.
func (l libvirt) observe(ctx context.Context, in steps.PowerIn) (steps.PowerOut, error) {
	name := l.at(ctx)
	return act(l.w, "libvirt.Power", name, func() (steps.PowerOut, error) {
		h := l.w.Hosts[name]
		if !h.Guests[in.Token.ServerID] {
			return steps.PowerOut{Missing: true}, nil
		}
		return steps.PowerOut{PowerState: h.Power}, nil
	})
}

// linger is at work until it is cancelled.
func linger(ctx context.Context) error {
	for ctx.Err() == nil {
		activity.RecordHeartbeat(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return temporal.NewCanceledError()
}
