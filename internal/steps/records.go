package steps

// Family records: what an operation reads from and writes to Holdfast's own
// database. All of it local, fenced by operation, generation and run.

import (
	"context"
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
)

// Ref is the whole input of every workflow: the operation's id. Everything
// else is in the operation's row.
type Ref struct {
	OperationID string `json:"operation_id"`
}

// Fence proves that a write is made for the operation that owns the resource,
// by the workflow run that began it. A write whose fence no longer holds fails
// with a Superseded error and changes nothing.
type Fence struct {
	OperationID string `json:"operation_id"`
	Generation  int64  `json:"generation"`
	RunID       string `json:"run_id"`
}

// Verdict of records.Begin.
type Verdict string

const (
	// Run: the operation is this run's to carry out.
	Run Verdict = "run"
	// Stop: it is finished, superseded or missing; the workflow ends at once.
	Stop Verdict = "stop"
)

// BeginIn names the run that wants to carry out an operation.
type BeginIn struct {
	OperationID string `json:"operation_id"`
	RunID       string `json:"run_id"`
	// Reset says that this run was made by resetting another one by hand; it is
	// not allowed to go on.
	Reset bool `json:"reset,omitempty"`
	// First is the step that the story begins with, if that has no effects to be
	// written before: an operation that has come to none comes to it at once,
	// unless it is cancelled.
	First string `json:"first,omitempty"`
}

// BeginOut is the operation as the database has it.
type BeginOut struct {
	Verdict    Verdict         `json:"verdict"`
	Reason     string          `json:"reason,omitempty"`
	Kind       operations.Kind `json:"kind,omitempty"`
	ResourceID string          `json:"resource_id,omitempty"`
	Generation int64           `json:"generation,omitempty"`
	Deadline   time.Time       `json:"deadline,omitzero"`
	// Step is the one that an earlier run had come to; empty at the first run.
	Step string `json:"step,omitempty"`
	// Opened says that the operation is in BeginIn.First now.
	Opened bool `json:"opened,omitempty"`
	// HostLater says that the workflow is found by its host only after a while. A
	// history of an earlier release doesn't say so.
	HostLater bool `json:"host_later,omitempty"`
	// Attempt is the last one that the ledger knows of, at least 1.
	Attempt int `json:"attempt,omitempty"`
	// Effects is the ledger so far, by Seq.
	Effects         []operations.Effect `json:"effects,omitempty"`
	CancelRequested bool                `json:"cancel_requested,omitempty"`
	// Server is set for operations on servers.
	Server *ServerBrief `json:"server,omitempty"`
	// Stack is set for operations on stacks.
	Stack *StackBrief `json:"stack,omitempty"`
	// Node is set for operations on nodes.
	Node *NodeBrief `json:"node,omitempty"`
	// Input is what the request asked for (engine.Request.Input); of a recover
	// operation, what that of the dead one had asked for.
	Input json.RawMessage `json:"input,omitempty"`
	// Recovers is set for recover operations: the dead operation whose ledger
	// is in Effects.
	Recovers *Recovered `json:"recovers,omitempty"`
}

// Recovered describes the operation that a recover operation ends.
type Recovered struct {
	OperationID string          `json:"operation_id"`
	Kind        operations.Kind `json:"kind"`
	// Step is the last one it had come to.
	Step string `json:"step"`
	// Cancelled says that somebody had asked for its cancel.
	Cancelled bool `json:"cancelled,omitempty"`
}

// ServerBrief is what a workflow needs to know of a server.
type ServerBrief struct {
	ID string `json:"id"`
	// Host is the id of the host it runs on; empty if none.
	Host       string `json:"host,omitempty"`
	VMState    string `json:"vm_state"`
	PowerState int    `json:"power_state"`
	// Holds is what the server has outside by its own rows (claims, ports,
	// attachments, its guest), in the order in which a build makes them: the
	// ledger lines of an operation that takes them away.
	Holds []operations.Effect `json:"holds,omitempty"`
	// Ports is how many network interfaces it asks for, Volumes how many of its
	// disks are Cinder's.
	Ports   int `json:"ports,omitempty"`
	Volumes int `json:"volumes,omitempty"`
	// ShelvedImage is the image that a shelved server starts from when it runs
	// again; empty for one that boots from a volume.
	ShelvedImage string `json:"shelved_image,omitempty"`
	// Migration is its move that is neither over nor given up; nil if none.
	Migration *MigrationBrief `json:"migration,omitempty"`
}

