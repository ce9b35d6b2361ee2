package saga

// The host that a story is on, as the search attribute by which operators find the
// workflows of a host.

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// nameAfter is how long a story is on its host before its workflow is found by
// that; at its end it is in any case. Temporal writes a search attribute to a table
// with an index for each of them all, which takes as long as a story's own writes
// together, and most stories are over sooner than anybody has asked for them. What
// is written at the end is written with the end.
const nameAfter = 30 * time.Second

var hostAttribute = temporal.NewSearchAttributeKeyKeyword("Host")

// come notes the host that the story has come to.
func (s *Saga) come(host string) error {
	s.host = host
	if s.named != "" || !s.Begun.HostLater {
		return s.nameHost()
	}
	if s.naming {
		return nil
	}
	s.naming = true
	workflow.Go(detached(s.ctx), func(ctx workflow.Context) {
		err := workflow.Sleep(ctx, nameAfter)
		if err == nil {
			err = s.nameHost()
		}
		if err != nil {
			workflow.GetLogger(ctx).Error("the host could not be named", "host", s.host, "error", err)
		}
	})
	return nil
}

// nameHost makes the workflow found by the host that the story is on, if it is on one.
func (s *Saga) nameHost() error {
	if s.named == s.host {
		return nil
	}
	s.named = s.host
	return workflow.UpsertTypedSearchAttributes(s.ctx, hostAttribute.ValueSet(s.host))
}
