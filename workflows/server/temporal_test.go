package server_test

// What only a real Temporal server shows, and the histories that later releases
// must be able to replay. Record them anew with
//
//	go test ./workflows/server -run OnTemporal -record

import (
	"flag"
	"testing"

	enums "go.temporal.io/api/enums/v1"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/testenv"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

var record = flag.Bool("record", false, "write the histories of TestOnTemporal to testdata/histories")

func TestMain(m *testing.M) { testenv.Main(m) }

func TestOnTemporal(t *testing.T) {
	lingering := func() *workflowtest.World {
		w := building()
		w.Linger = true
		return w
	}
	cancelDuringBuild := func(t *testing.T, r *workflowtest.Run) {
		r.Reached(t, "libvirt.Build")
		r.Cancel(t)
	}
	const (
		completed = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
		failed    = enums.WORKFLOW_EXECUTION_STATUS_FAILED
		canceled  = enums.WORKFLOW_EXECUTION_STATUS_CANCELED
	)
	for name, story := range map[string]struct {
		world  func() *workflowtest.World
		during func(*testing.T, *workflowtest.Run)
		status enums.WorkflowExecutionStatus
		result operations.Result
		row    string
	}{
		"build-done":                {building, nil, completed, operations.ResultDone, isActive},
		"build-done-on-second-host": {func() *workflowtest.World { return broken(building(), "host-1") }, nil, completed, operations.ResultDone, isActive},
		"build-failed":              {badImage, nil, failed, operations.ResultFailed, isError},
		"build-cancelled":           {lingering, cancelDuringBuild, canceled, operations.ResultCancelled, isError},
		"build-cancelled-by-row":    {func() *workflowtest.World { return cancelled(building()) }, nil, canceled, operations.ResultCancelled, isError},
		"delete-done":               {func() *workflowtest.World { return deleting().Place("host-1") }, nil, completed, operations.ResultDone, isDeleted},
		"delete-with-debt":          {func() *workflowtest.World { return deleting().Place("host-1").Down("host-1") }, nil, completed, operations.ResultDone, isDeleted},
		"recover-build":             {lost(operations.ServerBuild, operations.StepGuest, halfBuilt), nil, completed, operations.ResultDone, isError},
		"recover-delete":            {lost(operations.ServerDelete, operations.StepGuest, placed), nil, completed, operations.ResultDone, isDeleted},
		"recover-stop":              {lost(operations.ServerStop, operations.StepGuest, placed), nil, completed, operations.ResultDone, "stopped, power 4, on a host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, namespace := testenv.Temporal(t)
			w := story.world()
			run := workflowtest.Start(t, address, namespace, server.Workflows[w.Op.Kind], w)
			if story.during != nil {
				story.during(t, run)
			}
			if status := run.End(t); status != story.status {
				t.Errorf("Temporal shows %s, want %s", status, story.status)
			}
			run.Check(t)
			if w.Op.Result != story.result || w.Row() != story.row {
				t.Errorf("%s with the server %q, want %s with %q", w.Op.Result, w.Row(), story.result, story.row)
			}
			if *record && !t.Failed() {
				run.Save(t, histories+"/"+name+".json")
			}
		})
	}
}

// A run that was made by resetting another one by hand ends at once, and
// nothing is touched: the sweeper finds the operation held by nobody.
func TestResetByHand(t *testing.T) {
	t.Parallel()
	address, namespace := testenv.Temporal(t)
	w := building()
	w.Linger = true
	run := workflowtest.Start(t, address, namespace, server.Build, w)
	run.Reached(t, "libvirt.Build")
	before := w.String()
	run.Reset(t)
	if status := run.End(t); status != enums.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		t.Errorf("Temporal shows %s", status)
	}
	if w.Op.Resets != 1 || w.Op.Finished != 0 || w.String() != before {
		t.Errorf("%d resets were seen, and the world is\n%s\nwas\n%s", w.Op.Resets, w, before)
	}
}
