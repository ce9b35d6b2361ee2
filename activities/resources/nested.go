package resources

// Nested stacks: resources that are stacks of their own.

import (
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// around is what a type of our own database has to know of the stack: a nested one
// of its parent, another of the resources beside it; and the transaction in which
// all are written.
type around struct {
	tx store.Tx
	// world has resources as they are by now, keep has one be written.
	world      *stacks.World
	keep       func(*orchestration.Resource)
	parent     *orchestration.Stack
	definition *stacks.Definition
	operation  engine.Operation
	// abandon says of a delete that it leaves what there is outside, converge of an update
	// that it looks at that first.
	abandon, converge bool
	// traversal and node are what the resource is worked on as.
	traversal string
	node      int64
	// started are operations that may start once the transaction is committed.
	started []string
}

// nested is a type whose resource is a stack. Whatever is done with it is an
// operation on that stack, a part of the traversal that asks for it: accepted in
// the transaction that says so in the resource's row, and looked at from time to
// time. It ends with the parent's if that fails or is cancelled.
type nested struct {
	*Activities
	// made is what the stack is to be made by after a batch; it has no more than so
	// many resources.
	made func(c *Call, now become, b batch, most int) (*stacks.Nested, error)
	// rolls is how a group changes its members; nil changes all at once. Before it is
	// made there are none.
	rolls func(c *Call, now become) (rolling, error)
	// read takes note of what the stack has become.
	read func(c *Call, of become) error
}

// isStack says whether resources of a type are stacks.
func isStack(t Type) bool { _, is := t.(nested); return is }

// become is what a nested stack has become.
type become struct {
	stack      *orchestration.Stack
	definition *stacks.Definition
	world      *stacks.World
	// rows are its resources, but for those that others took the place of.
	rows []*orchestration.Resource
}

// Instant implements Type: it is done in our own database.
func (nested) Instant() bool { return true }

// stackSpace is the space of ids of nested stacks, by their resources' marks.
var stackSpace = uuid.MustParse("6f1d4c1e-9a53-4d0b-8c43-0a7f1b6c2d5e")

// Create is idempotent by the operation that is a part of the traversal.
func (n nested) Create(ctx context.Context, c *Call) (time.Duration, error) {
	c.PhysicalID = n.idOf(c)
	return n.roll(ctx, c, operations.StackCreate)
}

// idOf is the id of the stack that is made.
func (nested) idOf(c *Call) string {
	return uuid.NewSHA1(stackSpace, []byte(c.parent.ID+" "+c.Mark)).String()
}

// Update is idempotent as Create is. A stack whose making failed before it was there is
// made.
func (n nested) Update(ctx context.Context, c *Call, _ []string) (time.Duration, error) {
	if _, err := orchestration.GetStack(ctx, c.tx, "", c.PhysicalID); faults.Is(err, faults.NotFound) {
		return n.Create(ctx, c)
	}
	return n.roll(ctx, c, operations.StackUpdate)
}

// Check is idempotent as Create is.
func (n nested) Check(ctx context.Context, c *Call) (time.Duration, error) {
	return n.part(ctx, c, operations.StackCheck, c.traversal, whole)
}

// Suspend is idempotent as Create is.
func (n nested) Suspend(ctx context.Context, c *Call) (time.Duration, error) {
	return n.part(ctx, c, operations.StackSuspend, c.traversal, whole)
}

// Resume is idempotent as Create is.
func (n nested) Resume(ctx context.Context, c *Call) (time.Duration, error) {
	return n.part(ctx, c, operations.StackResume, c.traversal, whole)
}

// Delete is idempotent by the stack that is no more.
func (n nested) Delete(ctx context.Context, c *Call) (time.Duration, error) {
	if c.PhysicalID == "" {
		return 0, nil
	}
	s, err := orchestration.GetStack(ctx, c.tx, "", c.PhysicalID)
	if faults.Is(err, faults.NotFound) || err == nil && s.DeletedAt != nil {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return n.part(ctx, c, operations.StackDelete, c.traversal, whole)
}

// partActions are what stacks show of the operations that are parts.
var partActions = map[operations.Kind]string{operations.StackUpdate: orchestration.ActionUpdate, operations.StackDelete: orchestration.ActionDelete,
	operations.StackCheck: orchestration.ActionCheck, operations.StackSuspend: orchestration.ActionSuspend, operations.StackResume: orchestration.ActionResume}

// part has an operation on the stack be accepted, as the part of a traversal that has
// a name, and after that waits for its end.
func (n nested) part(ctx context.Context, c *Call, kind operations.Kind, name string, b batch) (time.Duration, error) {
	id, err := orchestration.PartOf(ctx, c.tx, c.PhysicalID, kind, name)
	if err != nil {
		return 0, err
	}
	if id == "" {
		return nextLook(c.parent.Size), n.begin(ctx, c, kind, name, b)
	}
	op, err := n.engine.Get(ctx, c.tx, id)
	switch {
	case err != nil:
		return 0, err
	case !op.Finished():
		return nextLook(c.parent.Size), nil
	case op.Result != operations.ResultDone:
		return 0, n.failure(ctx, c, op)
	case kind == operations.StackDelete:
		return 0, nil
	}
	of, err := n.become(ctx, c)
	if err != nil {
		return 0, err
	}
	return 0, n.read(c, of)
}

func (n nested) become(ctx context.Context, c *Call) (of become, err error) {
	if of.stack, err = orchestration.GetStack(ctx, c.tx, "", c.PhysicalID); err != nil {
		return of, err
	}
	if of.definition, err = n.definition(ctx, c.tx, of.stack, of.stack.TemplateID); err != nil {
		return of, err
	}
	rows, err := orchestration.Resources(ctx, c.tx, c.PhysicalID)
	of.world = stacks.NewWorld(rows, n.o.Box)
	of.rows = slices.DeleteFunc(rows, func(r *orchestration.Resource) bool { return r.ReplacedBy != 0 })
	return of, err
}

// nextLook is how long nobody looks at an operation on one of so many resources, whose
// end knocks at the parent: that it has ended is seen late by as much if that got lost.
// All can be looked at in a part of that time, or the parent would do nothing else.
func nextLook(resources int) time.Duration {
	const least, each = 5 * time.Second, 10 * time.Millisecond
	return max(least, time.Duration(resources)*each)
}

// begin has an operation on the stack be accepted.
func (n nested) begin(ctx context.Context, c *Call, kind operations.Kind, name string, b batch) error {
	in := steps.TraversalInput{PartOf: name, Node: c.node, Abandon: c.abandon, Converge: c.converge}
	if err := n.write(ctx, c, kind, b, &in); err != nil {
		return err
	}
	accepted, err := n.engine.Accept(ctx, c.tx, engine.Request{Kind: kind, ResourceID: c.PhysicalID, ProjectID: c.ProjectID, UserID: c.operation.UserID,
		RequestID: c.operation.RequestID, Parent: c.operation.ID, Input: in})
	if err != nil || accepted.Meeting == operations.Join {
		return err
	}
	if accepted.Startable {
		c.started = append(c.started, accepted.OperationID)
	}
	if action := partActions[kind]; action != "" {
		return orchestration.StartAction(ctx, c.tx, c.PhysicalID, action)
	}
	return nil
}

// write writes what an operation asks of the stack.
func (n nested) write(ctx context.Context, c *Call, kind operations.Kind, b batch, in *steps.TraversalInput) error {
	made := kind == operations.StackCreate || kind == operations.StackAdopt
	if !made && kind != operations.StackUpdate {
		s, err := orchestration.LockStack(ctx, c.tx, c.ProjectID, c.PhysicalID)
		if err != nil {
			return err
		}
		in.Template = s.TemplateID
		return nil
	}
	var now become
	if n.rolls != nil && kind == operations.StackUpdate {
		var err error
		if now, err = n.become(ctx, c); err != nil {
			return err
		}
	}
	d, err := n.define(ctx, c, now, b)
	if err != nil {
		return err
	}
	row, err := d.Row(c.PhysicalID, n.o.Box)
	if err != nil {
		return err
	}
	if made {
		action := orchestration.ActionCreate
		if kind == operations.StackAdopt {
			action = orchestration.ActionAdopt
		}
		s := &orchestration.Stack{ID: c.PhysicalID, Name: c.Mark, ProjectID: c.ProjectID, UserID: c.parent.UserID, Username: c.parent.Username,
			ParentID: c.parent.ID, ParentResource: c.Name, Depth: d.Depth, Size: len(d.Resources()), Description: "No description",
			Action: action, Reason: "Stack " + action + " started", DisableRollback: true, TimeoutMins: c.parent.TimeoutMins}
		err := orchestration.InsertStack(ctx, c.tx, s, row)
		in.Template = s.TemplateID
		if err == nil && kind == operations.StackAdopt {
			err = n.adoptAll(ctx, c, s, d)
		}
		return err
	}
	s, err := orchestration.LockStack(ctx, c.tx, c.ProjectID, c.PhysicalID)
	if err != nil {
		return err
	}
	in.Previous, s.Size = s.TemplateID, len(d.Resources())
	err = orchestration.PutUpdate(ctx, c.tx, s, row)
	in.Template = row.ID
	return err
}

// define is what the stack is asked to be after a batch, if it can be.
func (n nested) define(ctx context.Context, c *Call, now become, b batch) (*stacks.Definition, error) {
	most := mostMembers
	if n.o.MaxResources >= 0 {
		most = min(most, n.o.MaxResources)
	}
	made, err := n.made(c, now, b, most)
	if err != nil {
		return nil, err
	}
	if len(made.Template.Names()) > most {
		return nil, tooMany()
	}
	d, err := c.definition.Child(made, hot.Identity{Project: c.ProjectID, Name: c.Mark, ID: c.PhysicalID}, c.Name)
	if err != nil {
		return nil, err
	}
	if name := d.Beyond(c.definition, now.definition); name != "" {
		return nil, faults.New(faults.Invalid, "StackValidationFailed", "%s was not known to be a member's type when the stack was asked for", name)
	}
	if n.o.MaxResources >= 0 {
		others, err := orchestration.TreeSize(ctx, c.tx, c.parent.ID, c.PhysicalID)
		if err != nil {
			return nil, err
		}
		if others+len(d.Resources()) > n.o.MaxResources {
			return nil, tooMany()
		}
	}
	return d, d.Validate()
}

func tooMany() error {
	return &hot.Error{Class: hot.LimitExceeded, Message: "Request limit exceeded: Maximum resources per stack exceeded."}
}

// failure is why an operation on the stack has not done what was asked.
func (n nested) failure(ctx context.Context, c *Call, op engine.Operation) error {
	s, err := orchestration.GetStack(ctx, c.tx, "", c.PhysicalID)
	if err != nil {
		return err
	}
	if s.Status == orchestration.Failed && op.Result != operations.ResultSuperseded {
		return insideOf(s.Reason)
	}
	return insideOf(op.Message)
}

// inside is a failure in a nested stack.
type inside struct{ class, path, text string }

// reasons are those of stacks one of whose resources failed.
var reasons = regexp.MustCompile(`(?s)^Resource [A-Z]+ failed: (?:([A-Za-z_]+): )?(resources\.[^ ]+): (.*)$`)

func insideOf(reason string) *inside {
	if m := reasons.FindStringSubmatch(reason); m != nil {
		return &inside{m[1], m[2], m[3]}
	}
	return &inside{text: reason}
}

func (e *inside) Error() string { return e.text }

// at is the failure as a stack has it whose resource at a path the nested one is.
func (e *inside) at(path string) string {
	if e.path != "" {
		path += "." + e.path
	}
	if e.class != "" {
		path = e.class + ": " + path
	}
	return path + ": " + e.text
}
