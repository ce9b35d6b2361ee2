package chaos

// The kinds of operation, as stories that can be stopped at each of their points.

import (
	"context"
	"net/http"
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
	// moved says that it is one that makes a guest anew or elsewhere. Of these turn
	// is the first point beyond the point of no return, empty for one that can be
	// undone until it is over, and open are those at which the hypervisors decide.
	moved bool
	turn  string
	open  []string
	// apart has each server run on a host of its own, afar on one of another process,
	// which dies before the operation is asked for.
	apart, afar bool
	// stuck is the status in which one leaves its server that is beyond its point of no
	// return when its host dies, empty for one that ends without it; waits says that it
	// waits for the host there.
	stuck string
	waits bool
	// short says that it is one task of its workflow, all of whose steps are local.
	short bool
	// connected servers have a network.
	connected bool
	// broken says that a server of which the operation fails is in ERROR, with what it
	// had before.
	broken bool
	// cloud is what it needs of its cloud; hosts are more than others have.
	cloud cloud.Options
	// byForce says that servers are deleted by force, since others are only set
	// aside there.
	byForce bool
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

// crashDump is like those, and leaves the guest's power as it is.
var crashDump = power(operations.ServerCrashDump, "ACTIVE", "ACTIVE").by("power.inject-nmi")

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

// by is the story whose guest is driven by an act of another name.
func (s story) by(act string) story {
	s.points[slices.Index(s.points, "power."+s.verb)] = act
	return s
}

// served is the story with the other services beside it.
func served(s story) story {
	s.cloud.Services = true
	return s
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
	switch kind {
	case operations.ServerDelete, operations.ServerSoftDelete:
		return c.Delete(ctx, server)
	case operations.ServerAttachVolume:
		return attachVolume(ctx, c, server)
	case operations.ServerDetachVolume:
		return detachVolume(ctx, c, server)
	case operations.ServerSwapVolume:
		return swapVolume(ctx, c, server)
	case operations.ServerAttachInterface:
		return attachInterface(ctx, c, server)
	case operations.ServerDetachInterface:
		return detachInterface(ctx, c, server)
	case operations.ServerResetState:
		return resetBusy(ctx, c, server)
	case operations.ServerRebuild:
		return action{name: "rebuild", body: map[string]string{"imageRef": c.Image()}}.ask(ctx, c, server)
	}
	return actions[kind].ask(ctx, c, server)
}

// remove asks for the server to be gone.
func (s story) remove(ctx context.Context, c *cloud.Cloud, server string) error {
	if s.byForce {
		return action{name: "forceDelete"}.ask(ctx, c, server)
	}
	return c.Delete(ctx, server)
}

// action is the request that asks for a kind: its status is 202 unless said.
type action struct {
	name    string
	body    any
	byAdmin bool
	status  int
}

func (a action) ask(ctx context.Context, c *cloud.Cloud, server string) error {
	token, status := cloud.UserToken, http.StatusAccepted
	if a.byAdmin {
		token = cloud.HelperToken
	}
	if a.status != 0 {
		status = a.status
	}
	return post(ctx, c, token, "/v2.1/servers/"+server+"/action", map[string]any{a.name: a.body}, status, nil)
}

var actions = map[operations.Kind]action{
	operations.ServerStart:         {name: "os-start"},
	operations.ServerStop:          {name: "os-stop"},
	operations.ServerReboot:        {name: "reboot", body: map[string]string{"type": "SOFT"}},
	operations.ServerHardReboot:    {name: "reboot", body: map[string]string{"type": "HARD"}},
	operations.ServerPause:         {name: "pause"},
	operations.ServerUnpause:       {name: "unpause"},
	operations.ServerSuspend:       {name: "suspend"},
	operations.ServerResume:        {name: "resume"},
	operations.ServerCrashDump:     {name: "trigger_crash_dump"},
	operations.ServerResize:        {name: "resize", body: map[string]string{"flavorRef": cloud.OtherFlavor}},
	operations.ServerMigrate:       {name: "migrate", byAdmin: true},
	operations.ServerConfirmResize: {name: "confirmResize", status: http.StatusNoContent},
	operations.ServerRevertResize:  {name: "revertResize"},
	operations.ServerLiveMigrate:   {name: "os-migrateLive", byAdmin: true, body: map[string]any{"host": nil, "block_migration": "auto"}},
	operations.ServerRescue:        {name: "rescue", status: http.StatusOK},
	operations.ServerUnrescue:      {name: "unrescue"},
	operations.ServerCreateImage:   {name: "createImage", body: map[string]string{"name": "image"}},
	operations.ServerCreateBackup:  {name: "createBackup", body: map[string]any{"name": "backup", "backup_type": "daily", "rotation": 1}},
	operations.ServerShelve:        {name: "shelve"},
	operations.ServerShelveOffload: {name: "shelveOffload", byAdmin: true},
	operations.ServerUnshelve:      {name: "unshelve"},
	operations.ServerRestore:       {name: "restore"},
	operations.ServerEvacuate:      {name: "evacuate", byAdmin: true, body: map[string]any{}, status: http.StatusOK},
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
	// sure: its workflow has not begun it, and it is forward from its first step.
	sure
	// closing: only local steps are ahead, the last transaction among them.
	closing
	// last: that transaction is ahead, and until it is done all can be undone.
	last
	// over: its last transaction is done.
	over
)

// at says in which phase the story is at a point.
func (s story) at(point string) phase {
	step, local := strings.CutPrefix(point, s.verb+":")
	switch {
	case step == "records.Begin" && s.moved && s.turn == point:
		return sure
	case step == "records.Begin":
		return unbegun
	case step == "records.Finish.done":
		return over
	case s.moved:
		return s.ofMove(point)
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
