package resources

// OS::Heat::InstanceGroup: a number of servers that are alike; and
// AWS::AutoScaling::LaunchConfiguration, which says what they are like.

import (
	"context"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// launch is AWS::AutoScaling::LaunchConfiguration. Nothing is made of it but by groups.
type launch struct{ None }

// Create is idempotent by the mark.
func (t launch) Create(ctx context.Context, c *Call) (time.Duration, error) {
	if err := stacks.CheckLaunch(c.Properties); err != nil {
		return 0, err
	}
	return t.None.Create(ctx, c)
}

// instance is what a group says of each of its members. Errors: Invalid, it has no
// launch configuration.
func (a *Activities) instance(c *Call) (*value.Map, error) {
	wanted := c.text("LaunchConfigurationName")
	for _, name := range c.world.Names() {
		row := c.world.Row(name)
		if !stacks.Launches(a.o.Registry.Find(row.Carrier())) {
			continue
		}
		reference, err := c.world.Reference(name)
		if err != nil {
			return nil, err
		}
		if value.Str(reference) != wanted {
			continue
		}
		state, err := c.world.Of(row)
		if err != nil {
			return nil, err
		}
		return stacks.InstanceMember(state.Properties, c.Properties, c.PhysicalID), nil
	}
	return nil, stacks.ErrNoLaunch(wanted)
}

// instancesRoll is how a group changes its members: those that are to be others in
// batches if its update policy says so, and otherwise they stay what they are.
func (a *Activities) instancesRoll(c *Call, now become) (r rolling, err error) {
	members := now.members()
	if len(members) == 0 {
		return r, nil
	}
	asked, err := a.instance(c)
	if err != nil {
		return r, err
	}
	policies, err := c.definition.UpdatePolicy(c.definition.Resource(c.Name), c.world)
	if err != nil {
		return r, err
	}
	given, _ := policies.Get("RollingUpdate")
	policy, _ := given.(*value.Map)
	if policy.Len() == 0 || !slices.ContainsFunc(members, func(m groupMember) bool { return !value.Equal(m.definition, asked) }) {
		return r, nil
	}
	r.From, r.To, r.Settles = len(members), len(members), true
	if size, _ := c.Properties.Get("Size"); value.Truth(size) {
		r.To = min(howMany(size), r.From)
	}
	least, _ := policy.Get("MinInstancesInService")
	most, _ := policy.Get("MaxBatchSize")
	pause, _ := policy.Get("PauseTime")
	r.Least, r.Most = howMany(least), max(howMany(most), 1)
	r.Pause, err = stacks.ParsePause(value.Str(pause))
	return r, err
}

// instancesMade has the members that stay and others of names of their own.
func (a *Activities) instancesMade(c *Call, now become, b batch, most int) (*stacks.Nested, error) {
	asked, err := a.instance(c)
	if err != nil {
		return nil, err
	}
	if b == whole {
		size, _ := c.Properties.Get("Size")
		b.members, b.fresh = howMany(size), 0
	}
	return membersMade(c, now, b, most, asked)
}

// readInstances has the addresses of the members that haven't failed be read of the
// group.
func readInstances(c *Call, of become) error {
	var rows []*orchestration.Resource
	var addresses []string
	for _, m := range of.sound() {
		row := of.world.Row(m.name)
		state, err := of.world.Of(row)
		if err != nil {
			return err
		}
		address, _ := state.Attributes.Get("first_address")
		if !value.Truth(address) {
			address = "0.0.0.0"
		}
		rows, addresses = append(rows, row), append(addresses, value.Str(address))
	}
	list := any(nil)
	if addresses != nil {
		list = strings.Join(addresses, ",")
	}
	c.Attributes.Set("InstanceList", list)
	_, _, err := stacks.KeepMembers(c.Data, of.world, rows)
	return err
}
