package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
)

// wants has the node's row have steps that a user asks for.
func (w *world) wants(list string) {
	w.Helper()
	_, err := w.DB.Pool.Exec(w.Context(), `UPDATE baremetal.nodes SET deploy_interface = 'direct', driver_internal_info = driver_internal_info || jsonb_build_object('clean_steps', $1::jsonb)`, list)
	if err != nil {
		w.Fatal(err)
	}
}

// What is due is what the ramdisk does by itself, by priority; steps of interfaces
// that the node doesn't have are left out.
func TestWhatIsDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wants(`[]`)
	w.Machine.Can("clean", sim.Step{Step: "first", Interface: "deploy", Priority: 100, Abortable: true})
	w.Machine.Can("clean", sim.Step{Step: "foreign", Interface: "raid", Priority: 98})
	out, err := w.activities(w.DB).CleanPlan(t.Context(), steps.CleanPlanIn{Fence: w.Fence})
	if err != nil || len(out.Steps) < 2 || out.Steps[0] != (steps.CleanStep{Interface: "deploy", Step: "first", Abortable: true}) || strings.Contains(fmt.Sprint(out), "foreign") {
		t.Fatalf("%+v, %v", out, err)
	}
	var row struct {
		Steps []struct {
			Priority int
			Ramdisk  bool `json:"requires_ramdisk"`
		} `json:"clean_steps"`
	}
	if err := json.Unmarshal(w.Row().DriverInternalInfo, &row); err != nil || len(row.Steps) != len(out.Steps) {
		t.Fatalf("%s, %v", w.Row().DriverInternalInfo, err)
	}
	for i, s := range row.Steps {
		if s.Priority == 0 || !s.Ramdisk || i > 0 && s.Priority > row.Steps[i-1].Priority {
			t.Errorf("%+v", row.Steps)
		}
	}
}

// Steps of cleaning have the priorities that the configuration gives, whatever the ramdisk
// says: 0 leaves one out that isn't asked for. Steps of deployments have their own.
func TestPrioritiesByConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wants(`[]`)
	w.Machine.Can("clean", sim.Step{Step: "first", Interface: "deploy", Priority: 50})
	w.Machine.Can("clean", sim.Step{Step: "erase_devices", Interface: "raid", Priority: 7})
	a := w.activities(w.DB)
	a.Priorities = map[string]int{"erase_devices": 0, "erase_devices_metadata": 1}
	out, err := a.CleanPlan(t.Context(), steps.CleanPlanIn{Fence: w.Fence})
	if err != nil || fmt.Sprint(out.Steps) != fmt.Sprint([]steps.CleanStep{{Interface: "deploy", Step: "first"}, {Interface: "deploy", Step: "erase_devices_metadata", Abortable: true}}) {
		t.Errorf("%+v, %v", out, err)
	}
	w.wants(`[{"interface": "deploy", "step": "erase_devices"}]`)
	if out, err := a.CleanPlan(t.Context(), steps.CleanPlanIn{Fence: w.Fence, Asked: true}); err != nil || len(out.Steps) != 1 || out.Steps[0].Step != "erase_devices" {
		t.Errorf("%+v, %v", out, err)
	}
	said := []steps.NodeStep{{Interface: "deploy", Step: "erase_devices", Priority: 10}}
	for phase, want := range map[provision.Phase]int{provision.PhaseClean: 0, provision.PhaseDeploy: 10, provision.PhaseService: 10} {
		if got := a.offers(phase, said)[0].Priority; got != want {
			t.Errorf("%s: %d", phase, got)
		}
	}
}

// A ramdisk that is at work when it is asked what it has is asked again.
func TestOneThatIsAtWorkIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wants(`[]`)
	w.Machine.MisbehaveAgent(sim.Busy, sim.Busy)
	if out, err := w.activities(w.DB).CleanPlan(t.Context(), steps.CleanPlanIn{Fence: w.Fence}); err != nil || len(out.Steps) < 2 {
		t.Errorf("%+v, %v", out, err)
	}
}

