package cinder_test

// Every step: done twice, cut off at each of its calls and done again, refused.

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/cinder"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// world is a server that is being built, with the steps and their Cinder.
type world struct {
	*testing.T
	*fake
	db       *store.DB
	engine   *engine.Engine
	a        *cinder.Activities
	client   *gophercloud.ServiceClient
	server   string
	host     string
	fence    steps.Fence
	projects map[string]bool
}

func newWorld(t *testing.T, devices ...compute.BlockDevice) *world {
	t.Helper()
	return newWorldOf(t, "p", devices...)
}

func newWorldOf(t *testing.T, project string, devices ...compute.BlockDevice) *world {
	t.Helper()
	f, client := newFake(t)
	w := &world{T: t, fake: f, client: client, db: computetest.Open(t), projects: map[string]bool{}}
	e := engine.New(w.db, compute.Resource())
	w.engine = e
	w.a = cinder.New(w.db, e, cinder.Options{
		Client: func(_ context.Context, project string) (*gophercloud.ServiceClient, error) {
			w.projects[project] = true
			client := *w.client
			if project == "" {
				client.MoreHeaders = map[string]string{asAdmin: "yes"}
			}
			return &client, nil
		},
		Patience: time.Minute, Look: 30 * time.Millisecond, Pause: 10 * time.Millisecond, Heartbeat: func(context.Context) {},
	})
	w.host = computetest.AddHost(t, w.db, "h1", computetest.Room)
	s := computetest.AddServer(t, w.db, project)
	w.server = s.ID
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		if err := compute.InsertBlockDevices(t.Context(), tx, s.ID, devices); err != nil {
			return err
		}
		accepted, err := e.Accept(t.Context(), tx, engine.Request{Kind: operations.ServerBuild, ResourceID: s.ID, ProjectID: project})
		if err != nil {
			return err
		}
		run := uuid.NewString()
		out, err := e.Begin(t.Context(), tx, steps.BeginIn{OperationID: accepted.OperationID, RunID: run})
		w.fence = steps.Fence{OperationID: accepted.OperationID, Generation: out.Generation, RunID: run}
		return err
	})
	return w
}

// three are a root volume of an image that ends with the server, a data volume
// of the user's own that stays, an own one that doesn't, and a local disk.
func three(t *testing.T) *world {
	w := newWorld(t,
		compute.BlockDevice{SourceType: "image", DestinationType: "volume", SourceID: "cirros", VolumeSizeGB: 2, BootIndex: new(0), DeleteOnTermination: true},
		compute.BlockDevice{SourceType: "volume", DestinationType: "volume", VolumeID: "own-1"},
		compute.BlockDevice{SourceType: "volume", DestinationType: "volume", VolumeID: "own-2", DeleteOnTermination: true},
		compute.BlockDevice{SourceType: "blank", DestinationType: "local", VolumeSizeGB: 1})
	w.own("own-1")
	w.own("own-2")
	return w
}

func attach(w *world) error {
	out, err := w.a.Attach(w.Context(), steps.AttachIn{Fence: w.fence, HostID: w.host})
	if err == nil && out != (steps.AttachOut{Patience: time.Minute}) {
		w.Errorf("attached: %+v", out)
	}
	return err
}

func complete(w *world) error {
	_, err := w.a.Complete(w.Context(), steps.CompleteIn{Fence: w.fence})
	return err
}

func release(terminate bool) func(*world) error {
	return func(w *world) error {
		_, err := w.a.Release(w.Context(), steps.ReleaseVolumesIn{Fence: w.fence, Terminate: terminate})
		return err
	}
}

func inUse(w *world) error {
	if err := attach(w); err != nil {
		return err
	}
	return complete(w)
}

