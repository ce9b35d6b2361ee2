package orchestration_test

// Signalled scaling policies.

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store"
	store_ "holdfast.dev/internal/store/orchestration"
)

// A policy that is signalled has its group be scaled, while nothing else is done with
// that; otherwise nothing is done, and nothing is told.
func TestScalingPolicy(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	policy := func(group string) string {
		return `{"type": "OS::Heat::ScalingPolicy", "properties": {"auto_scaling_group_id": "` + group + `", "adjustment_type": "change_in_capacity", "scaling_adjustment": 1, "cooldown": 60}}`
	}
	status, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "one", "template": {"heat_template_version": "2021-04-16", "resources": {
		"g": {"type": "OS::Heat::AutoScalingGroup", "properties": {"min_size": 1, "max_size": 3, "resource": {"type": "OS::Heat::None"}}},
		"up": `+policy("g")+`, "astray": `+policy("up")+`}}}`)
	if status != 201 {
		t.Fatalf("%d %v", status, answer)
	}
	id := answer["stack"].(map[string]any)["id"].(string)
	nested := uuid.NewString()
	of := func(reference string) *stacks.State {
		return &stacks.State{Attributes: &value.Map{}, Data: &value.Map{}, Properties: value.NewMap("auto_scaling_group_id", reference,
			"adjustment_type", "change_in_capacity", "scaling_adjustment", value.Int(1), "cooldown", value.Int(60), "min_size", value.Int(1), "max_size", value.Int(3))}
	}
	c.made(id, []*store_.Resource{{Name: "g", Type: "OS::Heat::AutoScalingGroup", PhysicalID: nested}, {Name: "up", Type: "OS::Heat::ScalingPolicy", PhysicalID: "u"},
		{Name: "astray", Type: "OS::Heat::ScalingPolicy", PhysicalID: "a"}}, of(""), of(nested), of("up"))
	err := c.db.InTx(t.Context(), func(tx store.Tx) error {
		group := &store_.Stack{ID: nested, Name: "one-g", ProjectID: "p1", UserID: "alice", ParentID: id, ParentResource: "g", Depth: 1, Action: "CREATE", Status: "COMPLETE", Reason: "made"}
		return store_.InsertStack(t.Context(), tx, group, &store_.Template{Template: `{"heat_template_version": "2015-04-30"}`, Files: "{}",
			Environment: c.api.Secrets.Seal([]byte("{}"), "stack/"+nested+"/environment")})
	})
	if err != nil {
		t.Fatal(err)
	}
	c.exec(`UPDATE orchestration.stacks SET action = 'CREATE', status = 'COMPLETE' WHERE parent_id IS NOT NULL`)
	c.made(nested, []*store_.Resource{{Name: "m", Type: "OS::Heat::None"}})
	const running = `SELECT count(*) FROM engine.operations WHERE kind = 'stack.scale' AND finished_at IS NULL`
	count := func() (n int) {
		t.Helper()
		if err := c.db.Pool.QueryRow(t.Context(), running).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	signal := func(token, name, body string, want int, text string) {
		t.Helper()
		status, answer, _ := c.ask(token, "POST", "/stacks/one/"+id+"/resources/"+name+"/signal", body)
		fault, _ := answer["error"].(map[string]any)
		if said, _ := fault["message"].(string); status != want || said != text {
			t.Errorf("%s: %d %v, want %d %q", name, status, answer, want, text)
		}
	}
	signal("alice", "g", "", 400, "signal is not supported for resource.")
	signal("alice", "astray", "", 404, `Alarm astray could not find scaling group named "up"`)
	c.exec(`UPDATE orchestration.resources SET metadata = '{"cooldown_end": {"9999-01-01T00:00:00.000000": "x"}}' WHERE name = 'g'`)
	signal("alice", "up", "", 200, "")
	c.exec(`UPDATE orchestration.resources SET metadata = '{"cooldown_end": {"2026-01-01T00:00:00.000000": "x"}}', status = 'FAILED' WHERE name = 'g'`)
	signal("alice", "up", "", 200, "")
	if n := count(); n != 0 {
		t.Errorf("%d are begun of a group that cools down or has failed", n)
	}
	c.exec(`UPDATE orchestration.resources SET status = 'COMPLETE' WHERE name = 'g'`)
	for range 2 { // the second finds the first at work
		signal("alice", "up", `{"previous": "ok", "current": "alarm", "reason": "hot"}`, 200, "")
	}
	var members, why string
	err = c.db.Pool.QueryRow(t.Context(), `SELECT input->'scale'->>'members', input->'scale'->>'why' FROM engine.operations WHERE kind = 'stack.scale'`).Scan(&members, &why)
	if err != nil || count() != 1 || members != "2" || why != "change_in_capacity : 1" {
		t.Errorf("%d operations: %s because of %s, %v", count(), members, why, err)
	}
	_, answer, _ = c.ask("alice", "GET", "/stacks/one/"+id+"/resources/up/events?resource_action=SIGNAL", "")
	if events := answer["events"].([]any); len(events) != 1 || events[0].(map[string]any)["resource_status_reason"] != "alarm state changed from ok to alarm (hot)" {
		t.Errorf("%v", events)
	}
	_, answer, _ = c.ask("alice", "GET", fmt.Sprintf("/stacks/one-g/%s", nested), "")
	if s := answer["stack"].(map[string]any); s["stack_status"] != "UPDATE_IN_PROGRESS" {
		t.Errorf("%v", s["stack_status"])
	}
	if len(c.offers.ids) != 2 {
		t.Errorf("offered %v", c.offers.ids)
	}
}
