package chaos

// The kinds of operation, as stories that can be stopped at each of their points.

import (
	"context"
	"slices"
	"strings"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// A story is a kind of operation and the points at which it can be held
// (internal/hold), in the order in which it passes them.
type story struct {
	kind   operations.Kind
	verb   string
	points []string
	// stride is of how many points a sample takes one: kinds on power are many
	// and alike.
	stride int
	// cut are the points at which a cancel cuts the step short although it is held.
	cut []string
	// lead are the actions that make of a running server the one that the
	// operation is asked for.
	lead []operations.Kind
	// before and after are the server's statuses.
	before, after string
	// driven says that it is an operation on the guest's power.
	driven bool
}

var onBuildHost = []string{"build.image", "build.disk", "build.define", "build.start", "build.done"}

var build = story{kind: operations.ServerBuild, verb: "build", after: "ACTIVE", stride: 2, cut: onBuildHost, points: slices.Concat([]string{
	"build:records.Begin", "build:records.Begin.done",
	"build:placement.Claim", "build:placement.Claim.done",
	"build:records.ServerSpec",
}, onBuildHost, []string{
	"build:records.Finish", "build:records.Finish.done",
})}

var deletion = story{kind: operations.ServerDelete, verb: "delete", before: "ACTIVE", stride: 2, points: []string{
	"delete:records.Begin", "delete:records.Begin.done",
	"destroy.stop", "destroy.disk", "destroy.undefine", "destroy.done",
	"delete:placement.Release", "delete:placement.Release.done",
	"delete:records.Finish", "delete:records.Finish.done",
}}

// powers are the operations on a server's power. Two of them are done another
// way by force, so that a cancel need not wait for what is held.
var powers = []story{
	power(operations.ServerStart, "SHUTOFF", "ACTIVE", operations.ServerStop),
	power(operations.ServerStop, "ACTIVE", "SHUTOFF").cutAt("power.stop"),
	power(operations.ServerReboot, "ACTIVE", "ACTIVE").cutAt("power.reboot"),
	power(operations.ServerHardReboot, "ACTIVE", "ACTIVE"),
	power(operations.ServerPause, "ACTIVE", "PAUSED"),
	power(operations.ServerUnpause, "PAUSED", "ACTIVE", operations.ServerPause),
	power(operations.ServerSuspend, "ACTIVE", "SUSPENDED"),
	power(operations.ServerResume, "SUSPENDED", "ACTIVE", operations.ServerSuspend),
}

func power(kind operations.Kind, before, after string, lead ...operations.Kind) story {
	spec, _ := operations.Lookup(kind)
	verb := spec.Verb
	return story{kind: kind, verb: verb, lead: lead, before: before, after: after, driven: true, stride: 4, points: []string{
		verb + ":records.Begin", verb + ":records.Begin.done",
		verb + ":records.Advance", verb + ":records.Advance.done",
		"power." + verb, "power.done",
		verb + ":records.Finish", verb + ":records.Finish.done",
	}}
}

func (s story) cutAt(points ...string) story {
	s.cut = points
	return s
}

// only is the story with these points and no others.
func (s story) only(points ...string) story {
	s.points = points
	return s
}

// every is each kind of operation that a user can ask for.
var every = slices.Concat([]story{build, deletion}, powers)

// ask asks for the operation.
func (s story) ask(ctx context.Context, c *cloud.Cloud, server string) error {
	return ask(ctx, c, s.kind, server)
}

func ask(ctx context.Context, c *cloud.Cloud, kind operations.Kind, server string) error {
	if kind == operations.ServerDelete {
		return c.Delete(ctx, server)
	}
	return c.Act(ctx, server, actions[kind])
}

// actions are the bodies of the requests that ask for the kinds.
var actions = map[operations.Kind]map[string]any{
	operations.ServerStart:      {"os-start": nil},
	operations.ServerStop:       {"os-stop": nil},
	operations.ServerReboot:     {"reboot": map[string]string{"type": "SOFT"}},
	operations.ServerHardReboot: {"reboot": map[string]string{"type": "HARD"}},
	operations.ServerPause:      {"pause": nil},
	operations.ServerUnpause:    {"unpause": nil},
	operations.ServerSuspend:    {"suspend": nil},
	operations.ServerResume:     {"resume": nil},
}

// phase is how far an operation has come when it stands at a point.
type phase int

const (
	// always stands for every phase that a table has no row for.
	always phase = iota
	// unbegun: its workflow has not begun it.
	unbegun
	// early: it has, and the point of no return is ahead.
	early
	// crossing: it writes that it goes beyond that point.
	crossing
	// beyond: it is.
	beyond
	// closing: only local steps are ahead, the last transaction among them.
	closing
	// over: its last transaction is done.
	over
)

// at says in which phase the story is at a point.
func (s story) at(point string) phase {
	step, local := strings.CutPrefix(point, s.verb+":")
	switch {
	case step == "records.Begin":
		return unbegun
	case step == "records.Finish.done":
		return over
	case step == "records.Finish", local && strings.HasPrefix(step, "placement.Release"):
		return closing
	case local && strings.HasPrefix(step, "records.Advance"):
		return crossing
	case s.kind == operations.ServerDelete, s.driven && !local:
		return beyond
	}
	return early
}

// reached says that a cancel ends the step that is held at the point.
func (s story) reached(point string) bool { return slices.Contains(s.cut, point) }
