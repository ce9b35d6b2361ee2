package engine

// Accepting an operation in the request's own transaction.

import (
	"context"
	"encoding/json"
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// Request asks for an operation on a resource.
type Request struct {
	Kind                                     operations.Kind
	ResourceID, ProjectID, UserID, RequestID string
	// Input becomes JSON; it holds no secret.
	Input any
	// New says that the transaction has made the resource, so that nothing is in
	// the way of an exclusive operation.
	New bool
	// Parent and RetryOf are operation ids or "".
	Parent, RetryOf string
	// Effects are what the ledger begins with: what the request's own transaction
	// has written for a kind that shares its resource, or what the request has had
	// outside for a kind that is prepared.
	Effects []operations.Effect
}

// Accepted is what became of a request.
type Accepted struct {
	// OperationID is the new operation; the one that was there already if
	// Meeting is Join or Signal.
	OperationID string
	// Meeting is how it met the operation in its way; empty if none was.
	Meeting operations.Meeting
	// Startable says that it owns the resource: it is offered to the Starter
	// after the commit.
	Startable bool
	// Generation is the resource's.
	Generation int64
}

// Accept writes the operation and gives it the resource, a place behind the
// operations that have or share it, or neither, by the table of meetings. For Signal the
// caller puts its event in the inbox of the operation that it is given.
// Errors: Conflict (code OperationInProgress) if it is refused, NotFound, Invalid (a recover kind).
func (e *Engine) Accept(ctx context.Context, tx store.Tx, r Request) (Accepted, error) {
	spec, res, err := e.kind(r.Kind)
	if err != nil {
		return Accepted{}, err
	}
	if spec.Recovers() {
		return Accepted{}, faults.New(faults.Invalid, "NotForRequests", "only the engine recovers operations")
	}
	if r.New && spec.Exclusive {
		return e.own(ctx, tx, r, spec, res, nil, "")
	}
	l, err := res.lock(ctx, tx, r.ResourceID)
	if err != nil {
		return Accepted{}, err
	}
	running, err := unfinished(ctx, tx, l.holder)
	if err != nil {
		return Accepted{}, err
	}
	others, err := sharing(ctx, tx, r.ResourceID)
	if err != nil {
		return Accepted{}, err
	}
	if !spec.Exclusive {
		return e.share(ctx, tx, r, spec, running, others, l.generation)
	}
	if err := mayFollow(others, spec, r); err != nil {
		return Accepted{}, err
	}
	if running == nil {
		return e.own(ctx, tx, r, spec, res, others, "")
	}
	waiting, err := unfinished(ctx, tx, l.next)
	if err != nil {
		return Accepted{}, err
	}
	met := *running
	if waiting != nil {
		met = *waiting
	}
	switch meeting := meet(*running, waiting, r.Kind); meeting {
	case operations.Join, operations.Signal:
		return Accepted{OperationID: met.ID, Meeting: meeting, Generation: l.generation}, nil
	case operations.Preempt:
		if waiting == nil && abandonable(*running) {
			return e.replace(ctx, tx, r, spec, res, others, *running)
		}
		fallthrough
	case operations.Queue:
		return e.wait(ctx, tx, r, spec, res, l, others, *running, waiting, meeting)
	}
	return Accepted{}, busy(spec, r, met.ID)
}

// meet says what becomes of a new operation. If one waits already, the new one
// has to get past both: only one can wait, so it joins that one or takes its
// place, and the latter only where it may come after the running one too.
func meet(running Operation, waiting *Operation, incoming operations.Kind) operations.Meeting {
	first := operations.Meet(running.Kind, incoming)
	if waiting == nil {
		return first
	}
	switch second := operations.Meet(waiting.Kind, incoming); second {
	case operations.Join, operations.Signal:
		return second
	case operations.Preempt:
		if first == operations.Preempt || first == operations.Queue {
			return first
		}
	}
	return operations.Refuse
}

// abandonable says whether the operation may end on the spot: nothing was done
// for it and, the caller holding the resource's row, nothing can begin to be.
// A recover operation holds the only list of what must be undone, and something
// was done for one that is prepared.
func abandonable(op Operation) bool {
	spec, ok := operations.Lookup(op.Kind)
	return !op.Begun() && ok && !spec.Recovers() && !spec.Prepared
}

// own writes the operation as the owner of its resource. While others share
// that, it may not be started.
func (e *Engine) own(ctx context.Context, tx store.Tx, r Request, spec operations.Spec, res Resource, others []Operation, meeting operations.Meeting) (Accepted, error) {
	op, err := r.operation()
	if err != nil {
		return Accepted{}, err
	}
	startable := !slices.ContainsFunc(others, func(other Operation) bool { return !givesWay(other, r.Kind) })
	var b batch
	if err := b.insert(ctx, spec, op, startable, starterGrace, r.Effects...); err != nil {
		return Accepted{}, err
	}
	if len(others) > 0 {
		if err := b.send(ctx, tx, "accept "+op.ID); err != nil {
			return Accepted{}, err
		}
		if err := preempt(ctx, tx, res, others, r.Kind, op.ID); err != nil {
			return Accepted{}, err
		}
		if meeting == "" {
			meeting = operations.Meet(others[0].Kind, r.Kind)
		}
		b = batch{}
	}
	var generation int64
	b.take(res, r.ResourceID, op.ID, &generation)
	err = b.send(ctx, tx, "accept "+op.ID)
	return Accepted{OperationID: op.ID, Meeting: meeting, Startable: startable, Generation: generation}, err
}

// replace puts the operation in the place of one that has not begun.
func (e *Engine) replace(ctx context.Context, tx store.Tx, r Request, spec operations.Spec, res Resource, others []Operation, running Operation) (Accepted, error) {
	accepted, err := e.own(ctx, tx, r, spec, res, others, operations.Preempt)
	if err != nil {
		return Accepted{}, err
	}
	return accepted, res.withdraw(ctx, tx, running, supersededBy(accepted.OperationID))
}

// wait writes the operation as the one that comes next, in the place of one
// that waited before. To pre-empt is to ask the running one for its cancel too.
func (e *Engine) wait(ctx context.Context, tx store.Tx, r Request, spec operations.Spec, res Resource, l lock,
	others []Operation, running Operation, waiting *Operation, meeting operations.Meeting) (Accepted, error) {
	op, err := r.operation()
	if err != nil {
		return Accepted{}, err
	}
	if err := insert(ctx, tx, spec, op, false, 0, r.Effects...); err != nil {
		return Accepted{}, err
	}
	if err := preempt(ctx, tx, res, others, r.Kind, op.ID); err != nil {
		return Accepted{}, err
	}
	if err := res.await(ctx, tx, r.ResourceID, op.ID); err != nil {
		return Accepted{}, err
	}
	if waiting != nil {
		if err := res.withdraw(ctx, tx, *waiting, supersededBy(op.ID)); err != nil {
			return Accepted{}, err
		}
	}
	if meeting == operations.Preempt {
		if err := noteCancel(ctx, tx, running.ID, op.ID); err != nil {
			return Accepted{}, err
		}
	}
	return Accepted{OperationID: op.ID, Meeting: meeting, Generation: l.generation}, nil
}

func supersededBy(id string) ending {
	return ending{result: operations.ResultSuperseded, code: "Superseded", message: "superseded by " + id}
}

func (r Request) operation() (*Operation, error) {
	input := json.RawMessage("{}")
	if r.Input != nil {
		var err error
		if input, err = json.Marshal(r.Input); err != nil {
			return nil, faults.Wrap(err, faults.Internal, "InternalError", "the operation's input can't be written down")
		}
	}
	return &Operation{
		ResourceID: r.ResourceID, ProjectID: r.ProjectID, UserID: r.UserID, RequestID: r.RequestID,
		Input: input, ParentID: r.Parent, RetryOf: r.RetryOf,
	}, nil
}
