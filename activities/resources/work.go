package resources

// Batch and Work: resources on their way.

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// changed is the reason that the original gives with an ordinary change of state.
const changed = "state changed"

// shift is what one transaction does of the work on some resources.
type shift struct {
	*job
	definition *stacks.Definition // of what is made; nil if all is taken away
	template   int64
	hooks      *hot.Registry // nil if there are none
	world      *stacks.World
	rows       map[int64]*orchestration.Resource
	now        time.Time
	out        steps.WorkOut
	// started are operations on nested stacks that may start.
	started []string
	// kept is what a snapshot has of the copies of resources, by their rows.
	kept map[int64]*value.Map
	// seen is what has become of the resource, where that was looked at.
	seen *observed

	touched []*orchestration.Resource
	gone    []int64
	events  []orchestration.Event
}

// Batch is idempotent by the rows: what this traversal has done is done, what is
// gone is gone, and what waits goes on waiting. Errors: Superseded.
func (a *Activities) Batch(ctx context.Context, in steps.WorkIn) (out steps.WorkOut, err error) {
	if in.Phase == steps.Forget {
		return a.forgetAll(ctx, in)
	}
	var started []string
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		s, err := a.shift(ctx, tx, in)
		if err != nil {
			return err
		}
		open := map[int64]bool{}
		for _, id := range in.IDs {
			open[id] = true
			if s.waitsForOne(id, open) {
				continue
			}
			if err := s.work(ctx, tx, id); err != nil {
				return err
			}
			open[id] = !slices.Contains(s.out.Done, id)
			if s.out.Failed != nil {
				break
			}
		}
		out, started = s.out, s.started
		return s.write(ctx, tx)
	})
	if err == nil && a.o.Offer != nil {
		for _, id := range started {
			a.o.Offer(id)
		}
	}
	return out, err
}

// Work is idempotent by the row and by the type. What it is about to do is
// written before it does it. Errors: Superseded, Unavailable.
func (a *Activities) Work(ctx context.Context, in steps.WorkIn) (out steps.WorkOut, err error) {
	if len(in.IDs) != 1 {
		return out, faults.New(faults.Internal, "NotOne", "%d resources are worked on by one activity", len(in.IDs))
	}
	if in.Phase == steps.Forget {
		return a.forget(ctx, in)
	}
	var s *shift
	var c *Call
	var look *observation
	var seen *observed
	begin := func(tx store.Tx) (err error) {
		if s, err = a.shift(ctx, tx, in); err != nil {
			return err
		}
		if look, err = s.toObserve(ctx, tx, in.IDs[0], seen); err != nil || look != nil {
			return err
		}
		if c, err = s.begin(ctx, tx, in.IDs[0]); err != nil {
			return err
		}
		return s.write(ctx, tx)
	}
	err = a.db.InTx(ctx, begin)
	if err == nil && look != nil {
		if seen, err = look.take(ctx); err == nil {
			err = a.db.InTx(ctx, begin)
		}
	}
	if err != nil || c == nil {
		if s != nil {
			out = s.out
		}
		return out, err
	}
	a.beat(ctx)
	wait, failure := s.call(ctx, c, in.IDs[0])
	if faults.Is(failure, faults.Unavailable) || ctx.Err() != nil {
		return out, errors.Join(ctx.Err(), failure)
	}
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.CheckFence(ctx, tx, in.Fence); err != nil {
			return err
		}
		s.touched, s.events, s.gone = nil, nil, nil
		if err := s.end(in.IDs[0], c, wait, failure); err != nil {
			return err
		}
		return s.write(ctx, tx)
	})
	return s.out, err
}

func (a *Activities) beat(ctx context.Context) {
	if a.o.Heartbeat != nil {
		a.o.Heartbeat(ctx)
		return
	}
	activity.RecordHeartbeat(ctx)
}

