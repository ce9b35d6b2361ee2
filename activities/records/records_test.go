package records_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/activities/records"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// world is a database with the steps over it and what they have offered.
type world struct {
	*testing.T
	db      *store.DB
	engine  *engine.Engine
	records *records.Activities
	offered []string
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, db: computetest.Open(t)}
	w.engine = engine.New(w.db, compute.Resource(), baremetal.Locks())
	w.records = records.New(w.db, w.engine, func(id string) { w.offered = append(w.offered, id) })
	return w
}

// accept asks for an operation as the API does.
func (w *world) accept(k operations.Kind, server string, task servers.TaskState) string {
	w.Helper()
	var accepted engine.Accepted
	computetest.InTx(w, w.db, func(tx store.Tx) (err error) {
		if _, err := compute.LockServer(w.Context(), tx, "", server); err != nil {
			return err
		}
		accepted, err = w.engine.Accept(w.Context(), tx, engine.Request{Kind: k, ResourceID: server, ProjectID: "p"})
		if err != nil {
			return err
		}
		return compute.SetTask(w.Context(), tx, server, task)
	})
	return accepted.OperationID
}

// begin begins an operation that must run.
func (w *world) begin(operation string) (steps.BeginOut, steps.Fence) {
	w.Helper()
	run := uuid.NewString()
	out, err := w.records.Begin(w.Context(), steps.BeginIn{OperationID: operation, RunID: run})
	if err != nil || out.Verdict != steps.Run {
		w.Fatalf("begin %s: %+v (%v)", operation, out, err)
	}
	return out, steps.Fence{OperationID: operation, Generation: out.Generation, RunID: run}
}

func (w *world) server(id string) *compute.Server {
	w.Helper()
	s, err := compute.GetServer(w.Context(), w.db.Pool, "", id)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// twice runs a step, and again as a worker does that was killed between the
// commit and the answer: the answer is the same and the database too.
func twice[In, Out any](w *world, step func(In) (Out, error), in In) Out {
	w.Helper()
	out, err := step(in)
	if err != nil {
		w.Fatal(err)
	}
	before := computetest.Dump(w, w.db)
	again, err := step(in)
	if err != nil || !reflect.DeepEqual(again, out) {
		w.Errorf("run again it answers\n%+v (%v), first\n%+v", again, err, out)
	}
	if after := computetest.Dump(w, w.db); after != before {
		w.Errorf("run again it changes\n%s\nto\n%s", before, after)
	}
	return out
}

func (w *world) advance(in steps.AdvanceIn) (steps.AdvanceOut, error) {
	return w.records.Advance(w.Context(), in)
}
func (w *world) finish(in steps.FinishIn) (steps.FinishOut, error) {
	return w.records.Finish(w.Context(), in)
}
func pointer[T any](v T) *T { return &v }

// A build from its begin to its end, every step run twice.
func TestABuildStepByStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := computetest.AddHost(t, w.db, "h", computetest.Room)
	id := computetest.AddServer(t, w.db, "p").ID
	op := w.accept(operations.ServerBuild, id, servers.TaskScheduling)

	begun := twice(w, func(in steps.BeginIn) (steps.BeginOut, error) { return w.records.Begin(w.Context(), in) },
		steps.BeginIn{OperationID: op, RunID: "run"})
	want := &steps.ServerBrief{ID: id, VMState: "building"}
	if begun.Verdict != steps.Run || begun.Kind != operations.ServerBuild || begun.ResourceID != id || !reflect.DeepEqual(begun.Server, want) {
		t.Errorf("begun: %+v with %+v", begun, begun.Server)
	}
	fence := steps.Fence{OperationID: op, Generation: begun.Generation, RunID: "run"}

	for step, task := range map[string]servers.TaskState{
		operations.StepSchedule: servers.TaskScheduling,
		operations.StepNetwork:  servers.TaskNetworking,
		operations.StepVolumes:  servers.TaskBlockDeviceMapping,
	} {
		twice(w, w.advance, steps.AdvanceIn{Fence: fence, Step: step, Attempt: 1})
		if s := w.server(id); s.TaskState != task || s.Status() != "BUILD" {
			t.Errorf("in step %s the server is %s %q", step, s.Status(), s.TaskState)
		}
	}
	guest := operations.Effect{Kind: operations.EffectGuest, Ref: id, Host: host, Attempt: 1}
	out := twice(w, w.advance, steps.AdvanceIn{Fence: fence, Step: operations.StepGuest, Attempt: 1, Host: host, Intend: []operations.Effect{guest}})
	if len(out.Effects) != 1 || out.Effects[0].State != operations.Intended || w.server(id).TaskState != servers.TaskSpawning {
		t.Errorf("ledger %+v, task %q", out.Effects, w.server(id).TaskState)
	}

	spec := twice(w, func(in steps.ServerSpecIn) (steps.ServerSpec, error) { return w.records.ServerSpec(w.Context(), in) }, steps.ServerSpecIn{Fence: fence})
	s := w.server(id)
	if wantSpec := (steps.ServerSpec{ServerID: id, Name: s.Name, Hostname: s.Hostname, ProjectID: "p", UserID: "user",
		VCPUs: 1, MemoryMB: 512, RootGB: 1, ImageID: "cirros", ImageProperties: map[string]string{},
		Flavor: s.Flavor.Name, Generation: fence.Generation,
		Disks: []steps.Disk{{Kind: steps.DiskRoot, SizeMB: 1024, Device: "vda", Bus: "virtio"}}}); !reflect.DeepEqual(spec, wantSpec) {
		t.Errorf("spec %+v, want %+v", spec, wantSpec)
	}

	finished := twice(w, w.finish, steps.FinishIn{Fence: fence, Result: operations.ResultDone,
		Server: &steps.ServerOutcome{VMState: pointer("active"), PowerState: pointer(1), Host: &host, Launched: true}})
	s = w.server(id)
	if finished.Next != "" || s.Status() != "ACTIVE" || s.TaskState != "" || s.HostID != host || s.OperationID != "" || s.LaunchedAt == nil {
		t.Errorf("finished %+v, server %+v", finished, s)
	}
	row, err := w.engine.Get(t.Context(), w.db.Pool, op)
	if err != nil || row.Result != operations.ResultDone {
		t.Errorf("operation %+v (%v)", row, err)
	}
}

