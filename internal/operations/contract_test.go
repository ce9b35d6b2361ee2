package operations_test

// The table of meetings against the original's: a request is accepted in a task
// state exactly if it may meet the operation that sets it.

import (
	"encoding/json"
	"slices"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/operations"
)

// action is a row of action-preconditions.json: null stands for no task.
type action struct {
	Action  string          `json:"action"`
	Allowed json.RawMessage `json:"allowed_task_states"`
	Sets    json.RawMessage `json:"task_state_set"`
}

// asked says which request makes an operation of each kind: the action, and the
// word that its row has for a variant.
var asked = map[operations.Kind]struct{ action, variant string }{
	operations.ServerDelete:      {action: "DELETE /servers/{id} (hard)"},
	operations.ServerStart:       {action: "os-start"},
	operations.ServerStop:        {action: "os-stop"},
	operations.ServerReboot:      {action: "reboot", variant: "SOFT"},
	operations.ServerHardReboot:  {action: "reboot", variant: "HARD"},
	operations.ServerPause:       {action: "pause"},
	operations.ServerUnpause:     {action: "unpause"},
	operations.ServerSuspend:     {action: "suspend"},
	operations.ServerResume:      {action: "resume"},
	operations.ServerSoftDelete:  {action: "DELETE /servers/{id} (soft, reclaim_instance_interval>0)"},
	operations.ServerRestore:     {action: "restore"},
	operations.ServerRescue:      {action: "rescue"},
	operations.ServerUnrescue:    {action: "unrescue"},
	operations.ServerRebuild:     {action: "rebuild"},
	operations.ServerLiveMigrate: {action: "os-migrateLive"},
	operations.ServerResetState:  {action: "os-resetState"},

	operations.ServerShelve:        {action: "shelve"},
	operations.ServerShelveOffload: {action: "shelveOffload"},
	operations.ServerUnshelve:      {action: "unshelve"},
	operations.ServerEvacuate:      {action: "evacuate"},

	operations.ServerAttachVolume:    {action: "attach volume"},
	operations.ServerDetachVolume:    {action: "detach volume"},
	operations.ServerAttachInterface: {action: "attach interface"},
	operations.ServerDetachInterface: {action: "detach interface"},
	operations.ServerSwapVolume:      {action: "swap volume"},
	operations.ServerCreateImage:     {action: "createImage"},
	operations.ServerCreateBackup:    {action: "createBackup"},

	operations.ServerResize:       {action: "resize"},
	operations.ServerMigrate:      {action: "migrate"},
	operations.ServerRevertResize: {action: "revertResize"},
}

// ofABuild are the task states of a build, which no action of the table sets
// (contracts: status-map.json).
var ofABuild = []string{"scheduling", "networking", "block_device_mapping", "spawning"}

func TestMeetingsAreTheOriginals(t *testing.T) {
	t.Parallel()
	rows := actions(t)
	shown := map[operations.Kind][]string{operations.ServerBuild: ofABuild}
	for kind, of := range asked {
		var task string
		unpack(t, rows[of.action].Sets, of.variant, &task)
		shown[kind] = []string{task}
	}
	for running, tasks := range shown {
		for incoming, of := range asked {
			for _, task := range tasks {
				want := allows(t, rows[of.action], of.variant, task)
				if got := operations.Meet(running, incoming); (got != operations.Refuse) != want {
					t.Errorf("%s meets %s (%s): %s; the original accepts it: %t", incoming, running, task, got, want)
				}
			}
		}
	}
}

// allows says whether the original accepts the action in a task state, none
// included.
func allows(t *testing.T, row action, variant, task string) bool {
	if string(row.Allowed) == `"any"` {
		return true
	}
	var allowed []*string
	unpack(t, row.Allowed, variant, &allowed)
	return slices.ContainsFunc(allowed, func(s *string) bool { return s == nil && task == "" || s != nil && *s == task })
}

// unpack reads a value, which a row with variants has once for each.
func unpack(t *testing.T, raw json.RawMessage, variant string, into any) {
	t.Helper()
	if variant != "" {
		var each map[string]json.RawMessage
		if err := json.Unmarshal(raw, &each); err != nil {
			t.Fatal(err)
		}
		raw = each[variant]
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}

func actions(t *testing.T) map[string]action {
	t.Helper()
	var data struct {
		Actions []action `json:"server_actions"`
		Others  []action `json:"other_operations"`
	}
	contracttest.Read(t, "compute/action-preconditions.json", &data)
	rows := map[string]action{}
	for _, a := range slices.Concat(data.Actions, data.Others) {
		rows[a.Action] = a
	}
	return rows
}
