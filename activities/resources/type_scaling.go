package resources

// OS::Heat::AutoScalingGroup: a number of resources that are alike, which policies
// change; OS::Heat::ScalingPolicy: what does; and OS::Heat::AccessPolicy.

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// scalingRolls is how a group changes its members: those that are to be others in
// batches, and after that as many come or go as are too few or too many.
func scalingRolls(c *Call, now become) (r rolling, err error) {
	asked := stacks.ScaledMember(c.Properties)
	members := now.members()
	if !slices.ContainsFunc(members, func(m groupMember) bool { return !value.Equal(m.definition, asked) }) {
		return r, nil
	}
	r.From, r.To, r.Settles = len(members), len(members), true
	if wanted, _ := c.Properties.Get("desired_capacity"); value.Truth(wanted) {
		r.To = min(howMany(wanted), r.From)
	}
	given, _ := c.Properties.Get("rolling_updates")
	policy, _ := given.(*value.Map)
	if r = r.paced(policy); r.Most == 0 {
		r.Most = 1
	}
	return r, nil
}

// scalingMade has the members that stay and others of names of their own.
func scalingMade(c *Call, now become, b batch, most int) (*stacks.Nested, error) {
	if b == whole {
		b.members, b.fresh = scalingSize(c, now), 0
	}
	return membersMade(c, now, b, most, stacks.ScaledMember(c.Properties))
}

// membersMade has members be as they are asked to be after a batch. The oldest go, and
// before them those that have failed. A group that is adopted has those that are left,
// of the names that they had.
func membersMade(c *Call, now become, b batch, most int, asked *value.Map) (*stacks.Nested, error) {
	name := shortID
	if c.Action == orchestration.ActionAdopt {
		left := c.resourcesLeft().Keys()
		b.members = len(left)
		name = func() (one string) {
			one, left = value.Str(left[0]), left[1:]
			return one
		}
	}
	if b.members > most {
		return nil, tooMany()
	}
	return now.made(b.of(now.members(), name, func(string) *value.Map { return asked }))
}

// scalingSize is how many members the properties say that there are: as many as are
// desired, and otherwise as many as there are, or the least.
func scalingSize(c *Call, now become) int {
	wanted, _ := c.Properties.Get("desired_capacity")
	switch {
	case value.Truth(wanted):
		return stacks.Sized(number(wanted), c.Properties)
	case now.stack == nil:
		least, _ := c.Properties.Get("min_size")
		return howMany(least)
	}
	return stacks.Sized(float64(len(now.sound())), c.Properties)
}

// shortID is the name of a member: twelve characters that are nobody else's.
func shortID() string {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // it never fails since Go 1.24
	return strings.ToLower(base32.StdEncoding.EncodeToString(random)[:orchestration.MarkLength])
}

// sound are the members that haven't failed.
func (b become) sound() []groupMember {
	return slices.DeleteFunc(b.members(), func(m groupMember) bool { return m.failed })
}

// readScaling has the members that haven't failed be read through the group, which
// cools down when it was made or changed.
func readScaling(c *Call, of become) error {
	var rows []*orchestration.Resource
	for _, m := range of.sound() {
		rows = append(rows, of.world.Row(m.name))
	}
	refs, named, err := stacks.KeepMembers(c.Data, of.world, rows)
	if err != nil {
		return err
	}
	c.Attributes.Set("refs", refs)
	c.Attributes.Set("refs_map", named)
	c.Attributes.Set("current_size", value.Int(len(rows)))
	if c.Action != orchestration.ActionCreate && c.Action != orchestration.ActionUpdate {
		return nil
	}
	pause, _ := c.Properties.Get("cooldown")
	return stacks.CoolDown(c.world.Row(c.Name), c.Now.Add(stacks.Cooldown(pause)), fmt.Sprintf("ExactCapacity : %d", len(rows)))
}

// scalingPolicy is OS::Heat::ScalingPolicy. What it does when it is signalled is begun
// by who takes the signal.
type scalingPolicy struct{ stackUser }

// expect implements expectant: where stacks have no users, a policy has none either.
func (t scalingPolicy) expect(ctx context.Context, c *Call) error {
	if !t.signs() {
		return nil
	}
	return t.stackUser.expect(ctx, c)
}

// Create is idempotent by the mark, or by the user.
func (t scalingPolicy) Create(ctx context.Context, c *Call) (time.Duration, error) {
	c.Attributes.Set("signal_url", t.signalURL(c, c.ProjectID))
	if !t.signs() {
		c.PhysicalID = c.Mark
		return 0, nil
	}
	address, err := t.signed(ctx, c, stacks.SignalPath, time.Time{})
	c.Attributes.Set("alarm_url", address)
	return 0, err
}
