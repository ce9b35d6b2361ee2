package baremetal

// Deploy templates: steps that a deployment takes besides its own, if its
// instance has the trait that the template is called by.

import (
	"context"
	"encoding/json"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// DeployTemplate is a row of baremetal.deploy_templates; fields as in Node.
type DeployTemplate struct {
	UUID      string          `json:"uuid" write:"once"`
	Name      string          `json:"name"`
	Steps     json.RawMessage `json:"steps"`
	Extra     json.RawMessage `json:"extra"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt *time.Time      `json:"updated_at"`
}

// DeployTemplates are the deploy templates.
var DeployTemplates = newTable("baremetal.deploy_templates", "DeployTemplateNotFound", "Deploy template %s could not be found.", map[string]func(*DeployTemplate) error{
	"deploy_templates_uuid_key": func(d *DeployTemplate) error {
		return faults.New(faults.Conflict, "DeployTemplateAlreadyExists", "A deploy template with UUID %s already exists.", d.UUID)
	},
	"deploy_templates_name_key": func(d *DeployTemplate) error {
		return faults.New(faults.Conflict, "DeployTemplateDuplicateName", "A deploy template with name %s already exists.", d.Name)
	},
})

// TemplatesOf are those that an instance's traits call.
func TemplatesOf(ctx context.Context, q store.Queryer, traits []string) ([]*DeployTemplate, error) {
	return DeployTemplates.all(ctx, q, "t.name = ANY ($1) ORDER BY t.name", traits)
}

// Shard is a part of the nodes that one client looks after; nil is none.
type Shard struct {
	Name  *string `json:"name"`
	Count int     `json:"count"`
}

// Shards gives how many nodes each shard has, the largest first.
func Shards(ctx context.Context, q store.Queryer) ([]*Shard, error) {
	rows, err := q.Query(ctx, `SELECT shard, count(*) FROM baremetal.nodes GROUP BY shard ORDER BY count(*) DESC, shard`)
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, func(s *Shard) []any { return []any{&s.Name, &s.Count} })
}
