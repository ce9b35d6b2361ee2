package engine_test

import (
	"testing"

	"github.com/google/uuid"
	"go.temporal.io/api/workflowservice/v1"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/testenv"
)

// A cluster without the namespace has it afterwards; the second time nothing
// is left to do.
func TestPrepareTemporal(t *testing.T) {
	t.Parallel()
	address, _ := testenv.Temporal(t)
	o := engine.TemporalOptions{Address: address, Namespace: "prepared-" + uuid.NewString()}
	for range 2 {
		if err := engine.PrepareTemporal(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	c := must(engine.Dial(o))(t)
	defer c.Close()
	if _, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: o.Namespace}); err != nil {
		t.Error(err)
	}
}
