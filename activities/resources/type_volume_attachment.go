package resources

// OS::Cinder::VolumeAttachment: a disk in a server.

import (
	"context"
	"time"
)

// VolumeAttachment is OS::Cinder::VolumeAttachment.
type VolumeAttachment struct{ REST }

// movedKey is where it is kept that the disk was taken out of where it was.
const movedKey = "taken_out"

// Update takes the disk out of where it was and puts it where it is to be. It is
// idempotent as Delete and Create are.
func (t VolumeAttachment) Update(ctx context.Context, c *Call, _ []string) (time.Duration, error) {
	if out, _ := c.Data.Get(movedKey); out != true {
		if wait, err := t.Delete(ctx, c); wait > 0 || err != nil {
			return wait, err
		}
		c.PhysicalID = ""
		c.Data.Set(movedKey, true)
		c.Data.Set(sentKey, nil)
		return soon, nil
	}
	wait, err := t.Create(ctx, c)
	if wait == 0 && err == nil {
		c.Data.Set(movedKey, nil)
	}
	return wait, err
}
