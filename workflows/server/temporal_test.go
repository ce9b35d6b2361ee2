package server_test

// What only a real Temporal server shows, and the histories that later releases
// must be able to replay. Record them anew with
//
//	go test ./workflows/server -run OnTemporal -record

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	enums "go.temporal.io/api/enums/v1"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/testenv"
	"holdfast.dev/workflows/server"
	"holdfast.dev/workflows/workflowtest"
)

var record = flag.Bool("record", false, "write the histories of TestOnTemporal to testdata/histories")

func TestMain(m *testing.M) {
	testenv.Waiting(8) // stories on a real server wait
	testenv.Main(m)
}

// told is a story on Temporal and how it ends there.
type told struct {
	world  func() *workflowtest.World
	during func(*testing.T, *workflowtest.Run)
	status enums.WorkflowExecutionStatus
	result operations.Result
	row    string
}

const (
	completed = enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	failed    = enums.WORKFLOW_EXECUTION_STATUS_FAILED
	canceled  = enums.WORKFLOW_EXECUTION_STATUS_CANCELED
)

// cancelAt cancels the workflow once it has called the step.
func cancelAt(step string) func(*testing.T, *workflowtest.Run) {
	return func(t *testing.T, r *workflowtest.Run) {
		r.Reached(t, step)
		r.Cancel(t)
	}
}

// knockPlugged knocks once the workflow waits for Neutron.
func knockPlugged(t *testing.T, r *workflowtest.Run) {
	r.Reached(t, "records.Plugged")
	r.Knock(t)
}

func lingering(w *workflowtest.World) *workflowtest.World {
	w.Linger = true
	return w
}

// powersOnTemporal are every kind done, failed, cancelled and cut short.
func powersOnTemporal() map[string]told {
	all := map[string]told{}
	for _, k := range powerKinds {
		spec, _ := operations.Lookup(k.kind)
		name := spec.Verb + "-of-" + k.before.VMState
		all[name+"-done"] = told{k.world, nil, completed, operations.ResultDone, k.done + ", on a host"}
		all[name+"-cut-short"] = told{func() *workflowtest.World { return lingering(k.world()) }, cancelAt("libvirt.Power"),
			completed, operations.ResultDone, k.done + ", on a host"}
		all[name+"-failed"] = told{k.as(func(w *workflowtest.World) { w.Hosts["host-1"].Broken = true }), nil,
			failed, operations.ResultFailed, k.row(k.failed(), k.before.PowerState)}
		all[name+"-cancelled"] = told{k.as(func(w *workflowtest.World) { cancelled(w) }), nil,
			canceled, operations.ResultCancelled, k.row(k.before.VMState, k.before.PowerState)}
	}
	suspend := powerKinds[8]
	all["suspend-host-down"] = told{suspend.as(func(w *workflowtest.World) { w.Down("host-1") }), nil,
		failed, operations.ResultFailed, suspend.row("active", 0)}
	return all
}

