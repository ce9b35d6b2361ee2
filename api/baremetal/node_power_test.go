package baremetal_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast.dev/api/baremetal"
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute/computetest"
)

func TestPowerIsRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	fake := c.enroll("root", `{"driver": "fake-hardware", "name": "n1"}`)
	redfish := c.enroll("root", `{"driver": "redfish", "name": "bare"}`)
	other := c.enroll("root", `{"driver": "fake-hardware", "name": "far", "conductor_group": "elsewhere"}`)
	manual := c.enroll("root", `{"driver": "manual-management", "name": "hands"}`)
	cleaning := c.enroll("root", `{"driver": "fake-hardware", "name": "clean"}`)
	c.set(cleaning, "provision_state", "clean wait")
	if hosts := c.ask("root", "1.115", "GET", "/v1/drivers/redfish", "").body["hosts"]; fmt.Sprint(hosts) != "[conductor-1]" {
		t.Errorf("who knows redfish: %v", hosts)
	}
	vital := c.enroll("root", `{"driver": "fake-hardware", "name": "vital", "disable_power_off": true}`)
	locked := c.enroll("root", `{"driver": "fake-hardware", "name": "busy"}`)
	c.set(locked, "reservation", "conductor-9")
	c.refuses("power",
		refusal{"n1", "1.115", "root", `{}`, 400, "Missing mandatory parameter: target"},
		refusal{"n1", "1.115", "root", `{"target": 5}`, 400, "Expected string for target: 5"},
		refusal{"n1", "1.115", "root", `{"target": "power on", "x": 1}`, 400, "Unexpected arguments: x"},
		refusal{"n1", "1.115", "root", `{"target": "power on", "timeout": "soon"}`, 400, "Expected an integer for timeout: soon"},
		refusal{"n1", "1.115", "root", `{"target": "power on", "timeout": 0}`, 400, "timeout has to be positive integer"},
		refusal{"n1", "1.115", "root", `{"target": "power on", "timeout": -1e999}`, 400, ""},
		refusal{"n1", "1.115", "root", `{"target": "up"}`, 400, `The requested action "up" can not be performed on node "n1" while it is in state "None".`},
		refusal{"n1", "1.26", "root", `{"target": "soft power off"}`, 406, "Request not acceptable."},
		refusal{"n1", "1.26", "root", `{"target": "power on", "timeout": 5}`, 406, "Request not acceptable."},
		refusal{"clean", "1.115", "root", `{"target": "power on"}`, 400, `The requested action "power on" can not be performed on node "clean" while it is in state "clean wait".`},
		refusal{"vital", "1.115", "root", `{"target": "power off"}`, 409, "Failed to set node power state to power off."},
		refusal{"bare", "1.115", "root", `{"target": "power on"}`, 400, fmt.Sprintf("Missing the following Redfish properties in node %s driver_info: ['redfish_address']", redfish)},
		refusal{"hands", "1.115", "root", `{"target": "power on"}`, 400, "The driver manual-management does not support the power state, power on"},
		refusal{"far", "1.115", "root", `{"target": "power on"}`, 404, `No valid host was found. Reason: No conductor service registered which supports driver fake-hardware for conductor group "elsewhere".`},
		refusal{"busy", "1.115", "root", `{"target": "power on"}`, 409, fmt.Sprintf("Node %s is locked by host conductor-9, please retry after the current operation is completed.", locked)},
		refusal{"n1", "1.115", "bob", `{"target": "power on"}`, 404, "Node n1 could not be found."},
		refusal{"n1", "1.115", "viewer", `{"target": "power on"}`, 403, "Access was denied to the following resource: baremetal:node:set_power_state"},
		refusal{"nobody", "1.115", "root", `{"target": "power on"}`, 404, "Node nobody could not be found."},
	)
	for _, node := range []string{fake, redfish, other, manual, cleaning, vital} {
		if got := c.ask("root", "1.115", "GET", "/v1/nodes/"+node, "").body; got["target_power_state"] != nil || got["reservation"] != nil {
			t.Errorf("a refusal has changed %v", got)
		}
	}
}

