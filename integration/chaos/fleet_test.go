package chaos

// Servers that are whole machines are built, stopped, rescued, rebuilt and deleted while
// who works on them is killed.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
)

// turn is an operation of a server's life, and the status that it leads to.
type turn struct {
	kind   operations.Kind
	status string
}

// turns are what is asked of a server between its build and its end.
var turns = [][]turn{
	{{operations.ServerStop, "SHUTOFF"}, {operations.ServerStart, "ACTIVE"}},
	{{operations.ServerRescue, "RESCUE"}, {operations.ServerUnrescue, "ACTIVE"}},
	{{operations.ServerRebuild, "ACTIVE"}},
	{{operations.ServerHardReboot, "ACTIVE"}},
}

// tenants are servers on nodes.
type tenants struct {
	*lives
	mu   sync.Mutex
	stay []string
}

// Servers live on nodes, two on each of them one after the other, while each process is
// killed and started again, by itself and together with another, at times that the seed
// draws. All that is asked for is done. Then each node is the machine of one server, with
// its ports and no others, or available, and nothing is left of those that are gone.
func TestKillsUnderServersOnNodes(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			machines, rounds, apart, pause := 4, 1, 3*time.Second, 1500*time.Millisecond
			if full {
				machines, rounds, apart, pause = 30, 3, time.Minute, 6*time.Second
			}
			began := time.Now()
			// Every host comes back: none is to be taken for down.
			c := cloud.Start(t, cloud.Options{Hosts: 1, Machines: machines, MachinesApart: true, Fleet: true, Services: true,
				Config: map[string]any{"conductor.sync_power_state_interval": "0s", "compute.host_down_after": "30s"}})
			l := &tenants{lives: &lives{T: t, Cloud: c}}
			l.at, l.sum = cloud.Files(t)
			for i := range machines {
				node, err := c.Enroll(t.Context(), i, l.at)
				must(t, err)
				l.found(node, provision.Available, bmc.Off)
			}
			connect(t, c)
			c.AwaitFleet(machines)
			t.Logf("%d nodes are hosts after %s", machines, time.Since(began).Round(time.Second))
			r := rand.New(rand.NewPCG(seed, 0))
			ended := make(chan error, machines)
			for i := range machines {
				own, wait := rand.New(rand.NewPCG(seed, uint64(i+1))), between(r, 0, apart)
				go func() {
					time.Sleep(wait)
					ended <- l.live(t.Context(), fmt.Sprintf("tenant-%d", i), own)
				}()
			}
			for range rounds {
				kills := draw(r, []cloud.Name{cloud.Fleet, cloud.Conductor, cloud.Control, cloud.API, cloud.Temporal, cloud.Postgres})
				if !full {
					kills = slices.DeleteFunc(kills, func(who []cloud.Name) bool { return len(who) > 1 })
				}
				for _, who := range kills {
					time.Sleep(between(r, 100*time.Millisecond, pause))
					outage(t, c, who, between(r, 100*time.Millisecond, 2*time.Second))
				}
			}
			t.Logf("the last is killed after %s", time.Since(began).Round(time.Second))
			for range machines {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			t.Logf("all lives are over after %s", time.Since(began).Round(time.Second))
			l.housed(l.stay)
			l.nothingLeft()
			for _, id := range l.stay {
				must(t, c.Delete(t.Context(), id))
			}
			allAre(t, c, l.stay, "", patience)
			l.housed(nil)
			l.nothingLeft()
		})
	}
}

// live has a server be built and live, and stay or go.
func (l *tenants) live(ctx context.Context, name string, r *rand.Rand) error {
	id, err := l.CreateSurely(ctx, cloud.MetalFlavor, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	life := slices.Concat([]turn{{operations.ServerBuild, "ACTIVE"}}, turns[r.IntN(len(turns))])
	if r.IntN(2) > 0 {
		life = append(life, turn{operations.ServerDelete, ""})
	} else {
		l.mu.Lock()
		l.stay = append(l.stay, id)
		l.mu.Unlock()
	}
	for _, turn := range life {
		err := l.take(ctx, id, turn)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, turn.kind, err)
		}
		l.Logf("%s: %s", name, turn.kind)
	}
	return nil
}

// take has one operation be asked for, and waits for what it leads to.
func (l *tenants) take(ctx context.Context, id string, turn turn) error {
	switch turn.kind {
	case operations.ServerBuild:
	case operations.ServerDelete:
		remove := func() error {
			err := l.Delete(ctx, id)
			var refused *cloud.StatusError
			if errors.As(err, &refused) && refused.Code == http.StatusNotFound {
				err = nil // by a request whose answer was lost
			}
			return err
		}
		if err := surely(ctx, remove); err != nil {
			return err
		}
	default:
		if err := (story{kind: turn.kind}).askSurely(ctx, l.Cloud, id); err != nil {
			return err
		}
	}
	return l.Await(longestLife, func(ctx context.Context) error { return l.Is(ctx, id, turn.status) })
}

// housed fails the test unless each of the servers is the one of a node, which is active
// and bears its ports and no others, and all other nodes are nobody's; ports that were made
// for servers are these only.
func (l *tenants) housed(servers []string) {
	l.Helper()
	var nodes []cloud.Node
	l.Eventually("every node is somebody's or free", patience, func(ctx context.Context) (err error) {
		nodes, err = l.Nodes(ctx)
		for _, n := range nodes {
			if state := provision.State(n.State); err == nil && state != provision.Active && state != provision.Available {
				err = fmt.Errorf("node %s is %s, with %q", n.UUID, n.State, n.LastError)
			}
		}
		return err
	})
	var all struct {
		Ports []struct {
			ID     string
			Owner  string `json:"device_owner"`
			Device string `json:"device_id"`
			Host   string `json:"binding:host_id"`
		}
	}
	must(l.T, l.NetworksOfAll(l.Context(), http.MethodGet, "/ports", nil, &all))
	ports := map[string][]string{}
	for _, p := range all.Ports {
		if strings.HasPrefix(p.Owner, "compute:") {
			ports[p.Device+" on "+p.Host] = append(ports[p.Device+" on "+p.Host], p.ID)
		}
	}
	var housed []string
	for _, n := range nodes {
		vifs, err := l.VIFs(l.Context(), n.UUID)
		must(l.T, err)
		home := n.Instance + " on " + n.UUID
		if n.State == string(provision.Active) != slices.Contains(servers, n.Instance) || !slices.Equal(vifs, ports[home]) {
			l.Errorf("node %s is %s, for %q, and bears %v; the ports are %v", n.UUID, n.State, n.Instance, vifs, ports)
		}
		if delete(ports, home); n.Instance != "" {
			housed = append(housed, n.Instance)
		}
	}
	if slices.Sort(housed); !slices.Equal(housed, slices.Sorted(slices.Values(servers))) || len(ports) > 0 {
		l.Errorf("nodes are for %v; want %v, and no ports but theirs: %v", housed, servers, ports)
	}
}
