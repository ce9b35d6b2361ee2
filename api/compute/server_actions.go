package compute

// POST /servers/{id}/action for the actions that move a server from one state
// to another: what each needs to begin, as a table, and the one story of all
// (contracts: action-preconditions.json).

import (
	"cmp"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// precondition is what must hold of a server before something is done to it.
type precondition struct {
	// name is the word in the conflict's text.
	name string
	// vmStates are the states it may be in, taskStates what may be being done
	// to it; nil is any.
	vmStates   []servers.VMState
	taskStates []servers.TaskState
	// launched: it has run once. host: it is on a host, which is asked before its
	// state; placed: the same, asked when all else holds. unlocked: users may not
	// while it is locked.
	launched, host, placed, unlocked bool
}

// idle is the task state of a server that nothing is being done to.
var idle = []servers.TaskState{servers.TaskNone}

// check says what doesn't hold, in the original's order and words.
func (p precondition) check(r *rest.Request, s *compute.Server) error {
	if p.unlocked {
		if err := notLocked(r.Identity, s); err != nil {
			return err
		}
	}
	notReady := faults.New(faults.Conflict, "InstanceNotReady", "Instance %s is not ready", s.ID)
	switch {
	case p.host && s.HostID == "":
		return notReady
	case p.vmStates != nil && !slices.Contains(p.vmStates, s.VMState):
		return p.conflict(s, "vm_state", string(s.VMState))
	case p.taskStates != nil && !slices.Contains(p.taskStates, s.TaskState):
		return p.conflict(s, "task_state", cmp.Or(string(s.TaskState), "None"))
	case p.launched && s.LaunchedAt == nil:
		return faults.New(faults.Conflict, "InstanceInvalidState", "Instance %s is in an invalid state for '%s'", s.ID, p.name)
	case p.placed && s.HostID == "":
		return notReady
	}
	return nil
}

func (p precondition) conflict(s *compute.Server, attribute, state string) error {
	return faults.New(faults.Conflict, "InstanceInvalidState", "Cannot '%s' instance %s while it is in %s %s", p.name, s.ID, attribute, state)
}

// crashDump needs a guest that can be interrupted; the server shows no task.
var crashDump = powerAction{"trigger_crash_dump", "os_compute_api:servers:trigger_crash_dump", operations.ServerCrashDump, servers.TaskNone, precondition{
	name:       "trigger_crash_dump",
	vmStates:   []servers.VMState{servers.VMActive, servers.VMPaused, servers.VMRescued, servers.VMResized, servers.VMError},
	taskStates: idle, launched: true, host: true, unlocked: true}}

// powerAction is a row: an action's key, the operation that carries it out, the
// task that the server shows meanwhile, and what it needs.
type powerAction struct {
	key    string
	policy string
	kind   operations.Kind
	task   servers.TaskState
	precondition
}

var powerActions = []powerAction{
	{"os-start", "os_compute_api:servers:start", operations.ServerStart, servers.TaskPoweringOn, precondition{
		name: "start", vmStates: []servers.VMState{servers.VMStopped}, taskStates: idle, launched: true, host: true, unlocked: true}},
	{"os-stop", "os_compute_api:servers:stop", operations.ServerStop, servers.TaskPoweringOff, precondition{
		name: "stop", vmStates: []servers.VMState{servers.VMActive, servers.VMError}, taskStates: idle, launched: true, host: true, unlocked: true}},
	{"pause", "os_compute_api:os-pause-server:pause", operations.ServerPause, servers.TaskPausing, precondition{
		name: "pause", vmStates: []servers.VMState{servers.VMActive}, taskStates: idle, launched: true, unlocked: true}},
	{"unpause", "os_compute_api:os-pause-server:unpause", operations.ServerUnpause, servers.TaskUnpausing, precondition{
		name: "unpause", vmStates: []servers.VMState{servers.VMPaused}, taskStates: idle, launched: true, unlocked: true}},
	{"suspend", "os_compute_api:os-suspend-server:suspend", operations.ServerSuspend, servers.TaskSuspending, precondition{
		name: "suspend", vmStates: []servers.VMState{servers.VMActive}, taskStates: idle, launched: true, unlocked: true}},
	{"resume", "os_compute_api:os-suspend-server:resume", operations.ServerResume, servers.TaskResuming, precondition{
		name: "resume", vmStates: []servers.VMState{servers.VMSuspended}, taskStates: idle, launched: true, unlocked: true}},
	{"unrescue", "os_compute_api:os-unrescue", operations.ServerUnrescue, servers.TaskUnrescuing, precondition{
		name: "unrescue", vmStates: []servers.VMState{servers.VMRescued}, taskStates: idle, launched: true, unlocked: true}},
}

// Both reboots are one action, told apart by its type.
var (
	softReboot = powerAction{"reboot", policyReboot, operations.ServerReboot, servers.TaskRebooting, precondition{
		name: "reboot", vmStates: []servers.VMState{servers.VMActive}, taskStates: idle, launched: true, unlocked: true}}
	hardReboot = powerAction{"reboot", policyReboot, operations.ServerHardReboot, servers.TaskRebootingHard, precondition{
		name:     "reboot",
		vmStates: []servers.VMState{servers.VMActive, servers.VMStopped, servers.VMPaused, servers.VMSuspended, servers.VMError},
		taskStates: []servers.TaskState{servers.TaskNone, servers.TaskRebooting, servers.TaskRebootPending, servers.TaskRebootStarted,
			servers.TaskResuming, servers.TaskRebootingHard, servers.TaskUnpausing, servers.TaskPausing, servers.TaskSuspending},
		launched: true, unlocked: true}}
)

const policyReboot = "os_compute_api:servers:reboot"

// act accepts the action's operation: preconditions, task and operation in one
// transaction.
func (a *API) act(action powerAction) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		var accepted engine.Accepted
		err := a.onServer(r, action.policy, func(tx store.Tx, server *compute.Server) error {
			if err := action.check(r, server); err != nil {
				return err
			}
			var err error
			if accepted, err = a.accept(r, tx, action.kind, server, nil); err != nil || accepted.Meeting == operations.Join {
				return err
			}
			return compute.SetTask(r.Context(), tx, server.ID, action.task)
		})
		if err != nil {
			return nil, err
		}
		a.offer(accepted)
		return nil, nil
	}
}

