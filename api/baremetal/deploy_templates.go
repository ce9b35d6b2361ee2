package baremetal

// Deploy templates: steps that a deployment takes besides its own; and shards.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

func (a *API) listDeployTemplates(r *rest.Request) (*rest.Response, error) {
	l, err := deployTemplateResource.listing(r, nil, a.MaxPageSize, false)
	if err != nil {
		return nil, err
	}
	if l.Marker != "" {
		if _, err := baremetal.FindDeployTemplate(r.Context(), a.DB.Pool, l.Marker); err != nil {
			return nil, err
		}
	}
	all, err := baremetal.ListDeployTemplates(r.Context(), a.DB.Pool, l.List)
	if err != nil {
		return nil, err
	}
	return page(r, &deployTemplateResource, l, all, func(d *baremetal.DeployTemplate) string { return d.UUID }, func(d *baremetal.DeployTemplate) map[string]any {
		return deployTemplateView(r, d, l.wanted)
	}), nil
}

// deployTemplateView is what clients are shown of a deploy template.
func deployTemplateView(r *rest.Request, d *baremetal.DeployTemplate, wanted []string) map[string]any {
	return view(r, &deployTemplateResource, deployTemplatePlaces, d, d.UUID, wanted)
}

func (a *API) showDeployTemplate(r *rest.Request) (*rest.Response, error) {
	if err := deployTemplateResource.expected(r, common[4:5]); err != nil {
		return nil, err
	}
	wanted, err := deployTemplateResource.wanted(r)
	if err != nil {
		return nil, err
	}
	d, err := baremetal.FindDeployTemplate(r.Context(), a.DB.Pool, r.Param("template"))
	if err != nil {
		return nil, err
	}
	return rest.JSON(deployTemplateView(r, d, wanted)), nil
}

func (a *API) createDeployTemplate(r *rest.Request) (*rest.Response, error) {
	body, err := object(r, "deploy_template_create", "template")
	if err != nil {
		return nil, err
	}
	d := &baremetal.DeployTemplate{UUID: uuid.NewString()}
	if err := fill(body, d); err != nil {
		return nil, err
	}
	settle(d)
	if err := distinct(d); err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) (err error) {
		if err = baremetal.CreateDeployTemplate(r.Context(), tx, d); err == nil {
			d, err = baremetal.FindDeployTemplate(r.Context(), tx, d.UUID)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(deployTemplateView(r, d, nil)).WithHeader("Location", r.Link("deploy_templates", d.UUID)), nil
}

// distinct refuses a template that has a step twice, and writes priorities that
// were sent as texts as numbers.
func distinct(d *baremetal.DeployTemplate) error {
	var steps []map[string]any
	decoder := json.NewDecoder(bytes.NewReader(d.Steps))
	decoder.UseNumber() // what a step is given stays as it was sent
	if err := decoder.Decode(&steps); err != nil {
		return fmt.Errorf("steps of a deploy template: %w", err)
	}
	seen, twice := map[string]bool{}, []string{}
	for _, step := range steps {
		key := fmt.Sprintf("interface: %s, step: %s", step["interface"], step["step"])
		if seen[key] {
			twice = append(twice, key)
		}
		seen[key] = true
		if text, ok := step["priority"].(string); ok {
			number, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return faults.Wrap(err, faults.Invalid, "InvalidDeployTemplate", "Deploy template invalid: the priority %s is out of range.", text)
			}
			step["priority"] = number
		}
	}
	if len(twice) > 0 {
		return faults.New(faults.Invalid, "InvalidDeployTemplate", "Deploy template invalid: Duplicate deploy steps. A template cannot have multiple deploy steps "+
			"with the same interface and step. Duplicates: %s.", strings.Join(twice, "; "))
	}
	var err error
	if d.Steps, err = json.Marshal(steps); err != nil {
		return fmt.Errorf("steps of a deploy template: %w", err)
	}
	return nil
}

func (a *API) updateDeployTemplate(r *rest.Request) (*rest.Response, error) {
	changes, err := deployTemplateResource.readPatch(r)
	if err != nil {
		return nil, err
	}
	after := &baremetal.DeployTemplate{}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		d, err := baremetal.LockDeployTemplate(r.Context(), tx, r.Param("template"))
		if err != nil {
			return err
		}
		if err := patched(d, changes, "deploy_template_create", after); err != nil {
			return err
		}
		if err := distinct(after); err != nil {
			return err
		}
		if err := baremetal.UpdateDeployTemplate(r.Context(), tx, after); err != nil {
			return err
		}
		after, err = baremetal.FindDeployTemplate(r.Context(), tx, d.UUID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(deployTemplateView(r, after, nil)), nil
}

func (a *API) deleteDeployTemplate(r *rest.Request) (*rest.Response, error) {
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		d, err := baremetal.LockDeployTemplate(r.Context(), tx, r.Param("template"))
		if err != nil {
			return err
		}
		return baremetal.DeleteDeployTemplate(r.Context(), tx, d)
	})
}

// listShards answers GET /shards.
func (a *API) listShards(r *rest.Request) (*rest.Response, error) {
	all, err := baremetal.Shards(r.Context(), a.DB.Pool)
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"shards": all}), nil
}
