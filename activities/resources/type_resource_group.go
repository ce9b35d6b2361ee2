package resources

// OS::Heat::ResourceGroup: a number of resources that are alike.

import (
	"cmp"
	"fmt"
	"math/big"
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

// groupMade has members of the first names that aren't removed.
func groupMade(c *Call, most int) (*stacks.Nested, error) {
	removed := map[string]bool{}
	list := []any{}
	for _, name := range removals(c) {
		removed[name] = true
		list = append(list, name)
	}
	c.Data.Set(removedKey, list)
	c.Attributes.Set("removed_rsrc_list", list)
	count, _ := c.Properties.Get("count")
	n, ok := count.(*big.Int)
	if !ok || !n.IsInt64() || n.Int64() > int64(most) {
		return nil, tooMany()
	}
	names := []string{}
	for i := 0; int64(len(names)) < n.Int64(); i++ {
		if name := strconv.Itoa(i); !removed[name] {
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
	return stacks.Made(stacks.GroupTemplate(c.Properties, names))
}

// removals are the names that no member gets: those removed before, unless the mode
// is to forget them, and those that the policies name, by what the members are
// called or by what they are.
func removals(c *Call) []string {
	kept, _ := c.Data.Get(removedKey)
	before, _ := kept.([]any)
	removed := map[string]bool{}
	if mode, _ := c.Properties.Get("removal_policies_mode"); mode != "update" {
		for _, name := range before {
			removed[value.Str(name)] = true
		}
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
			if members == nil || members.Has(name) || value.In(name, before) {
				removed[name] = true
				continue
			}
			for i := range members.Len() {
				if key, reference := members.At(i); value.Equal(reference, item) {
					removed[value.Str(key)] = true
				}
			}
		}
	}
	names := []string{}
	for name := range removed {
		names = append(names, name)
	}
	slices.SortFunc(names, byNumber)
	return names
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