func (w *world) devices() []*compute.BlockDevice {
	w.Helper()
	all, err := compute.BlockDevices(w.Context(), w.db.Pool, w.server)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// wantAttached checks Cinder and the rows after Attach.
func wantAttached(w *world) {
	w.Helper()
	if len(w.volumes) != 3 || len(w.attachments) != 3 || w.made != 4 {
		w.Errorf("%d volumes, %d attachments, %d made", len(w.volumes), len(w.attachments), w.made)
	}
	v := w.volumes["made-1"]
	if v["name"] != "holdfast-"+w.server+"-0" || v["imageRef"] != "cirros" || fmt.Sprint(v["size"]) != "2" {
		w.Errorf("the volume is %v", v)
	}
	for i, d := range w.devices() {
		at := w.attachments[d.AttachmentID]
		if i == 3 {
			if d.AttachmentID != "" {
				w.Errorf("a local disk is attached: %+v", d)
			}
			continue
		}
		want := fmt.Sprint(map[string]any{"host": "h1", "os_type": "linux", "platform": "x86_64", "multipath": false})
		if at["volume_id"] != d.VolumeID || at["instance"] != w.server || at["status"] == "reserved" || fmt.Sprint(at["connector"]) != want {
			w.Errorf("device %d is %+v, its attachment %v", i, d, at)
		}
	}
	if w.devices()[0].VolumeID != "made-1" || !maps.Equal(w.projects, map[string]bool{"p": true}) {
		w.Errorf("volume %q, projects %v", w.devices()[0].VolumeID, w.projects)
	}
}

func wantInUse(w *world) {
	w.Helper()
	wantAttached(w)
	for id, v := range w.volumes {
		if v["status"] != "in-use" {
			w.Errorf("%s is %s", id, v["status"])
		}
	}
}

// wantLeft checks which volumes are left, and free.
func wantLeft(ids ...string) func(*world) {
	return func(w *world) {
		w.Helper()
		if got := slices.Sorted(maps.Keys(w.volumes)); !slices.Equal(got, ids) || len(w.attachments) != 0 {
			w.Errorf("volumes %v, want %v; attachments %v", got, ids, w.attachments)
		}
		for _, d := range w.devices() {
			if d.AttachmentID != "" || d.Ours && d.VolumeID != "" {
				w.Errorf("row %+v", d)
			}
		}
	}
}

func snapshot(w *world) error { return w.snapshot("image-1") }

func (w *world) snapshot(imageID string) error {
	out, err := w.a.Snapshot(w.Context(), steps.SnapshotVolumesIn{Fence: w.fence, ImageID: imageID, Name: "i"})
	if err == nil && len(out.Snapshots) != 3 {
		w.Errorf("snapshots %+v", out)
	}
	return err
}

// imaged is a server whose volumes have snapshots for two images.
func imaged(w *world) error {
	if err := inUse(w); err != nil {
		return err
	}
	if err := w.snapshot("image-1"); err != nil {
		return err
	}
	return w.snapshot("image-2")
}

func drop(w *world) error {
	_, err := w.a.DropSnapshots(w.Context(), steps.DropSnapshotsIn{Fence: w.fence, ImageID: "image-1"})
	return err
}

func wantSnapshots(w *world) {
	w.Helper()
	wantImages(w, "image-1")
	for _, s := range w.snapshots {
		if s["name"] != "snapshot for i" {
			w.Errorf("a snapshot is %v", s)
		}
	}
}

// wantImages checks that every volume has one snapshot for each of the images.
func wantImages(w *world, ids ...string) {
	w.Helper()
	got := map[string]int{}
	for _, s := range w.snapshots {
		got[fmt.Sprint(s["metadata"].(map[string]any)["holdfast_image"], " of ", s["volume_id"])]++
	}
	for _, id := range ids {
		for volume := range w.volumes {
			if got[id+" of "+volume] != 1 {
				w.Errorf("snapshots %v", got)
			}
		}
	}
	if len(w.snapshots) != len(ids)*len(w.volumes) {
		w.Errorf("snapshots %v", got)
	}
}

// acts are the steps, what must be so before, and what is so after. Each is done
// twice, and with the answer to each of its calls lost.
var acts = map[string]struct {
	proves      string
	setUp, step func(*world) error
	want        func(*world)
}{
	"attach":                           {"cinder.Attach", nil, attach, wantAttached},
	"complete":                         {"cinder.Complete", attach, complete, wantInUse},
	"undo":                             {"cinder.Release", attach, release(false), wantLeft("own-1", "own-2")},
	"terminate":                        {"cinder.Release", inUse, release(true), wantLeft("own-1")},
	"attach one":                       {"cinder.Attach", nil, attachOne, wantOne("reserved", "attaching", "attached")},
	"complete one":                     {"cinder.Complete", attachOne, completeOne, wantOne("attached")},
	"release one":                      {"cinder.Release", oneInUse, releaseOne, wantNone},
	"disconnect":                       {"cinder.Disconnect", inUse, disconnect, wantReserved},
	"follow":                           {"cinder.Follow", inUse, follow, wantFollowed},
	"move":                             {"cinder.Move", inUse, move, wantFollowed},
	"reimage":                          {"cinder.Reimage", inUse, reimage, wantRefilled},
	"begin swap":                       {"cinder.BeginSwap", swapAsked, beginSwap, wantBegun},
	"cancel swap":                      {"cinder.CancelSwap", begunSwap, cancelSwap, wantNotSwapped},
	"cancel swap that was reset":       {"cinder.CancelSwap", reset(begunSwap), cancelSwap, wantNotSwapped},
	"end swap":                         {"cinder.EndSwap", replaced, endSwap, wantSwapped},
	"end swap that was reset":          {"cinder.EndSwap", reset(replaced), endSwap, wantSwapped},
	"undo of one that was swapped":     {"cinder.Release", replaced, release(false), wantLeft("own-1", "own-2")},
	"release of one that was swapped":  {"cinder.Release", replaced, releaseOne, wantOthers},
	"release of one that was not":      {"cinder.Release", begunSwap, releaseOne, wantOthers},
	"follow with one that was swapped": {"cinder.Follow", replaced, follow, wantSwapped},
	"snapshot":                         {"cinder.Snapshot", inUse, snapshot, wantSnapshots},
	"drop":                             {"cinder.DropSnapshots", imaged, drop, func(w *world) { wantImages(w, "image-2") }},
}

// one is the volume that comes or goes by itself.
const one = "own-2"

func attachOne(w *world) error {
	_, err := w.a.Attach(w.Context(), steps.AttachIn{Fence: w.fence, HostID: w.host, VolumeID: one})
	return err
}

func completeOne(w *world) error {
	_, err := w.a.Complete(w.Context(), steps.CompleteIn{Fence: w.fence, VolumeID: one})
	return err
}

func oneInUse(w *world) error {
	if err := attachOne(w); err != nil {
		return err
	}
	return completeOne(w)
}

func releaseOne(w *world) error {
	_, err := w.a.Release(w.Context(), steps.ReleaseVolumesIn{Fence: w.fence, VolumeID: one})
	return err
}

// wantOne: nothing but the one volume is attached, and its row says how.
func wantOne(statuses ...string) func(*world) {
	return func(w *world) {
		w.Helper()
		if len(w.attachments) != 1 || w.made != 1 || len(w.volumes) != 2 {
			w.Errorf("%d attachments, %d made, volumes %v", len(w.attachments), w.made, w.volumes)
		}
		for _, d := range w.devices() {
			at := w.attachments[d.AttachmentID]
			if (d.VolumeID == one) != (at != nil) {
				w.Errorf("device %+v, its attachment %v", d, at)
			}
			if at != nil && !slices.Contains(statuses, fmt.Sprint(at["status"])) {
				w.Errorf("its attachment is %v", at)
			}
		}
	}
}

// wantNone: the volume is free, and the server has no device of it.
func wantNone(w *world) {
	w.Helper()
	if len(w.attachments) != 0 || len(w.volumes) != 2 {
		w.Errorf("attachments %v, volumes %v", w.attachments, w.volumes)
	}
	wantForgotten(w)
}

// wantForgotten: the server has no device of the volume.
func wantForgotten(w *world) {
	w.Helper()
	for _, d := range w.devices() {
		if d.VolumeID == one {
			w.Errorf("the row is there: %+v", d)
		}
	}
}

func TestEveryStepHasAnAct(t *testing.T) {
	t.Parallel()
	var proven []string
	for _, c := range acts {
		proven = append(proven, c.proves)
	}
	activitytest.Covers(t, "cinder", proven...)
}

func TestTwice(t *testing.T) {
	t.Parallel()
	for name, c := range acts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ready(t, c.setUp)
			for range 2 {
				if err := c.step(w); err != nil {
					t.Fatal(err)
				}
				c.want(w)
			}
		})
	}
}

