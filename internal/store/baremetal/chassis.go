package baremetal

// Chassis: groups of nodes.

import (
	"context"
	"encoding/json"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// Chassis is a row of baremetal.chassis; fields as in Node.
type Chassis struct {
	UUID        string          `json:"uuid" write:"once"`
	Description *string         `json:"description"`
	Extra       json.RawMessage `json:"extra"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   *time.Time      `json:"updated_at"`
}

var chassis = newTable("baremetal.chassis", map[string]func(*Chassis) error{
	"chassis_uuid_key": func(c *Chassis) error {
		return faults.New(faults.Conflict, "ChassisAlreadyExists", "A chassis with UUID %s already exists.", c.UUID)
	},
})

// CreateChassis adds a chassis.
func CreateChassis(ctx context.Context, tx store.Tx, c *Chassis) error {
	return chassis.insert(ctx, tx, c)
}

// UpdateChassis writes a chassis.
func UpdateChassis(ctx context.Context, tx store.Tx, c *Chassis) error {
	return chassis.update(ctx, tx, c)
}

// FindChassis gives a chassis.
func FindChassis(ctx context.Context, q store.Queryer, id string) (*Chassis, error) {
	return findChassis(ctx, q, id, false)
}

// LockChassis is FindChassis that keeps it as it is until the transaction ends.
func LockChassis(ctx context.Context, tx store.Tx, id string) (*Chassis, error) {
	return findChassis(ctx, tx, id, true)
}

func findChassis(ctx context.Context, q store.Queryer, id string, lock bool) (*Chassis, error) {
	if !IsUUID(id) {
		return nil, faults.New(faults.NotFound, "ChassisNotFound", "Chassis %s could not be found.", id)
	}
	c, err := chassis.find(ctx, q, lock, "t.uuid = $1", id)
	return c, said(err, "ChassisNotFound", "Chassis %s could not be found.", id)
}

// ListChassis gives a page of chassis.
func ListChassis(ctx context.Context, q store.Queryer, l List) ([]*Chassis, error) {
	return chassis.list(ctx, q, l)
}

// DeleteChassis takes a chassis away; faults.Invalid if nodes are in it.
func DeleteChassis(ctx context.Context, tx store.Tx, c *Chassis) error {
	tag, err := tx.Exec(ctx, `DELETE FROM baremetal.chassis c WHERE uuid = $1 AND NOT EXISTS (SELECT FROM baremetal.nodes WHERE chassis_uuid = c.uuid)`, c.UUID)
	if err == nil && tag.RowsAffected() == 0 {
		return faults.New(faults.Invalid, "ChassisNotEmpty", "Cannot complete the requested action because chassis %s contains nodes.", c.UUID)
	}
	return store.Translate(err)
}