// MigrationBrief is what a workflow needs to know of a server's move.
type MigrationBrief struct {
	UUID   string `json:"uuid"`
	Type   string `json:"type"`
	Status string `json:"status"`
	// Source and Dest are ids of hosts; Dest is empty until it is chosen.
	Source string `json:"source,omitempty"`
	Dest   string `json:"dest,omitempty"`
	// OldVMState is what the server was before.
	OldVMState string `json:"old_vm_state,omitempty"`
	// Leftover says that the source has what the server had before.
	Leftover bool `json:"leftover,omitempty"`
}

// MigrationOutcome is what a finished operation makes true of its server's open
// migration.
type MigrationOutcome struct {
	// Status is one of servers.MigrationStatus.
	Status string `json:"status"`
	// Flavor makes the server's size one of the migration's; empty leaves it.
	Flavor Size `json:"flavor,omitempty"`
	// Leftover says whether the source keeps what the server had.
	Leftover bool `json:"leftover,omitempty"`
}

// AdvanceIn moves the story on: the step that begins now, the effects it is
// about to have, and what became of earlier ones. One transaction.
type AdvanceIn struct {
	Fence   Fence  `json:"fence"`
	Step    string `json:"step"`
	Attempt int    `json:"attempt,omitempty"`
	// Host is shown with the step; empty leaves it as it is.
	Host   string              `json:"host,omitempty"`
	Intend []operations.Effect `json:"intend,omitempty"`
	Settle []Settlement        `json:"settle,omitempty"`
	// Message is shown with the step, for example why the last host was left.
	Message string `json:"message,omitempty"`
	// Node is what the step shows of a node; nil leaves it.
	Node *NodeMove `json:"node,omitempty"`
	// Beyond says that the run has come past the point of no return, or knows that
	// another has: what it undoes then is what can be.
	Beyond bool `json:"beyond,omitempty"`
}

// Settlement says what became of an effect.
type Settlement struct {
	Seq   int                    `json:"seq"`
	State operations.EffectState `json:"state"`
	// Ref replaces the mark by the name that the service gave; empty leaves it.
	Ref string `json:"ref,omitempty"`
}

// AdvanceOut is the operation after the write.
type AdvanceOut struct {
	// Step is the one that was written, or the one that the operation stays in: a
	// cancelled one that may not pass its point of no return, or one that is past it
	// by a task that its run has never heard of.
	Step            string              `json:"step,omitempty"`
	Effects         []operations.Effect `json:"effects,omitempty"`
	CancelRequested bool                `json:"cancel_requested,omitempty"`
}

// FinishIn ends an operation: state published, ledger settled, fault, action
// result and events written, lock released or handed to the next operation, in
// one transaction.
type FinishIn struct {
	Fence  Fence             `json:"fence"`
	Result operations.Result `json:"result"`
	// Fault is what the user reads when the operation did not succeed.
	Fault *Fault `json:"fault,omitempty"`
	// Note is kept with the operation: "cancelled after its point of no
	// return", for example.
	Note   string         `json:"note,omitempty"`
	Settle []Settlement   `json:"settle,omitempty"`
	Server *ServerOutcome `json:"server,omitempty"`
	Stack  *StackOutcome  `json:"stack,omitempty"`
	Node   *NodeOutcome   `json:"node,omitempty"`
}

// Fault is the reason of a failure as the user reads it.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// HTTPCode is the "code" of a Nova fault: 500 for most.
	HTTPCode int `json:"http_code"`
}

// ServerOutcome is what a finished operation makes true of a server's row.
// A nil field stays as it is; the task state is always cleared.
type ServerOutcome struct {
	VMState    *string `json:"vm_state,omitempty"`
	PowerState *int    `json:"power_state,omitempty"`
	// Host is the id of the host; a pointer to "" takes the server off its host.
	Host *string `json:"host,omitempty"`
	// Launched says that a guest was made, here or elsewhere or with other disks:
	// launched_at is now. Deleted sets deleted_at and frees the quota.
	Launched bool `json:"launched,omitempty"`
	Deleted  bool `json:"deleted,omitempty"`
	// Shelved begins or ends a server's time on the shelf; nil leaves it.
	Shelved *ShelvedOutcome `json:"shelved,omitempty"`
	// Zone is the availability zone that the server may run in from now on; a
	// pointer to "" is any.
	Zone *string `json:"zone,omitempty"`
	// Migration settles the server's open migration; nil leaves it.
	Migration *MigrationOutcome `json:"migration,omitempty"`
	// Rebuilt is what the server has been made anew of; its next boot data is its
	// own then.
	Rebuilt *Rebuild `json:"rebuilt,omitempty"`
}