func ready(t *testing.T, setUp func(*world) error) *world {
	t.Helper()
	w := three(t)
	if setUp != nil {
		if err := setUp(w); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// Each call's answer is lost in turn, and the step is done again; what an
// attach leaves half-done can be undone as well.
func TestAnswersAreLost(t *testing.T) {
	t.Parallel()
	for name, c := range acts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 0; ; at++ {
				w := ready(t, c.setUp)
				w.loseAt = len(w.calls) + at
				if err := c.step(w); err == nil && w.loseAt >= len(w.calls) {
					return
				}
				w.loseAt = -1
				if name == "attach" && at%2 == 0 {
					if err := release(false)(w); err != nil {
						t.Fatal(err)
					}
					wantLeft("own-1", "own-2")(w)
					continue
				}
				if err := c.step(w); err != nil {
					t.Fatalf("after the answer to call %d was lost: %v", at, err)
				}
				c.want(w)
			}
		})
	}
}

// A volume that takes its time is said to be pending, and asked for again.
func TestPending(t *testing.T) {
	t.Parallel()
	w := three(t)
	w.slow = 20
	var calls int
	for {
		out, err := w.a.Attach(t.Context(), steps.AttachIn{Fence: w.fence, HostID: w.host})
		if err != nil {
			t.Fatal(err)
		}
		calls++
		if out.Pending == "" {
			break
		}
		if want := (steps.AttachOut{Pending: "made-1", Status: "creating", Patience: time.Minute}); out != want || len(w.attachments) > 0 {
			t.Fatalf("%+v, want %+v; attachments %v", out, want, w.attachments)
		}
	}
	if calls < 2 {
		t.Errorf("it was waited for in %d call", calls)
	}
	wantAttached(w)
}

