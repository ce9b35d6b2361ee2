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

var deployTemplates = newTable("baremetal.deploy_templates", map[string]func(*DeployTemplate) error{
	"deploy_templates_uuid_key": func(d *DeployTemplate) error {
		return faults.New(faults.Conflict, "DeployTemplateAlreadyExists", "A deploy template with UUID %s already exists.", d.UUID)
	},
	"deploy_templates_name_key": func(d *DeployTemplate) error {
		return faults.New(faults.Conflict, "DeployTemplateDuplicateName", "A deploy template with name %s already exists.", d.Name)
	},
})

// CreateDeployTemplate adds a deploy template.
func CreateDeployTemplate(ctx context.Context, tx store.Tx, d *DeployTemplate) error {
	return deployTemplates.insert(ctx, tx, d)
}

// UpdateDeployTemplate writes a deploy template.
func UpdateDeployTemplate(ctx context.Context, tx store.Tx, d *DeployTemplate) error {
	return deployTemplates.update(ctx, tx, d)
}

// FindDeployTemplate gives the deploy template with a uuid or a name.
func FindDeployTemplate(ctx context.Context, q store.Queryer, ident string) (*DeployTemplate, error) {
	return findDeployTemplate(ctx, q, ident, false)
}

// LockDeployTemplate is FindDeployTemplate that keeps it as it is until the
// transaction ends.
func LockDeployTemplate(ctx context.Context, tx store.Tx, ident string) (*DeployTemplate, error) {
	return findDeployTemplate(ctx, tx, ident, true)
}

func findDeployTemplate(ctx context.Context, q store.Queryer, ident string, lock bool) (*DeployTemplate, error) {
	where := "t.name = $1"
	if IsUUID(ident) {
		where = "t.uuid = $1"
	}
	d, err := deployTemplates.find(ctx, q, lock, where, ident)
	return d, said(err, "DeployTemplateNotFound", "Deploy template %s could not be found.", ident)
}

// ListDeployTemplates gives a page of deploy templates.
func ListDeployTemplates(ctx context.Context, q store.Queryer, l List) ([]*DeployTemplate, error) {
	return deployTemplates.list(ctx, q, l)
}

// DeleteDeployTemplate takes a deploy template away.
func DeleteDeployTemplate(ctx context.Context, tx store.Tx, d *DeployTemplate) error {
	_, err := tx.Exec(ctx, `DELETE FROM baremetal.deploy_templates WHERE uuid = $1`, d.UUID)
	return store.Translate(err)
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
