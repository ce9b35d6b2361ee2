package compute

// Flavors: sizes that servers are made in.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// Flavor is a row of compute.flavors, and the copy of one that a server keeps.
type Flavor struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	VCPUs int    `json:"vcpus"`
	// MemoryMB and SwapMB are MiB, the disks GiB.
	MemoryMB    int64             `json:"memory_mb"`
	RootGB      int64             `json:"root_gb"`
	EphemeralGB int64             `json:"ephemeral_gb"`
	SwapMB      int64             `json:"swap_mb"`
	RXTXFactor  float64           `json:"rxtx_factor"`
	Public      bool              `json:"is_public"`
	Disabled    bool              `json:"disabled"`
	Description *string           `json:"description,omitempty"`
	ExtraSpecs  map[string]string `json:"extra_specs,omitempty"`
	CreatedAt   time.Time         `json:"created_at,omitzero"`
	UpdatedAt   time.Time         `json:"updated_at,omitzero"`
}

// DiskGB is the room that a server of this flavor takes on its host's disk,
// in GiB: root, ephemeral, and swap rounded up.
func (f *Flavor) DiskGB() int64 { return f.RootGB + f.EphemeralGB + (f.SwapMB+1023)/1024 }

const flavorColumns = `f.id, f.name, f.vcpus, f.memory_mb, f.root_gb, f.ephemeral_gb, f.swap_mb, f.rxtx_factor,
	f.is_public, f.disabled, f.description, f.extra_specs, f.created_at, f.updated_at`

func (f *Flavor) fields() []any {
	return []any{&f.ID, &f.Name, &f.VCPUs, &f.MemoryMB, &f.RootGB, &f.EphemeralGB, &f.SwapMB, &f.RXTXFactor,
		&f.Public, &f.Disabled, &f.Description, &f.ExtraSpecs, &f.CreatedAt, &f.UpdatedAt}
}

// flavorVisible says which flavors a project sees: public ones and those it was
// given access to; the empty project sees all.
const flavorVisible = `($1 = '' OR f.is_public OR EXISTS (
	SELECT FROM compute.flavor_access a WHERE a.flavor_id = f.id AND a.project_id = $1))`

// GetFlavor gives the flavor with this id if projectID ("" is any) may use it.
func GetFlavor(ctx context.Context, q store.Queryer, projectID, id string) (*Flavor, error) {
	if !isText(id) {
		return nil, flavorNotFound(id)
	}
	var f Flavor
	err := q.QueryRow(ctx, `SELECT `+flavorColumns+` FROM compute.flavors f WHERE `+flavorVisible+` AND f.id = $2`,
		projectID, id).Scan(f.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, flavorNotFound(id)
	}
	if err != nil {
		return nil, store.Translate(err)
	}
	return &f, nil
}

// FlavorFilter narrows and orders a list of flavors. Zero fields don't.
type FlavorFilter struct {
	// ProjectID sees public flavors and its own; "" sees all.
	ProjectID string
	// Public nil: both kinds. True: public ones, and those that ProjectID was
	// given access to; false: private ones.
	Public *bool
	// Disabled lists disabled ones too.
	Disabled bool
	// Name matches anywhere in the name.
	Name string
	// MinMemoryMB and MinRootGB are lower bounds, inclusive.
	MinMemoryMB, MinRootGB int64
	// SortKey is a key of FlavorSortKeys; empty sorts by id.
	SortKey    string
	Descending bool
	// Marker is the id of the last flavor of the page before; Limit 0 is no limit.
	Marker string
	Limit  int
}

// FlavorSortKeys are what a list can be ordered by, as the API names it.
var FlavorSortKeys = map[string]string{
	"created_at":   "f.created_at",
	"description":  "COALESCE(f.description, '')",
	"disabled":     "f.disabled",
	"ephemeral_gb": "f.ephemeral_gb",
	"flavorid":     "f.id",
	"id":           "f.created_at",
	"is_public":    "f.is_public",
	"memory_mb":    "f.memory_mb",
	"name":         "f.name",
	"root_gb":      "f.root_gb",
	"rxtx_factor":  "f.rxtx_factor",
	"swap":         "f.swap_mb",
	"updated_at":   "f.updated_at",
	"vcpu_weight":  "0",
	"vcpus":        "f.vcpus",
}

