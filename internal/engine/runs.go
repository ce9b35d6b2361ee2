package engine

// What the engine asks of Temporal about the workflow of an operation.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// runs are the workflows that carry operations out.
type runs struct {
	client client.Client
	queue  string
}

// callTimeout bounds a call to Temporal.
const callTimeout = 5 * time.Second

// Search attributes of every workflow, set at its start. Host is set by the
// workflow (workflows/saga).
var (
	attributeKind       = temporal.NewSearchAttributeKeyKeyword("Kind")
	attributeProjectID  = temporal.NewSearchAttributeKeyKeyword("ProjectId")
	attributeResourceID = temporal.NewSearchAttributeKeyKeyword("ResourceId")
	attributeRequestID  = temporal.NewSearchAttributeKeyKeyword("RequestId")
)

// start starts an operation's workflow. exists says that the id has been used,
// by a workflow that runs or one that is closed. Errors: Unavailable (Temporal
// is down), Internal (it refuses this start).
func (r runs) start(ctx context.Context, op Operation) (exists bool, err error) {
	spec, _ := operations.Lookup(op.Kind)
	ctx, cancel := context.WithTimeout(withTrace(ctx, op), callTimeout)
	defer cancel()
	_, err = r.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       op.ID,
		TaskQueue:                                r.queue,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		TypedSearchAttributes:                    attributes(op),
		StaticSummary:                            fmt.Sprintf("%s %s %s", spec.Verb, spec.Resource, op.ResourceID),
	}, string(op.Kind), steps.Ref{OperationID: op.ID})
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) {
		return true, nil
	}
	return false, temporalFault(err)
}

// maxAttribute is how long a search attribute may be in Temporal's tables.
const maxAttribute = 255

// attributes are an operation's search attributes; what is empty has none. One
// that is too long is cut, since the start would be refused for ever.
func attributes(op Operation) temporal.SearchAttributes {
	var updates []temporal.SearchAttributeUpdate
	set := func(key temporal.SearchAttributeKeyKeyword, value string) {
		if len(value) > maxAttribute {
			value = strings.ToValidUTF8(value[:maxAttribute], "")
		}
		if value != "" {
			updates = append(updates, key.ValueSet(value))
		}
	}
	set(attributeKind, string(op.Kind))
	set(attributeProjectID, op.ProjectID)
	set(attributeResourceID, op.ResourceID)
	set(attributeRequestID, op.RequestID)
	return temporal.NewSearchAttributes(updates...)
}

// life is what has become of an operation's workflow.
type life string

const (
	alive  life = "alive"
	paused life = "paused"
	// failing: it is alive, and no worker can take it further.
	failing life = "failing"
	closed  life = "closed"
	// lost: Temporal knows nothing of it.
	lost life = "lost"
)

// failingAttempt is the attempt at one workflow task from which on a workflow
// counts as failing: a worker that died explains one or two.
const failingAttempt = 3

// look describes an operation's workflow. Errors: Unavailable.
func (r runs) look(ctx context.Context, id string) (life, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := r.client.DescribeWorkflow(ctx, id, "")
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return lost, nil
	}
	if err != nil {
		return "", temporalFault(err)
	}
	described := answer.RawResponse
	switch described.GetWorkflowExecutionInfo().GetStatus() {
	case enums.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return paused, nil
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		if described.GetPendingWorkflowTask().GetAttempt() >= failingAttempt {
			return failing, nil
		}
		return alive, nil
	}
	return closed, nil
}

// cancel delivers a cancel. A workflow that is closed or lost has no ear for
// it; that is found out by looking. Errors: Unavailable.
func (r runs) cancel(ctx context.Context, id string) error {
	return r.tell(ctx, func(ctx context.Context) error { return r.client.CancelWorkflow(ctx, id, "") })
}

// knock tells a workflow that there is something new.
func (r runs) knock(ctx context.Context, id string, of steps.Knocked) error {
	return r.tell(ctx, func(ctx context.Context) error { return r.client.SignalWorkflow(ctx, id, "", steps.Knock, of) })
}

func (r runs) tell(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := send(ctx)
	var notFound *serviceerror.NotFound
	var already *serviceerror.CancellationAlreadyRequested
	if errors.As(err, &notFound) || errors.As(err, &already) {
		return nil
	}
	return temporalFault(err)
}

// temporalFault tells Temporal's being down, or empty and without our
// namespace, from its refusing one call.
func temporalFault(err error) error {
	if err == nil {
		return nil
	}
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) {
		return faults.Wrap(err, faults.Internal, "TemporalRefused", "Temporal refuses the call")
	}
	return faults.Wrap(err, faults.Unavailable, "TemporalUnavailable", "Temporal can't be reached")
}
