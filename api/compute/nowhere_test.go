package compute_test

import (
	"fmt"
	"slices"
	"testing"
)

// hostFirst are the actions that look for the server's host before they look at its
// state (check_instance_host in front of check_instance_state in the original).
var hostFirst = []string{"os-start", "os-stop", "trigger_crash_dump"}

// onNoHost are the bodies of the actions that are refused in some state of a server, in
// words that don't depend on where it is; what else is refused of one on no host, in a
// state in which it could be on one, is beside them.
var onNoHost = map[string]struct{ body, elsewhere string }{
	"os-start":           {`null`, "Instance %s is not ready"},
	"os-stop":            {`null`, "Instance %s is not ready"},
	"trigger_crash_dump": {`null`, "Instance %s is not ready"},
	"resize":             {`{"flavorRef": "twice"}`, "Instance %s is not ready"},
	"migrate":            {`null`, "Instance %s is not ready"},
	"os-migrateLive":     {anywhere, "Instance %s is not ready"},
	"evacuate":           {`{}`, "Instance %s is not ready"},
	"pause":              {`null`, ""},
	"unpause":            {`null`, ""},
	"suspend":            {`null`, ""},
	"resume":             {`null`, ""},
	"rescue":             {`null`, ""},
	"unrescue":           {`null`, ""},
	"rebuild":            {`{"imageRef": "` + image + `"}`, ""},
	"confirmResize":      {`null`, ""},
	"revertResize":       {`null`, ""},
	"createImage":        {`{"name": "image"}`, ""},
	"createBackup":       {`{"name": "backup", "backup_type": "daily", "rotation": 0}`, ""},
	"shelve":             {`null`, ""},
	"shelveOffload":      {`null`, ""},
	"unshelve":           {`null`, ""},
	"restore":            {`null`, ""},
}

// Each action of a server that is on no host: one that is off its host, or never had
// one, is refused by its state, unless the action asks for the host first.
func TestActionsOnNoHost(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.addHost()
	c.play(step{"root", "2.1", "POST", "/flavors", `{"flavor": {"name": "twice", "id": "twice", "ram": 1024, "vcpus": 2, "disk": 1}}`, 200, ""})
	id := c.create("alice", "web")
	for action, row := range preconditions(t) {
		asked, known := onNoHost[action]
		var states []string
		if action != "reboot" && action != "changePassword" { // two in one (TestPowerActionsMeetTheContract), and not served
			states, _ = of[[]string](t, row.VMStates, "")
		}
		if known != (states != nil) {
			t.Errorf("%s, which is allowed in %s, is asked for here: %t", action, row.VMStates, known)
		}
		if !known {
			continue
		}
		ask := func(want string) {
			t.Helper()
			c.play(step{"root+", "2.25", "POST", "/servers/" + id + "/action", `{"` + action + `": ` + asked.body + `}`, 409, conflict(want)})
		}
		for _, vm := range vmStates {
			c.settle(id, vm)
			c.query(`UPDATE compute.servers SET host_id = NULL WHERE id = $1 RETURNING id::text`, id)
			switch allowed := slices.Contains(states, vm); {
			case allowed && asked.elsewhere != "" || slices.Contains(hostFirst, action):
				ask(fmt.Sprintf(asked.elsewhere, id))
			case !allowed:
				ask(fmt.Sprintf("Cannot '%s' instance %s while it is in vm_state %s", row.Name, id, vm))
			}
		}
		c.settle(id, "error")
		c.query(`UPDATE compute.servers SET host_id = NULL, launched_at = NULL WHERE id = $1 RETURNING id::text`, id)
		if slices.Contains(states, "error") && row.Launched && !slices.Contains(hostFirst, action) {
			ask(fmt.Sprintf("Instance %s is in an invalid state for '%s'", id, row.Name))
		}
	}
}
