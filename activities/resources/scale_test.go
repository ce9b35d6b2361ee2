package resources_test

// Groups that are scaled.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
)

const scalable = `
heat_template_version: 2021-04-16
resources:
  g:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 4, desired_capacity: 2, resource: {type: OS::Heat::Value, properties: {value: first}}}
  up: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: g}, adjustment_type: change_in_capacity, scaling_adjustment: 1}}
  said: {type: OS::Heat::Value, properties: {value: [{get_attr: [g, current_size]}, {get_attr: [g, outputs_list, value]}, {get_attr: [g, resource.1.value]}]}}
`

// values are what the members of a group are, without their names.
func (w *world) values(name string) string {
	w.Helper()
	var all []string
	for _, one := range strings.Split(w.members(name), ", ") {
		all = append(all, one[strings.LastIndex(one, " ")+1:])
	}
	return strings.Join(all, " ")
}

// scalableMade is a world with a group of two.
func scalableMade(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, scalable)
	plan := w.plan(steps.Make)
	if told, failed := w.batches(plan.IDs[0]); len(told) != 1 || failed != "" {
		t.Fatalf("%q, %s", told, failed)
	}
	if out := w.batch(steps.Make, plan.IDs...); out.Failed != nil || len(out.Waiting) > 0 {
		t.Fatalf("%+v", out)
	}
	w.end("CREATE", "COMPLETE")
	return w
}

// scale has an operation on the group's stack begun that gives it so many members.
func (w *world) scale(members int) steps.Fence {
	w.Helper()
	var accepted engine.Accepted
	computetest.InTx(w.T, w.db, func(tx store.Tx) (err error) {
		accepted, err = w.engine.Accept(w.Context(), tx, engine.Request{Kind: operations.StackScale, ResourceID: w.rows()["g"].PhysicalID, ProjectID: "p",
			Input: steps.TraversalInput{Scale: &steps.ScaleInput{Members: members, Why: "change_in_capacity : 1", Cooldown: time.Hour}}})
		return err
	})
	return w.take(accepted.OperationID)
}

// read is an attribute of the group.
func (w *world) read(name string) string {
	w.Helper()
	state, err := stacks.OpenState(w.rows()["g"], w.box)
	if err != nil {
		w.Fatal(err)
	}
	v, _ := state.Attributes.Get(name)
	return value.JSON(v, false)
}

// A group is made as large as is desired, is read through, and has as many members as
// it is scaled to, of which its parent knows.
func TestScale(t *testing.T) {
	t.Parallel()
	w := scalableMade(t)
	said, err := stacks.OpenState(w.rows()["said"], w.box)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := said.Attributes.Get("value"); value.JSON(v, false) != `[2, ["first", "first"], "first"]` {
		t.Errorf("read through the group: %s", value.JSON(v, false))
	}
	if kept := w.rows()["g"].Metadata; !strings.Contains(kept, "ExactCapacity : 2") {
		t.Errorf("metadata %s", kept)
	}
	for _, size := range []int{4, 1} {
		inner := *w
		inner.fence = w.scale(size)
		if _, err := w.on(w.db).Scale(t.Context(), steps.ScaleIn{Fence: inner.fence}); err != nil {
			t.Fatal(err)
		}
		inner.follow(steps.Make)
		if _, err := w.on(w.db).Scaled(t.Context(), steps.ScaledIn{Fence: inner.fence, Done: true}); err != nil {
			t.Fatal(err)
		}
		inner.end("UPDATE", "COMPLETE")
		if got := len(strings.Fields(w.values("g"))); got != size || w.read("current_size") != fmt.Sprint(size) {
			t.Errorf("%d members, and the group says %s", got, w.read("current_size"))
		}
	}
	if kept := w.rows()["g"].Metadata; !strings.Contains(kept, "change_in_capacity : 1") {
		t.Errorf("metadata %s", kept)
	}
	// More than there may be is refused, and the parent knows what is there.
	fence := w.scale(2000)
	if _, err := w.on(w.db).Scale(t.Context(), steps.ScaleIn{Fence: fence}); err == nil {
		t.Error("2000 members are taken")
	}
}

// A group whose members are to be others changes them in batches, and has as many
// members afterwards as are desired; the oldest go.
func TestScalingUpdate(t *testing.T) {
	t.Parallel()
	w := scalableMade(t)
	w.ask(strings.NewReplacer("value: first", "value: second", "desired_capacity: 2", "desired_capacity: 3").Replace(scalable))
	told, failed := w.batches(w.plan(steps.Make).IDs[0])
	if failed != "" || len(told) != 3 || w.values("g") != "second second second" {
		t.Errorf("%q, %s", told, failed)
	}
	w.end("UPDATE", "COMPLETE")
	w.ask(strings.NewReplacer("value: first", "value: second", "desired_capacity: 2, ", "").Replace(scalable))
	if told, failed = w.batches(w.plan(steps.Make).IDs[0]); failed != "" || len(told) != 1 || w.values("g") != "second second second" {
		t.Errorf("%q, %s", told, failed)
	}
	w.end("UPDATE", "COMPLETE")
	rows, err := orchestration.Resources(t.Context(), w.db.Pool, w.rows()["g"].PhysicalID)
	if err != nil {
		t.Fatal(err)
	}
	newest := rows[len(rows)-1].Name
	w.ask(strings.NewReplacer("value: first", "value: second", "desired_capacity: 2, ", "", "max_size: 4", "max_size: 1").Replace(scalable))
	if told, failed = w.batches(w.plan(steps.Make).IDs[0]); failed != "" || len(told) != 1 || w.members("g") != newest+" second" {
		t.Errorf("%q, %s, want %s", told, failed, newest)
	}
	w.end("UPDATE", "COMPLETE")
}

// A group that is being scaled while its parent is changed is changed as that says: the
// operation that scales it does nothing more, since the template is another's by then.
func TestScaleIsTakenOver(t *testing.T) {
	t.Parallel()
	w := scalableMade(t)
	inner := *w
	inner.fence = w.scale(4)
	if _, err := w.on(w.db).Scale(t.Context(), steps.ScaleIn{Fence: inner.fence}); err != nil {
		t.Fatal(err)
	}
	plan := inner.plan(steps.Make)
	w.ask(strings.NewReplacer("desired_capacity: 2, ", "", "max_size: 4", "max_size: 1").Replace(scalable))
	group := w.plan(steps.Make).IDs[0]
	w.batch(steps.Make, group)
	if out := inner.batch(steps.Make, plan.IDs...); !out.CancelRequested || len(out.Done) > 0 || len(out.Waiting) == 0 {
		t.Errorf("%+v", out)
	}
	if _, err := w.on(w.db).Scaled(t.Context(), steps.ScaledIn{Fence: inner.fence}); err != nil {
		t.Fatal(err)
	}
	inner.cancelled("UPDATE")
	if told, failed := w.batches(group); failed != "" || len(told) != 1 || w.values("g") != "first" || w.read("current_size") != "1" {
		t.Errorf("%q, %s, %s members: %s", told, failed, w.read("current_size"), w.values("g"))
	}
	w.end("UPDATE", "COMPLETE")
}
