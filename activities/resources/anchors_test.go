package resources_test

// Rows 28, 30, 31, 34 and 35 of the list of failures that the original has had: each
// as it would happen here, and what comes of it.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
)

// mortal is a type whose worker dies when it has made the thing, before it can say so.
type mortal struct {
	*outside
	die context.CancelFunc
}

func (m *mortal) Create(ctx context.Context, c *resources.Call) (time.Duration, error) {
	wait, err := m.outside.Create(ctx, c)
	m.die()
	return wait, err
}

// dies has a worker die over a resource that it has made.
func (w *world) dies(name string, o *outside) {
	w.Helper()
	ctx, die := context.WithCancel(w.Context())
	w.types["OS::Heat::TestResource"] = &mortal{o, die}
	if _, err := w.on(w.db).Work(ctx, steps.WorkIn{Fence: w.fence, Phase: steps.Make, IDs: []int64{w.rows()[name].ID}}); err == nil || w.rows()[name].Status != "IN_PROGRESS" {
		w.Fatalf("%v, and the row is %+v", err, w.rows()[name])
	}
	w.types["OS::Heat::TestResource"] = o
}

// An engine that died left its resources IN_PROGRESS, and only a later update saw
// that they had failed. Here another worker goes on with what is begun, nobody asks
// for it, and nothing is made twice.
func TestAnchor28AnotherWorkerGoesOnWhereOneDied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
heat_template_version: 2021-04-16
resources:
  thing: {type: OS::Heat::TestResource}
  then: {type: OS::Heat::Value, depends_on: thing, properties: {value: 1}}
`)
	o := &outside{there: map[string]bool{}}
	w.types["OS::Heat::TestResource"] = o
	w.plan(steps.Make)
	w.dies("thing", o)
	w.fence = w.take(w.fence.OperationID) // the workflow is started from nothing
	if out := w.follow(steps.Make); out.Failed != nil {
		t.Fatalf("%+v", out.Failed)
	}
	for name, r := range w.rows() {
		if r.Action != "CREATE" || r.Status != "COMPLETE" {
			t.Errorf("%s is %+v", name, r)
		}
	}
	if len(o.there) != 1 {
		t.Errorf("there are %v", o.there)
	}
}

// A forced cancel killed the thread that worked on a resource while a new traversal
// waited for it, which it did for ever. Here a newer update has the older one end,
// and then finds the resource as that one left it: no more in progress.
func TestAnchor30ANewerUpdateTakesWhatAnOlderOneHasBegun(t *testing.T) {
	t.Parallel()
	const with = `
heat_template_version: 2021-04-16
resources:
  kept: {type: OS::Heat::RandomString}
  slow: {type: OS::Heat::Delay, properties: {min_wait: %d}}