// ListFlavors gives a page of flavors. A marker that isn't one of them and a
// sort key that isn't one are faults.Invalid.
func ListFlavors(ctx context.Context, q store.Queryer, f FlavorFilter) ([]*Flavor, error) {
	sort := "f.id"
	if f.SortKey != "" {
		expression, ok := FlavorSortKeys[f.SortKey]
		if !ok {
			return nil, faults.New(faults.Invalid, "InvalidSortKey", "Invalid sort key %s", f.SortKey)
		}
		sort = expression
	}
	var c conditions
	f.narrow(&c)
	keys := []key{{sort, !f.Descending}, {"f.id", !f.Descending}}
	with := ""
	if f.Marker != "" {
		if _, err := GetFlavor(ctx, q, f.ProjectID, f.Marker); faults.Is(err, faults.NotFound) {
			return nil, markerNotFound(f.Marker)
		} else if err != nil {
			return nil, err
		}
		with = fmt.Sprintf("WITH marker AS MATERIALIZED (SELECT %s AS k0, f.id AS k1 FROM compute.flavors f WHERE f.id = %s) ", sort, c.arg(f.Marker))
		c.add("(" + sort + ", f.id)" + beyond(keys[0]) + "((SELECT k0 FROM marker), (SELECT k1 FROM marker))")
	}
	rows, err := q.Query(ctx, with+`SELECT `+flavorColumns+` FROM compute.flavors f`+c.where()+
		` ORDER BY `+orderBy(keys)+` LIMIT `+c.arg(limit(f.Limit)), c.args...)
	if err != nil {
		return nil, store.Translate(err)
	}
	return collect(rows, (*Flavor).fields)
}

// narrow adds the filter's conditions.
func (f FlavorFilter) narrow(c *conditions) {
	switch {
	case f.Public != nil && !*f.Public:
		c.add("NOT f.is_public")
	case f.Public != nil || f.ProjectID != "":
		c.add("(f.is_public OR EXISTS (SELECT FROM compute.flavor_access a WHERE a.flavor_id = f.id AND a.project_id = " + c.arg(f.ProjectID) + "))")
	}
	if !f.Disabled {
		c.add("NOT f.disabled")
	}
	if f.Name != "" {
		c.add("f.name ~ " + c.arg(f.Name))
	}
	if f.MinMemoryMB > 0 {
		c.add("f.memory_mb >= " + c.arg(f.MinMemoryMB))
	}
	if f.MinRootGB > 0 {
		c.add("f.root_gb >= " + c.arg(f.MinRootGB))
	}
}

// UpsertFlavor makes the flavor or changes it; servers keep their own copies.
// A name that another flavor has is faults.Conflict.
func UpsertFlavor(ctx context.Context, tx store.Tx, f *Flavor) error {
	err := tx.QueryRow(ctx, `
		INSERT INTO compute.flavors AS f (id, name, vcpus, memory_mb, root_gb, ephemeral_gb, swap_mb, rxtx_factor,
			is_public, disabled, description, extra_specs)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (id) DO UPDATE SET name = $2, vcpus = $3, memory_mb = $4, root_gb = $5, ephemeral_gb = $6,
			swap_mb = $7, rxtx_factor = $8, is_public = $9, disabled = $10, description = $11, extra_specs = $12,
			updated_at = now()
		RETURNING created_at, updated_at`,
		f.ID, f.Name, f.VCPUs, f.MemoryMB, f.RootGB, f.EphemeralGB, f.SwapMB, max(f.RXTXFactor, 0),
		f.Public, f.Disabled, f.Description, orEmpty(f.ExtraSpecs)).Scan(&f.CreatedAt, &f.UpdatedAt)
	if isUnique(err, "flavors_name_key") {
		return faults.Wrap(err, faults.Conflict, "FlavorExists", "Flavor with name %s already exists.", f.Name)
	}
	return store.Translate(err)
}
