package provision_test

import (
	"slices"
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
			for _, phase := range provision.Phases() {
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
