package steps

// Family resources: a stack's resources, made, changed and taken away. Where
// there are several, in the order that they are named in.

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"
)

// StackBrief is what a workflow needs to know of a stack.
type StackBrief struct {
	ID string `json:"id"`
	// Action is the one that the stack shows.
	Action string `json:"action"`
	// Reason is why it shows it.
	Reason string `json:"reason,omitempty"`
	// Timeout is how long a traversal may take.
	Timeout time.Duration `json:"timeout"`
	// Rollback says that a traversal that failed is taken back.
	Rollback bool `json:"rollback,omitempty"`
	// Snapshots says that snapshots were taken of it.
	Snapshots bool `json:"snapshots,omitempty"`
}

// StackTimeout is the code of the failure of what has taken too long.
const StackTimeout = "StackTimeout"

// StackOutcome is what a finished operation makes true of a stack's row.
type StackOutcome struct {
	Action string `json:"action"`
	Status string `json:"status"`
	// Reason is the fault's if it is empty.
	Reason string `json:"reason,omitempty"`
	// Deleted says that the stack is no more.
	Deleted bool `json:"deleted,omitempty"`
	// Interrupted says why resources that are still in progress go no further;
	// empty is a cancel.
	Interrupted string `json:"interrupted,omitempty"`
}

// TraversalInput is what an operation on a stack is asked for.
type TraversalInput struct {
	// Template is the row of the template that the stack is to be made by.
	Template int64 `json:"template"`
	// Previous is the one that it was made by before; 0 if there is none.
	Previous int64 `json:"previous,omitempty"`
	// PartOf is the traversal of the parent that a nested stack's is a part of, Node the
	// number that the nested one has in it.
	PartOf string `json:"part_of,omitempty"`
	Node   int64  `json:"node,omitempty"`
	// Converge says of an update that what others have changed of resources, or taken
	// away, is made as the template has it.
	Converge bool `json:"converge,omitempty"`
	// Abandon says of a delete, and of the rollback of an adopt, that it leaves what
	// there is outside.
	Abandon bool `json:"abandon,omitempty"`
	// Snapshot is the one that is taken of the stack, restored or deleted.
	Snapshot string `json:"snapshot,omitempty"`
	// Scale is what a group is to become; nil of others.
	Scale *ScaleInput `json:"scale,omitempty"`
}

// ScaleInput is what a group that is a stack is scaled to.
type ScaleInput struct {
	// Members is how many it is to have.
	Members int `json:"members"`
	// Why is the adjustment, as the group's metadata have it, Cooldown for how long
	// none is made after it.
	Why      string        `json:"why"`
	Cooldown time.Duration `json:"cooldown"`
}

// Phase is what a traversal is for.
type Phase string

const (
	// Make has every resource of the template be there.
	Make Phase = "make"
	// Adopt has every resource of the template be what is there already.
	Adopt Phase = "adopt"
	// Back is Make for the template that was there before.
	Back Phase = "back"
	// Clear has no resource be there.
	Clear Phase = "clear"
	// Check asks each resource whether it is still there.
	Check Phase = "check"
	// Suspend puts each to sleep, after those that need it.
	Suspend Phase = "suspend"
	// Resume wakes each, after those that it needs.
	Resume Phase = "resume"
	// Snapshot copies what can be copied.
	Snapshot Phase = "snapshot"
	// Forget takes away the copies that a snapshot has, or all that there are of a
	// stack that goes. Its nodes are copies, not resources.
	Forget Phase = "forget"
)

// PlanIn asks for the graph of the fenced operation's stack.
type PlanIn struct {
	Fence Fence `json:"fence"`
	Phase Phase `json:"phase"`
}

// PlanOut is a graph, of which a workflow knows nothing but numbers: node i is
// the resource IDs[i], and needs those of the nodes Needs[i]. A negative number is
// the taking away of the resource of that number, if nothing needs it by then.
type PlanOut struct {
	IDs   []int64 `json:"ids,omitempty"`
	Needs [][]int `json:"needs,omitempty"`
	// Instant are the nodes whose work is done in our own database.
	Instant []int `json:"instant,omitempty"`
	// Done are those whose part in this traversal an earlier run has done.
	Done []int `json:"done,omitempty"`
	// Unasked says of a Check that there are resources that can't be asked.
	Unasked bool `json:"unasked,omitempty"`
	// Zones says that nothing is planned yet: the template asks for the availability zones
	// of the stack's owner, which are to be read first.
	Zones bool `json:"zones,omitempty"`
}

// ZonesIn asks for the availability zones of the owner of the fenced operation's stack.
type ZonesIn struct {
	Fence Fence `json:"fence"`
	Phase Phase `json:"phase"`
}

// ZonesOut says nothing.
type ZonesOut struct{}

// WorkIn names resources to be worked on, each after those it needs.
type WorkIn struct {
	Fence Fence   `json:"fence"`
	Phase Phase   `json:"phase"`
	IDs   []int64 `json:"ids"`
}