// FinishOut names the operation that owns the resource now; empty if none.
type FinishOut struct {
	Next string `json:"next,omitempty"`
	// Cancelled says that nothing was written: the operation was to be finished
	// as done, but a cancel had been asked for before its point of no return.
	// Its workflow undoes it and finishes it again.
	Cancelled bool `json:"cancelled,omitempty"`
}

// HostIn asks about a host.
type HostIn struct {
	HostID string `json:"host_id"`
}

// HostOut says whether a host is alive by its heartbeats.
type HostOut struct {
	Up         bool `json:"up"`
	ForcedDown bool `json:"forced_down,omitempty"`
	// Address is where its link listens.
	Address string `json:"address,omitempty"`
}

// RecordsActivities is implemented by activities/records.
type RecordsActivities interface {
	MovingActivities
	NodeActivities
	SwapActivities
	Begin(context.Context, BeginIn) (BeginOut, error)
	Advance(context.Context, AdvanceIn) (AdvanceOut, error)
	Finish(context.Context, FinishIn) (FinishOut, error)
	Host(context.Context, HostIn) (HostOut, error)
	ServerSpec(context.Context, ServerSpecIn) (ServerSpec, error)
	Plugged(context.Context, PluggedIn) (PluggedOut, error)
}

// PluggedIn asks what Neutron has said of the ports of the fenced operation's
// server.
type PluggedIn struct {
	Fence Fence `json:"fence"`
}

// PluggedOut has the ids of ports.
type PluggedOut struct {
	// Waiting are those that Neutron has said nothing of.
	Waiting []string `json:"waiting,omitempty"`
	// Failed are those that it couldn't plug.
	Failed []string `json:"failed,omitempty"`
}

// ServerSpecIn asks for the spec of the fenced operation's server, in the size
// that its row has or one that its open migration has.
type ServerSpecIn struct {
	Fence Fence `json:"fence"`
	Size  Size  `json:"size,omitempty"`
}

// Records is the family's caller.
var Records recordsSteps

type recordsSteps struct{}

func localStep(name string) Step { return databaseStep(name, persistent) }

func databaseStep(name string, retry Retry) Step {
	return define(Step{Name: name, Place: Local, StartToClose: 10 * time.Second, Retry: retry})
}

var (
	recordsBegin      = localStep("records.Begin")
	recordsAdvance    = localStep("records.Advance")
	recordsFinish     = localStep("records.Finish")
	recordsHost       = localStep("records.Host")
	recordsServerSpec = databaseStep("records.ServerSpec", reading)
	recordsPlugged    = localStep("records.Plugged")
)

// Begin is the guard against running twice: the first step of every workflow.
func (recordsSteps) Begin(ctx workflow.Context, in BeginIn) (BeginOut, error) {
	return call[BeginOut](ctx, recordsBegin, "", in)
}

// Advance writes the step and its ledger lines before the step acts.
func (recordsSteps) Advance(ctx workflow.Context, in AdvanceIn) (AdvanceOut, error) {
	return call[AdvanceOut](ctx, recordsAdvance, "", in)
}

// Finish is the last step of every path.
func (recordsSteps) Finish(ctx workflow.Context, in FinishIn) (FinishOut, error) {
	return call[FinishOut](ctx, recordsFinish, "", in)
}

// Host says whether a host is alive.
func (recordsSteps) Host(ctx workflow.Context, in HostIn) (HostOut, error) {
	return call[HostOut](ctx, recordsHost, "", in)
}

// ServerSpec reads what a host has to know to build a server.
func (recordsSteps) ServerSpec(ctx workflow.Context, in ServerSpecIn) (ServerSpec, error) {
	return call[ServerSpec](ctx, recordsServerSpec, "", in)
}

// Plugged reads the inbox for what Neutron has said of a server's ports.
func (recordsSteps) Plugged(ctx workflow.Context, in PluggedIn) (PluggedOut, error) {
	return call[PluggedOut](ctx, recordsPlugged, "", in)
}
