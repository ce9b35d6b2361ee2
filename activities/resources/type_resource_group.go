package resources

// OS::Heat::ResourceGroup: a number of resources that are alike.

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// removedKey is where the names are kept that no member gets any more.
const removedKey = "removed"

// mostMembers bounds a group where nothing else does.
const mostMembers = 100_000

// groupTemplate has members of the first names that aren't removed.
func groupTemplate(c *Call) (*value.Map, error) {
	removed := removals(c)
	list := make([]any, len(removed))
	for i, name := range removed {
		list[i] = name
	}
	c.Data.Set(removedKey, list)
	c.Attributes.Set("removed_rsrc_list", list)
	count, _ := c.Properties.Get("count")
	n, ok := count.(*big.Int)
	if !ok || !n.IsInt64() || n.Int64() > mostMembers {
		return nil, tooMany()
	}
	names := []string{}
	for i := 0; int64(len(names)) < n.Int64(); i++ {
		if name := strconv.Itoa(i); !slices.Contains(removed, name) {
			names = append(names, name)
		}
	}
	return stacks.GroupTemplate(c.Properties, names), nil
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
func readGroup(c *Call, w *stacks.World, rows []*orchestration.Resource) error {
	rows = slices.DeleteFunc(rows, func(r *orchestration.Resource) bool { return r.ReplacedBy != 0 })
	slices.SortFunc(rows, func(a, b *orchestration.Resource) int { return byNumber(a.Name, b.Name) })
	return stacks.KeepMembers(c.Data, c.Attributes, w, rows)
}
