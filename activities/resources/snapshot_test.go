package resources_test

// Snapshots: copies of resources, made, restored from and taken away.

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
)

// copyable is a type whose resources have copies, by their names.
type copyable struct {
	outside
	copies map[string]bool
	wrong  error
}

func (o *copyable) Snapshot(_ context.Context, c *resources.Call) (time.Duration, error) {
	if o.wrong != nil {
		return 0, o.wrong
	}
	o.copies[c.Copy] = true
	c.Kept.Set("copy", c.Copy)
	return 0, nil
}

func (o *copyable) DeleteSnapshot(_ context.Context, c *resources.Call) (time.Duration, error) {
	delete(o.copies, c.Copy)
	return 0, o.wrong
}

// taking has a snapshot of the stack be taken.
func (w *world) taking() (id string) {
	w.Helper()
	n := &orchestration.Snapshot{ID: uuid.NewString(), StackID: w.stack.ID, TemplateID: w.stack.TemplateID}
	computetest.InTx(w.T, w.db, func(tx store.Tx) error { return orchestration.InsertSnapshot(w.Context(), tx, n) })
	w.fence = w.begin(operations.StackSnapshot, steps.TraversalInput{Template: w.stack.TemplateID, Snapshot: n.ID})
	return n.ID
}

// worked has each node of a plan worked on twice, as if nobody had heard of the first
// time.
func (w *world) worked(phase steps.Phase) (failed []string) {
	w.Helper()
	plan := w.plan(phase)
	for node, id := range plan.IDs {
		do := w.on(w.db).Work
		if slices.Contains(plan.Instant, node) {
			do = w.on(w.db).Batch
		}
		for range 2 {
			out, err := do(w.Context(), steps.WorkIn{Fence: w.fence, Phase: phase, IDs: []int64{id}})
			if err != nil {
				w.Fatal(err)
			}
			if out.Failed != nil && !slices.Contains(failed, out.Failed.Reason) {
				failed = append(failed, out.Failed.Reason)
			}
		}
	}
	return failed
}

func (w *world) snapshots() []*orchestration.Snapshot {
	w.Helper()
	all, err := orchestration.Snapshots(w.Context(), w.db.Pool, w.stack.ID)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// A snapshot has what is there of each resource and a copy of what can be copied, and
// takes them along; the others stay.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	o := &copyable{outside: outside{there: map[string]bool{}}, copies: map[string]bool{}}
	w := newWorld(t, sleepers)
	w.types["OS::Heat::TestResource"] = o
	w.worked(steps.Make)
	w.end("CREATE", "COMPLETE")
	first := w.taking()
	if failed := w.worked(steps.Snapshot); failed != nil || len(o.copies) != 2 {
		t.Fatalf("%v, copies %v", failed, o.copies)
	}
	w.end("SNAPSHOT", "COMPLETE")
	kept, err := orchestration.ResourceSnapshots(t.Context(), w.db.Pool, []string{first})
	if err != nil || len(kept) != 3 || kept[0].Status != "COMPLETE" || kept[0].Action != "SNAPSHOT" {
		t.Fatalf("%v, %+v", err, kept)
	}
	if of, err := stacks.OpenKept(kept[0], w.box); err != nil || !of.All().Has("copy") {
		t.Errorf("%v, %+v", err, of)
	}
	for name, r := range w.rows() {
		if r.Action+"_"+r.Status != "SNAPSHOT_COMPLETE" {
			t.Errorf("%s is %s_%s", name, r.Action, r.Status)
		}
	}
	second := w.taking()
	w.worked(steps.Snapshot)
	w.end("SNAPSHOT", "COMPLETE")
	if len(o.copies) != 4 {
		t.Errorf("copies %v", o.copies)
	}
	// One is deleted, and the other goes with the stack.
	w.forgetting(first)
	if failed := w.worked(steps.Forget); failed != nil || len(o.copies) != 2 {
		t.Errorf("%v, copies %v", failed, o.copies)
	}
	w.end("", "")
	if all := w.snapshots(); len(all) != 1 || all[0].ID != second || all[0].Status != "COMPLETE" {
		t.Errorf("%+v", all)
	}
	w.fence = w.begin(operations.StackDelete)
	w.worked(steps.Forget)
	if len(o.copies) != 0 || len(w.plan(steps.Forget).IDs) != 0 {
		t.Errorf("copies %v", o.copies)
	}
}

