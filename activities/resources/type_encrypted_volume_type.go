package resources

// OS::Cinder::EncryptedVolumeType: that the disks of a type are encrypted.

import (
	"context"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// EncryptedVolumeType is OS::Cinder::EncryptedVolumeType.
type EncryptedVolumeType struct{ REST }

// Create is idempotent by what is kept before anything is sent: what there is by then is
// ours. What was there before is somebody else's.
func (t EncryptedVolumeType) Create(ctx context.Context, c *Call) (time.Duration, error) {
	if c.PhysicalID == "" {
		w, err := t.begin(ctx, c)
		if err != nil {
			return 0, err
		}
		if err := w.resolve(ctx); err != nil {
			return 0, err
		}
		id, _ := w.scope.First(t.Type.REST.ID).(string)
		there, err := w.get(ctx, "types/"+id+"/encryption", "")
		if err != nil {
			return 0, err
		}
		m, _ := there.(*value.Map)
		switch {
		case has(m, "provider") == nil:
		case c.Data.Has(madeKey):
			w.is(id)
		default:
			return 0, faults.New(faults.Invalid, "BadRequest", "Volume type encryption for type %s already exists. (HTTP 400)", id)
		}
	}
	return t.REST.Create(ctx, c)
}
