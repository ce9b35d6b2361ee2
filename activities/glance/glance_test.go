package glance_test

// Every step against the development cloud's image service: done twice, and with
// a Glance that is down.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/glance"
	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/image"
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

// world is a server of which an image is being made, with the steps and their Glance.
type world struct {
	*companiontest.Client
	t      *testing.T
	db     *store.DB
	engine *engine.Engine
	a      *glance.Activities
	down   bool
	// loseAt is the call, from 0, whose answer is lost; calls counts them.
	loseAt, calls int
	server        string
	fence         steps.Fence
}

func newWorld(t *testing.T, devices ...compute.BlockDevice) *world {
	t.Helper()
	service, err := image.New(image.Config{Pool: companiontest.Pool(t, "image", image.Migrations()),
		Auth: companiontest.Callers{}, Log: companiontest.Log(t), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Client: companiontest.Serve(t, service), t: t, db: computetest.Open(t), loseAt: -1}
	w.engine = engine.New(w.db, compute.Resource())
	w.a = glance.New(w.db, w.engine, glance.Options{Heartbeat: func(context.Context) {}, Client: func(context.Context) (*gophercloud.ServiceClient, error) {
		base := w.Base
		if w.down {
			base = "http://127.0.0.1:1"
		}
		return &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{TokenID: "admin", HTTPClient: http.Client{Transport: w}},
			Endpoint: base + "/", ResourceBase: base + "/v2/", Type: "image"}, nil
	}})
	w.server = computetest.AddServer(t, w.db, companiontest.DemoProject).ID
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		if err := compute.InsertBlockDevices(t.Context(), tx, w.server, devices); err != nil {
			return err
		}
		accepted, err := w.engine.Accept(t.Context(), tx, engine.Request{Kind: operations.ServerCreateImage, ResourceID: w.server, ProjectID: companiontest.DemoProject})
		if err != nil {
			return err
		}
		run := uuid.NewString()
		out, err := w.engine.Begin(t.Context(), tx, steps.BeginIn{OperationID: accepted.OperationID, RunID: run})
		w.fence = steps.Fence{OperationID: accepted.OperationID, Generation: out.Generation, RunID: run}
		return err
	})
	return w
}

// RoundTrip is the steps' way to Glance: it loses the answer to one call.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	w.calls++
	if err == nil && w.calls == w.loseAt+1 {
		return nil, errors.Join(errLost, answer.Body.Close())
	}
	return answer, err
}

var errLost = errors.New("the answer is lost")

// Each call's answer is lost in turn, and the step is done again.
func TestAnswersAreLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, compute.BlockDevice{SourceType: "volume", DestinationType: "volume", VolumeID: "v", BootIndex: new(0)})
	var proven []string
	for name, act := range map[string]struct {
		step func(id string) error
		left int // the answer to a question about the image
	}{
		"glance.Fill": {func(id string) error {
			_, err := w.a.Fill(t.Context(), steps.FillIn{Fence: w.fence, ImageID: id, Snapshots: []steps.VolumeSnapshot{{ID: "s"}}})
			return err
		}, 200},
		"glance.Rotate": {func(string) error {
			_, err := w.a.Rotate(t.Context(), steps.RotateIn{Fence: w.fence, BackupType: "daily", Owner: companiontest.DemoProject})
			return err
		}, 404},
		"glance.Delete": {func(id string) error {
			_, err := w.a.Delete(t.Context(), steps.DeleteImageIn{Fence: w.fence, ImageID: id})
			return err
		}, 404},
	} {
		proven = append(proven, name)
		for at, lost := 0, true; lost; at++ {
			id := w.backup("demo")
			w.calls, w.loseAt = 0, at
			err := act.step(id)
			if lost = w.calls > at; lost && !faults.Is(err, faults.Unavailable) {
				t.Errorf("%s, the answer to call %d lost: %v", name, at, err)
			}
			w.loseAt = -1
			if err := act.step(id); err != nil {
				t.Errorf("%s after the answer to call %d was lost: %v", name, at, err)
			}
			if got := w.Want(act.left, "demo", "GET", "/v2/images/"+id, ""); act.left == 200 && got.TextAt("status") != "active" {
				t.Errorf("%s after the answer to call %d was lost: %s", name, at, got.Text)
			}
		}
	}
	activitytest.Covers(t, "glance", proven...)
}

// image makes one in a caller's name, as a request does.
func (w *world) image(who, more string) string {
	w.t.Helper()
	return w.Want(201, who, "POST", "/v2/images", `{"name": "i", "disk_format": "qcow2", "container_format": "bare"`+more+`}`).TextAt("id")
}

func (w *world) backup(who string) string {
	w.t.Helper()
	return w.image(who, fmt.Sprintf(`, "image_type": "backup", "backup_type": "daily", "instance_uuid": %q`, w.server))
}

