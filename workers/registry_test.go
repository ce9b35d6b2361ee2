package workers

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"

	"holdfast.dev/activities/agent"
	"holdfast.dev/activities/bmc"
	"holdfast.dev/activities/boot"
	"holdfast.dev/activities/cinder"
	"holdfast.dev/activities/glance"
	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/maintenance"
	"holdfast.dev/activities/network"
	"holdfast.dev/activities/neutron"
	"holdfast.dev/activities/placement"
	"holdfast.dev/activities/records"
	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/workflows/server"
)

// served are the implementations as the roles register them.
var served = map[Role]map[string]any{
	ControlRole: {"records": (*records.Activities)(nil), "placement": (*placement.Activities)(nil), "neutron": (*neutron.Activities)(nil),
		"cinder": (*cinder.Activities)(nil), "glance": (*glance.Activities)(nil), "maintenance": (*maintenance.Activities)(nil), "resources": (*resources.Activities)(nil)},
	HostRole:      {"libvirt": (*libvirt.Activities)(nil)},
	ConductorRole: {"bmc": (*bmc.Activities)(nil), "agent": (*agent.Activities)(nil), "boot": (*boot.Activities)(nil), "network": (*network.Activities)(nil)},
}

// Every step is served by exactly one role, the one of its place, under its
// name, by a method of its family's contract.
func TestEveryStepIsServed(t *testing.T) {
	t.Parallel()
	got := map[string]Role{}
	for role, implementations := range served {
		r := &recorder{}
		if err := register(r, role, implementations); err != nil {
			t.Error(err)
		}
		for _, name := range r.names {
			if other, twice := got[name]; twice {
				t.Errorf("step %s is served by %s and %s", name, other, role)
			}
			got[name] = role
		}
	}
	for _, s := range steps.All() {
		want, elsewhere := map[steps.Place]Role{steps.OnHost: HostRole, steps.OnConductor: ConductorRole}[s.Place]
		if !elsewhere {
			want = ControlRole
		}
		if got[s.Name] != want {
			t.Errorf("step %s is served by %q, want %q", s.Name, got[s.Name], want)
		}
		delete(got, s.Name)
	}
	for name := range got {
		t.Errorf("%s is served and is no step", name)
	}
}

// Every method of a family's contract is a step: none was forgotten in the table.
func TestEveryContractMethodIsAStep(t *testing.T) {
	t.Parallel()
	for _, f := range families {
		for i := range f.contract.NumMethod() {
			name := f.name + "." + f.contract.Method(i).Name
			if !slices.ContainsFunc(steps.All(), func(s steps.Step) bool { return s.Name == name }) {
				t.Errorf("%s is in the contract and no step", name)
			}
		}
		implementation := served[f.role][f.name]
		if !reflect.TypeOf(implementation).Implements(f.contract) {
			t.Errorf("%T does not implement family %s", implementation, f.name)
		}
	}
}

func TestMissingImplementation(t *testing.T) {
	t.Parallel()
	for _, implementations := range []map[string]any{{}, {"libvirt": struct{}{}}} {
		if err := register(&recorder{}, HostRole, implementations); err == nil || !strings.Contains(err.Error(), "libvirt.") {
			t.Errorf("%v: %v, want the step named", implementations, err)
		}
	}
}

// Every workflow is registered under the name of a kind.
func TestWorkflowsAreKinds(t *testing.T) {
	t.Parallel()
	for kind := range server.Workflows {
		if _, ok := operations.Lookup(kind); !ok {
			t.Errorf("workflow %s is of no kind", kind)
		}
	}
}

type recorder struct{ names []string }

func (r *recorder) RegisterActivity(any) { panic("registered without a name") }

func (r *recorder) RegisterActivityWithOptions(_ any, o activity.RegisterOptions) {
	r.names = append(r.names, o.Name)
}

func (r *recorder) RegisterDynamicActivity(any, activity.DynamicRegisterOptions) {
	panic("registered without a name")
}