// shift reads what the work on some resources needs.
func (a *Activities) shift(ctx context.Context, tx store.Tx, in steps.WorkIn) (*shift, error) {
	j, err := a.open(ctx, tx, in.Fence, in.Phase)
	if err != nil {
		return nil, err
	}
	s := &shift{job: j, rows: map[int64]*orchestration.Resource{}, kept: map[int64]*value.Map{}}
	s.out.CancelRequested = j.op.CancelRequestedAt != nil
	if s.now, err = store.Now(ctx, tx); err != nil {
		return nil, err
	}
	if in.Phase == steps.Make || in.Phase == steps.Adopt || in.Phase == steps.Back {
		s.template = j.asked()
		if s.definition, err = a.definition(ctx, tx, j.stack, s.template); err != nil {
			return nil, err
		}
	}
	if err := s.readHooks(ctx, tx); err != nil {
		return nil, err
	}
	rows, err := s.read(ctx, tx, in.IDs)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		s.rows[r.ID] = r
	}
	s.world = stacks.NewWorld(rows, a.o.Box)
	return s, nil
}

// waitsForOne says whether a resource has to wait for one of those that are open:
// for what it needs, or where it is taken away for what needs it and for what takes
// its place.
func (s *shift) waitsForOne(id int64, open map[int64]bool) bool {
	of := func(r *orchestration.Resource, need int64) bool { return r != nil && slices.Contains(r.Requires, need) }
	for other, is := range open {
		r, o := s.rows[max(id, -id)], s.rows[max(other, -other)]
		switch {
		case !is || id == other:
		case s.phase == steps.Suspend:
			return of(o, id)
		case id > 0 && other > 0 && of(r, other), id < 0 && other < 0 && of(o, -id):
			return true
		case id < 0 && other > 0 && r != nil && o != nil && r.Name == o.Name:
			return true
		}
	}
	return false
}

// current is the row that the work on a node is about: the one of its number, or
// what has taken the place of that.
func (s *shift) current(id int64) *orchestration.Resource {
	if id < 0 {
		return s.rows[-id]
	}
	r := s.rows[id]
	for r != nil && r.ReplacedBy != 0 && s.rows[r.ReplacedBy] != nil {
		r = s.rows[r.ReplacedBy]
	}
	return r
}

// work does what can be done of one resource now.
func (s *shift) work(ctx context.Context, tx store.Tx, id int64) error {
	c, err := s.begin(ctx, tx, id)
	if err != nil || c == nil {
		return err
	}
	wait, failure := s.call(ctx, c, id)
	s.started = append(s.started, c.started...)
	return s.end(id, c, wait, failure)
}

// begin shows that a resource is worked on, and gives the call to its type; nil
// if there is nothing to call: it is done, it waits, or it can't be begun.
func (s *shift) begin(ctx context.Context, tx store.Tx, id int64) (*Call, error) {
	r := s.current(id)
	switch {
	case r != nil && r.DoneIn == s.traversal && r.Status == orchestration.Failed:
		s.out.Failed = &steps.FailedResource{ID: id, Reason: s.reasonOf(r)}
		return nil, nil
	case r == nil, r.DoneIn == s.traversal && id > 0, id < 0 && s.stays(r):
		s.out.Done = append(s.out.Done, id)
		return nil, nil
	case s.input.Scale != nil && s.out.CancelRequested: // the template may be another's by now
		s.out.Waiting = append(s.out.Waiting, steps.Wait{ID: id, After: soon})
		return nil, nil
	case r.WakeAt != nil && r.WakeAt.After(s.now) && !isStack(s.o.Types[r.Carrier()]):
		s.out.Waiting = append(s.out.Waiting, steps.Wait{ID: id, After: r.WakeAt.Sub(s.now)})
		return nil, nil
	case id < 0 && r.Action == orchestration.ActionInit:
		s.gone = append(s.gone, r.ID)
		s.out.Done = append(s.out.Done, id)
		return nil, nil
	}
	if paused, err := s.paused(id, r); err != nil || paused {
		return nil, err
	}
	nothing := false // to be copied of it
	going := ""      // what is gone on with
	if r.Status == orchestration.InProgress {
		going = r.Action
	}
	if v, is := visits[s.phase]; is {
		if !s.visit(id, r, v) {
			return nil, nil
		}
	} else if id > 0 {
		next, err := s.ask(ctx, tx, id, r)
		if err != nil || next == nil {
			return nil, err
		}
		r = next
	} else if r.Action != orchestration.ActionDelete || r.Status != orchestration.InProgress {
		nothing = uncopied(r)
		s.show(r, orchestration.ActionDelete)
	}
	state, err := s.world.Of(r)
	if err != nil {
		return nil, err
	}
	if nothing {
		state.Data.Set(copiedKey, true)
	}
	if r.Action != going {
		state.Data = state.Data.Without(waitKey(r.Action), askedKey) // of one that was cut short
	}
	s.keep(r)
	if err := s.readKept(ctx, tx, r); err != nil {
		return nil, err
	}
	c, err := s.callOf(ctx, tx, id, r, state)
	if err != nil {
		return nil, err
	}
	if e, is := s.o.Types[r.Carrier()].(expectant); is && id > 0 && slices.Contains(making, r.Action) {
		if err := e.expect(ctx, c); err != nil {
			return nil, err
		}
		state.Data = c.Data
	}
	return c, nil
}