// What a host is told of the disks: sizes as the request has them, no image where
// a volume boots, and volumes once they are attached.
func TestASpecHasTheDisksThatWereAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := computetest.AddServer(t, w.db, "p").ID
	asked := []compute.BlockDevice{
		{ServerID: id, SourceType: "volume", DestinationType: "volume", VolumeID: "own", BootIndex: pointer(0), DeviceName: "/dev/vda"},
		{ServerID: id, Position: 1, SourceType: "blank", DestinationType: "volume", DeviceName: "/dev/vdd", DiskBus: "scsi", DeleteOnTermination: true, Ours: true},
		{ServerID: id, Position: 2, SourceType: "blank", DestinationType: "local", VolumeSizeGB: 2, GuestFormat: "ext3", DeviceName: "/dev/vdb"},
		{ServerID: id, Position: 3, SourceType: "blank", DestinationType: "local", VolumeSizeGB: 64, GuestFormat: "swap", DeviceName: "/dev/vdc"},
	}
	computetest.InTx(t, w.db, func(tx store.Tx) error { return compute.InsertBlockDevices(t.Context(), tx, id, asked) })
	_, fence := w.begin(w.accept(operations.ServerBuild, id, servers.TaskScheduling))
	spec := func() steps.ServerSpec {
		t.Helper()
		spec, err := w.records.ServerSpec(w.Context(), steps.ServerSpecIn{Fence: fence})
		if err != nil {
			t.Fatal(err)
		}
		return spec
	}
	local := []steps.Disk{{Kind: steps.DiskEphemeral, SizeMB: 2048, Device: "vdb", Bus: "virtio", Format: "ext3"},
		{Kind: steps.DiskSwap, SizeMB: 64, Device: "vdc", Bus: "virtio", Format: "swap"}}
	got := spec()
	if got.ImageID != "" || got.EphemeralGB != 2 || got.SwapMB != 64 || !reflect.DeepEqual(got.Disks, local) || got.Volumes != nil {
		t.Errorf("before they are attached: %+v", got)
	}
	for i, d := range asked[:2] {
		d.VolumeID, d.AttachmentID = cmp.Or(d.VolumeID, "made"), fmt.Sprint("a-", i)
		computetest.InTx(t, w.db, func(tx store.Tx) error { return compute.SetVolume(t.Context(), tx, &d) })
	}
	want := []steps.Volume{{ID: "own", AttachmentID: "a-0", Boot: true, Bus: "virtio", Device: "vda"},
		{ID: "made", AttachmentID: "a-1", Bus: "scsi", Device: "vdd", Ours: true, DeleteOnTermination: true}}
	if got := spec(); !reflect.DeepEqual(got.Volumes, want) || !reflect.DeepEqual(got.Disks, local) {
		t.Errorf("attached: %+v", got)
	}
}

