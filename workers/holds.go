package workers

// Tests stop steps of control and conductor workers, between their work and their
// answer too.

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"holdfast.dev/internal/operations"
)

// holds asks, around every step, whether it may go on.
type holds struct {
	interceptor.WorkerInterceptorBase
	at func(ctx context.Context, resource, point string) error
}

func (h *holds) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &heldActivity{interceptor.ActivityInboundInterceptorBase{Next: next}, h.at}
}

type heldActivity struct {
	interceptor.ActivityInboundInterceptorBase
	at func(ctx context.Context, resource, point string) error
}

// ExecuteActivity loses the answer of a step that is not let go after its work.
func (a *heldActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	_, resource, verb, _ := operations.ParseID(info.WorkflowExecution.ID)
	point := verb + ":" + info.ActivityType.Name
	if err := a.at(ctx, resource, point); err != nil {
		return nil, err
	}
	out, err := a.Next.ExecuteActivity(ctx, in)
	if err == nil {
		err = a.at(ctx, resource, point+".done")
	}
	return out, err
}
