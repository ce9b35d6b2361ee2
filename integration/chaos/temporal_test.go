package chaos

// Temporal is away, or has forgotten everything.

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
)

// What is accepted while Temporal is down happens when it is back.
func TestTemporalDownAtRequest(t *testing.T) {
	t.Parallel()
	c := cloud.Start(t, cloud.Options{})
	old := c.MustCreate("old")
	allAre(t, c, []string{old}, "ACTIVE", patience)

	c.Kill(cloud.Temporal)
	young := c.MustCreate("young")
	if err := c.Delete(t.Context(), old); err != nil {
		t.Fatalf("delete without Temporal: %v", err)
	}
	if s, err := c.Show(t.Context(), young); err != nil || s.Status != "BUILD" {
		t.Errorf("without Temporal the new server is %q, %v; want BUILD", s.Status, err)
	}
	if s, err := c.Show(t.Context(), old); err != nil || s.Task != "deleting" {
		t.Errorf("without Temporal the old server's task is %q, %v; want deleting", s.Task, err)
	}

	c.Restart(cloud.Temporal)
	allAre(t, c, []string{young}, "ACTIVE", patience)
	allAre(t, c, []string{old}, "", patience)
	c.Audit()
	once(t, c, []string{young})
}

// whenLost are the stories in flight when Temporal's databases are dropped, by the
// cloud that they are told in.
func whenLost(full bool) map[string][]story {
	told := map[string][]story{"builds, deletes and power": slices.Concat(every, []story{crashDump})}
	if full {
		maps.Copy(told, singly())
	}
	return told
}

// Temporal's databases are dropped with operations of every kind in flight, in
// full twenty of each at least, spread over all their points. All of them end,
// and nothing is done twice.
func TestTemporalDatabasesLost(t *testing.T) {
	t.Parallel()
	for name, stories := range whenLost(full) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loseTemporal(t, stories)
		})
	}
}

func loseTemporal(t *testing.T, stories []story) {
	t.Helper()
	want := 5
	if full {
		want = 20
	}
	c := stories[0].start(t, 12, stories[0].losses(want)...)
	var all []held
	for _, s := range stories {
		held := s.hang(t, c, s.losses(want)...)
		inFlight := 0
		for _, h := range held {
			if h.phase() != over {
				inFlight++
			}
		}
		if inFlight < want {
			t.Errorf("%d operations of kind %s are in flight, want %d at least", inFlight, s.kind, want)
		}
		all = append(all, held...)
	}
	c.LoseTemporal()
	for _, h := range all {
		must(t, c.Points.Release(h.server))
	}
	c.Restart(cloud.Temporal)

	for _, h := range all {
		if op := finishedWithin(t, c, h.op.ID, 3*time.Minute); op.Result != operations.ResultDone {
			t.Errorf("%s: it has ended as %q (%s), want done", h, op.Result, op.Message)
		}
		allAre(t, c, []string{h.server}, h.story.after, patience)
	}
	stories[0].restore(c)
	checkImages(t, c, all)
	checkVolumes(t, c, all)
	checkInterfaces(t, c, all)
	c.Audit()
	guests := c.Guests()
	for _, h := range all {
		if want := guestsOf[h.stands(h.story.after, operations.ResultDone)]; guests[h.server] != want {
			t.Errorf("%s: server %s has %d guests, want %d", h, h.server, guests[h.server], want)
		}
		delete(guests, h.server)
		if err := trueState(t.Context(), c, h.server, false); err != nil {
			t.Errorf("%s: %v", h, err)
		}
		onlyOneTurn(t, c, h)
	}
	if len(guests) > 0 {
		t.Errorf("guests that nobody asked for: %v", guests)
	}
	for _, op := range operationsOf(t, c, all) {
		if op.Kind == operations.ServerRecover {
			t.Errorf("%s is recovered, which should have been started again", op.ResourceID)
		}
	}
}

// losses are as many as it takes for at least n operations to be in flight: at the
// last point one is over.
func (s story) losses(n int) []string {
	each := max(len(s.points)-1, 1)
	rounds := (n + each - 1) / each
	if !full {
		rounds = max(rounds, 3)
	}
	names := make([]string, rounds)
	for i := range names {
		names[i] = fmt.Sprintf("loss %d", i+1)
	}
	return names
}

// onlyOneTurn fails the test if the operation has changed the power of its
// guest twice, or the build started it twice.
func onlyOneTurn(t *testing.T, c *cloud.Cloud, h held) {
	t.Helper()
	if h.story.after == "" || h.story.moved {
		return // a guest that is made anew or elsewhere may be started again
	}
	guest, err := c.Guest(h.server)
	if want := 2 + len(h.story.lead); err != nil || h.story.driven && len(guest.Console) != want || !h.story.driven && len(guest.Console) != 1 {
		t.Errorf("%s: the guest has been through %q, %v", h, guest.Console, err)
	}
}

// operationsOf are all operations on the servers.
func operationsOf(t *testing.T, c *cloud.Cloud, all []held) (ops []engine.Operation) {
	t.Helper()
	for _, h := range all {
		its, err := c.Operations(t.Context(), h.server)
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, its...)
	}
	return ops
}
