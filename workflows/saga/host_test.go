package saga_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/saga"
	"holdfast.dev/workflows/workflowtest"
)

// A workflow is found by its host when it has been there for a while, and when it
// has ended.
func TestTheHostIsNamed(t *testing.T) {
	t.Parallel()
	named := func(ctx workflow.Context) string {
		host, _ := workflow.GetTypedSearchAttributes(ctx).GetKeyword(temporal.NewSearchAttributeKeyKeyword("Host"))
		return host
	}
	for stay, want := range map[time.Duration]string{time.Second: "", time.Minute: "host-1"} {
		var before, after string
		workflowtest.Told(t, func(ctx workflow.Context, ref steps.Ref) error {
			s, err := saga.Begin(ctx, ref, nil)
			if s == nil {
				return err
			}
			if err := s.Step(operations.StepGuest, saga.Move{Host: s.Begun.Server.Host}); err != nil {
				return err
			}
			if err := saga.Wait(s.Context(), stay, "what takes so long"); err != nil {
				return err
			}
			before = named(ctx)
			now, err := stopGuest(s)
			err = s.Close(saga.Outcome{Server: now, OnFailure: now}, err)
			after = named(ctx)
			return err
		}, running)
		if before != want || after != "host-1" {
			t.Errorf("after %s it is found by host %q, want %q; when it has ended, by %q", stay, before, want, after)
		}
	}
}
