package baremetal

// Deploy templates: steps that a deployment takes besides its own; and shards.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

var deployTemplates = kind[baremetal.DeployTemplate]{
	resource: &deployTemplateResource, table: baremetal.DeployTemplates, rule: "baremetal:deploy_template:", param: "template", misnamed: "Expected UUID or name for template_ident: %s", what: "template",
	schema: "deploy_template_create", byName: alwaysNamed,
	create: func(_ *API, _ *rest.Request, _ store.Tx, _ *pyjson.Object, d *baremetal.DeployTemplate) (err error) {
		d.Steps, err = stepsOfTemplates.distinct(d.Steps)
		return err
	},
	change: func(_ *API, _ *rest.Request, _ store.Tx, _, d *baremetal.DeployTemplate, _ []change) (err error) {
		d.Steps, err = stepsOfTemplates.distinct(d.Steps)
		return err
	},
}

// stepList is what has a list of steps, as refusals name it, and the key of the steps'
// places in it.
type stepList struct{ code, owner, place string }

var (
	stepsOfTemplates = stepList{"InvalidDeployTemplate", "Deploy template", "priority"}
	stepsOfRunbooks  = stepList{"InvalidRunbook", "Runbook", "order"}
)

func (l stepList) invalid(format string, args ...any) error {
	return faults.New(faults.Invalid, l.code, l.owner+" invalid: "+format, args...)
}

// distinct refuses steps of which one is there twice, and those that are too many, and
// writes their places, which may be sent as texts or as 7.0, as whole numbers.
func (l stepList) distinct(steps json.RawMessage) (json.RawMessage, error) {
	var all []map[string]any
	decoder := json.NewDecoder(bytes.NewReader(steps))
	decoder.UseNumber() // what a step is given stays as it was sent
	if err := decoder.Decode(&all); err != nil {
		return nil, fmt.Errorf("steps: %w", err)
	}
	if len(all) > maxSteps {
		return nil, l.invalid("there are more than %d steps.", maxSteps)
	}
	seen, twice := map[string]bool{}, []string{}
	for _, step := range all {
		key := fmt.Sprintf("interface: %s, step: %s", step["interface"], step["step"])
		if seen[key] {
			twice = append(twice, key)
		}
		seen[key] = true
		if given := step[l.place]; given != nil {
			number, err := strconv.ParseFloat(fmt.Sprint(given), 64)
			if err != nil || number > math.MaxInt32 {
				return nil, l.invalid("the %s %s is out of range.", l.place, given)
			}
			step[l.place] = int(number)
		}
		if step["args"] == nil {
			step["args"] = map[string]any{}
		}
	}
	if len(twice) > 0 { // the original has these words for runbooks, too
		return nil, stepsOfTemplates.invalid("Duplicate deploy steps. A template cannot have multiple deploy steps with the same interface and step. Duplicates: %s.",
			strings.Join(twice, "; "))
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("steps: %w", err)
	}
	return text, nil
}

// listShards answers GET /shards.
func (a *API) listShards(r *rest.Request) (*rest.Response, error) {
	if unexpected := r.Parameters(); len(unexpected) > 0 {
		return nil, faults.New(faults.Invalid, "UnknownArgument", "Unexpected arguments: %s", strings.Join(unexpected, ", "))
	}
	all, err := baremetal.Shards(r.Context(), a.DB.Pool)
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"shards": all}), nil
}
