package stacks

// Hooks: places at which a resource waits for a user.

import (
	"strings"

	"holdfast.dev/internal/hot/value"
)

// reachedKey is where it is kept in a resource's data which traversal has come to which
// of its hooks last.
const reachedKey = "hooks_reached"

// ReachHook has a resource that a traversal brings to a hook wait there: the hook is a
// key of its data, as the original has it, until it is cleared.
func (s *State) ReachHook(hook, traversal string) {
	reached, _ := s.Data.Get(reachedKey)
	m, _ := reached.(*value.Map)
	m = m.Copy()
	m.Set(hook, traversal)
	s.Data.Set(reachedKey, m)
	s.Data.Set(hook, "True")
}

// HookReached says whether a traversal has come to a hook, and whether the resource
// waits there.
func (s *State) HookReached(hook, traversal string) (reached, waits bool) {
	reached = s.reachedBy(hook) == traversal
	return reached, reached && s.Data.Has(hook)
}

// ClearHook lets a resource go on that waits at a hook for an operation; false if it
// doesn't. One that recovers another waits where that one did.
func (s *State) ClearHook(hook, operation string) bool {
	if operation == "" || !s.Data.Has(hook) || !strings.HasPrefix(s.reachedBy(hook), operation+" ") {
		return false
	}
	s.Data = s.Data.Without(hook)
	return true
}

func (s *State) reachedBy(hook string) string {
	reached, _ := s.Data.Get(reachedKey)
	m, _ := reached.(*value.Map)
	v, _ := m.Get(hook)
	text, _ := v.(string)
	return text
}