// Cinder's errors become the original's.
func TestRefusals(t *testing.T) {
	t.Parallel()
	image := compute.BlockDevice{SourceType: "image", DestinationType: "volume", SourceID: "cirros", VolumeSizeGB: 1}
	snapshot := compute.BlockDevice{SourceType: "snapshot", DestinationType: "volume", SourceID: "snap", VolumeSizeGB: 1}
	own := compute.BlockDevice{SourceType: "volume", DestinationType: "volume", VolumeID: "own-1"}
	for name, c := range map[string]struct {
		device  compute.BlockDevice
		setUp   func(*world)
		refuse  map[string]refusal
		becomes string
		want    faults.Error
	}{
		"no such volume": {device: own,
			want: faults.Error{Kind: faults.NotFound, Code: "VolumeNotFound", Message: "Volume own-1 could not be found."}},
		"no such snapshot": {device: snapshot, refuse: map[string]refusal{"POST volumes": {http.StatusNotFound, "none"}},
			want: faults.Error{Kind: faults.NotFound, Code: "SnapshotNotFound", Message: "Snapshot snap could not be found."}},
		"in use": {device: own, setUp: func(w *world) { w.own("own-1")["status"] = "in-use" },
			want: faults.Error{Kind: faults.Invalid, Code: "InvalidVolume", Message: "Invalid volume: status must be available"}},
		"quota": {device: image, refuse: map[string]refusal{"POST volumes": {http.StatusRequestEntityTooLarge, "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded"}},
			want: faults.Error{Kind: faults.OverLimit, Code: "OverQuota", Message: "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded"}},
		"broken volume": {device: image, becomes: "error",
			want: faults.Error{Kind: faults.Conflict, Code: "VolumeNotCreated", Message: "Volume made-1 did not finish being created even after we waited 0 seconds or 1 attempts. And its status is error."}},
		"refused login": {device: own, refuse: map[string]refusal{"GET attachments": {http.StatusForbidden, "no"}},
			want: faults.Error{Kind: faults.Unavailable, Code: "CinderForbidden", Message: "the block storage service refuses the service user"}},
		"broken service": {device: own, refuse: map[string]refusal{"GET attachments": {http.StatusInternalServerError, "secret"}},
			want: faults.Error{Kind: faults.Unavailable, Code: "CinderConnectionFailed", Message: "Connection to cinder host failed: it answered 500"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.device)
			if c.setUp != nil {
				c.setUp(w)
			}
			if c.becomes != "" {
				w.becomes = c.becomes
			}
			w.refuse = c.refuse
			err := attach(w)
			got := faults.As(err)
			if err == nil || got.Kind != c.want.Kind || got.Code != c.want.Code || got.Message != c.want.Message {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			w.refuse = nil
			if err := release(false)(w); err != nil {
				t.Errorf("undo: %v", err)
			}
			if w.volumes["made-1"] != nil || len(w.attachments) > 0 {
				t.Errorf("left behind: %v, %v", w.volumes, w.attachments)
			}
		})
	}
}