`
	w := newWorld(t, "heat_template_version: 2021-04-16\nresources: {kept: {type: OS::Heat::RandomString}}")
	w.made()
	kept := w.rows()["kept"]
	w.ask(fmt.Sprintf(with, 600))
	w.plan(steps.Make)
	if out := w.batch(steps.Make, w.rows()["slow"].ID); len(out.Waiting) != 1 {
		t.Fatalf("%+v", out)
	}
	newer := w.accept(operations.StackUpdate, w.asked(value.NewMap("template", fmt.Sprintf(with, 0))))
	if newer.Meeting != operations.Preempt || newer.Startable {
		t.Fatalf("%+v", newer)
	}
	if out := w.batch(steps.Make, w.rows()["slow"].ID); !out.CancelRequested {
		t.Errorf("the older one hears nothing: %+v", out)
	}
	if next := w.cancelled("UPDATE"); next != newer.OperationID {
		t.Fatalf("then comes %q, want %q", next, newer.OperationID)
	}
	w.fence = w.take(newer.OperationID)
	if out := w.follow(steps.Make); out.Failed != nil || len(out.Waiting) > 0 {
		t.Fatalf("%+v, %+v", out, out.Failed)
	}
	rows := w.rows()
	if slow := rows["slow"]; len(rows) != 2 || slow.Status != "COMPLETE" || slow.Replaces != 0 || rows["kept"].ID != kept.ID {
		t.Errorf("%+v, %+v", rows["kept"], rows["slow"])
	}
}

// A delete during an update stayed DELETE_IN_PROGRESS. Here it goes by the rows of
// what there may be: what the update has made and nobody has heard of is taken away
// too, and what is gone already is gone.
func TestAnchor31ADeleteDuringAnUpdateLeavesNothing(t *testing.T) {
	t.Parallel()
	const with = "heat_template_version: 2021-04-16\nresources:\n  thing: {type: OS::Heat::TestResource}\n"
	w := newWorld(t, with)
	o := &outside{there: map[string]bool{}}
	w.types["OS::Heat::TestResource"] = o
	w.made()
	w.ask(with + "  other: {type: OS::Heat::TestResource}\n  never: {type: OS::Heat::TestResource, depends_on: other}\n")
	w.plan(steps.Make)
	w.dies("other", o)
	if len(o.there) != 2 {
		t.Fatalf("there are %v", o.there)
	}
	accepted := w.accept(operations.StackDelete)
	computetest.InTx(t, w.db, func(tx store.Tx) error { return orchestration.StartAction(t.Context(), tx, w.stack.ID, "DELETE") })
	if next := w.cancelled("UPDATE"); accepted.Meeting != operations.Preempt || next != accepted.OperationID {
		t.Fatalf("%+v, and then comes %q", accepted, next)
	}
	w.fence = w.take(accepted.OperationID)
	delete(o.there, strings.TrimPrefix(w.rows()["thing"].PhysicalID, "outside-")) // by hand
	if out := w.follow(steps.Clear); out.Failed != nil || len(w.rows()) != 0 || len(o.there) != 0 {
		t.Errorf("%+v, with the rows %v and outside %v", out.Failed, w.rows(), o.there)
	}
}

// A rollback that was cancelled left the mark of a replacement, at which every later
// update hung. Here it may be cancelled after any of its parts: the next update takes
// the stack from there, and nothing is left that takes the place of anything.
func TestAnchor34AnUpdateAfterACancelledRollback(t *testing.T) {
	t.Parallel()
	for done := range 7 {
		t.Run(fmt.Sprintf("after %d", done), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, before)
			w.made()
			w.ask(after + "  bad: {type: OS::Heat::TestResource, depends_on: [added, uses], properties: {fail: true}}\n")
			if out := w.follow(steps.Make); out.Failed == nil {
				t.Fatal("nothing has failed")
			}
			if _, err := w.records().Advance(t.Context(), steps.AdvanceIn{Fence: w.fence, Step: operations.StepRollback, Attempt: 1, Message: "why"}); err != nil {
				t.Fatal(err)
			}
			w.followFor(steps.Back, done)
			w.cancelled("ROLLBACK")
			w.ask(after)
			if out := w.follow(steps.Make); out.Failed != nil {
				t.Fatalf("%+v", out.Failed)
			}
			w.end("UPDATE", "COMPLETE")
			rows, err := orchestration.Resources(t.Context(), w.db.Pool, w.stack.ID)
			if err != nil || len(rows) != 5 {
				t.Errorf("%d resources, %v", len(rows), err)
			}
			for _, r := range rows {
				if r.Status != "COMPLETE" || r.ReplacedBy != 0 || r.Replaces != 0 {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// Users saw DELETE_IN_PROGRESS for hours, since a port still used what was to go, and
// nothing said so. Here it is tried for a while; then the delete fails with the words
// of the service, and the next one takes it away once it isn't used.
func TestAnchor35WhatKeepsADeleteIsTold(t *testing.T) {
	t.Parallel()
	var used atomic.Bool
	used.Store(true)
	b := benchOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !used.Load() {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"NeutronError": {"type": "NetworkInUse", "message": "Port 7 uses it."}}`) // a client that is gone needs none
	}))
	net := thing{name: "net", typ: "OS::Neutron::Net"}
	deleted := func(after time.Duration, data *value.Map) (wait time.Duration, blocked string, err error) {
		c := b.call(net, `{}`)
		c.Action, c.PhysicalID, c.Data, c.Now = "DELETE", "n", data, c.Now.Add(after)
		wait, err = b.types[net.typ].Delete(t.Context(), c)
		return wait, c.Blocked, err
	}
	data := &value.Map{}
	for after := time.Duration(0); after < 25*time.Second; after += 5 * time.Second {
		if wait, blocked, err := deleted(after, data); wait == 0 || !strings.Contains(blocked, "Port 7 uses it.") || err != nil {
			t.Fatalf("after %s: %s because of %q, %v", after, wait, blocked, err)
		}
	}
	if _, _, err := deleted(time.Minute, data); !faults.Is(err, faults.Conflict) || !strings.Contains(err.Error(), "Port 7 uses it.") {
		t.Errorf("%v", err)
	}
	used.Store(false)
	if wait, blocked, err := deleted(0, &value.Map{}); wait != 0 || blocked != "" || err != nil {
		t.Errorf("%s because of %q, %v", wait, blocked, err)
	}
}

// kept is a type whose resources are kept from going once.
type kept struct {
	*outside
	by string
}

func (k *kept) Delete(ctx context.Context, c *resources.Call) (time.Duration, error) {
	if k.by == "" {
		return k.outside.Delete(ctx, c)
	}
	c.Blocked, k.by = k.by, ""
	return time.Nanosecond, nil
}

// What keeps a resource from going is seen of it while it is waited for.
func TestAnchor35WhatKeepsADeleteIsSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "heat_template_version: 2021-04-16\nresources:\n  thing: {type: OS::Heat::TestResource}\n")
	w.types["OS::Heat::TestResource"] = &kept{&outside{there: map[string]bool{}}, "Port 7 uses it."}
	w.made()
	w.fence = w.begin(operations.StackDelete)
	id := -w.rows()["thing"].ID
	work := func() steps.WorkOut {
		out, err := w.on(w.db).Work(t.Context(), steps.WorkIn{Fence: w.fence, Phase: steps.Clear, IDs: []int64{id}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := work()
	if r := w.rows()["thing"]; len(out.Waiting) != 1 || r.Action != "DELETE" || r.Status != "IN_PROGRESS" || r.Reason != "Port 7 uses it." {
		t.Errorf("%+v, and the row is %+v", out, r)
	}
	if out := work(); len(out.Done) != 1 || w.rows()["thing"] != nil {
		t.Errorf("%+v, and the row is %+v", out, w.rows()["thing"])
	}
}