func TestOnTemporal(t *testing.T) {
	stories := powersOnTemporal()
	maps.Copy(stories, devicesOnTemporal())
	maps.Copy(stories, swapOnTemporal())
	maps.Copy(stories, movesOnTemporal())
	maps.Copy(stories, map[string]told{
		"build-done":                {building, nil, completed, operations.ResultDone, isActive},
		"build-done-on-second-host": {func() *workflowtest.World { return broken(building(), "host-1") }, nil, completed, operations.ResultDone, isActive},
		"build-failed":              {badImage, nil, failed, operations.ResultFailed, isError},
		"build-cancelled": {func() *workflowtest.World { return lingering(building()) }, cancelAt("libvirt.Build"),
			canceled, operations.ResultCancelled, isError},
		"build-cancelled-by-row": {func() *workflowtest.World { return cancelled(building()) }, nil, canceled, operations.ResultCancelled, isError},
		"delete-done":            {func() *workflowtest.World { return deleting().Place("host-1") }, nil, completed, operations.ResultDone, isDeleted},
		"delete-with-debt":       {func() *workflowtest.World { return deleting().Place("host-1").Down("host-1") }, nil, completed, operations.ResultDone, isDeleted},
		"build-with-ports-done": {withPorts(building, func(n *workflowtest.Neutron) { n.Slow = true }), knockPlugged,
			completed, operations.ResultDone, isActive + ", with ports"},
		"build-with-ports-failed": {withPorts(building, func(n *workflowtest.Neutron) { n.Full = true }), nil,
			failed, operations.ResultFailed, isError},
		"delete-with-ports-done": {func() *workflowtest.World { return withPorts(deleting)().Place("host-1") }, nil,
			completed, operations.ResultDone, isDeleted},
		"build-with-volumes-done": {withPorts(withVolumes(building, func(c *workflowtest.Cinder) { c.Slow = 1 })), nil,
			completed, operations.ResultDone, isActive + ", with ports, with volumes"},
		"build-with-volumes-failed": {withVolumes(building, func(c *workflowtest.Cinder) { c.Missing = true }), nil,
			failed, operations.ResultFailed, isError},
		"delete-with-volumes-done": {func() *workflowtest.World { return withPorts(withVolumes(deleting))().Place("host-1") }, nil,
			completed, operations.ResultDone, isDeleted},
		"soft-delete-done":      {softDeleting, nil, completed, operations.ResultDone, isSoftDeleted},
		"soft-delete-host-down": {func() *workflowtest.World { return softDeleting().Down("host-1") }, nil, completed, operations.ResultDone, isSoftDeletedOff},
		"soft-delete-failed": {func() *workflowtest.World { return broken(softDeleting(), "host-1") }, nil,
			failed, operations.ResultFailed, isActive},
		"soft-delete-cancelled-by-row": {func() *workflowtest.World { return cancelled(softDeleting()) }, nil,
			canceled, operations.ResultCancelled, isActive},
		"rescue-done": {rescuing("active", 1), nil, completed, operations.ResultDone, isRescued},
		"rescue-failed": {func() *workflowtest.World { return broken(rescuing("active", 1)(), "host-1") }, nil,
			failed, operations.ResultFailed, "error, power 1, on a host"},
		"rescue-host-down": {func() *workflowtest.World { return rescuing("active", 1)().Down("host-1") }, nil,
			failed, operations.ResultFailed, "active, power 0, on a host"},
		"rescue-cancelled": {func() *workflowtest.World { return lingering(rescuing("stopped", 4)()) }, cancelAt("libvirt.Rescue"),
			canceled, operations.ResultCancelled, "stopped, power 4, on a host"},
		"rebuild-done":         {rebuilding("active", 1), nil, completed, operations.ResultDone, isActive},
		"rebuild-stopped-done": {rebuilding("stopped", 4), nil, completed, operations.ResultDone, "stopped, power 4, on a host"},
		"rebuild-failed": {func() *workflowtest.World { return broken(rebuilding("active", 1)(), "host-1") }, nil,
			failed, operations.ResultFailed, "error, power 1, on a host"},
		"rebuild-cancelled": {func() *workflowtest.World { return lingering(rebuilding("active", 1)()) }, cancelAt("libvirt.PrepareImage"),
			canceled, operations.ResultCancelled, isActive},
		"live-migrate-done":            {migrating(), nil, completed, operations.ResultDone, isActive},
		"live-migrate-with-ports-done": {withPorts(migrating(func(w *workflowtest.World) { w.Neutron.Bound = "host-1" })), nil, completed, operations.ResultDone, isActive + ", with ports"},
		"live-migrate-failed":          {migrating(func(w *workflowtest.World) { w.Moves.Stuck = true }), nil, failed, operations.ResultFailed, isActive},
		"live-migrate-aborted": {migrating(func(w *workflowtest.World) { w.Linger = true }), cancelAt("libvirt.Migrate"),
			canceled, operations.ResultCancelled, isActive},
		"live-migrate-forced": {migrating(func(w *workflowtest.World) { w.Moves.Slow, w.Moves.Asked = true, true }), nil,
			completed, operations.ResultDone, isActive},
		"recover-live-migrate": {lost(operations.ServerLiveMigrate, operations.StepMove, func(w *workflowtest.World) {
			w.Place("host-1").Moving()
			lostInMove(true)(w)
			w.Op.Step = ""
		}), nil, completed, operations.ResultDone, isActive},
		"crash-dump-done": {dumping, nil, completed, operations.ResultDone, isActive},
		"crash-dump-failed": {func() *workflowtest.World { return broken(dumping(), "host-1") }, nil,
			failed, operations.ResultFailed, isActive},
		"crash-dump-cancelled-by-row": {func() *workflowtest.World { return cancelled(dumping()) }, nil,
			canceled, operations.ResultCancelled, isActive},
		"reset-state-done": {resetting, nil, completed, operations.ResultDone, isReset},
		"reset-state-failed": {func() *workflowtest.World { return asked(resetting(), `[]`) }, nil,
			failed, operations.ResultFailed, isNotReset},
		"reset-state-cancelled-by-row": {func() *workflowtest.World { return cancelled(resetting()) }, nil, canceled, operations.ResultCancelled, isNotReset},
		"recover-build":                {lost(operations.ServerBuild, operations.StepGuest, halfBuilt), nil, completed, operations.ResultDone, isError},
		"recover-delete":               {lost(operations.ServerDelete, operations.StepGuest, placed), nil, completed, operations.ResultDone, isDeleted},
		"recover-stop-failed": {lost(operations.ServerStop, operations.StepGuest, func(w *workflowtest.World) { w.Place("host-1").Down("host-1") }), nil,
			failed, operations.ResultFailed, "active, power 0, on a host"},
		"recover-stop":                    {lost(operations.ServerStop, operations.StepGuest, placed), nil, completed, operations.ResultDone, "stopped, power 4, on a host"},
		"recover-reboot":                  {lost(operations.ServerReboot, operations.StepGuest, placed), nil, completed, operations.ResultDone, isActive},
		"create-image-done":               {imaging, nil, completed, operations.ResultDone, isActive},
		"create-image-of-volumes":         {imagingVolumes, nil, completed, operations.ResultDone, withVolumesStopped},
		"create-image-failed":             {as(imaging, func(w *workflowtest.World) { w.Glance.Full = true }), nil, failed, operations.ResultFailed, isActive},
		"create-image-with-debt":          {as(imaging, func(w *workflowtest.World) { w.Down("host-1") }), nil, failed, operations.ResultFailed, isActive},
		"create-image-cancelled-by-row":   {func() *workflowtest.World { return cancelled(imaging()) }, nil, canceled, operations.ResultCancelled, isActive},
		"create-image-cancelled":          {func() *workflowtest.World { return lingering(imaging()) }, cancelAt("libvirt.Snapshot"), canceled, operations.ResultCancelled, isActive},
		"shelve-done":                     {shelving("active", 1, true), nil, completed, operations.ResultDone, isOffloaded},
		"shelve-on-host":                  {shelving("active", 1, false), nil, completed, operations.ResultDone, isShelved},
		"shelve-of-volumes":               {shelvingVolumes, nil, completed, operations.ResultDone, isOffloaded + ", with volumes"},
		"shelve-failed":                   {as(shelving("active", 1, true), func(w *workflowtest.World) { w.Glance.Full = true }), nil, failed, operations.ResultFailed, isActive},
		"shelve-cancelled":                {func() *workflowtest.World { return lingering(shelving("paused", 3, true)()) }, cancelAt("libvirt.Snapshot"), canceled, operations.ResultCancelled, "paused, power 3, on a host"},
		"shelve-offload-done":             {offloading, nil, completed, operations.ResultDone, isOffloaded + ", with volumes"},
		"shelve-offload-cancelled-by-row": {func() *workflowtest.World { return cancelled(offloading()) }, nil, canceled, operations.ResultCancelled, isShelved + ", with ports, with volumes"},
		"unshelve-done":                   {unshelving(true), nil, completed, operations.ResultDone, isActive + ", with ports, with volumes"},
		"unshelve-on-host":                {unshelving(false), nil, completed, operations.ResultDone, isActive + ", with ports, with volumes"},
		"unshelve-failed":                 {as(unshelving(true), full), nil, failed, operations.ResultFailed, isOffloaded + ", with volumes"},
		"unshelve-cancelled":              {func() *workflowtest.World { return lingering(unshelving(true)()) }, cancelAt("libvirt.Build"), canceled, operations.ResultCancelled, isOffloaded + ", with volumes"},
		"evacuate-done":                   {evacuatingAll, nil, completed, operations.ResultDone, isActive + ", with ports, with volumes"},
		"evacuate-left-off":               {evacuating("active", 1, steps.EvacuateInput{Stopped: true}), nil, completed, operations.ResultDone, isStopped},
		"evacuate-failed":                 {as(evacuating("active", 1, steps.EvacuateInput{}), full), nil, failed, operations.ResultFailed, "error, power 1, on a host"},
		"evacuate-cancelled-by-row":       {func() *workflowtest.World { return cancelled(evacuatingAll()) }, nil, canceled, operations.ResultCancelled, isActive + ", with ports, with volumes"},
		"create-backup-done":              {backingUp, nil, completed, operations.ResultDone, isActive},
		"create-backup-failed":            {as(backingUp, func(w *workflowtest.World) { w.Hosts["host-1"].Broken = true }), nil, failed, operations.ResultFailed, isActive},
		"create-backup-cancelled-by-row":  {func() *workflowtest.World { return cancelled(backingUp()) }, nil, canceled, operations.ResultCancelled, isActive},
	})
	for name, story := range stories {
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
			if file := histories + "/" + name + ".json"; *record && !t.Failed() {
				run.Save(t, file)
			}
		})
	}
}