// What a server has outside is what its delete has to take away.
func TestADeleteIsToldWhatTheServerHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := computetest.AddHost(t, w.db, "h", computetest.Room)
	s := computetest.AddServer(t, w.db, "p")
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		if ok, err := compute.ClaimOnHost(t.Context(), tx, s.ID, host, "build", compute.Claim{Room: s.Size()}); !ok {
			t.Errorf("no claim (%v)", err)
		}
		return compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{VMState: pointer("active"), PowerState: pointer(1), Host: &host}, nil)
	})
	begun, fence := w.begin(w.accept(operations.ServerDelete, s.ID, servers.TaskDeleting))
	want := []operations.Effect{
		{Kind: operations.EffectClaim, Ref: s.ID, Host: host, State: operations.Done},
		{Kind: operations.EffectGuest, Ref: s.ID, Host: host, State: operations.Done},
	}
	if begun.Server.Host != host || begun.Server.PowerState != 1 || !slices.Equal(begun.Server.Holds, want) {
		t.Errorf("brief %+v", begun.Server)
	}
	computetest.InTx(t, w.db, func(tx store.Tx) error { return compute.ReleaseClaim(t.Context(), tx, s.ID, host, false) })
	twice(w, w.finish, steps.FinishIn{Fence: fence, Result: operations.ResultDone, Server: &steps.ServerOutcome{Deleted: true, Host: pointer("")}})
	if _, err := compute.GetServer(t.Context(), w.db.Pool, "", s.ID); !faults.Is(err, faults.NotFound) {
		t.Errorf("after its delete: %v", err)
	}
	_, used, err := compute.Usage(t.Context(), w.db.Pool, "p")
	if err != nil || used != (compute.Delta{}) {
		t.Errorf("usage %+v (%v)", used, err)
	}
}

// A write for an operation that has lost its resource, by a run that doesn't
// carry it out, or after its end, changes nothing.
func TestAWrongFenceWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := computetest.AddServer(t, w.db, "p").ID
	other := computetest.AddServer(t, w.db, "p").ID
	_, fence := w.begin(w.accept(operations.ServerBuild, id, servers.TaskScheduling))
	over := w.accept(operations.ServerBuild, other, servers.TaskScheduling)
	_, overFence := w.begin(over)
	if _, err := w.finish(steps.FinishIn{Fence: overFence, Result: operations.ResultFailed, Fault: &steps.Fault{Message: "no", HTTPCode: 500}}); err != nil {
		t.Fatal(err)
	}
	wrong := map[string]steps.Fence{
		"another generation":    {OperationID: fence.OperationID, Generation: fence.Generation + 1, RunID: fence.RunID},
		"another run":           {OperationID: fence.OperationID, Generation: fence.Generation, RunID: "other"},
		"no such operation":     {OperationID: operations.NewID(operations.ServerBuild, id, w.server(id).CreatedAt), Generation: fence.Generation, RunID: fence.RunID},
		"a finished one's run":  {OperationID: over, Generation: overFence.Generation, RunID: "other"},
		"of another generation": {OperationID: over, Generation: overFence.Generation - 1, RunID: "other"},
	}
	before := computetest.Dump(t, w.db)
	for name, f := range wrong {
		_, advanced := w.advance(steps.AdvanceIn{Fence: f, Step: operations.StepGuest, Attempt: 1,
			Intend: []operations.Effect{{Kind: operations.EffectGuest, Ref: id, Attempt: 1}}})
		_, finished := w.finish(steps.FinishIn{Fence: f, Result: operations.ResultDone, Server: &steps.ServerOutcome{Deleted: true}})
		_, read := w.records.ServerSpec(t.Context(), steps.ServerSpecIn{Fence: f})
		for step, err := range map[string]error{"Advance": advanced, "Finish": finished, "ServerSpec": read} {
			if !faults.Is(err, faults.Superseded) {
				t.Errorf("%s with %s: %v", step, name, err)
			}
		}
		if after := computetest.Dump(t, w.db); after != before {
			t.Fatalf("%s has changed\n%s\nto\n%s", name, before, after)
		}
	}
}

// A delete that pre-empts a build keeps its word in the task state, is handed
// the row when the build has ended, and is offered to the starter.
func TestADeleteTakesOverFromABuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := computetest.AddServer(t, w.db, "p").ID
	_, fence := w.begin(w.accept(operations.ServerBuild, id, servers.TaskScheduling))
	remove := w.accept(operations.ServerDelete, id, servers.TaskDeleting)

	out := twice(w, w.advance, steps.AdvanceIn{Fence: fence, Step: operations.StepGuest, Attempt: 1})
	if !out.CancelRequested || w.server(id).TaskState != servers.TaskDeleting {
		t.Errorf("cancel requested %v, task %q", out.CancelRequested, w.server(id).TaskState)
	}
	finished := twice(w, w.finish, steps.FinishIn{Fence: fence, Result: operations.ResultCancelled,
		Fault:  &steps.Fault{Code: "Cancelled", Message: "the operation was cancelled", HTTPCode: 500},
		Server: &steps.ServerOutcome{VMState: pointer("error"), Host: pointer(""), PowerState: pointer(0)}})
	if finished.Next != remove || !slices.Contains(w.offered, remove) {
		t.Errorf("next is %q and %v were offered, want %s", finished.Next, w.offered, remove)
	}
	s := w.server(id)
	if s.OperationID != remove || s.TaskState != servers.TaskDeleting || s.VMState != servers.VMError || s.Fault.Message != "the operation was cancelled" {
		t.Errorf("server %+v", s)
	}
	w.begin(remove)
}