// reboot chooses the kind by the body's type.
func (a *API) reboot(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[struct {
		Type rebootType `json:"type"`
	}](r, "reboot")
	if err != nil {
		return nil, err
	}
	if asked.Type == "HARD" {
		return a.act(hardReboot)(r)
	}
	return a.act(softReboot)(r)
}

// onServer locks the server that the path names and does something with it, if
// the rule lets the caller do it to that server.
func (a *API) onServer(r *rest.Request, rule string, do func(store.Tx, *compute.Server) error) error {
	return a.DB.InTx(r.Context(), func(tx store.Tx) error {
		server, err := compute.LockServer(r.Context(), tx, r.Identity.Scope(), serverID(r))
		if err != nil {
			return err
		}
		if err := r.Enforce(rule, serverTarget(server)); err != nil {
			return err
		}
		return do(tx, server)
	})
}

// serverID is the server that the path names.
func serverID(r *rest.Request) string { return cmp.Or(r.Param("server_id"), r.Param("id")) }

// serverOf gives the server that the path names, for reading.
func (a *API) serverOf(r *rest.Request, rule string) (*compute.Server, error) {
	server, err := compute.GetServer(r.Context(), a.DB.Pool, r.Identity.Scope(), serverID(r))
	if err != nil {
		return nil, err
	}
	return server, r.Enforce(rule, serverTarget(server))
}

// hostUp refuses what the server's host can't do while it is down.
func (a *API) hostUp(r *rest.Request, q store.Queryer, hostID string) error {
	host, err := compute.GetHost(r.Context(), q, hostID)
	if err != nil || host.Up(a.HostDownAfter) {
		return err
	}
	return faults.New(faults.Conflict, "ServiceUnavailable", "Service is unavailable at this time.")
}

// serverTarget is what a rule is asked about a server.
func serverTarget(s *compute.Server) map[string]any {
	return map[string]any{"project_id": s.ProjectID, "user_id": s.UserID}
}