func TestFill(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		compute.BlockDevice{SourceType: "image", DestinationType: "volume", SourceID: "cirros", VolumeSizeGB: 2, BootIndex: new(0), DeviceName: "/dev/vda", VolumeID: "v"},
		compute.BlockDevice{SourceType: "blank", DestinationType: "local", GuestFormat: "swap", VolumeSizeGB: 64})
	id := w.image("demo", "")
	in := steps.FillIn{Fence: w.fence, ImageID: id, Snapshots: []steps.VolumeSnapshot{{Position: 0, ID: "s-1"}}}
	for range 2 {
		if _, err := w.a.Fill(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	made := w.Want(200, "demo", "GET", "/v2/images/"+id, "")
	var devices []map[string]any
	if err := json.Unmarshal([]byte(made.TextAt("block_device_mapping")), &devices); err != nil {
		t.Fatal(err)
	}
	if made.TextAt("status") != "active" || made.TextAt("bdm_v2") != "True" || made.TextAt("root_device_name") != "/dev/vda" || len(devices) != 2 ||
		devices[0]["source_type"] != "snapshot" || devices[0]["snapshot_id"] != "s-1" || devices[0]["boot_index"] != 0.0 || devices[0]["image_id"] != nil ||
		devices[1]["source_type"] != "blank" || devices[1]["guest_format"] != "swap" || devices[1]["snapshot_id"] != nil {
		t.Errorf("the image is %s", made.Text)
	}
	in.ImageID = uuid.NewString()
	if _, err := w.a.Fill(t.Context(), in); !faults.Is(err, faults.NotFound) {
		t.Errorf("no image: %v", err)
	}
	w.down = true
	if _, err := w.a.Fill(t.Context(), in); !faults.Is(err, faults.Unavailable) {
		t.Errorf("Glance down: %v", err)
	}
	in.Fence.Generation--
	if _, err := w.a.Fill(t.Context(), in); !faults.Is(err, faults.Superseded) {
		t.Errorf("an old fence: %v", err)
	}
}

// The newest of a type stay, and what is another project's.
func TestRotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []string
	for range 4 {
		all = append(all, w.backup("demo"))
	}
	others := w.backup("other")
	weekly := w.image("demo", fmt.Sprintf(`, "image_type": "backup", "backup_type": "weekly", "instance_uuid": %q`, w.server))
	there := func() (ids []string) {
		for _, id := range append(slices.Clone(all), weekly) {
			if w.Do("demo", "GET", "/v2/images/"+id, "").Status == 200 {
				ids = append(ids, id)
			}
		}
		return ids
	}
	for _, k := range []struct {
		rotation int
		want     []string
	}{{2, []string{all[2], all[3], weekly}}, {2, []string{all[2], all[3], weekly}}, {0, []string{weekly}}} {
		if _, err := w.a.Rotate(t.Context(), steps.RotateIn{Fence: w.fence, BackupType: "daily", Rotation: k.rotation, Owner: companiontest.DemoProject}); err != nil {
			t.Fatal(err)
		}
		if got := there(); !slices.Equal(got, k.want) {
			t.Errorf("rotation %d leaves %v, want %v", k.rotation, got, k.want)
		}
	}
	w.Want(200, "other", "GET", "/v2/images/"+others, "")
}

// What is gone is left alone, what is protected is its owner's; while Glance is
// down the image is owed, and paid later.
func TestDelete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, kept := w.image("demo", ""), w.image("demo", `, "protected": true`)
	w.down = true
	if _, err := w.a.Delete(t.Context(), steps.DeleteImageIn{Fence: w.fence, ImageID: id}); !faults.Is(err, faults.Unavailable) {
		t.Errorf("Glance down: %v", err)
	}
	w.down = false
	for _, image := range []string{id, id, kept} {
		if _, err := w.a.Delete(t.Context(), steps.DeleteImageIn{Fence: w.fence, ImageID: image}); err != nil {
			t.Error(err)
		}
	}
	w.Want(404, "demo", "GET", "/v2/images/"+id, "")
	w.Want(200, "demo", "GET", "/v2/images/"+kept, "")
	owed := w.image("demo", "")
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		_, err := w.engine.Advance(t.Context(), tx, steps.AdvanceIn{Fence: w.fence, Step: operations.StepUndo,
			Intend: []operations.Effect{{Kind: operations.EffectImage, Ref: owed}}})
		if err != nil {
			return err
		}
		_, err = w.engine.Finish(t.Context(), tx, steps.FinishIn{Fence: w.fence, Result: operations.ResultFailed,
			Settle: []steps.Settlement{{Seq: 1, State: operations.Owed}}})
		return err
	})
	debts, err := w.engine.Debts(t.Context(), w.db.Pool, "")
	if err != nil || len(debts) != 1 {
		t.Fatalf("debts %+v, %v", debts, err)
	}
	for range 2 {
		if err := w.a.Pay(t.Context(), debts[0]); err != nil {
			t.Error(err)
		}
	}
	w.Want(404, "demo", "GET", "/v2/images/"+owed, "")
	if left, err := w.engine.Debts(t.Context(), w.db.Pool, ""); err != nil || len(left) != 0 {
		t.Errorf("still owed: %+v, %v", left, err)
	}
}