// forgetting has a snapshot's delete begun.
func (w *world) forgetting(id string) {
	w.Helper()
	var accepted engine.Accepted
	computetest.InTx(w.T, w.db, func(tx store.Tx) (err error) {
		accepted, err = w.engine.Accept(w.Context(), tx, engine.Request{Kind: operations.SnapshotDelete, ResourceID: id, ProjectID: "p", Input: steps.TraversalInput{Snapshot: id}})
		return err
	})
	w.fence = w.take(accepted.OperationID)
}

// What can't be copied, or whose copy can't be deleted, fails the snapshot and not the
// resource.
func TestSnapshotFails(t *testing.T) {
	t.Parallel()
	wrong := faults.New(faults.Invalid, "Error", "it is broken")
	o := &copyable{outside: outside{there: map[string]bool{}}, copies: map[string]bool{}}
	w := newWorld(t, sleepers)
	w.types["OS::Heat::TestResource"] = o
	w.worked(steps.Make)
	w.end("CREATE", "COMPLETE")
	o.wrong = wrong
	id := w.taking()
	if failed := w.worked(steps.Snapshot); len(failed) != 2 || failed[0] != "Resource SNAPSHOT failed: Error: resources.first: it is broken" {
		t.Errorf("%v", failed)
	}
	w.end("SNAPSHOT", "FAILED")
	if all := w.snapshots(); len(all) != 1 || all[0].Status != "FAILED" {
		t.Errorf("%+v", all)
	}
	w.forgetting(id)
	if failed := w.worked(steps.Forget); len(failed) != 2 || failed[0] != "Resource snapshot DELETE failed: Error: resources.first: it is broken" {
		t.Errorf("%v", failed)
	}
	if _, err := w.records().Finish(t.Context(), steps.FinishIn{Fence: w.fence, Result: operations.ResultFailed, Fault: &steps.Fault{Message: "why"}}); err != nil {
		t.Fatal(err)
	}
	if all := w.snapshots(); len(all) != 1 || all[0].Status != "FAILED" || all[0].Action != "CREATE" || *all[0].Reason != "why" {
		t.Errorf("%+v", all)
	}
	// An update keeps what couldn't be copied.
	before := w.rows()
	o.wrong = nil
	w.fence = w.begin(operations.StackUpdate, steps.TraversalInput{Template: w.stack.TemplateID, Previous: w.stack.TemplateID})
	w.worked(steps.Make)
	for name, r := range w.rows() {
		if r.ID != before[name].ID {
			t.Errorf("%s was replaced", name)
		}
	}
}

// A snapshot that a newer operation cuts short has failed, whether it had begun or not.
func TestSnapshotIsCutShort(t *testing.T) {
	t.Parallel()
	for _, begun := range []bool{false, true} {
		w := newWorld(t, sleepers)
		w.made()
		n := &orchestration.Snapshot{ID: uuid.NewString(), StackID: w.stack.ID, TemplateID: w.stack.TemplateID}
		computetest.InTx(t, w.db, func(tx store.Tx) error { return orchestration.InsertSnapshot(t.Context(), tx, n) })
		accepted := w.accept(operations.StackSnapshot, steps.TraversalInput{Template: w.stack.TemplateID, Snapshot: n.ID})
		if begun {
			w.fence = w.take(accepted.OperationID)
		}
		w.accept(operations.StackDelete)
		if begun {
			w.cancelled("SNAPSHOT")
		}
		if all := w.snapshots(); len(all) != 1 || all[0].Status != "FAILED" || *all[0].Reason != "Stack SNAPSHOT cancelled" {
			t.Errorf("begun %t: %+v", begun, all[0])
		}
	}
}

// What goes by the deletion policy Snapshot is copied before; nothing goes that couldn't
// be copied, and of what never came to be there is no copy.
func TestCopiedBeforeItGoes(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"COMPLETE", "FAILED"} {
		w := newWorld(t, "heat_template_version: 2021-04-16\nresources:\n  thing: {type: OS::Heat::TestResource}\n")
		o := &copyable{outside: outside{there: map[string]bool{}}, copies: map[string]bool{}}
		w.types["OS::Heat::TestResource"] = o
		w.made()
		if _, err := w.db.Pool.Exec(t.Context(), `UPDATE orchestration.resources SET deletion_policy = 'Snapshot', status = $2 WHERE stack_id = $1`, w.stack.ID, status); err != nil {
			t.Fatal(err)
		}
		o.wrong = faults.New(faults.Invalid, "Error", "it is broken")
		w.fence = w.begin(operations.StackDelete)
		id := -w.rows()["thing"].ID
		if status == "COMPLETE" {
			const why = "Resource DELETE failed: Error: resources.thing: it is broken"
			if out := w.batch(steps.Clear, id); out.Failed == nil || out.Failed.Reason != why || len(o.there) != 1 {
				t.Errorf("%+v, and there is %v", out, o.there)
			}
			w.end("DELETE", "FAILED")
			o.wrong = nil
			w.fence = w.begin(operations.StackDelete)
			if out := w.batch(steps.Clear, id); len(out.Waiting) != 1 || len(o.copies) != 1 || len(o.there) != 1 {
				t.Errorf("%+v, copies %v, and there is %v", out, o.copies, o.there)
			}
			o.wrong = faults.New(faults.Internal, "Again", "it has been copied")
		}
		if out := w.later(steps.Clear, id); len(out.Done) != 1 || len(o.there) != 0 || (len(o.copies) == 1) != (status == "COMPLETE") {
			t.Errorf("%s: %+v, copies %v, and there is %v", status, out, o.copies, o.there)
		}
	}
}

