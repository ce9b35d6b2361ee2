package provision_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/provision"
)

// Every step that there is, is one of the contract's, as that has it; and the order
// of interfaces is its own.
func TestStepsAreTheContracts(t *testing.T) {
	t.Parallel()
	type step struct {
		Step      string
		Priority  int
		Abortable bool
		Ramdisk   bool `json:"requires_ramdisk"`
		Args      []struct {
			Name     string
			Required bool
		}
	}
	var contract struct {
		Priority map[string]map[string]int                        `json:"interface_priority"`
		Steps    map[string]map[string]map[provision.Phase][]step `json:"out_of_band"`
		Reserved []struct{ Step string }                          `json:"reserved_steps"`
	}
	contracttest.Read(t, "baremetal/steps.json", &contract)
	for i, name := range provision.StepInterfaces() {
		if contract.Priority["clean"][name] != 7-i {
			t.Errorf("%s is number %d", name, i)
		}
	}
	for _, r := range contract.Reserved {
		if !provision.Reserved(r.Step) {
			t.Errorf("%s is not reserved", r.Step)
		}
	}
	for interfaceName, impls := range contract.Steps {
		for impl, of := range impls {
			for _, phase := range append(provision.Phases(), provision.PhaseVerify) {
				for _, s := range phase.Steps(map[string]string{interfaceName: impl}) {
					i := slices.IndexFunc(of[phase], func(c step) bool { return c.Step == s.Name })
					if i < 0 {
						t.Errorf("%s of %s is none of the contract's", s.ID(), impl)
						continue
					}
					want := of[phase][i]
					if s.Priority != want.Priority || s.Abortable != want.Abortable || s.Ramdisk != want.Ramdisk || len(s.Args) != len(want.Args) {
						t.Errorf("%s of %s: %+v, not %+v", s.ID(), impl, s, want)
					}
					for _, a := range want.Args {
						if needed, takes := s.Args[a.Name]; !takes || needed != a.Required {
							t.Errorf("%s of %s takes %v", s.ID(), impl, s.Args)
						}
					}
				}
			}
		}
	}
}

// The steps of a deployment are the node's, those of the request before those of a
// template, each at its priority.
func TestDeployment(t *testing.T) {
	t.Parallel()
	has := append(provision.PhaseDeploy.Steps(map[string]string{"deploy": "direct", "bios": "redfish"}), provision.Step{Interface: "raid", Name: "own", Priority: 90, Ramdisk: true},
		provision.Step{Interface: "deploy", Name: "idle", Ramdisk: true})
	const usual = "deploy.deploy 100, raid.own 90, deploy.write_image 80, deploy.prepare_instance_boot 60, deploy.tear_down_agent 40, deploy.switch_to_tenant_network 30, deploy.boot_instance 20"
	one := func(name string, priority int) provision.Step {
		at, name, _ := strings.Cut(name, ".")
		return provision.Step{Interface: at, Name: name, Priority: priority, Ramdisk: at == "raid"}
	}
	for name, d := range map[string]struct {
		templates, request []provision.Step
		want, wrong        string
	}{
		"nothing":                         {nil, nil, usual, ""},
		"a template's":                    {[]provision.Step{one("bios.factory_reset", 150), one("deploy.idle", 0)}, nil, "bios.factory_reset 150, " + usual, ""},
		"the request's over a template's": {[]provision.Step{one("bios.factory_reset", 150)}, []provision.Step{one("bios.factory_reset", 0), one("power.hold", 10)}, usual + ", power.hold 10", ""},
		"one that is left out, and another in the place of the node's": {nil, []provision.Step{one("raid.own", 70), one("deploy.write_image", 0)},
			"deploy.deploy 100, raid.own 70, deploy.prepare_instance_boot 60, deploy.tear_down_agent 40, deploy.switch_to_tenant_network 30, deploy.boot_instance 20", ""},
		"a tie": {nil, []provision.Step{one("bios.factory_reset", 80), one("vendor.x", 80)}, strings.Replace(usual, "deploy.write_image 80", "vendor.x 80, deploy.write_image 80, bios.factory_reset 80", 1), ""},
		"too early and too late": {nil, []provision.Step{one("raid.own", 110), one("deploy.write_image", 30)},
			"raid.own 110, deploy.deploy 100, deploy.prepare_instance_boot 60, deploy.tear_down_agent 40, deploy.switch_to_tenant_network 30, deploy.write_image 30, deploy.boot_instance 20",
			"deploy step raid.own with priority 110 would be done while the ramdisk does not run; deploy step deploy.write_image with priority 30 would be done while the ramdisk does not run"},
	} {
		var got []string
		all := provision.Deployment(has, d.templates, d.request)
		for _, s := range all {
			got = append(got, fmt.Sprintf("%s %d", s.ID(), s.Priority))
		}
		if wrong := strings.Join(provision.Misplaced(all), "; "); strings.Join(got, ", ") != d.want || wrong != d.wrong {
			t.Errorf("%s: %s; %s", name, strings.Join(got, ", "), wrong)
		}
	}
}

