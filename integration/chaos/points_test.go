package chaos

// Operations held at every point of their story.

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/hold"
	"holdfast.dev/internal/operations"
)

// A story is a kind of operation and the points at which it can be held
// (internal/hold), in the order in which it passes them.
type story struct {
	kind   operations.Kind
	verb   string
	begin  string
	points []string
}

var build = story{kind: operations.ServerBuild, verb: "build", begin: "build:records.Begin", points: []string{
	"build:records.Begin", "build:records.Begin.done",
	"build:placement.Claim", "build:placement.Claim.done",
	"build:records.ServerSpec",
	"build.image", "build.disk", "build.define", "build.start", "build.done",
	"build:records.Finish", "build:records.Finish.done",
}}

var deletion = story{kind: operations.ServerDelete, verb: "delete", begin: "delete:records.Begin", points: []string{
	"delete:records.Begin", "delete:records.Begin.done",
	"destroy.stop", "destroy.disk", "destroy.undefine", "destroy.done",
	"delete:placement.Release", "delete:placement.Release.done",
	"delete:records.Finish", "delete:records.Finish.done",
}}

// onHost says that the point is in a step on a host.
func onHost(point string) bool { return !strings.Contains(point, ":") }

// held is an operation that stands at a point.
type held struct {
	verb   string
	point  string
	server string
	op     engine.Operation
}

func (h held) String() string { return h.verb + " at " + h.point }

// hang makes one operation of the story for each point, for each of the verbs
// that are about to be done to them, and returns when each stands at its point.
func (s story) hang(t *testing.T, c *cloud.Cloud, verbs ...string) []held {
	t.Helper()
	var all []held
	for _, verb := range verbs {
		for _, point := range s.points {
			all = append(all, held{verb: verb, point: point})
		}
	}
	if s.kind == operations.ServerDelete {
		s.servers(t, c, all)
		s.hold(t, c, all)
		for _, h := range all {
			if err := c.Delete(t.Context(), h.server); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		// Who the servers are is known only when their builds have been accepted.
		must(t, c.Points.Order(hold.Any, s.begin))
		s.servers(t, c, all)
		for _, h := range all {
			c.Eventually(h.String()+" has been started", time.Minute, here(c, h.server, s.begin))
		}
		s.hold(t, c, all)
		must(t, c.Points.Release(hold.Any))
	}
	for i := range all {
		h := &all[i]
		c.Eventually(h.String()+" has come there", time.Minute, here(c, h.server, h.point))
		h.op = s.operation(t, c, h.server)
	}
	return all
}

// servers makes a server for each, running ones for operations on such.
func (s story) servers(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = fmt.Sprintf("%s at %s", h.verb, h.point)
	}
	ids, err := createAll(t.Context(), c, names, atOnce)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		all[i].server = id
	}
	if s.kind != operations.ServerBuild {
		allAre(t, c, ids, "ACTIVE", time.Minute)
	}
}

func (s story) hold(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	for _, h := range all {
		must(t, c.Points.Order(h.server, h.point))
	}
}

func (s story) operation(t *testing.T, c *cloud.Cloud, server string) engine.Operation {
	t.Helper()
	ops, err := c.Operations(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		if op.Kind == s.kind {
			return op
		}
	}
	t.Fatalf("server %s has no %s", server, s.kind)
	return engine.Operation{}
}

func here(c *cloud.Cloud, server, point string) func(context.Context) error {
	return func(context.Context) error {
		is, err := c.Points.Here(server, point)
		if err == nil && !is {
			err = fmt.Errorf("server %s is not at %s", server, point)
		}
		return err
	}
}

// finished waits until the operation itself has ended, and gives it.
func finished(t *testing.T, c *cloud.Cloud, id string) (op engine.Operation) {
	t.Helper()
	err := c.Await(time.Minute, func(ctx context.Context) (err error) {
		if op, err = c.Engine.Get(ctx, c.DB.Pool, id); err == nil && !op.Finished() {
			err = fmt.Errorf("%s stands at step %q", op.State(), op.Step)
		}
		return err
	})
	if err != nil {
		t.Errorf("%s has not ended: %v", id, err)
	}
	return op
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
