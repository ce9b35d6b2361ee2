package resources

// Zones: the availability zones that a template asks for.

import (
	"context"
	"fmt"
	"unicode/utf8"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

const (
	// maxZones is how many zones are kept.
	maxZones = 1000
	// maxZone is how long the name of one may be.
	maxZone = 255
)

// Zones is idempotent by the template's row: what it has is asked for no more.
// Errors: Superseded; Invalid, there is no compute service, or nobody can work with
// its answer; Unauthorized, Forbidden, Unavailable.
func (a *Activities) Zones(ctx context.Context, in steps.ZonesIn) (out steps.ZonesOut, err error) {
	var c *Call
	var template int64
	err = a.db.InTx(ctx, func(tx store.Tx) error {
		c = nil
		j, err := a.open(ctx, tx, in.Fence, in.Phase)
		if err != nil {
			return err
		}
		template = j.asked()
		row, err := orchestration.GetTemplate(ctx, tx, template)
		if err != nil || row.Zones != "" {
			return err
		}
		trust, _, err := orchestration.TrustOf(ctx, tx, j.stack.ID)
		c = &Call{ProjectID: j.stack.ProjectID, TrustID: trust}
		return err
	})
	if err != nil || c == nil {
		return out, err
	}
	a.beat(ctx)
	zones, err := zonesOf(ctx, a.o.Cloud, c)
	if err != nil {
		return out, err
	}
	kept, err := stacks.KeptZones(zones)
	if err != nil {
		return out, err
	}
	return out, a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.CheckFence(ctx, tx, in.Fence); err != nil {
			return err
		}
		return orchestration.PutZones(ctx, tx, template, kept)
	})
}

// zonesOf are the names of the zones that the compute service lists to an owner, those
// included that have no host that is up. Errors: those of open and get; Invalid, the
// answer is no list of names, or has too many of them or too long ones.
func zonesOf(ctx context.Context, cloud Cloud, c *Call) ([]string, error) {
	s, err := open(ctx, cloud, c, "compute", "")
	if err != nil {
		return nil, err
	}
	v, err := s.get(ctx, "os-availability-zone", "availabilityZoneInfo")
	if err != nil {
		return nil, err
	}
	all, is := v.([]any)
	if !is {
		return nil, badZones("it has no list of them")
	}
	if len(all) > maxZones {
		return nil, badZones("there are more than %d", maxZones)
	}
	names := make([]string, 0, len(all))
	for _, one := range all {
		m, _ := one.(*value.Map)
		name, _ := m.Get("zoneName")
		text, is := name.(string)
		if !is {
			return nil, badZones("one has no name")
		}
		if utf8.RuneCountInString(text) > maxZone {
			return nil, badZones("the name of one is longer than %d characters", maxZone)
		}
		names = append(names, text)
	}
	return names, nil
}

// badZones says why the zones that the compute service has told can't be kept.
func badZones(format string, args ...any) error {
	return faults.New(faults.Invalid, "BadZones", "the compute service's answer about availability zones: %s", fmt.Sprintf(format, args...))
}
