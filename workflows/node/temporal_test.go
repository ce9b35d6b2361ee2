package node

// The histories that later releases must be able to replay. Record them anew with
//
//	go run ./dev/testservices -- go test ./workflows/node -run OnTemporal -record

import (
	"flag"
	"testing"

	enums "go.temporal.io/api/enums/v1"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
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

var onTemporal = map[string]workflowtest.Recital[*world]{
	"power-done":        {World: powering(provision.PowerReboot, slow), Status: isCompleted, Ends: "done, power on"},
	"power-failed":      {World: powering(provision.PowerOn, broken), Status: isFailed, Ends: "failed, power off: Failed to change power state to 'power on' by 'power on': it can't work"},
	"power-cancelled":   {World: powering(provision.PowerOn), Cancel: 1, ByRow: true, Status: isCanceled, Ends: "cancelled: the operation was cancelled"},
	"power-late":        {World: powering(provision.PowerOn, slow), Cancel: 3, Status: isCompleted, Ends: "done, power on"},
	"command-done":      {World: commanding(steps.SetBootMode, settling), Status: isCompleted, Ends: "done, power off [boot_mode]"},
	"command-failed":    {World: commanding(steps.SetBootDevice, broken), Status: isFailed, Ends: "failed: it can't work"},
	"command-cancelled": {World: commanding(steps.SetBootDevice), Cancel: 1, ByRow: true, Status: isCanceled, Ends: "cancelled: the operation was cancelled"},
	"manage-done":       {World: moving(operations.NodeManage, provision.Verifying), Status: isCompleted, Ends: "done, power off, manageable"},
	"manage-failed":     {World: moving(operations.NodeManage, provision.Verifying, blind), Status: isFailed, Ends: "failed, enroll: Failed to get power state for node n. Error: it can't work"},
	"manage-cancelled":  {World: moving(operations.NodeManage, provision.Verifying), Cancel: 2, Status: isCanceled, Ends: "cancelled, enroll: By request, the verification was aborted"},
	"deploy-done":       {World: deploying(), Status: isCompleted, Ends: "done, power on, active [early write_image late]"},
	"deploy-failed": {World: deploying(func(w *world) { w.refuses = "deploy/2 deploy.write_image" }), Status: isFailed,
		Ends: "failed, deploy failed [early]: Agent returned error for deploy step deploy.write_image on node n : it can't work."},
	"inspect-done":      {World: inspecting(), Status: isCompleted, Ends: "done, manageable"},
	"inspect-failed":    {World: inspecting(blind), Status: isFailed, Ends: "failed, inspect failed: it can't work"},
	"inspect-cancelled": {World: inspecting(), Cancel: 2, Status: isCanceled, Ends: "cancelled, inspect failed: Inspection was aborted by request."},
	"inspect-ramdisk":   {World: discovering(), Status: isCompleted, Ends: "done, manageable [settled]"},
	"inspect-nonsense":  {World: discovering(func(w *world) { w.nonsense = true }), Status: isFailed, Ends: "failed, inspect failed: Failed to finish inspection: it can't work"},
	"inspect-aborted":   {World: discovering(), Cancel: 5, Status: isCanceled, Ends: "cancelled, inspect failed: Inspection was aborted by request."},
	"deploy-cancelled":  {World: deploying(), Cancel: 5, Status: isCanceled, Ends: "cancelled, deploy failed: Deploy operation aborted"},
	"deploy-steps": {World: deploying(settling, through("bmc", "hold", "deploy", "early!", "write_image", "bios", "tear_down_agent", "boot_instance", "pause")), Status: isCompleted,
		Ends: "done, power on, active [bmc early write_image bios]"},
	"rebuild-done": {World: rebuilding(), Status: isCompleted, Ends: "done, power on, active [early write_image late]"},
	"rebuild-failed": {World: rebuilding(func(w *world) { w.refuses = "sync" }), Status: isFailed,
		Ends: "failed, deploy failed [early write_image late]: Deploy step deploy.tear_down_agent failed: it can't work."},
	"rebuild-cancelled": {World: rebuilding(), Cancel: 5, Status: isCanceled, Ends: "cancelled, deploy failed: Deploy operation aborted"},
	"undeploy-done":     {World: undeploying(by("a", "b?")), Status: isCompleted, Ends: "done, available [a b]"},
	"undeploy-failed":   {World: undeploying(blind), Status: isFailed, Ends: "failed, error: Failed to tear down: it can't work"},
	"undeploy-aborted": {World: undeploying(by("a", "b")), Cancel: 7, Status: isFailed,
		Ends: `failed, clean failed [a]: By request, the clean operation was aborted during or after the completion of step "vendor.a"`},
	"adopt-done":         {World: adopting(), Status: isCompleted, Ends: "done, active"},
	"adopt-failed":       {World: adopting(refused), Status: isFailed, Ends: "failed, , adopt failed: Error while attempting to adopt node n: it is no step."},
	"adopt-cancelled":    {World: adopting(), Cancel: 1, ByRow: true, Status: isCanceled, Ends: "cancelled, adopt failed: By request, the adoption was aborted"},
	"rescue-done":        {World: rescuing(), Status: isCompleted, Ends: "done, power on, rescue"},
	"rescue-failed":      {World: rescuing(func(w *world) { w.refuses = "rescue" }), Status: isFailed, Ends: "failed, rescue failed: Failed to rescue: it can't work"},
	"rescue-cancelled":   {World: rescuing(), Cancel: 4, Status: isCanceled, Ends: "cancelled, rescue failed: By request, the rescue operation was aborted."},
	"unrescue-done":      {World: unrescuing(), Status: isCompleted, Ends: "done, power on, active"},
	"unrescue-failed":    {World: unrescuing(blind), Status: isFailed, Ends: "failed, unrescue failed: Failed to unrescue: it can't work"},
	"unrescue-cancelled": {World: unrescuing(), Cancel: 1, ByRow: true, Status: isCanceled, Ends: "cancelled, unrescue failed: By request, the unrescue operation was aborted."},
	"recover-power":      {World: powering(provision.PowerOn, lostAt(operations.StepPower)), Status: isCompleted, Ends: "done, power on"},
	"provide-done":       {World: moving(operations.NodeProvide, provision.Cleaning, by("a", "b?")), Status: isCompleted, Ends: "done, available [a b]"},
	"provide-failed":     {World: moving(operations.NodeProvide, provision.Cleaning, by("a"), broken), Status: isFailed, Ends: "failed, clean failed, clean failure: Node n failed step vendor.a: it can't work"},
	"provide-cancelled":  {World: moving(operations.NodeProvide, provision.Cleaning, by("a", "b")), Cancel: 2, Status: isCanceled, Ends: `cancelled, clean failed [a]: By request, the clean operation was aborted during or after the completion of step "vendor.a"`},
	"provide-ramdisk":    {World: moving(operations.NodeProvide, provision.Cleaning, from("a?", "bmc", "b")), Status: isCompleted, Ends: "done, available [a bmc b]"},
	"clean-ramdisk": {World: moving(operations.NodeClean, provision.Cleaning, manual, from("a"), func(w *world) { w.refuses = "clean/0 deploy.a" }), Status: isFailed,
		Ends: "failed, clean failed, clean failure: Agent returned error for clean step deploy.a on node n : it can't work."},
	"undeploy-ramdisk": {World: undeploying(from("a?", "b")), Status: isCompleted, Ends: "done, available [a b]"},
	"clean-done":       {World: moving(operations.NodeClean, provision.Cleaning, manual, by("a", "pause", "power_on", "b")), Status: isCompleted, Ends: "done, power on, manageable [a b]"},
	"clean-bios":       {World: moving(operations.NodeClean, provision.Cleaning, manual, settling, by("a", "bios")), Status: isCompleted, Ends: "done, power on, manageable [a bios]"},
	"clean-failed":     {World: moving(operations.NodeClean, provision.Cleaning, manual, refused), Status: isFailed, Ends: "failed, clean failed: it is no step"},
	"clean-cancelled":  {World: moving(operations.NodeClean, provision.Cleaning, manual, by("hold")), Cancel: 2, Status: isCanceled, Ends: `cancelled, clean failed: By request, the clean operation was aborted during or after the completion of step "vendor.hold"`},
	"service-done":     {World: servicing(from("a?", "bmc", "hold", "b")), Status: isCompleted, Ends: "done, power on, active [a bmc b]"},
	"service-failed": {World: servicing(from("a"), func(w *world) { w.refuses = "service/0 deploy.a" }), Status: isFailed,
		Ends: "failed, service failed, service failure: Agent returned error for service step deploy.a on node n : it can't work."},
	"command-vif":       {World: commanding(steps.AttachVIF), Status: isCompleted, Ends: "done [attach_vif]"},
	"deploy-networks":   {World: deploying(wired), Status: isCompleted, Ends: "done, power on, active [early write_image late]"},
	"undeploy-networks": {World: undeploying(wired, from("a")), Status: isCompleted, Ends: "done, available [a]"},
	"inspect-networks":  {World: discovering(wired), Status: isCompleted, Ends: "done, manageable [settled]"},
	"rescue-networks":   {World: rescuing(wired), Status: isCompleted, Ends: "done, power on, rescue"},
	"unrescue-networks": {World: unrescuing(wired), Status: isCompleted, Ends: "done, power on, active"},
	"service-networks": {World: servicing(wired, from("a"), func(w *world) { w.refuses = "service/0 deploy.a" }), Status: isFailed,
		Ends: "failed, service failed, service failure: Agent returned error for service step deploy.a on node n : it can't work."},
	"service-cancelled": {World: servicing(from("a?")), Cancel: 5, Status: isCanceled, Ends: "cancelled, active: By request, the service operation was aborted"},
	"recover-undone": {World: powering(provision.PowerOn, lostAt("")), Status: isCompleted,
		Ends: "done: The power was interrupted by an operator or a fault of the control plane and has been undone."},
	"recover-failed": {World: powering(provision.PowerOn, broken, lostAt(operations.StepPower)), Status: isFailed,
		Ends: "failed, power off: Failed to change power state to 'power on' by 'power on': it can't work"},
}

func TestOnTemporal(t *testing.T) {
	t.Parallel()
	address, namespace := testenv.Temporal(t)
	play.OnTemporal(t, address, namespace, []string{steps.ControlQueue, steps.ConductorQueue("g")}, onTemporal, histories, *record)
}

func TestReplay(t *testing.T) { workflowtest.Replay(t, Workflows, histories) }

func TestHistoriesAreComplete(t *testing.T) {
	t.Parallel()
	workflowtest.Complete(t, operations.Node, histories, nil)
}
