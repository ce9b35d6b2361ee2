package resources

// OS::Heat::ResourceGroup: a number of resources that are alike.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// removedKey is where the names are kept that no member gets any more.
const removedKey = "removed"

const (
	// mostMembers bounds a group where nothing else does.
	mostMembers = 100_000
	// maxGroup is how long the template of all members may be.
	maxGroup = 32 << 20
)

// groupRolls is how a group changes its members: in batches if its update policy says
// so of their making, or of members that are to be others.
func groupRolls(c *Call, now become) (r rolling, err error) {
	remove(c)
	policies, err := c.definition.UpdatePolicy(c.definition.Resource(c.Name), c.world)
	if err != nil {
		return r, err
	}
	count, _ := c.Properties.Get("count")
	r.To, r.Spare = howMany(count), true
	gone := removed(c)
	kind, changes := "batch_create", now.stack == nil
	for _, m := range now.members() {
		kind = "rolling_update"
		if m.failed || !gone[m.name] {
			r.From++
		}
		changes = changes || !value.Equal(m.definition, stacks.GroupMember(c.Properties, m.name))
	}
	given, _ := policies.Get(kind)
	if policy, _ := given.(*value.Map); policy != nil && changes && r.To <= mostMembers {
		return r.paced(policy), nil
	}
	return r, nil
}

// groupMade has members of the first names that aren't removed.
func groupMade(c *Call, now become, b batch, most int) (*stacks.Nested, error) {
	count, _ := c.Properties.Get("count")
	n := howMany(count)
	if b != whole {
		n = b.members
	}
	if n > most {
		return nil, tooMany()
	}
	gone := removed(c)
	names := []string{}
	for i := 0; len(names) < n; i++ {
		if name := strconv.Itoa(i); !gone[name] {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		last := stacks.GroupTemplate(c.Properties, names[len(names)-1:])
		if length := len(names) * len(value.JSON(last, false)); length > maxGroup {
			return nil, &hot.Error{Class: hot.LimitExceeded, Message: fmt.Sprintf(
				"Request limit exceeded: Template size (%d bytes) exceeds maximum allowed size (%d bytes).", length, maxGroup)}
		}
	}
	if b == whole {
		return stacks.Made(stacks.GroupTemplate(c.Properties, names))
	}
	return groupBatch(c, now, b, names)
}

// groupBatch has members of some names, of which the batch makes or changes as many
// as it says: those of the highest numbers first. Others stay what they are.
func groupBatch(c *Call, now become, b batch, names []string) (*stacks.Nested, error) {
	count, _ := c.Properties.Get("count")
	to, gone := howMany(count), removed(c)
	order := map[string]int{} // what isn't in it goes first
	for at, name := range names {
		if order[name] = to - at; at >= to {
			order[name] = b.members // it goes after the change
		}
	}
	var old []groupMember
	is := map[string]bool{}
	for _, m := range now.members() {
		if !m.failed && !gone[m.name] {
			old = append(old, m)
			is[m.name] = true
		}
	}
	slices.SortStableFunc(old, func(a, b groupMember) int { return cmp.Compare(order[a.name], order[b.name]) })
	missing := slices.DeleteFunc(names, func(name string) bool { return is[name] })
	next := func() (name string) {
		name, missing = missing[0], missing[1:]
		return name
	}
	return now.made(b.of(old, next, func(name string) *value.Map { return stacks.GroupMember(c.Properties, name) }))
}

// removed are the names that no member gets.
func removed(c *Call) map[string]bool {
	kept, _ := c.Data.Get(removedKey)
	list, _ := kept.([]any)
	all := map[string]bool{}
	for _, name := range list {
		all[value.Str(name)] = true
	}
	return all
}

// remove keeps the names that no member gets: those removed before, unless the mode is
// to forget them, and those that the policies name, by what the members are called or
// by what they are.
func remove(c *Call) {
	before := removed(c)
	all := map[string]bool{}
	if mode, _ := c.Properties.Get("removal_policies_mode"); mode != "update" {
		maps.Copy(all, before)
	}
	now, _ := c.Attributes.Get("refs_map")
	members, _ := now.(*value.Map)
	given, _ := c.Properties.Get("removal_policies")
	policies, _ := given.([]any)
	for _, policy := range policies {
		m, _ := policy.(*value.Map)
		given, _ := m.Get("resource_list")
		list, _ := given.([]any)
		for _, item := range list {
			name := value.Str(item)
			if members == nil || members.Has(name) || before[name] {
				all[name] = true
				continue
			}
			for i := range members.Len() {
				if key, reference := members.At(i); value.Equal(reference, item) {
					all[value.Str(key)] = true
				}
			}
		}
	}
	list := []any{}
	for _, name := range slices.SortedFunc(maps.Keys(all), byNumber) {
		list = append(list, name)
	}
	c.Data.Set(removedKey, list)
	c.Attributes.Set("removed_rsrc_list", list)
}

// byNumber has names in the order of the numbers that they are.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// readGroup has the members be read through the group.
func readGroup(c *Call, of become) error {
	slices.SortFunc(of.rows, func(a, b *orchestration.Resource) int { return byNumber(a.Name, b.Name) })
	refs, named, err := stacks.KeepMembers(c.Data, of.world, of.rows)
	c.Attributes.Set("refs", refs)
	c.Attributes.Set("refs_map", named)
	return err
}
