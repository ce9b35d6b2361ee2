// Package bench measures a cloud of 100 simulated hosts: what a request costs,
// how many servers a second are built, beside the ceiling of the bare workflow
// engine in the same run, how a thousand creates and 200 live migrations go that
// are in flight at once, and how much memory the processes take.
//
// `make bench` runs it, and after it the placement of a server in a far bigger
// cloud (activities/placement), and leaves the figures in docs/results/bench.md.
// They are figures, never assertions; a failed request, build or migration fails
// the run.
package bench

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

func TestMain(m *testing.M) { cloud.Main(m) }

// What is measured, and how much of it.
const (
	hosts        = 100
	openRate     = 20 // creates a second
	openTime     = 30 * time.Second
	builds       = 500
	clients      = 50
	closedPosts  = 500
	pageSize     = 1000
	readTime     = 10 * time.Second
	readClients  = 8
	settleWithin = 5 * time.Minute
)

// BenchmarkCloud is one run of everything, since each part needs the servers
// of the one before.
func BenchmarkCloud(b *testing.B) {
	fromDisk(b)
	c := cloud.Start(b, cloud.Options{Hosts: hosts, Config: map[string]any{"log.level": "warn", "host.report_interval": "10s", "compute.host_down_after": "60s", "dev.hold_dir": ""}})
	var out report
	out.memory("idle", c)

	out.latencies("POST /servers to 202, open loop", openLoop(b, c))
	allActive(b, c)

	var ceiling, rate float64
	out.processor("a bare build (its worker not counted)", c, builds, func() { ceiling = bareEngine(b, c) })
	out.processor("a build", c, builds, func() { rate = buildRate(b, c, &out) })
	out.line("builds, POST to ACTIVE, %d servers: **%.1f a second**", builds, rate)
	out.line("the bare engine's ceiling in the same run, same steps with nothing in them: **%.1f a second** (Holdfast reaches %.0f %% of it)", ceiling, 100*rate/ceiling)

	out.latencies(fmt.Sprintf("POST /servers to 202, closed loop, %d clients", clients), closedLoop(b, c))
	allActive(b, c)

	id := c.MustCreate("shown")
	out.throughput("GET /servers/{id}", readLoop(b, c, "/v2.1/servers/"+id))
	out.throughput(fmt.Sprintf("GET /servers/detail, %d a page", pageSize), readLoop(b, c, fmt.Sprintf("/v2.1/servers/detail?limit=%d", pageSize)))
	nodePages(b, c, &out)
	out.memory("after all of it", c)

	crowds(b, c, &out)

	out.save(b)
}

// openLoop sends creates at a fixed rate, however long the answers take.
func openLoop(b *testing.B, c *cloud.Cloud) *sample {
	b.Helper()
	var s sample
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / openRate)
	defer tick.Stop()
	for i := range int(openTime.Seconds()) * openRate {
		<-tick.C
		wg.Go(func() { create(b, c, &s, fmt.Sprintf("open-%d", i)) })
	}
	wg.Wait()
	return &s
}

// closedLoop keeps a number of clients busy, each with one create at a time.
func closedLoop(b *testing.B, c *cloud.Cloud) *sample {
	b.Helper()
	return manyCreates(b, c, "closed", closedPosts)
}

func manyCreates(b *testing.B, c *cloud.Cloud, name string, n int) *sample {
	b.Helper()
	var s sample
	byClients(n, func(i int) { create(b, c, &s, fmt.Sprintf("%s-%d", name, i)) })
	return &s
}

// byClients has the clients share n calls, each making one after the other.
func byClients(n int, call func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range clients {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				call(int(i))
			}
		})
	}
	wg.Wait()
}

func create(b *testing.B, c *cloud.Cloud, s *sample, name string) {
	began := time.Now()
	if _, err := c.Create(b.Context(), name); err != nil {
		b.Errorf("create %s: %v", name, err)
		return
	}
	s.add(time.Since(began))
}

// buildRate is servers a second from the first POST to the last ACTIVE.
func buildRate(b *testing.B, c *cloud.Cloud, out *report) float64 {
	b.Helper()
	began := time.Now()
	manyCreates(b, c, "build", builds)
	out.memory("under the load of builds", c)
	allActive(b, c)
	return builds / time.Since(began).Seconds()
}

// allActive waits until no server is being built, and fails if one has failed.
// While operations are open it doesn't read all servers, which would be work that
// is measured along.
func allActive(b *testing.B, c *cloud.Cloud) {
	b.Helper()
	c.Eventually("every server is ACTIVE", settleWithin, func(ctx context.Context) error {
		var open, building, failed int
		err := c.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM engine.operations WHERE finished_at IS NULL`).Scan(&open)
		if err == nil && open > 0 {
			return fmt.Errorf("%d operations are open", open)
		}
		if err == nil {
			err = c.DB.Pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE vm_state = 'building'), count(*) FILTER (WHERE vm_state = 'error')
				FROM compute.servers WHERE deleted_at IS NULL`).Scan(&building, &failed)
		}
		if failed > 0 {
			b.Fatalf("%d servers are in ERROR", failed)
		}
		if err == nil && building > 0 {
			err = fmt.Errorf("%d are being built", building)
		}
		return err
	})
}

// readLoop asks for a path for a while with a few clients.
func readLoop(b *testing.B, c *cloud.Cloud, path string) *sample {
	b.Helper()
	var s sample
	var wg sync.WaitGroup
	end := time.Now().Add(readTime)
	for range readClients {
		wg.Go(func() {
			for time.Now().Before(end) {
				began := time.Now()
				if err := c.Do(b.Context(), http.MethodGet, path, nil, http.StatusOK, nil); err != nil {
					b.Errorf("GET %s: %v", path, err)
					return
				}
				s.add(time.Since(began))
			}
		})
	}
	wg.Wait()
	return &s
}
