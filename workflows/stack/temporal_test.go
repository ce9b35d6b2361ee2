package stack

// What only a real Temporal server shows, and the histories that later releases
// must be able to replay. Record them anew with
//
//	go run ./dev/testservices -- go test ./workflows/stack -run OnTemporal -record

import (
	"flag"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/testenv"
	"holdfast.dev/workflows/workflowtest"
)

var record = flag.Bool("record", false, "write the histories of TestOnTemporal to testdata/histories")

const histories = "testdata/histories"

func TestMain(m *testing.M) {
	flag.Parse()
	testenv.Main(m)
}

const (
	isCompleted = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	isFailed    = enums.WORKFLOW_EXECUTION_STATUS_FAILED
	isCanceled  = enums.WORKFLOW_EXECUTION_STATUS_CANCELED
)

// quick has what waits wait no time.
func quick(w *world) { w.pause = time.Millisecond }

// slow has one wait for ever; late has no time for that.
func slow(w *world) { w.nodes[2].waits = 1000 }

func late(w *world) { w.nodes[2].waits, w.timeout = 1000, time.Second }

var onTemporal = map[string]workflowtest.Recital[*world]{
	"create-done":              {World: diamond(quick), Status: isCompleted, Ends: "done CREATE_COMPLETE"},
	"create-failed":            {World: diamond(quick, failing(1)), Status: isFailed, Ends: "failed CREATE_FAILED"},
	"create-rolled-back":       {World: diamond(quick, failing(3), rolledBack), Status: isFailed, Ends: "failed ROLLBACK_COMPLETE"},
	"create-cancelled":         {World: diamond(func(w *world) { w.nodes[2].waits = 1000 }), Cancel: 7, Status: isCanceled, Ends: "cancelled CREATE_FAILED"},
	"create-timed-out":         {World: diamond(func(w *world) { w.nodes[2].waits, w.timeout = 1000, time.Second }), Status: isFailed, Ends: "failed CREATE_FAILED"},
	"create-zones-done":        {World: diamond(quick, asking), Status: isCompleted, Ends: "done CREATE_COMPLETE"},
	"create-zones-failed":      {World: diamond(asking, func(w *world) { w.forgets = true }), Status: isFailed, Ends: "failed CREATE_FAILED"},
	"create-zones-cancelled":   {World: diamond(asking, slow), Cancel: 2, Status: isCanceled, Ends: "cancelled CREATE_FAILED"},
	"update-zones-rolled-back": {World: diamond(quick, of(operations.StackUpdate), asking, failing(3), rolledBack), Status: isFailed, Ends: "failed ROLLBACK_COMPLETE"},
	"adopt-done":               {World: diamond(quick, of(operations.StackAdopt)), Status: isCompleted, Ends: "done ADOPT_COMPLETE"},
	"adopt-failed":             {World: diamond(quick, of(operations.StackAdopt), failing(1)), Status: isFailed, Ends: "failed ADOPT_FAILED"},
	"adopt-rolled-back":        {World: diamond(quick, of(operations.StackAdopt), failing(3), rolledBack), Status: isFailed, Ends: "failed ROLLBACK_COMPLETE"},
	"adopt-cancelled":          {World: diamond(of(operations.StackAdopt), slow), Cancel: 7, Status: isCanceled, Ends: "cancelled ADOPT_FAILED"},
	"recover-adopt":            {World: diamond(recovering(operations.StackAdopt)), Status: isCompleted, Ends: "done CREATE_FAILED"},
	"update-done":              {World: diamond(quick, of(operations.StackUpdate)), Status: isCompleted, Ends: "done UPDATE_COMPLETE"},
	"update-rolled-back":       {World: diamond(quick, of(operations.StackUpdate), failing(3), rolledBack), Status: isFailed, Ends: "failed ROLLBACK_COMPLETE"},
	"update-cancelled":         {World: diamond(of(operations.StackUpdate), func(w *world) { w.nodes[2].waits = 1000 }), Cancel: 7, Status: isCanceled, Ends: "cancelled UPDATE_FAILED"},
	"delete-done":              {World: diamond(quick, of(operations.StackDelete), made), Status: isCompleted, Ends: "done DELETE_COMPLETE"},
	"delete-failed":            {World: diamond(of(operations.StackDelete), made, func(w *world) { w.nodes[2].waits, w.timeout = 1000, time.Second }), Status: isFailed, Ends: "failed DELETE_FAILED"},
	"rollback-done":            {World: diamond(quick, of(operations.StackRollback), made), Status: isCompleted, Ends: "done ROLLBACK_COMPLETE"},
	"rollback-failed":          {World: diamond(of(operations.StackRollback), made, late), Status: isFailed, Ends: "failed ROLLBACK_FAILED"},
	"rollback-cancelled":       {World: diamond(of(operations.StackRollback), made, slow), Cancel: 7, Status: isCanceled, Ends: "cancelled ROLLBACK_FAILED"},
	"check-done":               {World: diamond(quick, of(operations.StackCheck), made), Status: isCompleted, Ends: "done CHECK_COMPLETE"},
	"check-failed":             {World: diamond(quick, of(operations.StackCheck), made, failing(0), failing(1)), Status: isFailed, Ends: "failed CHECK_FAILED"},
	"check-cancelled":          {World: diamond(of(operations.StackCheck), made, slow), Cancel: 7, Status: isCanceled, Ends: "cancelled CHECK_FAILED"},
	"suspend-done":             {World: diamond(quick, of(operations.StackSuspend), made), Status: isCompleted, Ends: "done SUSPEND_COMPLETE"},
	"suspend-failed":           {World: diamond(quick, of(operations.StackSuspend), made, failing(1)), Status: isFailed, Ends: "failed SUSPEND_FAILED"},
	"suspend-cancelled":        {World: diamond(of(operations.StackSuspend), made, slow), Cancel: 7, Status: isCanceled, Ends: "cancelled SUSPEND_FAILED"},
	"resume-done":              {World: diamond(quick, of(operations.StackResume), made), Status: isCompleted, Ends: "done RESUME_COMPLETE"},
	"resume-failed":            {World: diamond(quick, of(operations.StackResume), made, failing(1)), Status: isFailed, Ends: "failed RESUME_FAILED"},
	"resume-cancelled":         {World: diamond(of(operations.StackResume), made, slow), Cancel: 7, Status: isCanceled, Ends: "cancelled RESUME_FAILED"},
	"snapshot-done":            {World: diamond(quick, of(operations.StackSnapshot), made), Status: isCompleted, Ends: "done SNAPSHOT_COMPLETE"},
	"snapshot-failed":          {World: diamond(quick, of(operations.StackSnapshot), made, failing(1)), Status: isFailed, Ends: "failed SNAPSHOT_FAILED"},
	"snapshot-cancelled":       {World: diamond(of(operations.StackSnapshot), made, slow), Cancel: 7, Status: isCanceled, Ends: "cancelled SNAPSHOT_FAILED"},
	"restore-done":             {World: diamond(quick, of(operations.StackRestore)), Status: isCompleted, Ends: "done RESTORE_COMPLETE"},
	"restore-rolled-back":      {World: diamond(quick, of(operations.StackRestore), failing(3), rolledBack), Status: isFailed, Ends: "failed ROLLBACK_COMPLETE"},
	"restore-cancelled":        {World: diamond(of(operations.StackRestore), slow), Cancel: 7, Status: isCanceled, Ends: "cancelled RESTORE_FAILED"},
	"delete-with-snapshots":    {World: diamond(quick, of(operations.StackDelete), made, copied), Status: isCompleted, Ends: "done DELETE_COMPLETE"},
	"forget-done":              {World: diamond(quick, of(operations.SnapshotDelete), copied), Status: isCompleted, Ends: "done"},
	"forget-failed":            {World: diamond(quick, of(operations.SnapshotDelete), copied, failing(1)), Status: isFailed, Ends: "failed"},
	"recover-forget":           {World: diamond(quick, recovering(operations.SnapshotDelete), copied), Status: isCompleted, Ends: "done"},
	"recover-forget-failed":    {World: diamond(quick, recovering(operations.SnapshotDelete), copied, failing(1)), Status: isFailed, Ends: "failed"},
	"scale-done":               {World: diamond(quick, of(operations.StackScale)), Status: isCompleted, Ends: "done UPDATE_COMPLETE"},
	"scale-failed":             {World: diamond(quick, of(operations.StackScale), failing(1)), Status: isFailed, Ends: "failed UPDATE_FAILED"},
	"scale-cancelled":          {World: diamond(of(operations.StackScale), slow), Cancel: 8, Status: isCanceled, Ends: "cancelled UPDATE_FAILED"},
	"recover-scale":            {World: diamond(recovering(operations.StackScale)), Status: isCompleted, Ends: "done CREATE_FAILED"},
	"recover-create":           {World: diamond(recovering(operations.StackCreate)), Status: isCompleted, Ends: "done CREATE_FAILED"},
	"recover-delete":           {World: diamond(quick, recovering(operations.StackDelete), made), Status: isCompleted, Ends: "done DELETE_COMPLETE"},
	"recover-delete-failed":    {World: diamond(recovering(operations.StackDelete), made, func(w *world) { w.nodes[2].waits, w.timeout = 1000, time.Second }), Status: isFailed, Ends: "failed DELETE_FAILED"},
}

func TestOnTemporal(t *testing.T) {
	t.Parallel()
	address, namespace := testenv.Temporal(t)
	play.OnTemporal(t, address, namespace, []string{steps.ControlQueue}, onTemporal, histories, *record)
}

func TestReplay(t *testing.T) { workflowtest.Replay(t, Workflows, histories) }

func TestHistoriesAreComplete(t *testing.T) {
	t.Parallel()
	workflowtest.Complete(t, operations.Stack, histories, nil)
	workflowtest.Complete(t, operations.Snapshot, histories, nil)
}