// An operation that ends without having begun leaves no transient state.
func TestWhatAnAbandonedOperationLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		name   string
		kinds  []operations.Kind
		before servers.VMState
		after  servers.VMState
	}{
		{"a build", []operations.Kind{operations.ServerBuild}, servers.VMBuilding, servers.VMError},
		{"a start", []operations.Kind{operations.ServerStart}, servers.VMStopped, servers.VMStopped},
		{"a delete", []operations.Kind{operations.ServerDelete}, servers.VMActive, servers.VMActive},
		{"a delete in the place of a build", []operations.Kind{operations.ServerBuild, operations.ServerDelete}, servers.VMBuilding, servers.VMError},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := computetest.AddServer(t, w.db, c.name, func(s *compute.Server) { s.VMState = c.before }).ID
			var last string
			for _, k := range c.kinds {
				last = w.accept(k, id, servers.TaskDeleting)
			}
			computetest.InTx(t, w.db, func(tx store.Tx) error {
				_, err := w.engine.RequestCancel(t.Context(), tx, last, "user")
				return err
			})
			s := w.server(id)
			if s.VMState != c.after || s.TaskState != "" || s.OperationID != "" {
				t.Errorf("server %s %q held by %q", s.VMState, s.TaskState, s.OperationID)
			}
			if (s.Fault != nil) != (c.after == servers.VMError) {
				t.Errorf("fault %+v", s.Fault)
			}
		})
	}
}

func TestWhetherAHostIsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := computetest.AddHost(t, w.db, "h", computetest.Room)
	want := func(host string, up, forced bool) {
		t.Helper()
		if out, err := w.records.Host(t.Context(), steps.HostIn{HostID: host}); err != nil || out != (steps.HostOut{Up: up, ForcedDown: forced}) {
			t.Errorf("host is %+v (%v)", out, err)
		}
	}
	want(id, true, false)
	want(uuid.NewString(), false, false)
	computetest.InTx(t, w.db, func(tx store.Tx) error { return compute.SetHostForcedDown(t.Context(), tx, id, true) })
	want(id, false, true)
}

func TestASpecHasABound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := computetest.AddServer(t, w.db, "p", func(s *compute.Server) {
		s.ImageProperties = map[string]string{"big": string(slices.Repeat([]byte("x"), 64<<10))}
	}).ID
	_, fence := w.begin(w.accept(operations.ServerBuild, id, servers.TaskScheduling))
	if _, err := w.records.ServerSpec(t.Context(), steps.ServerSpecIn{Fence: fence}); !faults.Is(err, faults.Invalid) {
		t.Errorf("a spec over 64 kB: %v", err)
	}
}

// The kind of an operation can be read from its id.
func TestEveryKindIsReadFromItsID(t *testing.T) {
	t.Parallel()
	for _, spec := range operations.All() {
		id := operations.NewID(spec.Kind, "id", computetest.NewServer("p").CreatedAt)
		if resource, _, verb, ok := operations.ParseID(id); !ok || string(spec.Kind) != string(resource)+"."+verb {
			t.Errorf("%s has ids like %s", spec.Kind, id)
		}
	}
}

// A delete that waited while a lost one was recovered finds the server deleted
// and ends like any other.
func TestADeleteOfWhatIsDeletedByThen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := computetest.AddServer(t, w.db, "p").ID
	op := w.accept(operations.ServerDelete, id, servers.TaskDeleting)
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		return compute.PublishServer(t.Context(), tx, id, steps.ServerOutcome{Deleted: true}, nil)
	})
	begun, fence := w.begin(op)
	if !reflect.DeepEqual(begun.Server, &steps.ServerBrief{ID: id, VMState: "deleted"}) {
		t.Errorf("brief %+v", begun.Server)
	}
	twice(w, w.finish, steps.FinishIn{Fence: fence, Result: operations.ResultDone, Server: &steps.ServerOutcome{Deleted: true}})
}