// A disk is copied, another is made of the copy and the disk itself is made that again;
// and the copy is taken away: whatever is lost on the way.
func TestVolumeSnapshot(t *testing.T) {
	t.Parallel()
	b, _ := newBench(t)
	th := thing{name: "disk", typ: "OS::Cinder::Volume"}
	v := b.types[th.typ].(resources.Volume)
	disk := b.killed("create", b.call(th, `{"size": 1}`), v.Create)
	c := b.call(th, `{"size": 1}`)
	c.PhysicalID, c.Action, c.Copy, c.Kept = disk.PhysicalID, "SNAPSHOT", "copy", &value.Map{}
	copied := b.killed("copy", c, v.Snapshot)
	backup, _ := copied.Kept.Get(stacks.SnapshotBackup)
	of := `{"backup_id": "` + value.Str(backup) + `"}`
	another := b.killed("create of the copy", b.call(thing{name: "another", typ: th.typ}, of), v.Create)
	if size, _ := another.Attributes.Get("size"); value.Str(size) != "1" || another.Data.Has("filled_from") {
		t.Errorf("its size is %v, and it keeps %s", size, value.JSON(another.Data, false))
	}
	u := b.call(th, `{"size": 1, "backup_id": "`+value.Str(backup)+`"}`)
	u.PhysicalID, u.Action, u.Data = disk.PhysicalID, "UPDATE", disk.Data
	b.killed("restore", u, func(ctx context.Context, c *resources.Call) (time.Duration, error) {
		return v.Update(ctx, c, []string{"backup_id"})
	})
	for _, known := range []*value.Map{{}, copied.Kept} { // nobody has heard which one it was
		c.Kept = known
		b.killed("delete the copy", c, v.DeleteSnapshot)
	}
	for _, gone := range []*resources.Call{disk, another} {
		gone.Action = "DELETE"
		b.killed("delete", gone, v.Delete)
	}
}

// attachedDisk is a disk in a server, with what is asked of the services about it: each
// change takes until the disk is looked at again.
type attachedDisk struct {
	sync.Mutex
	*testing.T
	status, next string
	said         []string
}

const (
	diskID, inServer, backupID = "00000000-5555-4555-8555-555555555555", "00000000-6666-4666-8666-666666666666", "00000000-7777-4777-8777-777777777777"
	diskPath, attachmentsPath  = "/volumes/" + diskID, "/servers/" + inServer + "/os-volume_attachments"
)

// ServeHTTP implements http.Handler.
func (d *attachedDisk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.Lock()
	defer d.Unlock()
	write := func(status int, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text)) // a client that is gone needs none
	}
	change := func(from, status, next, answer string) {
		if d.status != from {
			write(http.StatusConflict, `{"conflict": {"message": "it is `+d.status+`"}}`)
			return
		}
		d.status, d.next = status, next
		d.said = append(d.said, r.Method+" "+r.URL.Path)
		write(http.StatusAccepted, answer)
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /backups/" + backupID:
		write(http.StatusOK, `{"backup": {"status": "available", "size": 1}}`)
	case "POST /backups/" + backupID + "/restore":
		if d.status == "restoring-backup" { // the answer to the first was lost
			write(http.StatusAccepted, `{}`)
			return
		}
		change("available", "restoring-backup", "available", `{}`)
	case "DELETE " + attachmentsPath + "/" + diskID:
		change("in-use", "detaching", "available", "")
	case "POST " + attachmentsPath:
		change("available", "attaching", "in-use", `{"volumeAttachment": {}}`)
	case "GET " + diskPath, "PUT " + diskPath:
		if d.next != "" && r.Method == http.MethodGet {
			d.status, d.next = d.next, ""
		}
		attachments := "[]"
		if d.status == "in-use" {
			attachments = `[{"server_id": "` + inServer + `"}]`
		}
		write(http.StatusOK, `{"volume": {"id": "`+diskID+`", "size": 1, "status": "`+d.status+`", "attachments": `+attachments+`}}`)
	default:
		d.Errorf("asked %s %s", r.Method, r.URL)
		write(http.StatusNotFound, `{}`)
	}
}