// WorkOut says how far they have come. What is in no list was not begun: another
// failed, or one that it has to wait for waits itself.
type WorkOut struct {
	Done    []int64 `json:"done,omitempty"`
	Waiting []Wait  `json:"waiting,omitempty"`
	// Failed is the first that failed; nil if none has.
	Failed *FailedResource `json:"failed,omitempty"`
	// CancelRequested says what the operation's row says.
	CancelRequested bool `json:"cancel_requested,omitempty"`
}

// Wait is a resource that is to be looked at again after a while.
type Wait struct {
	ID    int64         `json:"id"`
	After time.Duration `json:"after"`
}

// FailedResource is one that failed, and why, as the stack's reason has it.
type FailedResource struct {
	ID     int64  `json:"id"`
	Reason string `json:"reason"`
}

// FailIn says that the work on a resource was given up.
type FailIn struct {
	Fence  Fence  `json:"fence"`
	Phase  Phase  `json:"phase"`
	ID     int64  `json:"id"`
	Reason string `json:"reason"`
}

// FailOut is why, as the stack's reason has it.
type FailOut struct {
	Reason string `json:"reason"`
}

// ScaleIn asks for the members of the group that the fenced operation scales.
type ScaleIn struct {
	Fence Fence `json:"fence"`
}

// ScaleOut says that nothing was asked of the group, since the operation is to end.
type ScaleOut struct {
	CancelRequested bool `json:"cancel_requested,omitempty"`
}

// ScaledIn says that the traversal of a group has come to its end, and whether that
// was what was asked.
type ScaledIn struct {
	Fence Fence `json:"fence"`
	Done  bool  `json:"done"`
}

// ScaledOut says nothing.
type ScaledOut struct{}

// ResourcesActivities is implemented by activities/resources.
type ResourcesActivities interface {
	// Plan: rows that are there stay. Errors: Superseded, Invalid.
	Plan(context.Context, PlanIn) (PlanOut, error)
	// Zones reads the zones that the template of a phase asks for, and keeps them with it:
	// those that are kept stay. Errors: Superseded, Invalid, Unauthorized, Forbidden,
	// Unavailable.
	Zones(context.Context, ZonesIn) (ZonesOut, error)
	// Batch is for instant resources: what is done already is done. Errors: Superseded.
	Batch(context.Context, WorkIn) (WorkOut, error)
	// Work is for one resource that isn't instant. Errors: Superseded,
	// Unavailable.
	Work(context.Context, WorkIn) (WorkOut, error)
	// Fail: one that has failed stays so. Errors: Superseded.
	Fail(context.Context, FailIn) (FailOut, error)
	// Scale: a group that is asked to have so many members stays. Errors: Superseded,
	// Invalid.
	Scale(context.Context, ScaleIn) (ScaleOut, error)
	// Scaled has the parent of a group know what it has become: it is what it is.
	// Errors: Superseded.
	Scaled(context.Context, ScaledIn) (ScaledOut, error)
}

// Resources is the family's caller.
var Resources resourcesSteps

type resourcesSteps struct{}

var (
	resourcesPlan   = databaseStep("resources.Plan", reading)
	resourcesZones  = serviceStep("resources.Zones", service)
	resourcesBatch  = databaseStep("resources.Batch", reading)
	resourcesWork   = serviceStep("resources.Work", service)
	resourcesFail   = localStep("resources.Fail")
	resourcesScale  = databaseStep("resources.Scale", reading)
	resourcesScaled = databaseStep("resources.Scaled", reading)
)

// Plan makes the graph of a traversal.
func (resourcesSteps) Plan(ctx workflow.Context, in PlanIn) (PlanOut, error) {
	return call[PlanOut](ctx, resourcesPlan, "", in)
}

// Zones reads the availability zones of a stack's owner.
func (resourcesSteps) Zones(ctx workflow.Context, in ZonesIn) (ZonesOut, error) {
	return call[ZonesOut](ctx, resourcesZones, ControlQueue, in)
}

// Batch works on instant resources.
func (resourcesSteps) Batch(ctx workflow.Context, in WorkIn) (WorkOut, error) {
	return call[WorkOut](ctx, resourcesBatch, "", in)
}

// Work works on one resource.
func (resourcesSteps) Work(ctx workflow.Context, in WorkIn) (WorkOut, error) {
	return call[WorkOut](ctx, resourcesWork, ControlQueue, in)
}

// Fail writes down that a resource was given up.
func (resourcesSteps) Fail(ctx workflow.Context, in FailIn) (FailOut, error) {
	return call[FailOut](ctx, resourcesFail, "", in)
}

// Scale writes what a group is asked to be.
func (resourcesSteps) Scale(ctx workflow.Context, in ScaleIn) (ScaleOut, error) {
	return call[ScaleOut](ctx, resourcesScale, "", in)
}

// Scaled writes what a group has become.
func (resourcesSteps) Scaled(ctx workflow.Context, in ScaledIn) (ScaledOut, error) {
	return call[ScaledOut](ctx, resourcesScaled, "", in)
}
