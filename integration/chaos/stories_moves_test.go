package chaos

// The kinds that make a guest anew or elsewhere, as stories.

import (
	"context"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// remade are those whose guest stands still meanwhile; a live migration needs a host
// of its own, which one guest leaves at a time.
var (
	remade = []story{
		move(operations.ServerResize),
		move(operations.ServerMigrate),
		anew(story{kind: operations.ServerConfirmResize, before: "VERIFY_RESIZE", after: "ACTIVE", lead: []operations.Kind{operations.ServerResize},
			turn: "records.Begin"}, "destroy.stop", "destroy.disk", "destroy.undefine", "destroy.done", "placement.Release"),
		anew(story{kind: operations.ServerRevertResize, before: "VERIFY_RESIZE", after: "ACTIVE", lead: []operations.Kind{operations.ServerResize},
			turn: "destroy.stop"}, "power.freeze", "resize.define", "resize.start", "resize.done", "destroy.stop", "destroy.disk", "destroy.undefine", "destroy.done",
			"placement.Release"),
		anew(story{kind: operations.ServerRescue, before: "ACTIVE", after: "RESCUE"}, "rescue.image", "rescue.disk", "rescue.start", "rescue.done"),
		anew(story{kind: operations.ServerUnrescue, before: "RESCUE", after: "ACTIVE", lead: []operations.Kind{operations.ServerRescue},
			turn: "power.unrescue", stuck: "RESCUE"}, "power.unrescue", "power.done"),
		anew(story{kind: operations.ServerRebuild, before: "ACTIVE", after: "ACTIVE", turn: "rebuild.begin", stuck: "ERROR"},
			"prepare.image", "prepare.done", "rebuild.begin", "rebuild.disk", "rebuild.start", "rebuild.done"),
		resetting,
	}
	liveMigration = anew(story{kind: operations.ServerLiveMigrate, before: "ACTIVE", after: "ACTIVE", apart: true, turn: "migrate.move", waits: true,
		open: []string{"migrate.begin", "migrate.copying"}},
		"placement.ClaimMove", "placement.ClaimMove.done", "depart", "land.disk", "land.done",
		"migrate.begin", "migrate.copying", "migrate.move", "migrate.done", "destroy.stop", "destroy.done")
	evacuation = fled(anew(story{kind: operations.ServerEvacuate, before: "ACTIVE", after: "ACTIVE", turn: "records.Finish"}, slices.Concat(
		[]string{"placement.Claim", "placement.Claim.done", "neutron.Allocate", "neutron.Allocate.done", "records.ServerSpec"}, onBuildHost)...))
	resetting = anew(story{kind: operations.ServerResetState, before: "ACTIVE", after: "ERROR", short: true, turn: "records.Advance.done",
		open: []string{"reset-state:records.Advance"}},
		"records.Advance", "records.Advance.done")
)

// fled are stories of servers whose hosts have died.
func fled(s story) story {
	s.afar, s.connected, s.broken, s.cloud.Others = true, true, true, 12
	return served(s)
}

// resetBusy has an administrator say what a server is that something is done to.
func resetBusy(ctx context.Context, c *cloud.Cloud, server string) error {
	const point = "stop:records.Begin.done"
	err := c.Points.Order(server, point)
	if err == nil {
		err = ask(ctx, c, operations.ServerStop, server)
	}
	if err == nil {
		err = c.Await(patience, here(c, server, point))
	}
	if err == nil {
		err = sayError(ctx, c, server)
	}
	if err == nil {
		err = c.Points.ReleaseAt(server, point)
	}
	return err
}

// move is a resize or a cold migration.
func move(kind operations.Kind) story {
	return anew(story{kind: kind, before: "ACTIVE", after: "VERIFY_RESIZE"}, "placement.ClaimMove", "placement.ClaimMove.done", "power.stop",
		"receive.folder", "receive.disks", "receive.done", "resize.define", "resize.start", "resize.done")
}

// anew completes a story whose points between its first step and its last are given.
func anew(s story, points ...string) story {
	spec, _ := operations.Lookup(s.kind)
	s.verb, s.moved = spec.Verb, true
	points = slices.Concat([]string{"records.Begin", "records.Begin.done"}, points, []string{"records.Finish", "records.Finish.done"})
	s.points = nil
	for _, point := range points {
		s.points = append(s.points, s.local(point))
	}
	s.stride = len(s.points) - 1 // a point or two for each verb
	if s.turn != "" {
		s.turn = s.local(s.turn)
	}
	return s
}

// singly are all of these and those that set aside, are about devices or need that hosts
// die, by the cloud that each is told in.
func singly() map[string][]story {
	all := map[string][]story{}
	for _, s := range slices.Concat(remade, aside, devices, []story{liveMigration, evacuation}) {
		all[s.verb] = []story{s}
	}
	return all
}

// clouds are the stories by the cloud that they are told in: all singly in full, else
// one cloud for those whose guest stands still, a resize for a cold migration too.
func clouds(full bool) map[string][]story {
	if full {
		return singly()
	}
	all := map[string][]story{"live migration": {liveMigration}}
	for _, s := range remade {
		if s.kind != operations.ServerMigrate {
			all["moves"] = append(all["moves"], s)
		}
	}
	return all
}

// together are the stories as they are told in one cloud, which is as each of them
// needs it.
func together(stories ...story) []story {
	needs, connected, byForce := cloud.Options{Config: map[string]any{}}, false, false
	for _, s := range stories {
		needs.Hosts, needs.Others = max(needs.Hosts, s.cloud.Hosts), max(needs.Others, s.cloud.Others)
		needs.Services = needs.Services || s.cloud.Services
		maps.Copy(needs.Config, s.cloud.Config)
		connected, byForce = connected || s.connected, byForce || s.byForce
	}
	all := slices.Clone(stories)
	for i := range all {
		all[i].cloud, all[i].connected, all[i].byForce = needs, connected, byForce
	}
	return all
}

// local completes the name of a point that is a step of the control worker.
func (s story) local(point string) string {
	for _, family := range []string{"records.", "placement.", "glance.", "cinder.", "neutron."} {
		if strings.HasPrefix(point, family) {
			return s.verb + ":" + point
		}
	}
	return point
}

// ofMove says how far such a story has come at a point that is not its first or its
// last.
func (s story) ofMove(point string) phase {
	i := slices.Index(s.points, point)
	finish, release := i == len(s.points)-2, strings.HasPrefix(point, s.local("placement.Release"))
	switch {
	case slices.Contains(s.open, point):
		return crossing
	case finish && s.turn == "":
		return last
	case finish, release:
		return closing
	case s.turn != "" && i >= slices.Index(s.points, s.turn):
		return beyond
	}
	return early
}
