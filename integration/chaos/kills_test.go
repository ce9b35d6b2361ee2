package chaos

// SIGKILL of every process under load.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// slowly makes every sub-step of the hosts take its time.
func slowly(d time.Duration) string {
	points := append([]string{"power.done", "power.force-stop"}, onBuildHost...)
	for _, s := range powers {
		points = append(points, "power."+s.verb)
	}
	for i := range points {
		points[i] += "=" + d.String()
	}
	return strings.Join(points, ",")
}

// Twenty servers are asked for, and every operation on the power of others,
// while each process of the cloud is killed and started again, by itself and
// together with another, at points that the seed draws. All twenty end ACTIVE,
// none twice, the others are in the state that was asked for, and nothing is
// left over.
func TestKillsUnderLoad(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			// Every host comes back, on a crowded machine late: none is to be taken for down.
			c := cloud.Start(t, cloud.Options{Delay: slowly(200 * time.Millisecond), Config: map[string]any{"compute.host_down_after": "30s"}})
			r := rand.New(rand.NewPCG(seed, 0))
			old := map[string]story{}
			for _, s := range powers {
				ids, err := createAll(t.Context(), c, numbered("to "+s.verb, 2), atOnce)
				must(t, err)
				s.ready(t, c, ids)
				for _, id := range ids {
					old[id] = s
				}
			}
			names := numbered("kill", 20)
			pauses := make([]time.Duration, len(names)+len(old))
			for i := range pauses {
				pauses[i] = between(r, 0, 9*time.Second)
			}
			var ids []string
			asked := make(chan error, 1+len(old))
			go func() {
				var err error
				ids, err = createAll(t.Context(), c, names, func(i int) time.Duration { return pauses[i] })
				asked <- err
			}()
			for i, id := range slices.Sorted(maps.Keys(old)) {
				go func() {
					time.Sleep(pauses[len(names)+i])
					asked <- old[id].askSurely(t.Context(), c, id)
				}()
			}
			for _, victims := range draw(r, cloud.Names) {
				time.Sleep(between(r, 100*time.Millisecond, 1500*time.Millisecond))
				outage(t, c, victims, between(r, 100*time.Millisecond, 2*time.Second))
			}
			for range cap(asked) {
				must(t, <-asked)
			}
			allAre(t, c, ids, "ACTIVE", 2*time.Minute)
			for id, s := range old {
				allAre(t, c, []string{id}, s.after, patience)
			}
			onlyOnce(t, c, names)
			c.Audit()
			all := append(slices.Collect(maps.Keys(old)), ids...)
			once(t, c, all)
			for _, id := range all {
				must(t, c.Await(time.Minute, func(ctx context.Context) error { return trueState(ctx, c, id, false) }))
			}
		})
	}
}

// draw says who of some processes is killed, in which order: each alone, and pairs.
func draw(r *rand.Rand, names []cloud.Name) (rounds [][]cloud.Name) {
	for _, name := range names {
		rounds = append(rounds, []cloud.Name{name})
	}
	for range 3 {
		pair := slices.Clone(names)
		r.Shuffle(len(pair), func(i, j int) { pair[i], pair[j] = pair[j], pair[i] })
		rounds = append(rounds, pair[:2])
	}
	r.Shuffle(len(rounds), func(i, j int) { rounds[i], rounds[j] = rounds[j], rounds[i] })
	return rounds
}

// outage has processes be dead for a while.
func outage(t *testing.T, c *cloud.Cloud, victims []cloud.Name, d time.Duration) {
	t.Helper()
	for _, victim := range victims {
		c.Kill(victim)
	}
	t.Logf("%s killed", victims)
	time.Sleep(d)
	for _, victim := range inOrder(victims) {
		c.Restart(victim)
	}
}

// inOrder puts those first that others can't start without.
func inOrder(victims []cloud.Name) []cloud.Name {
	rank := map[cloud.Name]int{cloud.Postgres: -2, cloud.Temporal: -1}
	sorted := slices.Clone(victims)
	slices.SortStableFunc(sorted, func(a, b cloud.Name) int { return rank[a] - rank[b] })
	return sorted
}

// askSurely asks until the operation has been accepted. A conflict says that it
// was, by a request whose answer was lost.
func (s story) askSurely(ctx context.Context, c *cloud.Cloud, server string) error {
	for {
		err := s.ask(ctx, c, server)
		var refused *cloud.StatusError
		if err == nil || errors.As(err, &refused) && refused.Code == http.StatusConflict {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s of server %s: %w", s.verb, server, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Host workers are killed while every kind of operation on power stands before
// its act and after it, and come back as new incarnations: the operations go on
// there, and nothing is done twice.
func TestHostsReplacedDuringPower(t *testing.T) {
	t.Parallel()
	c := cloud.Start(t, cloud.Options{Hosts: 6})
	var all []held
	for _, s := range powers {
		all = append(all, s.only("power."+s.verb, "power.done").hang(t, c, "new host")...)
	}
	before := c.Incarnations()
	c.Kill(cloud.Host)
	for _, h := range all {
		must(t, c.Points.Release(h.server))
	}
	c.Restart(cloud.Host)
	for _, h := range all {
		finished(t, c, h.op.ID)
		allAre(t, c, []string{h.server}, h.story.after, patience)
		must(t, trueState(t.Context(), c, h.server, false))
		onlyOneTurn(t, c, h)
	}
	for host, now := range c.Incarnations() {
		if now <= before[host] {
			t.Errorf("host %s is incarnation %d, was %d", host, now, before[host])
		}
	}
	c.Audit()
}

// One process after the other is killed while volumes are swapped, and comes back: some
// of the swaps go on meanwhile, those that are held still stand where they were
// afterwards. All of them are done.
func TestKillsWhileVolumesAreSwapped(t *testing.T) {
	t.Parallel()
	victims := []cloud.Name{cloud.Host, cloud.Control, cloud.Temporal, cloud.Companions}
	names := make([]string, len(victims))
	for i, victim := range victims {
		names[i] = "kill of " + string(victim)
	}
	s := swapping
	if !full {
		s = s.only(s.local("cinder.BeginSwap.done"), "swap.copy", "swap.done", s.local("records.ReplaceVolume"), s.local("cinder.EndSwap"))
	}
	s.cloud.Config = map[string]any{"compute.host_down_after": "30s"}
	c := s.start(t, 6)
	all := s.hang(t, c, names...)
	for i, victim := range victims {
		its := of(verb{name: names[i]}, all)
		c.Kill(victim)
		for _, h := range its {
			must(t, c.Points.Release(h.server))
		}
		c.Restart(victim)
		for _, h := range its {
			if op := finished(t, c, h.op.ID); op.Result != operations.ResultDone {
				t.Errorf("%s: it has ended as %q (%s), want done", h, op.Result, op.Message)
			}
		}
	}
	checkVolumes(t, c, all)
	c.Audit()
	clearAway(t, c, all)
}