// callOf is a call about a row, as things are now.
func (s *shift) callOf(ctx context.Context, tx store.Tx, id int64, r *orchestration.Resource, state *stacks.State) (*Call, error) {
	trust := ""
	if t := s.o.Types[r.Carrier()]; t != nil && !t.Instant() {
		var err error
		if trust, _, err = orchestration.TrustOf(ctx, tx, s.stack.ID); err != nil {
			return nil, err
		}
	}
	return &Call{Name: r.Name, Mark: orchestration.MarkOf(s.stack, r), Action: r.Action, ProjectID: s.stack.ProjectID, UserID: s.stack.UserID, TrustID: trust, Now: s.now, PhysicalID: r.PhysicalID, Before: s.predecessor(r),
		Properties: state.Properties, Metadata: r.Metadata, Data: state.Data, Attributes: state.Attributes, Reference: state.Reference,
		Copy: copyOf(orchestration.MarkOf(s.stack, r), s.input.Snapshot), Kept: s.kept[r.ID], Left: state.Adopts,
		configs: s.configsFor(s.o.Types[r.Carrier()], tx), box: s.o.Box,
		around: around{abandon: s.input.Abandon, tx: tx, world: s.world, keep: s.keep, parent: s.stack, definition: s.definition, operation: s.op.Operation, traversal: s.traversal, node: id, converge: s.input.Converge}}, nil
}

// making are the actions by which there comes to be what a resource is.
var making = []string{orchestration.ActionCreate, orchestration.ActionAdopt}

// predecessor is what has had a resource's place, and is there still.
func (s *shift) predecessor(r *orchestration.Resource) *Before {
	b := s.rows[r.Replaces]
	if b == nil {
		return nil
	}
	return &Before{Mark: orchestration.MarkOf(s.stack, b), PhysicalID: b.PhysicalID}
}

// returns says that a resource takes its place back, and then is given again what it
// has let go of.
func (s *shift) returns(r *orchestration.Resource) bool {
	_, returner := s.o.Types[r.Carrier()].(Returner)
	return s.phase == steps.Back && returner && s.rows[r.Replaces] != nil
}

// stays says of a row of before that it is a resource of the template still.
func (s *shift) stays(r *orchestration.Resource) bool {
	return s.definition != nil && r.ReplacedBy == 0 && s.definition.Resource(r.Name) != nil
}

// show has a resource be seen to be worked on.
func (s *shift) show(r *orchestration.Resource, action string) {
	r.Action, r.Status, r.Reason = action, orchestration.InProgress, changed
	s.tell(r)
}

// call has the type do its part.
func (s *shift) call(ctx context.Context, c *Call, id int64) (time.Duration, error) {
	r := s.current(id)
	t := s.o.Types[r.Carrier()]
	v, visited := visits[s.phase]
	switch {
	case t == nil:
		return 0, faults.New(faults.Invalid, hot.NotFound, "The Resource Type (%s) could not be found.", r.Type)
	case visited && v.hook(t) == nil:
		return 0, nil
	case visited:
		return v.hook(t)(ctx, c)
	case id < 0 && !isUser(t) && (r.DeletionPolicy == "Retain" || s.input.Abandon && !isStack(t)):
		return 0, nil
	case id < 0 && r.DeletionPolicy == copiedPolicy:
		return deleteCopied(ctx, t, c)
	case id < 0:
		return t.Delete(ctx, c)
	case c.Action == orchestration.ActionAdopt && isExternal(c):
		return takeIn(ctx, r.Type, t, c)
	case c.Action == orchestration.ActionAdopt:
		return adopt(ctx, t, c)
	case c.Action == orchestration.ActionUpdate && s.returns(r):
		if wait, err := t.(Returner).Return(ctx, c); wait > 0 || err != nil {
			return wait, err
		}
		return t.Update(ctx, c, changing(c.Data))
	case c.Action == orchestration.ActionUpdate:
		return t.Update(ctx, c, changing(c.Data))
	}
	return t.Create(ctx, c)
}