// What is given for a deployment is held against what the node has; what its ramdisk may
// yet have is left for then.
func TestGivenForADeployment(t *testing.T) {
	t.Parallel()
	has := provision.PhaseDeploy.Steps(map[string]string{"deploy": "direct", "bios": "redfish"})
	given := func(id string, priority int, args ...string) provision.Wanted {
		at, name, _ := strings.Cut(id, ".")
		return provision.Wanted{Interface: at, Name: name, Priority: priority, Args: args, Printed: id}
	}
	for name, d := range map[string]struct {
		wanted  []provision.Wanted
		ramdisk provision.Ramdisk
		fit     int
		wrong   string
	}{
		"one that is there":               {[]provision.Wanted{given("bios.apply_configuration", 150, "settings")}, provision.RamdiskAsked, 1, ""},
		"the core, left out":              {[]provision.Wanted{given("deploy.deploy", 0)}, provision.RamdiskAsked, 1, ""},
		"the operation's own, twice":      {[]provision.Wanted{given("power.reboot", 95), given("power.reboot", 70)}, provision.RamdiskAsked, 2, ""},
		"one that may come":               {[]provision.Wanted{given("raid.own", 90)}, provision.RamdiskLater, 0, ""},
		"one that doesn't come":           {[]provision.Wanted{given("raid.own", 90)}, provision.RamdiskAsked, 0, "node does not support this deploy step: raid.own"},
		"one that lacks an argument":      {[]provision.Wanted{given("bios.apply_configuration", 150)}, provision.RamdiskLater, 1, "deploy step bios.apply_configuration is missing these required arguments: settings"},
		"one that lacks it, and is out":   {[]provision.Wanted{given("bios.apply_configuration", 0)}, provision.RamdiskAsked, 1, ""},
		"one with an argument of another": {[]provision.Wanted{given("bios.factory_reset", 0, "b", "a")}, provision.RamdiskAsked, 1, "deploy step bios.factory_reset has these unexpected arguments: a, b"},
		"the core, elsewhere": {[]provision.Wanted{given("deploy.deploy", 90)}, provision.RamdiskAsked, 1,
			"deploy step deploy on interface deploy is a core step and cannot be overridden by user steps. It may be disabled by setting the priority to 0"},
		"one that is there twice": {[]provision.Wanted{given("bios.factory_reset", 150), given("bios.factory_reset", 50)}, provision.RamdiskAsked, 2,
			"deploy steps from all deploy templates matching this node's instance traits cannot have the same interface and step. Duplicate deploy steps for bios.factory_reset"},
	} {
		fit, wrong := provision.PhaseDeploy.Fit(d.wanted, has, d.ramdisk)
		if len(fit) != d.fit || strings.Join(wrong, "; ") != d.wrong {
			t.Errorf("%s: %+v; %q", name, fit, wrong)
		}
		for i, s := range fit {
			if s.Priority != d.wanted[i].Priority {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}