// A volume that Cinder keeps for its snapshots stays the user's; one that is
// busy is waited for.
func TestVolumesThatCannotGo(t *testing.T) {
	t.Parallel()
	w := ready(t, inUse)
	w.volumes["made-1"]["snapshots"] = 1
	if err := release(true)(w); err != nil {
		t.Fatal(err)
	}
	wantLeft("made-1", "own-1")(w)

	w = ready(t, nil)
	w.volumes["own-2"]["status"] = "backing-up"
	if err := release(true)(w); !faults.Is(err, faults.Unavailable) {
		t.Errorf("%v, want unavailable", err)
	}
}

// Who has lost the server calls nobody.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	w := three(t)
	w.fence.Generation--
	for name, step := range map[string]func(*world) error{"attach": attach, "complete": complete, "release": release(false)} {
		if err := step(w); !faults.Is(err, faults.Superseded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(w.calls) > 0 {
		t.Errorf("calls %v", w.calls)
	}
}

// owed has the operation owe an effect of a kind.
func owed(w *world, kind operations.EffectKind) engine.Debt {
	w.Helper()
	computetest.InTx(w.T, w.db, func(tx store.Tx) error {
		_, err := w.engine.Advance(w.Context(), tx, steps.AdvanceIn{Fence: w.fence, Step: operations.StepUndo,
			Intend: []operations.Effect{{Kind: kind, Ref: w.server}}})
		if err != nil {
			return err
		}
		_, err = w.engine.Advance(w.Context(), tx, steps.AdvanceIn{Fence: w.fence, Step: operations.StepUndo,
			Settle: []steps.Settlement{{Seq: 1, State: operations.Owed}}})
		return err
	})
	debts, err := w.engine.Debts(w.Context(), w.db.Pool, "")
	if err != nil || len(debts) != 1 {
		w.Fatalf("%+v, %v", debts, err)
	}
	return debts[0]
}

// A debt is paid once nobody has the server, by the operation that owes it: a
// build that was undone leaves nothing of ours, an end what the user keeps; of
// volumes that leave their host, or have left it, each has one attachment.
func TestPay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   operations.EffectKind
		pay    func(*cinder.Activities, context.Context, engine.Debt) error
		onHost bool
		want   func(*world)
	}{
		{operations.EffectVolumes, (*cinder.Activities).Pay, false, wantLeft("own-1", "own-2")},
		{operations.EffectConnections, (*cinder.Activities).PayConnections, false, wantReserved},
		{operations.EffectOldConnections, (*cinder.Activities).PayFollow, true, wantFollowed},
		{operations.EffectMovedVolumes, (*cinder.Activities).PayFollow, true, wantFollowed},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			w := ready(t, inUse)
			if c.onHost {
				computetest.InTx(t, w.db, func(tx store.Tx) error {
					_, err := tx.Exec(t.Context(), `UPDATE compute.servers SET host_id = $2 WHERE id = $1`, w.server, w.host)
					return err
				})
			}
			debt, had := owed(w, c.kind), maps.Clone(w.attachments)
			if err := c.pay(w.a, t.Context(), debt); !faults.Is(err, faults.Unavailable) || !slices.Equal(slices.Sorted(maps.Keys(w.attachments)), slices.Sorted(maps.Keys(had))) {
				t.Errorf("while its operation runs: %v, attachments %v", err, w.attachments)
			}
			computetest.InTx(t, w.db, func(tx store.Tx) error {
				_, err := w.engine.Finish(t.Context(), tx, steps.FinishIn{Fence: w.fence, Result: operations.ResultFailed, Fault: &steps.Fault{Code: "x"}})
				return err
			})
			for range 2 {
				if err := c.pay(w.a, t.Context(), debt); err != nil {
					t.Error(err)
				}
				c.want(w)
			}
			for id := range w.attachments {
				if _, old := had[id]; old {
					t.Errorf("the attachment %s is left", id)
				}
			}
			if debts, err := w.engine.Debts(t.Context(), w.db.Pool, ""); err != nil || len(debts) != 0 {
				t.Errorf("%+v, %v", debts, err)
			}
		})
	}
}

