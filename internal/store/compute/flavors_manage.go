package compute

// What administrators change of flavors.

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// CreateFlavor adds a flavor and fills in its times. An id or a name that is
// taken is faults.Conflict.
func CreateFlavor(ctx context.Context, tx store.Tx, f *Flavor) error {
	err := tx.QueryRow(ctx, `
		INSERT INTO compute.flavors (id, name, vcpus, memory_mb, root_gb, ephemeral_gb, swap_mb, rxtx_factor,
			is_public, disabled, description, extra_specs)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING created_at, updated_at`,
		f.ID, f.Name, f.VCPUs, f.MemoryMB, f.RootGB, f.EphemeralGB, f.SwapMB, f.RXTXFactor,
		f.Public, f.Disabled, f.Description, orEmpty(f.ExtraSpecs)).Scan(&f.CreatedAt, &f.UpdatedAt)
	switch {
	case isUnique(err, "flavors_pkey"):
		return faults.Wrap(err, faults.Conflict, "FlavorIdExists", "Flavor with ID %s already exists.", f.ID)
	case isUnique(err, "flavors_name_key"):
		return faults.Wrap(err, faults.Conflict, "FlavorExists", "Flavor with name %s already exists.", f.Name)
	}
	return store.Translate(err)
}

// DescribeFlavor changes a flavor's description; nil has it without one.
func DescribeFlavor(ctx context.Context, tx store.Tx, id string, description *string) error {
	return changeFlavor(ctx, tx, `UPDATE compute.flavors SET description = $2, updated_at = now() WHERE id = $1`, id, description)
}

// DeleteFlavor takes a flavor away; servers keep their copies.
func DeleteFlavor(ctx context.Context, tx store.Tx, id string) error {
	return changeFlavor(ctx, tx, `DELETE FROM compute.flavors WHERE id = $1`, id)
}

// SetExtraSpecs adds extra specs, those of the same name replaced.
func SetExtraSpecs(ctx context.Context, tx store.Tx, id string, specs map[string]string) error {
	return changeFlavor(ctx, tx, `UPDATE compute.flavors SET extra_specs = extra_specs || $2, updated_at = now() WHERE id = $1`, id, orEmpty(specs))
}

// RemoveExtraSpec takes one away and says whether there was one.
func RemoveExtraSpec(ctx context.Context, tx store.Tx, id, name string) (had bool, err error) {
	err = tx.QueryRow(ctx, `SELECT extra_specs ? $2 FROM compute.flavors WHERE id = $1 FOR UPDATE`, id, name).Scan(&had)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, flavorNotFound(id)
	}
	if err != nil || !had {
		return false, store.Translate(err)
	}
	return true, changeFlavor(ctx, tx, `UPDATE compute.flavors SET extra_specs = extra_specs - $2, updated_at = now() WHERE id = $1`, id, name)
}

// FlavorAccess gives the projects that may use a private flavor.
func FlavorAccess(ctx context.Context, q store.Queryer, id string) ([]string, error) {
	rows, err := q.Query(ctx, `SELECT project_id FROM compute.flavor_access WHERE flavor_id = $1 ORDER BY project_id`, id)
	if err != nil {
		return nil, store.Translate(err)
	}
	projects, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return projects, store.Translate(err)
}

// AddFlavorAccess lets a project use a flavor; faults.Conflict if it may already.
func AddFlavorAccess(ctx context.Context, tx store.Tx, id, projectID string) error {
	_, err := tx.Exec(ctx, `INSERT INTO compute.flavor_access (flavor_id, project_id) VALUES ($1, $2)`, id, projectID)
	if isUnique(err, "flavor_access_pkey") {
		return faults.Wrap(err, faults.Conflict, "FlavorAccessExists",
			"Flavor access already exists for flavor %s and project %s combination.", id, projectID)
	}
	return store.Translate(err)
}

// RemoveFlavorAccess ends that; faults.NotFound if it couldn't.
func RemoveFlavorAccess(ctx context.Context, tx store.Tx, id, projectID string) error {
	tag, err := tx.Exec(ctx, `DELETE FROM compute.flavor_access WHERE flavor_id = $1 AND project_id = $2`, id, projectID)
	if err == nil && tag.RowsAffected() == 0 {
		return faults.New(faults.NotFound, "FlavorAccessNotFound", "Flavor access not found for %s / %s combination.", id, projectID)
	}
	return store.Translate(err)
}

// changeFlavor runs a statement for one flavor.
func changeFlavor(ctx context.Context, tx store.Tx, sql, id string, args ...any) error {
	tag, err := tx.Exec(ctx, sql, append([]any{id}, args...)...)
	if err == nil && tag.RowsAffected() == 0 {
		return flavorNotFound(id)
	}
	return store.Translate(err)
}

func flavorNotFound(id string) error {
	return faults.New(faults.NotFound, "FlavorNotFound", "Flavor %s could not be found.", id)
}
