package baremetal_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// in enrolls a node that is in a state.
func (c *cloud) in(state, body string) string {
	c.t.Helper()
	id := c.enroll("root", body)
	c.set(id, "provision_state", state)
	return id
}

// fakeNode is the body of a node that isn't there, which can be rescued.
const fakeNode = `{"driver": "fake-hardware", "rescue_interface": "fake", "boot_interface": "fake"}`

func TestRescueIsRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	ready := c.in("active", fakeNode)
	without := c.in("active", `{"driver": "fake-hardware", "rescue_interface": "no-rescue"}`)
	mended, gone := c.in("active", fakeNode), c.in("rescue", fakeNode)
	c.set(mended, "maintenance", true)
	c.set(gone, "maintenance", true)
	early := c.in("manageable", fakeNode)
	empty := `A non-empty "rescue_password" is required when setting target provision state to rescue`
	c.refuses("provision",
		refusal{ready, "1.37", "root", `{"target": "rescue", "rescue_password": "s3cret"}`, 406, ""},
		refusal{ready, "1.115", "root", `{"target": "rescue"}`, 400, empty},
		refusal{ready, "1.115", "root", `{"target": "rescue", "rescue_password": " "}`, 400, empty},
		refusal{ready, "1.115", "root", `{"target": "rescue", "rescue_password": 5}`, 400, "Expected string for rescue_password: 5"},
		refusal{ready, "1.115", "root", `{"target": "rescue", "rescue_password": "` + strings.Repeat("x", 1025) + `"}`, 400, `The "rescue_password" is longer than 1024 bytes`},
		refusal{ready, "1.115", "root", `{"target": "unrescue"}`, 400, fmt.Sprintf(`The requested action "unrescue" can not be performed on node "%s" while it is in state "active".`, ready)},
		refusal{mended, "1.115", "root", `{"target": "rescue", "rescue_password": "s3cret"}`, 400,
			fmt.Sprintf("The rescuing operation can't be performed on node %s because it's in maintenance mode.", mended)},
		refusal{gone, "1.115", "root", `{"target": "unrescue"}`, 400, fmt.Sprintf("The unrescuing operation can't be performed on node %s because it's in maintenance mode.", gone)},
		refusal{without, "1.115", "root", `{"target": "rescue", "rescue_password": "s3cret"}`, 400,
			fmt.Sprintf("Failed to rescue instance None for node %s: Validation failed: Driver fake-hardware does not support rescue (disabled or not implemented).", without)},
		refusal{early, "1.115", "root", `{"target": "rescue", "rescue_password": "s3cret"}`, 400,
			fmt.Sprintf(`The requested action "rescue" can not be performed on node "%s" while it is in state "manageable".`, early)},
		refusal{early, "1.16", "root", `{"target": "adopt"}`, 406, ""},
		refusal{ready, "1.115", "root", `{"target": "adopt"}`, 400, fmt.Sprintf(`The requested action "adopt" can not be performed on node "%s" while it is in state "active".`, ready)},
	)
	for id, state := range map[string]string{ready: "active", without: "active", mended: "active", gone: "rescue", early: "manageable"} {
		if node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body; node["provision_state"] != state || node["reservation"] != nil {
			t.Errorf("%v", node)
		}
	}
	c.audit()
}

// The password is kept until the end of the operation, whatever that is, and nobody
// reads it.
func TestRescue(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.in("active", fakeNode)
	kept := func() (secret []byte) {
		t.Helper()
		if err := c.db.Pool.QueryRow(t.Context(), `SELECT rescue_secret FROM baremetal.nodes WHERE uuid = $1`, id).Scan(&secret); err != nil {
			t.Fatal(err)
		}
		return secret
	}
	for _, end := range []struct {
		result operations.Result
		o      steps.NodeOutcome
		f      *steps.Fault
		state  string
	}{
		{operations.ResultFailed, steps.NodeOutcome{Failed: true}, &steps.Fault{Code: "Bad", Message: "it burns"}, "rescue failed"},
		{operations.ResultDone, steps.NodeOutcome{State: "rescue"}, nil, "rescue"},
	} {
		if got := c.verb(id, `{"target": "rescue", "rescue_password": "s3cret"}`); got.status != 202 {
			t.Fatalf("%d %s", got.status, got.fault)
		}
		node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
		if node["provision_state"] != "rescuing" || node["target_provision_state"] != "rescue" || node["reservation"] != "conductor-1" || c.brief(id).RescueInterface != "fake" {
			t.Errorf("%v", node)
		}
		if secret := kept(); len(secret) == 0 || strings.Contains(string(secret), "$5$") || strings.Contains(fmt.Sprint(node)+c.input(id), "s3cret") {
			t.Errorf("%q, %v", secret, node)
		}
		c.finish(id, end.result, end.o, end.f)
		if node = c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body; node["provision_state"] != end.state || len(kept()) != 0 {
			t.Errorf("%v, %q", node, kept())
		}
	}
	if got := c.verb(id, `{"target": "unrescue"}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	if node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body; node["provision_state"] != "unrescuing" || node["target_provision_state"] != "active" {
		t.Errorf("%v", node)
	}
	c.finish(id, operations.ResultDone, steps.NodeOutcome{State: "active"}, nil)
	c.audit()
}

// A node is adopted as it is; of one that can't be, nobody knows the power.
func TestAdopt(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.in("manageable", fakeNode)
	c.set(id, "power_state", "power on")
	other := c.in("adopt failed", `{"driver": "ipmi"}`)
	for node, refused := range map[string]string{id: "{}", other: "does not have any port associated with it"} {
		if got := c.verb(node, `{"target": "adopt"}`); got.status != 202 {
			t.Fatalf("%d %s", got.status, got.fault)
		}
		shown := c.ask("root", "1.115", "GET", "/v1/nodes/"+node, "").body
		if shown["provision_state"] != "adopting" || shown["target_provision_state"] != "active" || !strings.Contains(c.input(node), refused) {
			t.Errorf("%v, %s", shown, c.input(node))
		}
	}
	unknown := ""
	c.finish(id, operations.ResultFailed, steps.NodeOutcome{Failed: true, PowerState: &unknown}, &steps.Fault{Code: "Bad", Message: "it burns"})
	if node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body; node["provision_state"] != "adopt failed" || node["power_state"] != nil || node["last_error"] != "it burns" {
		t.Errorf("%v", node)
	}
	c.finish(other, operations.ResultDone, steps.NodeOutcome{State: "active"}, nil)
	if node := c.ask("root", "1.115", "GET", "/v1/nodes/"+other, "").body; node["provision_state"] != "active" || node["target_provision_state"] != nil {
		t.Errorf("%v", node)
	}
	c.audit()
}