// A volume that is gone keeps the others from nothing that is owed of them.
func TestPayWithoutAVolumeThatIsGone(t *testing.T) {
	t.Parallel()
	for name, pay := range map[string]func(*cinder.Activities, context.Context, engine.Debt) error{
		"disconnect": (*cinder.Activities).PayConnections, "follow": (*cinder.Activities).PayFollow,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ready(t, inUse)
			debt := owed(w, operations.EffectOldConnections)
			computetest.InTx(t, w.db, func(tx store.Tx) error {
				_, err := w.engine.Finish(t.Context(), tx, steps.FinishIn{Fence: w.fence, Result: operations.ResultFailed, Fault: &steps.Fault{Code: "x"}})
				if err == nil && name == "follow" {
					_, err = tx.Exec(t.Context(), `UPDATE compute.servers SET host_id = $2 WHERE id = $1`, w.server, w.host)
				}
				return err
			})
			const gone = "own-1"
			delete(w.volumes, gone)
			maps.DeleteFunc(w.attachments, func(_ string, at object) bool { return at["volume_uuid"] == gone || at["volume_id"] == gone })
			had := maps.Clone(w.attachments)
			if len(had) != 2 {
				t.Fatalf("attachments %v", had)
			}
			if err := pay(w.a, t.Context(), debt); err != nil {
				t.Error(err)
			}
			for id, at := range w.attachments {
				if _, old := had[id]; old {
					t.Errorf("the attachment %v is left", at)
				}
			}
			if len(w.attachments) != 2 {
				t.Errorf("attachments %v", w.attachments)
			}
			if debts, err := w.engine.Debts(t.Context(), w.db.Pool, ""); err != nil || len(debts) != 0 {
				t.Errorf("%+v, %v", debts, err)
			}
		})
	}
}
