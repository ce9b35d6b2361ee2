package baremetal

// What a node's BMC has said of its BIOS settings and firmware.

import (
	"context"
	"fmt"

	"holdfast.dev/internal/store"
)

// KeepBIOS makes some settings those of a node, for who has checked the fence; when one
// was written is told of those that are other than before.
func KeepBIOS(ctx context.Context, tx store.Tx, nodeUUID string, all []BIOSSetting) error {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
		_, err := tx.Exec(ctx, `INSERT INTO baremetal.bios_settings AS b (node_uuid, name, value, attribute_type, allowable_values, lower_bound, max_length, min_length,
				read_only, reset_required, "unique", upper_bound) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (node_uuid, name) DO UPDATE SET value = $3, attribute_type = $4, allowable_values = $5, lower_bound = $6, max_length = $7, min_length = $8,
				read_only = $9, reset_required = $10, "unique" = $11, upper_bound = $12, updated_at = now()
			WHERE (b.value, b.attribute_type, b.allowable_values, b.lower_bound, b.max_length, b.min_length, b.read_only, b.reset_required, b."unique", b.upper_bound)
				IS DISTINCT FROM ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			nodeUUID, s.Name, s.Value, s.AttributeType, s.AllowableValues, s.LowerBound, s.MaxLength, s.MinLength, s.ReadOnly, s.ResetRequired, s.Unique, s.UpperBound)
		if err != nil {
			return fmt.Errorf("BIOS setting %s of node %s: %w", s.Name, nodeUUID, store.Translate(err))
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM baremetal.bios_settings WHERE node_uuid = $1 AND name <> ALL ($2)`, nodeUUID, names)
	if err != nil {
		return fmt.Errorf("BIOS settings of node %s: %w", nodeUUID, store.Translate(err))
	}
	return nil
}

// KeepFirmware makes some components those of a node, for who has checked the fence; the
// version that each had first stays with it, and the one that it has come to.
func KeepFirmware(ctx context.Context, tx store.Tx, nodeUUID string, all []FirmwareComponent) error {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Component
		_, err := tx.Exec(ctx, `INSERT INTO baremetal.firmware_components AS f (node_uuid, component, initial_version, current_version, vendor, model, serial_number)
			VALUES ($1, $2, $3, $3, $4, $5, $6)
			ON CONFLICT (node_uuid, component) DO UPDATE SET current_version = $3,
				last_version_flashed = CASE WHEN f.current_version IS DISTINCT FROM $3 THEN $3 ELSE f.last_version_flashed END, vendor = $4, model = $5, serial_number = $6, updated_at = now()
			WHERE (f.current_version, f.vendor, f.model, f.serial_number) IS DISTINCT FROM ($3, $4, $5, $6)`,
			nodeUUID, c.Component, c.InitialVersion, c.Vendor, c.Model, c.SerialNumber)
		if err != nil {
			return fmt.Errorf("firmware %s of node %s: %w", c.Component, nodeUUID, store.Translate(err))
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM baremetal.firmware_components WHERE node_uuid = $1 AND component <> ALL ($2)`, nodeUUID, names)
	if err != nil {
		return fmt.Errorf("firmware of node %s: %w", nodeUUID, store.Translate(err))
	}
	return nil
}
