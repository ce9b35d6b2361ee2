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
	definition *stacks.Definition // of Make
	template   int64
	world      *stacks.World
	rows       map[int64]*orchestration.Resource
	now        time.Time
	out        steps.WorkOut

	touched []*orchestration.Resource
	gone    []int64
	events  []orchestration.Event
}

// Batch is idempotent by the rows: what this traversal has done is done, what is
// gone is gone, and what waits goes on waiting. Errors: Superseded.
func (a *Activities) Batch(ctx context.Context, in steps.WorkIn) (out steps.WorkOut, err error) {
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
			if err := s.work(ctx, id); err != nil {
				return err
			}
			open[id] = !slices.Contains(s.out.Done, id)
			if s.out.Failed != nil {
				break
			}
		}
		out = s.out
		return s.write(ctx, tx)
	})
	return out, err
}

// Work is idempotent by the row and by the type. What it is about to do is
// written before it does it. Errors: Superseded, Unavailable.
func (a *Activities) Work(ctx context.Context, in steps.WorkIn) (out steps.WorkOut, err error) {
	if len(in.IDs) != 1 {
		return out, faults.New(faults.Internal, "NotOne", "%d resources are worked on by one activity", len(in.IDs))
	}
	var s *shift
	var c *Call
	err = a.db.InTx(ctx, func(tx store.Tx) (err error) {
		if s, err = a.shift(ctx, tx, in); err != nil {
			return err
		}
		if c, err = s.begin(in.IDs[0]); err != nil {
			return err
		}
		return s.write(ctx, tx)
	})
	if err != nil || c == nil {
		if s != nil {
			out = s.out
		}
		return out, err
	}
	a.beat(ctx)
	wait, failure := s.call(ctx, c, s.rows[in.IDs[0]])
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
	s := &shift{job: j, rows: map[int64]*orchestration.Resource{}}
	s.out.CancelRequested = j.op.CancelRequestedAt != nil
	if s.now, err = j.now(ctx); err != nil {
		return nil, err
	}
	if in.Phase == steps.Make {
		if s.template, err = j.asked(); err != nil {
			return nil, err
		}
		if s.definition, err = a.definition(ctx, tx, j.stack, s.template); err != nil {
			return nil, err
		}
	}
	rows, err := orchestration.ResourcesWithNeeds(ctx, tx, j.stack.ID, in.IDs)
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
// it needs that one or, where resources are taken away, is needed by it.
func (s *shift) waitsForOne(id int64, open map[int64]bool) bool {
	of := func(r *orchestration.Resource, need int64) bool { return r != nil && slices.Contains(r.Requires, need) }
	for other, is := range open {
		if is && (s.phase == steps.Make && of(s.rows[id], other) || s.phase == steps.Clear && of(s.rows[other], id)) {
			return true
		}
	}
	return false
}

// work does what can be done of one resource now.
func (s *shift) work(ctx context.Context, id int64) error {
	c, err := s.begin(id)
	if err != nil || c == nil {
		return err
	}
	wait, failure := s.call(ctx, c, s.rows[id])
	return s.end(id, c, wait, failure)
}

// action is what the phase does to a resource.
func (s *shift) action() string {
	if s.phase == steps.Clear {
		return orchestration.ActionDelete
	}
	return orchestration.ActionCreate
}

// begin shows that a resource is worked on, and gives the call to its type; nil
// if there is nothing to call: it is done, it waits, or it can't be begun.
func (s *shift) begin(id int64) (*Call, error) {
	r := s.rows[id]
	switch {
	case r != nil && r.DoneIn == s.traversal && r.Status == orchestration.Failed:
		s.out.Failed = &steps.FailedResource{ID: id, Reason: reasonOf(r)}
		return nil, nil
	case r == nil, r.DoneIn == s.traversal:
		s.out.Done = append(s.out.Done, id)
		return nil, nil
	case r.WakeAt != nil && r.WakeAt.After(s.now):
		s.out.Waiting = append(s.out.Waiting, steps.Wait{ID: id, After: r.WakeAt.Sub(s.now)})
		return nil, nil
	case s.phase == steps.Clear && r.Action == orchestration.ActionInit:
		s.gone = append(s.gone, id)
		s.out.Done = append(s.out.Done, id)
		return nil, nil
	}
	state, err := s.world.Of(r.Name)
	if err != nil {
		return nil, err
	}
	if r.Action != s.action() || r.Status != orchestration.InProgress {
		r.Action, r.Status, r.Reason = s.action(), orchestration.InProgress, changed
		s.tell(r)
		if s.phase == steps.Make {
			if err := s.resolve(r, state); err != nil {
				s.fail(r, err)
				return nil, nil
			}
		}
	}
	s.keep(r)
	return &Call{Name: r.Name, Mark: markOf(s.stack, r), Action: r.Action, ProjectID: s.stack.ProjectID, Now: s.now, PhysicalID: r.PhysicalID,
		Properties: state.Properties, Data: state.Data, Attributes: state.Attributes, Reference: state.Reference}, nil
}

// resolve works out what the template says of a resource, as things are now.
func (s *shift) resolve(r *orchestration.Resource, state *stacks.State) error {
	def := s.definition.Resource(r.Name)
	if def == nil {
		return faults.New(faults.Internal, "NoDefinition", "the template has no resource %s", r.Name)
	}
	t, err := s.definition.TypeOf(def)
	if err != nil {
		return err
	}
	if state.Properties, err = s.definition.Resolve(def, t, s.world); err != nil {
		return err
	}
	metadata, err := def.Metadata(s.world)
	if err != nil {
		return err
	}
	text, err := metadata.MarshalJSON()
	if err != nil {
		return err
	}
	r.Metadata, r.DeletionPolicy, r.TemplateID = string(text), def.DeletionPolicy, s.template
	return nil
}

// call has the type do its part.
func (s *shift) call(ctx context.Context, c *Call, r *orchestration.Resource) (time.Duration, error) {
	t := s.o.Types[r.Type]
	switch {
	case t == nil:
		return 0, faults.New(faults.Invalid, hot.NotFound, "The Resource Type (%s) could not be found.", r.Type)
	case s.phase == steps.Clear && r.DeletionPolicy == "Retain":
		return 0, nil
	case s.phase == steps.Clear:
		return t.Delete(ctx, c)
	}
	return t.Create(ctx, c)
}

// end writes down what came of a call.
func (s *shift) end(id int64, c *Call, wait time.Duration, failure error) error {
	r := s.rows[id]
	state, err := s.world.Of(r.Name)
	if err != nil {
		return err
	}
	r.PhysicalID, r.WakeAt = c.PhysicalID, nil
	state.Data, state.Attributes, state.Reference = c.Data, c.Attributes, c.Reference
	switch {
	case failure != nil:
		s.fail(r, failure)
		return nil
	case wait > 0:
		at := s.now.Add(wait)
		r.WakeAt = &at
		s.out.Waiting = append(s.out.Waiting, steps.Wait{ID: id, After: wait})
	default:
		r.Status, r.Reason, r.DoneIn = orchestration.Complete, changed, s.traversal
		s.tell(r)
		s.out.Done = append(s.out.Done, id)
		if s.phase == steps.Clear {
			s.gone = append(s.gone, id)
			return nil
		}
		state.Data = withoutWaits(state.Data)
	}
	s.keep(r)
	return nil
}

// withoutWaits is a type's data without what it had begun to wait for.
func withoutWaits(data *value.Map) *value.Map {
	return data.Without(waitKey(orchestration.ActionCreate))
}

// fail ends a resource's part by its failure, in the original's words.
func (s *shift) fail(r *orchestration.Resource, failure error) {
	class, text := hot.Class(failure), failure.Error()
	if class == "" {
		f := faults.As(failure)
		class, text = f.Code, f.Message
	}
	r.DoneIn = s.traversal
	r.Status, r.Reason, r.WakeAt = orchestration.Failed, class+": resources."+r.Name+": "+text, nil
	s.tell(r)
	s.out.Failed = &steps.FailedResource{ID: r.ID, Reason: reasonOf(r)}
	s.keep(r)
}

func (s *shift) tell(r *orchestration.Resource) {
	s.events = append(s.events, orchestration.EventOf(r))
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
		state, err := s.world.Of(r.Name)
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
	if err := orchestration.InsertEvents(ctx, tx, s.events); err != nil {
		return err
	}
	if len(s.gone) == 0 {
		return nil
	}
	return orchestration.DeleteResources(ctx, tx, s.gone)
}
