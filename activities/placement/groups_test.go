package placement_test

import (
	"sync"
	"testing"

	"holdfast.dev/activities/placement"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// group makes a server group and n servers in it whose builds have begun.
func (w *world) group(policy scheduler.Policy, most, n int) (fences []steps.Fence) {
	w.Helper()
	g := &compute.ServerGroup{ProjectID: "p", UserID: "u", Name: "g", Policy: string(policy), MaxServerPerHost: most}
	computetest.InTx(w, w.db, func(tx store.Tx) error { return compute.CreateServerGroup(w.Context(), tx, g, -1) })
	for range n {
		s, f := w.building()
		computetest.InTx(w, w.db, func(tx store.Tx) error { return compute.JoinServerGroup(w.Context(), tx, g, -1, s.ID) })
		fences = append(fences, f)
	}
	return fences
}

// atOnce claims for all at the same time and counts the servers of each host and
// those for which there was none.
func (w *world) atOnce(fences []steps.Fence) (on map[string]int, without int) {
	w.Helper()
	on = map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, f := range fences {
		all.Go(func() {
			out, err := w.claim(f, 1)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case faults.Is(err, faults.NoCapacity):
				without++
			case err != nil:
				w.Error(err)
			default:
				on[out.HostID]++
			}
		})
	}
	all.Wait()
	return on, without
}

// contend claims at the same time for n servers that ask the same, by two processes, as
// often as others are faster. It counts the servers of each host by its name, those
// without one under "", and gives one that has its claim.
func (w *world) contend(n int, specs map[string]string) (on map[string]int, lucky steps.Fence) {
	w.Helper()
	other := placement.New(w.db, w.engine, scheduler.Default())
	other.Aliases = w.placement.Aliases
	on = map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		_, f := w.building(asking(specs))
		all.Go(func() {
			for {
				out, err := []*placement.Activities{w.placement, other}[i%2].Claim(w.Context(), steps.ClaimIn{Fence: f, Attempt: 1})
				if faults.Is(err, faults.Unavailable) {
					continue // as the step's retry does
				}
				mu.Lock()
				defer mu.Unlock()
				if on[out.HostName]++; err == nil {
					lucky = f
				} else if faults.As(err).Code != "NoValidHost" {
					w.Error(err)
				}
				return
			}
		})
	}
	all.Wait()
	return on, lucky
}

// Claims of a group at the same moment keep to its policy: the group is locked
// until each is made.
func TestGroupsHoldUnderConcurrentClaims(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		policy         scheduler.Policy
		most           int
		hosts, without int
	}{
		{"affinity", scheduler.Affinity, 0, 1, 0},
		{"anti-affinity", scheduler.AntiAffinity, 0, 4, 4},
		{"anti-affinity of two", scheduler.AntiAffinity, 2, 4, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, name := range []string{"a", "b", "c", "d"} {
				computetest.AddHost(t, w.db, name, compute.Report{VCPUs: 64, MemoryMB: 1 << 20, DiskGB: 1 << 10})
			}
			on, without := w.atOnce(w.group(c.policy, c.most, 8))
			if len(on) != c.hosts || without != c.without {
				t.Errorf("servers by host %v, %d without; want %d hosts and %d without", on, without, c.hosts, c.without)
			}
			for host, n := range on {
				if c.policy == scheduler.AntiAffinity && n > max(1, c.most) {
					t.Errorf("%d servers on %s", n, host)
				}
			}
			computetest.CheckSums(t, w.db)
		})
	}
}

// What the other rules ask of hosts comes from their rows: aggregates, traits,
// where other servers are.
func TestHintsAndAggregates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := computetest.AddHost(t, w.db, "a", computetest.Room)
	b := computetest.AddHost(t, w.db, "b", compute.Report{VCPUs: computetest.Room.VCPUs, MemoryMB: computetest.Room.MemoryMB, DiskGB: computetest.Room.DiskGB,
		Inventory: []byte(`{"details": {"hypervisor_type": "QEMU", "traits": ["CUSTOM_FAST"], "supported_instances": [["x86_64", "qemu", "hvm"]], "cpu": {"arch": "x86_64"}}}`)})
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		aggregate, err := compute.CreateAggregate(t.Context(), tx, "ssd", "")
		if err != nil {
			return err
		}
		yes := "true"
		if err := compute.SetAggregateMetadata(t.Context(), tx, aggregate, map[string]*string{"ssd": &yes}, "update"); err != nil {
			return err
		}
		return compute.AddToAggregate(t.Context(), tx, aggregate, &compute.Host{ID: a, Name: "a"})
	})
	first, f := w.building(func(s *compute.Server) { s.Placement.Host = "a" })
	w.mustClaim(f, 1)
	for _, c := range []struct {
		name   string
		change func(*compute.Server)
		host   string
	}{
		{"the same host", func(s *compute.Server) { s.Placement.Hints = map[string]any{"same_host": first.ID} }, a},
		{"another host", func(s *compute.Server) { s.Placement.Hints = map[string]any{"different_host": []any{first.ID}} }, b},
		{"an aggregate", func(s *compute.Server) {
			s.Flavor.ExtraSpecs = map[string]string{"aggregate_instance_extra_specs:ssd": "true"}
		}, a},
		{"a trait", func(s *compute.Server) { s.Flavor.ExtraSpecs = map[string]string{"trait:CUSTOM_FAST": "required"} }, b},
		{"no such trait", func(s *compute.Server) { s.Flavor.ExtraSpecs = map[string]string{"trait:CUSTOM_SLOW": "required"} }, ""},
		{"an architecture", func(s *compute.Server) { s.ImageProperties = map[string]string{"hw_architecture": "x86_64"} }, b},
		{"a capability", func(s *compute.Server) { s.Flavor.ExtraSpecs = map[string]string{"capabilities:cpu:arch": "x86_64"} }, b},
		{"a query", func(s *compute.Server) {
			s.Placement.Hints = map[string]any{"query": `["=", "$hypervisor_type", "QEMU"]`}
		}, b},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, f := w.building(c.change)
			if c.host == "" {
				wantNoValidHost(t, w, f, 1)
			} else if got := w.mustClaim(f, 1); got.HostID != c.host {
				t.Errorf("claimed on %s", got.HostName)
			}
		})
	}
}