// A change that is accepted is shown at once, locks the node, and is over when its
// operation is: node locked means an operation under way (anchors 38).
func TestPowerIsAccepted(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("root", `{"driver": "fake-hardware", "name": "n1"}`)
	c.set(id, "last_error", "it was broken")
	got := c.ask("root", "1.27", "PUT", "/v1/nodes/n1/states/power", `{"target": "rebooting", "timeout": "30"}`)
	if got.status != 202 || got.body != nil || got.header.Get("Location") != "http://localhost/v1/nodes/n1/states" {
		t.Errorf("%d %v %v", got.status, got.body, got.header)
	}
	node := c.ask("root", "1.115", "GET", "/v1/nodes/n1", "").body
	if node["target_power_state"] != "power on" || node["power_state"] != nil || node["last_error"] != nil || node["reservation"] != "conductor-1" {
		t.Errorf("%v", node)
	}
	if got := c.ask("root", "1.115", "PUT", "/v1/nodes/n1/states/power", `{"target": "power off"}`); got.status != 409 ||
		got.fault != "Node "+id+" is locked by host conductor-1, please retry after the current operation is completed." {
		t.Errorf("%d %s", got.status, got.fault)
	}
	if got := c.ask("root", "1.115", "DELETE", "/v1/nodes/n1", ""); got.status != 409 {
		t.Errorf("a node that is worked on is deleted: %d %s", got.status, got.fault)
	}
	on := "power on"
	c.finish(id, operations.ResultDone, steps.NodeOutcome{PowerState: &on}, nil)
	states := c.ask("root", "1.115", "GET", "/v1/nodes/n1/states", "").body
	if states["power_state"] != "power on" || states["target_power_state"] != nil || states["last_error"] != nil {
		t.Errorf("%v", states)
	}
	if node := c.ask("root", "1.115", "GET", "/v1/nodes/n1", "").body; node["reservation"] != nil {
		t.Errorf("%v", node)
	}
	c.audit()
}

// A cancel before the beginning leaves the node as it was, and says so, in the
// node's history too, where the oldest gives way.
func TestPowerIsCancelledBeforeItBegan(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.enroll("alice", `{"driver": "fake-hardware"}`)
	c.exec(`INSERT INTO baremetal.node_history (node_uuid, severity, event) SELECT $1, 'ERROR', 'earlier' FROM generate_series(1, 301)`, id)
	if got := c.ask("alice", "1.115", "PUT", "/v1/nodes/"+id+"/states/power", `{"target": "power on"}`); got.status != 202 {
		t.Fatalf("%d %s", got.status, got.fault)
	}
	holder := c.holder(id)
	computetest.InTx(t, c.db, func(tx store.Tx) error {
		_, err := c.operations().RequestCancel(t.Context(), tx, holder, "root")
		return err
	})
	node := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body
	if node["reservation"] != nil || node["target_power_state"] != nil || node["last_error"] != "the operation was cancelled before it began" {
		t.Errorf("%v", node)
	}
	history := c.ask("root", "1.115", "GET", "/v1/nodes/"+id+"/history?detail=true", "").body["history"].([]any)
	last := history[len(history)-1].(map[string]any)
	if len(history) != 300 || last["event"] != node["last_error"] || last["severity"] != "ERROR" || last["conductor"] != "conductor-1" || last["user"] != "alice" ||
		last["project"] != "a11ce" || last["state"] != "enroll" {
		t.Errorf("%d events, the last is %v", len(history), last)
	}
}

// asked tells when a rule is asked.
type asked struct {
	rest.Enforcer
	rule string
	told chan struct{}
}

func (a asked) Check(creds policy.Credentials, rule string, target map[string]any) error {
	if rule == a.rule {
		select {
		case a.told <- struct{}{}:
		default: // it was told before
		}
	}
	return a.Enforcer.Check(creds, rule, target)
}

// Who would change a node that somebody works on waits for that to be over, if it
// doesn't take long.
func TestANodeAtWorkIsWaitedFor(t *testing.T) {
	t.Parallel()
	told := make(chan struct{}, 1)
	c := newCloudWith(t, func(api *baremetal.API) {
		api.Policy = asked{api.Policy, "baremetal:node:set_power_state", told}
		api.LockAttempts, api.LockInterval = 6000, 10*time.Millisecond
	})
	c.conductor("conductor-1", "")
	id := c.enroll("root", `{"driver": "fake-hardware", "name": "n1"}`)
	turn := func(to string) int {
		return c.ask("root", "1.115", "PUT", "/v1/nodes/n1/states/power", `{"target": "`+to+`"}`).status
	}
	if status := turn("power on"); status != 202 {
		t.Fatal(status)
	}
	<-told
	second := make(chan int)
	go func() { second <- turn("power off") }()
	<-told // it has the row, and finds somebody at work
	on := "power on"
	c.finish(id, operations.ResultDone, steps.NodeOutcome{PowerState: &on}, nil)
	if status := <-second; status != 202 {
		t.Errorf("the second was answered %d", status)
	}
	if node := c.ask("root", "1.115", "GET", "/v1/nodes/n1", "").body; node["power_state"] != "power on" || node["target_power_state"] != "power off" {
		t.Errorf("%v", node)
	}
}