// end writes down what came of a call.
func (s *shift) end(id int64, c *Call, wait time.Duration, failure error) error {
	r := s.current(id)
	state, err := s.world.Of(r)
	if err != nil {
		return err
	}
	r.PhysicalID, r.WakeAt = c.PhysicalID, nil
	s.kept[r.ID] = c.Kept
	state.Data, state.Attributes, state.Reference = c.Data, c.Attributes, c.Reference
	if failure != nil || wait <= 0 {
		state.Data = state.Data.Without(waitKey(c.Action), askedKey, changingKey, rollingKey) // the way is at its end
	}
	switch {
	case failure != nil:
		s.fail(id, r, failure)
		return nil
	case wait > 0:
		at := s.now.Add(wait)
		r.WakeAt = &at
		if c.Blocked != "" {
			r.Reason = c.Blocked
		}
		s.out.Waiting = append(s.out.Waiting, steps.Wait{ID: id, After: wait})
	default:
		r.Status, r.Reason, r.DoneIn = orchestration.Complete, changed, s.traversal
		s.tell(r)
		if c.Action == orchestration.ActionAdopt && isExternal(c) {
			s.takenIn(r)
		}
		held, err := s.hold(id, r, s.after(id, r))
		switch {
		case err != nil:
			return err
		case held:
			r.DoneIn = ""
		default:
			s.through(id, r)
		}
		if id < 0 {
			return nil
		}
		state.Adopts = nil
		if s.definition == nil {
			break
		}
		if err := s.require(r); err != nil {
			return err
		}
	}
	s.keep(r)
	return nil
}

// fail ends a resource's part by its failure, in the original's words.
func (s *shift) fail(id int64, r *orchestration.Resource, failure error) {
	r.DoneIn = s.traversal
	r.Status, r.Reason, r.WakeAt = orchestration.Failed, reasonAt("resources."+r.Name, failure), nil
	s.tell(r)
	s.out.Failed = &steps.FailedResource{ID: id, Reason: s.reasonOf(r)}
	s.keep(r)
}

// reasonAt is a failure at a path in the original's words.
func reasonAt(path string, failure error) string {
	var inner *inside
	if errors.As(failure, &inner) {
		return inner.at(path)
	}
	class, text := hot.Class(failure), failure.Error()
	if class == "" {
		f := faults.As(failure)
		class, text = f.Code, f.Message
	}
	return class + ": " + path + ": " + text
}

func (s *shift) tell(r *orchestration.Resource) {
	s.events = append(s.events, orchestration.EventOf(s.stack, r))
}

// keep has the row written, with the state that it has by then.
func (s *shift) keep(r *orchestration.Resource) {
	if !slices.Contains(s.touched, r) {
		s.touched = append(s.touched, r)
	}
}

// write writes all that the shift has done.
func (s *shift) write(ctx context.Context, tx store.Tx) error {
	for _, r := range s.touched {
		state, err := s.world.Of(r)
		if err != nil {
			return err
		}
		if err := state.Seal(r, s.o.Box); err != nil {
			return err
		}
	}
	if err := orchestration.PutResources(ctx, tx, s.touched); err != nil {
		return err
	}
	if err := s.writeKept(ctx, tx); err != nil {
		return err
	}
	if err := orchestration.InsertEvents(ctx, tx, s.events); err != nil {
		return err
	}
	if len(s.gone) == 0 {
		return nil
	}
	return orchestration.DeleteResources(ctx, tx, s.gone)
}
