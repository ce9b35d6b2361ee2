package workers

// Which role serves which steps, and their registration under their names.

import (
	"fmt"
	"reflect"
	"strings"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"holdfast.dev/internal/steps"
)

// Role is what a worker process is for.
type Role string

const (
	ControlRole Role = "control"
	HostRole    Role = "host"
	// ConductorRole works on nodes.
	ConductorRole Role = "conductor"
)

// families is a row per family of steps: who serves it, and the interface that
// its activities implement.
var families = []struct {
	name     string
	role     Role
	contract reflect.Type
}{
	{"records", ControlRole, reflect.TypeFor[steps.RecordsActivities]()},
	{"placement", ControlRole, reflect.TypeFor[steps.PlacementActivities]()},
	{"neutron", ControlRole, reflect.TypeFor[steps.NeutronActivities]()},
	{"cinder", ControlRole, reflect.TypeFor[steps.CinderActivities]()},
	{"glance", ControlRole, reflect.TypeFor[steps.GlanceActivities]()},
	{"resources", ControlRole, reflect.TypeFor[steps.ResourcesActivities]()},
	{"maintenance", ControlRole, reflect.TypeFor[steps.MaintenanceActivities]()},
	{"libvirt", HostRole, reflect.TypeFor[steps.LibvirtActivities]()},
	{"bmc", ConductorRole, reflect.TypeFor[steps.BMCActivities]()},
	{"agent", ConductorRole, reflect.TypeFor[steps.AgentActivities]()},
	{"boot", ConductorRole, reflect.TypeFor[steps.BootActivities]()},
	{"network", ConductorRole, reflect.TypeFor[steps.NetworkActivities]()},
}

// Steps gives the names of the steps that a role serves.
func Steps(role Role) []string {
	var names []string
	for _, f := range families {
		if f.role != role {
			continue
		}
		for _, s := range steps.All() {
			if family, _, _ := strings.Cut(s.Name, "."); family == f.name {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// register makes the worker serve every step of the role, each by the method of
// its name. implementations has one per family of the role.
func register(w worker.ActivityRegistry, role Role, implementations map[string]any) error {
	for _, name := range Steps(role) {
		family, method, _ := strings.Cut(name, ".")
		f := reflect.ValueOf(implementations[family])
		if f.IsValid() {
			f = f.MethodByName(method)
		}
		if !f.IsValid() {
			return fmt.Errorf("nothing of the %s worker carries out step %s", role, name)
		}
		w.RegisterActivityWithOptions(f.Interface(), activity.RegisterOptions{Name: name})
	}
	return nil
}
