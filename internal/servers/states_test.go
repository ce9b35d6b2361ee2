package servers

import (
	"slices"
	"testing"

	"holdfast.dev/internal/contracttest"
)

// statusMap reads the contract's table.
func statusMap(t *testing.T) (m struct {
	Full       map[string]map[string]string `json:"full_matrix"`
	VMStates   []string                     `json:"vm_states"`
	TaskStates []string                     `json:"task_states"`
}) {
	t.Helper()
	contracttest.Read(t, "compute/status-map.json", &m)
	return m
}

func TestEveryPairOfStatesShowsTheContractsStatus(t *testing.T) {
	t.Parallel()
	pairs := 0
	for vm, byTask := range statusMap(t).Full {
		for task, want := range byTask {
			if task == "null" {
				task = ""
			}
			if got := Status(VMState(vm), TaskState(task)); got != want {
				t.Errorf("%s with task %q shows %s, want %s", vm, task, got, want)
			}
			pairs++
		}
	}
	if want := 12 * 43; pairs != want {
		t.Errorf("%d pairs were looked at, want %d", pairs, want)
	}
	if got := Status("lost", TaskNone); got != StatusUnknown {
		t.Errorf("an unknown vm_state shows %s", got)
	}
}

func TestFilteringByStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		vms   []VMState
		tasks []TaskState
	}{
		{[]string{"ACTIVE"}, []VMState{VMActive}, nil},
		{[]string{"active", "Error"}, []VMState{VMActive, VMError}, nil},
		{[]string{"REBOOT"}, []VMState{VMActive}, []TaskState{TaskRebootPending, TaskRebootStarted, TaskRebooting}},
		{[]string{"MIGRATING"}, []VMState{VMActive, VMPaused}, []TaskState{TaskMigrating}},
		{[]string{"nonsense"}, nil, nil},
	} {
		vms, tasks := FromStatus(c.words...)
		if !slices.Equal(vms, c.vms) || !slices.Equal(tasks, c.tasks) {
			t.Errorf("%v: %v with tasks %v, want %v with %v", c.words, vms, tasks, c.vms, c.tasks)
		}
	}
}

// The table names no state that the contract doesn't have.
func TestStatesAreTheContracts(t *testing.T) {
	t.Parallel()
	m := statusMap(t)
	for vm, byTask := range statuses {
		if !slices.Contains(m.VMStates, string(vm)) {
			t.Errorf("vm_state %q is not in the contract", vm)
		}
		for task := range byTask {
			if task != TaskNone && !slices.Contains(m.TaskStates, string(task)) {
				t.Errorf("task_state %q is not in the contract", task)
			}
		}
	}
}