// What a user asks for is held against what the ramdisk has, and told with its
// arguments, which are in the row alone.
func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.activities(w.DB)
	for list, refused := range map[string]string{
		`[{"interface": "deploy", "step": "fly"}]`:                                         "node does not support this clean step: {'interface': 'deploy', 'step': 'fly'}",
		`[{"interface": "raid", "step": "create_configuration"}]`:                          "node does not support this clean step: {'interface': 'raid', 'step': 'create_configuration'}",
		`[{"interface": "deploy", "step": "erase_devices", "args": {"softly": true}}]`:     "has these unexpected arguments: softly",
		`[{"interface": "power", "step": "hold"}, {"interface": "bios", "step": "reset"}]`: "node does not support this clean step: {'interface': 'bios', 'step': 'reset'}",
	} {
		w.wants(list)
		if _, err := a.CleanPlan(t.Context(), steps.CleanPlanIn{Fence: w.Fence, Asked: true}); !faults.Is(err, faults.Invalid) ||
			!strings.HasPrefix(faults.As(err).Message, "Cannot clean node "+w.Node.UUID+": ") || !strings.Contains(faults.As(err).Message, refused) {
			t.Errorf("%s: %v", list, err)
		}
	}
	w.wants(`[{"interface": "power", "step": "hold"}, {"interface": "deploy", "step": "erase_devices_metadata"}]`)
	for range 2 {
		out, err := a.CleanPlan(t.Context(), steps.CleanPlanIn{Fence: w.Fence, Asked: true})
		if err != nil || len(out.Steps) != 2 || out.Steps[0].Step != "hold" || out.Steps[1].Step != "erase_devices_metadata" {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	in, row := w.clean("erase_devices_metadata"), 1
	in.Row = &row
	if out, err := w.command(in); err != nil || out.State != steps.AgentDone || fmt.Sprint(w.Machine.Did()) != "[erase_devices_metadata]" {
		t.Errorf("%+v, %v, %v", out, err, w.Machine.Did())
	}
	in.Name, row = "another", 7
	if _, err := w.command(in); !faults.Is(err, faults.Invalid) {
		t.Errorf("%v", err)
	}
}

// The secrets among the arguments of a step are the ramdisk's alone.
func TestStepsHaveSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wants(`[{"interface": "power", "step": "hold", "args": {"keys": [{"password": "******"}]}}]`)
	secrets := w.Box.Seal([]byte(`{"driver_internal_info": {"/agent_secret_token": "`+bmctest.Token+`", "/clean_steps/0/args/keys/0/password": "s3cret"}}`), nodes.Place(w.Node))
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET secrets = $1`, secrets); err != nil {
		t.Fatal(err)
	}
	a := w.activities(w.DB)
	if _, err := a.CleanPlan(t.Context(), steps.CleanPlanIn{Fence: w.Fence, Asked: true}); err != nil {
		t.Fatal(err)
	}
	s, err := a.open(t.Context(), w.Fence)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close(t.Context())
	if told, err := s.stored(steps.AgentClean, 0); err != nil || fmt.Sprint(told["args"]) != "map[keys:[map[password:s3cret]]]" || strings.Contains(string(w.Row().DriverInternalInfo), "s3cret") {
		t.Errorf("%v, %v", told, err)
	}
}

// A deployment goes on by what its ramdisk has, too, at the core, which the row says with
// it; the secrets of what the request gives go with it.
func TestWhatIsDeployed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Machine.Can("deploy", sim.Step{Step: "own", Interface: "deploy", Priority: 85, RebootRequested: true})
	secrets := w.Box.Seal([]byte(`{"driver_internal_info": {"/agent_secret_token": "`+bmctest.Token+`", "/user_deploy_steps/0/args/password": "s3cret"}}`), nodes.Place(w.Node))
	gives := func(steps string) {
		t.Helper()
		if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET deploy_interface = 'direct', provision_state = 'deploying', secrets = $2,
			driver_internal_info = driver_internal_info || jsonb_build_object('user_deploy_steps', $1::jsonb, 'deploy_step_index', 0)`, steps, secrets); err != nil {
			t.Fatal(err)
		}
	}
	a, in := w.activities(w.DB), steps.CleanPlanIn{Fence: w.Fence, Phase: steps.AgentDeploy, Asked: true}
	for given, refused := range map[string]string{
		`[{"interface": "deploy", "step": "fly", "args": {"password": "******"}, "priority": 90}]`: `Validation of deploy steps from "deploy steps" argument failed.node does not support this deploy step: {'interface': 'deploy', 'step': 'fly'}`,
		`[{"interface": "deploy", "step": "own", "args": {}, "priority": 190}]`:                    "deploy step deploy.own with priority 190 would be done while the ramdisk does not run",
		`[{"interface": "deploy", "step": "deploy", "args": {}, "priority": 0}]`:                   "the step deploy.deploy is being done, and is none of them any more",
	} {
		gives(given)
		if _, err := a.CleanPlan(t.Context(), in); !faults.Is(err, faults.Invalid) || faults.As(err).Message != "Failed to validate the final deploy steps list for node "+w.Node.UUID+": "+refused {
			t.Errorf("%s: %v", given, err)
		}
	}
	gives(`[{"interface": "power", "step": "hold", "args": {"password": "******"}, "priority": 110}, {"interface": "deploy", "step": "inject_files", "args": {"verify_ca": true}, "priority": 70}]`)
	for range 2 {
		out, err := a.CleanPlan(t.Context(), in)
		var names []string
		for _, s := range out.Steps {
			names = append(names, s.Step)
		}
		if want := "hold deploy own write_image inject_files prepare_instance_boot tear_down_agent switch_to_tenant_network boot_instance"; err != nil || strings.Join(names, " ") != want || out.Index != 1 ||
			!out.Steps[2].Reboots || !out.Steps[2].Abortable {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if args, err := nodes.StepArgs(w.Box, w.Row(), provision.PhaseDeploy, 0); err != nil || fmt.Sprint(args) != "map[password:s3cret]" || strings.Contains(string(w.Row().DriverInternalInfo), "s3cret") {
		t.Errorf("%v, %v", args, err)
	}
}

// A node in service has what its ramdisk has for that, and is told which phase it is.
func TestWhatIsServiced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.activities(w.DB)
	asks := func(list string) {
		t.Helper()
		if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET deploy_interface = 'direct', provision_state = 'servicing',
			driver_internal_info = driver_internal_info || jsonb_build_object('service_steps', $1::jsonb)`, list); err != nil {
			t.Fatal(err)
		}
	}
	in := steps.CleanPlanIn{Fence: w.Fence, Phase: steps.AgentService, Asked: true}
	asks(`[{"interface": "deploy", "step": "erase_devices"}]`)
	if _, err := a.CleanPlan(t.Context(), in); !faults.Is(err, faults.Invalid) || faults.As(err).Message != "Cannot service node "+w.Node.UUID+
		": node does not support this service step: {'interface': 'deploy', 'step': 'erase_devices'}" {
		t.Errorf("%v", err)
	}
	asks(`[{"interface": "deploy", "step": "burnin_cpu"}]`)
	if out, err := a.CleanPlan(t.Context(), in); err != nil || len(out.Steps) != 1 || out.Steps[0] != (steps.CleanStep{Interface: "deploy", Step: "burnin_cpu"}) {
		t.Fatalf("%+v, %v", out, err)
	}
	row := 0
	told := steps.AgentCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Name: "service/0", Phase: steps.AgentService, Row: &row,
		Step: &steps.NodeStep{Interface: "deploy", Step: "burnin_cpu"}}
	if out, err := w.command(told); err != nil || out.State != steps.AgentDone || fmt.Sprint(w.Machine.Did()) != "[burnin_cpu]" {
		t.Errorf("%+v, %v, %v", out, err, w.Machine.Did())
	}
}