// neverFails are kinds without a history of one that failed, and why.
var neverFails = map[operations.Kind]string{
	operations.ServerDelete:        "what can't be removed is owed",
	operations.ServerShelveOffload: "what can't be taken off its host is owed",
	operations.ServerConfirmResize: "what can't be removed is owed",
	operations.ServerRecoverShared: "it is the workflow of server.recover, which has one",
}

// The histories that are replayed show every kind done, failed and cancelled.
func TestHistoriesAreComplete(t *testing.T) {
	t.Parallel()
	workflowtest.Complete(t, operations.Server, histories, neverFails)
}

// A run that was made by resetting another one by hand ends at once, and
// nothing is touched: the sweeper finds the operation held by nobody.
func TestResetByHand(t *testing.T) {
	t.Parallel()
	address, namespace := testenv.Temporal(t)
	w := lingering(building())
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

// budgets is how many steps outside the database each kind may take when all is well.
var budgets = map[string]int{"build": 1, "build-with-ports": 2, "delete-with-ports": 2,
	// Volumes of which one is still being made are asked for a second time.
	"build-with-volumes": 5, "delete-with-volumes": 3, "delete": 1, "start": 1, "stop": 1, "reboot": 1, "hard-reboot": 1, "pause": 1, "unpause": 1, "suspend": 1, "resume": 1, "reset-state": 0, "soft-delete": 1, "restore": 1, "rescue": 1, "unrescue": 1, "crash-dump": 1, "rebuild": 2,
	"attach-volume": 3, "detach-volume": 2, "attach-interface": 2, "detach-interface": 2, "swap-volume": 3, "create-image": 2, "create-backup": 3,
	"shelve": 4, "shelve-offload": 3, "unshelve": 6, "live-migrate": 5, "live-migrate-with-ports": 6, "evacuate": 4}

func TestBudgets(t *testing.T) {
	t.Parallel()
	for verb, want := range budgets {
		files, err := filepath.Glob(histories + "/" + verb + "*-done.json")
		files = slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, "-with-") && !strings.Contains(verb, "-with-") })
		files = slices.DeleteFunc(files, func(f string) bool { return verb == "shelve" && strings.Contains(f, "/shelve-offload-") })
		if err != nil || len(files) == 0 {
			t.Errorf("no history of a %s that went well: %v", verb, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if got := strings.Count(string(text), `"EVENT_TYPE_ACTIVITY_TASK_SCHEDULED"`); err != nil || got != want {
				t.Errorf("%s: %d steps outside the database, want %d (%v)", file, got, want, err)
			}
		}
	}
}
