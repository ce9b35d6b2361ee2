package nodes

// The steps of a node's deployment.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// Deployment are the steps of a node's deployment, in their order: those that its
// interfaces have and its ramdisk offers, and those that the deploy templates of its
// instance and the request give. Errors: Invalid, one that is given isn't there, or not as
// it is given.
func Deployment(ctx context.Context, q store.Queryer, box *secrets.Box, n *baremetal.Node, offered []provision.Step, ramdisk provision.Ramdisk, request []provision.Wanted) ([]provision.Step, error) {
	instance, err := InstanceInfo(box, n)
	if err != nil {
		return nil, err
	}
	templates, err := instance.templates(ctx, q)
	if err != nil {
		return nil, err
	}
	has := Has(n, provision.PhaseDeploy, offered)
	var wanted []provision.Wanted
	names := make([]string, len(templates))
	for i, t := range templates {
		steps, err := wantedOf(t.Steps)
		if err != nil {
			return nil, fmt.Errorf("steps of the deploy template %s: %w", t.Name, err)
		}
		wanted, names[i] = append(wanted, steps...), t.Name
	}
	ofTemplates, err := fitting(wanted, has, ramdisk, "Validation of deploy steps from deploy templates matching this node's instance traits failed. "+
		"Matching deploy templates: "+strings.Join(names, ",")+". Errors: ")
	if err != nil {
		return nil, err
	}
	ofRequest, err := fitting(request, has, ramdisk, "Validation of deploy steps from \"deploy steps\" argument failed.")
	if err != nil {
		return nil, err
	}
	all := provision.Deployment(has, ofTemplates, ofRequest)
	if wrong := provision.Misplaced(all); len(wrong) > 0 {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "%s", strings.Join(wrong, "; "))
	}
	if len(all) == 0 {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "No deploy steps returned by the driver")
	}
	return all, nil
}

// fitting are wanted steps of a deployment as they are to be done. Errors: Invalid, begun
// with what.
func fitting(wanted []provision.Wanted, has []provision.Step, ramdisk provision.Ramdisk, what string) ([]provision.Step, error) {
	steps, wrong := provision.PhaseDeploy.Fit(wanted, has, ramdisk)
	if len(wrong) > 0 {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "%s%s", what, strings.Join(wrong, "; "))
	}
	return steps, nil
}

// StoredWanted are the steps of a request as the row has them.
func StoredWanted(all []provision.Wanted) []map[string]any {
	stored := make([]map[string]any, len(all))
	for i, w := range all {
		stored[i] = map[string]any{"interface": w.Interface, "step": w.Name, "args": w.Told, "priority": w.Priority}
	}
	return stored
}

// GivenSteps are those that the request of a node's deployment has given, with their
// secrets in place.
func GivenSteps(known map[string]any) ([]provision.Wanted, error) {
	stored, there := known[provision.PhaseDeploy.Given()]
	if !there {
		return nil, nil
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("the deploy steps of a request: %w", err)
	}
	return wantedOf(text)
}
