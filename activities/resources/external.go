package resources

// External resources: what is there already by an id that the template has. It isn't the
// stack's, which neither changes it nor takes it away.

import (
	"context"
	"fmt"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// external is a row of what is there already, about to be taken in; nil if what the
// template says of it is wrong.
func (s *shift) external(id int64, r *orchestration.Resource, state *stacks.State, def *hot.Resource) (*orchestration.Resource, error) {
	s.show(r, orchestration.ActionAdopt)
	there, err := s.definition.ExternalID(def, s.world)
	if err == nil {
		err = s.resolve(r, state, def)
	}
	if err != nil {
		s.leave(id, r, err)
		return nil, nil
	}
	r.PhysicalID, state.Data = there, value.NewMap(stacks.ExternalKey, there)
	return r, s.requireToo(r)
}

// isExternal says whether a call is about what isn't the stack's.
func isExternal(c *Call) bool { return c.Data.Has(stacks.ExternalKey) }

// takeIn has a type of a name do its part: what is taken in must be there, and as it
// should be.
func takeIn(ctx context.Context, name string, t Type, c *Call) (time.Duration, error) {
	if l, is := t.(Looker); is {
		switch err := l.Look(ctx, c); {
		case faults.Is(err, faults.NotFound):
			return 0, &hot.Error{Class: hot.ValidationFailed, Message: fmt.Sprintf("Invalid external resource: Resource %s (%s) can not be found.", c.PhysicalID, name)}
		case err != nil:
			return 0, err
		}
	}
	wait, err := adopt(ctx, t, c)
	checker, is := t.(Checker)
	if wait > 0 || err != nil || !is {
		return wait, err
	}
	return checker.Check(ctx, c)
}

// takenIn tells of what was taken in that it was checked, too.
func (s *shift) takenIn(r *orchestration.Resource) {
	if _, asked := s.o.Types[r.Carrier()].(Checker); !asked {
		r.Action, r.Reason = orchestration.ActionCheck, orchestration.ActionCheck+" not supported for "+r.Type
		s.tell(r)
		return
	}
	s.show(r, orchestration.ActionCheck)
	r.Status = orchestration.Complete
	s.tell(r)
}
