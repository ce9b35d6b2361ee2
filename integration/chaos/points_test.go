package chaos

// Operations held at every point of their story.

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/hold"
	"holdfast.dev/internal/operations"
)

// held is an operation that stands at a point.
type held struct {
	story  story
	verb   string
	point  string
	server string
	op     engine.Operation
	// machine is that of one on a node, which is server then.
	machine *bmc.Machine
}

func (h held) String() string { return h.verb + " of a " + h.story.verb + " at " + h.point }

// phase is how far it has come.
func (h held) phase() phase { return h.story.at(h.point) }

// turned says whether it is beyond its point of no return, with its end ahead.
func (h held) turned() bool { return h.phase() == beyond || h.phase() == closing }

// needsHost says whether it is beyond that point where only the host can finish it that
// it is at.
func (h held) needsHost() bool {
	return h.story.stuck != "" && h.phase() == beyond && !strings.HasPrefix(h.point, h.story.verb+":")
}

// full says that every verb is done at every point of every kind.
var full = os.Getenv("HOLDFAST_TEST_FULL") != ""

// sample says at which points which verbs are done: all of them in full, else at
// every s.stride'th, the next verb and the next kind each a point later. So a kind
// has every verb, a point has several of them, and of kinds whose points are alike
// each has other pairs.
func (s story) sample(verbs []string) (all []held) {
	first := slices.IndexFunc(slices.Concat(every, remade), func(o story) bool { return o.kind == s.kind })
	for i, verb := range verbs {
		for j, point := range s.points {
			if full || len(s.points) <= s.stride || (first+i+j)%s.stride == 0 {
				all = append(all, held{story: s, verb: verb, point: point})
			}
		}
	}
	return all
}

// start starts a cloud for the verbs, with so many hosts or more.
func (s story) start(t *testing.T, hosts int, verbs ...string) *cloud.Cloud {
	t.Helper()
	needs := s.cloud
	needs.Hosts += hosts
	if s.apart {
		needs.Hosts += len(s.sample(verbs))
	}
	return cloud.Start(t, needs)
}

// hang makes one operation of the story for each point at which one of the verbs
// is about to be done to it, and returns when each stands at its point.
func (s story) hang(t *testing.T, c *cloud.Cloud, verbs ...string) []held {
	t.Helper()
	all := s.sample(verbs)
	if s.kind == operations.ServerBuild {
		// Who the servers are is known only when their builds have been accepted.
		begin := s.verb + ":records.Begin"
		must(t, c.Points.Order(hold.Any, begin))
		s.servers(t, c, all)
		for _, h := range all {
			c.Eventually(h.String()+" has been started", patience, here(c, h.server, begin))
		}
		s.hold(t, c, all)
		must(t, c.Points.Release(hold.Any))
	} else {
		s.servers(t, c, all)
		s.hold(t, c, all)
		for _, h := range all {
			must(t, s.ask(t.Context(), c, h.server))
		}
	}
	for i := range all {
		h := &all[i]
		c.Eventually(h.String()+" has come there", patience, here(c, h.server, h.point))
		h.op = s.operation(t, c, h.server)
	}
	return all
}

// servers makes a server for each: as it is before the operation, or one that is
// being built.
func (s story) servers(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.String()
	}
	ids, err := s.create(t, c, names)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		all[i].server = id
	}
	if s.kind != operations.ServerBuild {
		s.ready(t, c, ids)
	}
}

// create makes the servers, each on its own host if the story needs that.
func (s story) create(t *testing.T, c *cloud.Cloud, names []string) (ids []string, err error) {
	t.Helper()
	var hosts []string
	switch {
	case s.apart:
		hosts = c.HostNames(cloud.Host)[:len(names)]
	case s.afar:
		hosts = c.HostNames(cloud.OtherHosts)
	default:
		if s.connected {
			connect(t, c)
		}
		return createAll(t.Context(), c, names, atOnce)
	}
	networks := any("none")
	if s.connected {
		networks = []map[string]string{{"uuid": connect(t, c)}}
	}
	for i, name := range names {
		ids = append(ids, createOn(t, c, hosts[i%len(hosts)], name, networks))
	}
	return ids, nil
}

// ready waits for new servers and leads them to where the operation is asked for.
func (s story) ready(t *testing.T, c *cloud.Cloud, ids []string) {
	t.Helper()
	allAre(t, c, ids, "ACTIVE", 5*time.Minute)
	for _, kind := range s.lead {
		idle(t, c, ids)
		for _, id := range ids {
			must(t, ask(t.Context(), c, kind, id))
		}
	}
	allAre(t, c, ids, s.before, 3*time.Minute)
	s.forsake(c)
}

// idle waits until nothing is done to the servers.
func idle(t *testing.T, c *cloud.Cloud, ids []string) {
	t.Helper()
	c.Eventually("nothing is done to the servers", patience, func(ctx context.Context) error {
		for _, id := range ids {
			if shown, err := c.Show(ctx, id); err != nil || shown.Task != "" {
				return fmt.Errorf("server %s has task %q, %w", id, shown.Task, err)
			}
		}
		return nil
	})
}

// forsake has the hosts of the servers die, if those are afar.
func (s story) forsake(c *cloud.Cloud) {
	if s.afar {
		c.Kill(cloud.OtherHosts)
		c.AwaitDown(cloud.OtherHosts)
	}
}

// restore has them come back.
func (s story) restore(c *cloud.Cloud) {
	if s.afar {
		c.Restart(cloud.OtherHosts)
		c.AwaitHosts()
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
func finished(t *testing.T, c *cloud.Cloud, id string) engine.Operation {
	t.Helper()
	return finishedWithin(t, c, id, time.Minute)
}

func finishedWithin(t *testing.T, c *cloud.Cloud, id string, within time.Duration) (op engine.Operation) {
	t.Helper()
	err := c.Await(within, func(ctx context.Context) (err error) {
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
