package bmc

// The fake driver: a machine that isn't there, and does what it is told at once.

import (
	"context"
	"strings"

	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/store/baremetal"
)

// fake has the power that its node's row says, or what it was told since.
type fake struct{ now provision.Power }

func newFake(n *baremetal.Node, acts map[string]baremetal.Act) *fake {
	f := &fake{}
	if n.PowerState != nil {
		f.now = provision.Power(*n.PowerState)
	}
	var last baremetal.Act
	for _, act := range acts {
		if !act.SentAt.Before(last.SentAt) {
			last = act
		}
	}
	if _, how, told := strings.Cut(last.Name, "/"); told {
		f.now = leadsTo(reset(how))
	}
	return f
}

func (f *fake) power(context.Context) (provision.Power, error) { return f.now, nil }

func (f *fake) reset(_ context.Context, r reset) error {
	f.now = leadsTo(r)
	return nil
}

func (f *fake) restarts() bool { return true }

func (f *fake) close(context.Context) {}

// leadsTo is the power of a machine that has obeyed.
func leadsTo(r reset) provision.Power {
	if r == forceOff || r == gracefulShutdown {
		return provision.PowerOff
	}
	return provision.PowerOn
}