// A disk that is restored while a server has it is taken out of that, filled, and put
// back, whatever is lost on the way. If the answer to its being filled is lost, it is
// filled with the same again.
func TestRestoreOfAnAttachedVolume(t *testing.T) {
	t.Parallel()
	service := &attachedDisk{T: t, status: "in-use"}
	b := benchOf(t, service)
	th := thing{name: "disk", typ: "OS::Cinder::Volume"}
	v := b.types[th.typ].(resources.Volume)
	c := b.call(th, `{"size": 1, "backup_id": "`+backupID+`"}`)
	c.PhysicalID, c.Action = diskID, "UPDATE"
	done := b.killed("restore", c, func(ctx context.Context, c *resources.Call) (time.Duration, error) {
		return v.Update(ctx, c, []string{"backup_id"})
	})
	want := []string{"DELETE " + attachmentsPath + "/" + diskID, "POST /backups/" + backupID + "/restore", "POST " + attachmentsPath}
	if !slices.Equal(slices.Compact(service.said), want) || service.status != "in-use" || done.Data.Has("filled_from") || done.Data.Has("taken_out_of") {
		t.Errorf("it is %s, was told\n%s\nand keeps %s", service.status, strings.Join(service.said, "\n"), value.JSON(done.Data, false))
	}
}

// glance has images of a server, beside a compute service that makes them one look
// later; and says which disk is in it.
type glance struct {
	compute
	images map[string]string // ids and statuses
	names  map[string]string
	lock   sync.Mutex
}

func (g *glance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.lock.Lock()
	defer g.lock.Unlock()
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	write := func(status int, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text)) // a client that is gone needs none
	}
	const id = "00000000-4444-4444-8444-444444444444"
	switch {
	case parts[len(parts)-1] == "action":
		g.images[id], g.names[id] = "queued", "copy"
		write(202, `{"image_id": "`+id+`"}`)
	case parts[0] != "images":
		g.compute.ServeHTTP(w, r)
	case r.Method == http.MethodDelete && g.images[id] == "":
		write(404, `{}`)
	case r.Method == http.MethodDelete:
		delete(g.images, id)
		w.WriteHeader(204)
	case len(parts) == 1 && g.images[id] != "" && r.URL.Query().Get("name") == g.names[id]:
		write(200, `{"images": [{"id": "`+id+`", "name": "copy"}]}`)
	case len(parts) == 1:
		write(200, `{"images": []}`)
	case g.images[id] == "":
		write(404, `{}`)
	default:
		write(200, `{"id": "`+id+`", "status": "`+g.images[id]+`"}`)
		g.images[id] = map[string]string{"queued": "active", "active": "active", "killed": "killed"}[g.images[id]]
	}
}

// A server is copied to an image, which is deleted again: whatever is lost on the way.
func TestServerSnapshot(t *testing.T) {
	t.Parallel()
	service := &glance{compute: compute{servers: map[string]map[string]any{}, attached: map[string]map[string]any{}}, images: map[string]string{}, names: map[string]string{}}
	b := benchOf(t, service)
	th := thing{name: "server", typ: "OS::Nova::Server"}
	server := b.types[th.typ].(resources.Server)
	made := b.killed("create", b.call(th, `{"flavor": "small", "image": "00000000-1111-4111-8111-111111111111"}`), server.Create)
	c := b.call(th, `{"flavor": "small"}`)
	c.PhysicalID, c.Action, c.Copy, c.Kept = made.PhysicalID, "SNAPSHOT", "copy", &value.Map{}
	copied := b.killed("copy", c, server.Snapshot)
	image, _ := copied.Kept.Get(stacks.SnapshotImage)
	if len(service.images) != 1 || service.images[value.Str(image)] != "active" {
		t.Errorf("%v of %v", image, service.images)
	}
	service.images[value.Str(image)] = "killed"
	if _, err := server.Snapshot(t.Context(), copied); err == nil || err.Error() != "killed" {
		t.Errorf("%v", err)
	}
	b.killed("delete the copy", copied, server.DeleteSnapshot)
	if _, err := server.Snapshot(t.Context(), copied); !faults.Is(err, faults.NotFound) || len(service.images) != 0 {
		t.Errorf("%v, and there are %v", err, service.images)
	}
}
