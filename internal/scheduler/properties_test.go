package scheduler

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/provider"
)

// cloud draws hosts and requests that meet every kind of rule.
func cloud(t *rapid.T) ([]Host, Request) {
	var hosts []Host
	for i := range rapid.IntRange(1, 10).Draw(t, "hosts") {
		h := aHost(t, i)
		h.Aggregates = Merge(rapid.MapOfN(
			rapid.SampledFrom([]string{"ssd", "filter_tenant_id", "instance_type", "os_distro", "max_instances_per_host", "ram_weight_multiplier"}),
			rapid.SampledFrom([]string{"true", "p1", "m1", "debian", "2", "-1"}), 0, 2).Draw(t, "aggregate"))
		h.Traits = map[string]bool{"A": rapid.Bool().Draw(t, "A"), "B": rapid.Bool().Draw(t, "B")}
		h.Servers = rapid.IntRange(0, 3).Draw(t, "servers")
		h.Resources = map[string]provider.Inventory{"CUSTOM_GOLD": {Total: rapid.Int64Range(1, 8).Draw(t, "gold"), Ratio: 1,
			MinUnit: 1, MaxUnit: 4, StepSize: rapid.Int64Range(1, 2).Draw(t, "steps of gold")}}
		h.ResourcesUsed = map[string]int64{}
		h.FailedBuilds = rapid.IntRange(0, 3).Draw(t, "failed builds")
		hosts = append(hosts, h)
	}
	r := aRequest(t, hosts)
	r.ProjectID, r.Flavor = "p1", "m1"
	r.Group = aGroup(t, hosts)
	specs := rapid.MapOfN(rapid.SampledFrom([]string{"aggregate_instance_extra_specs:ssd", "capabilities:num_instances"}),
		rapid.SampledFrom([]string{"true", "<= 2"}), 0, 2).Draw(t, "specs")
	if n := rapid.IntRange(0, 4).Draw(t, "gold wanted"); n > 0 {
		specs["resources:CUSTOM_GOLD"] = fmt.Sprint(n)
	}
	for _, trait := range []string{"trait:A", "trait:B"} {
		if v := rapid.SampledFrom([]string{"", "", "required", "forbidden"}).Draw(t, trait); v != "" {
			specs[trait] = v
		}
	}
	if err := r.Apply(specs, map[string]string{"os_distro": rapid.SampledFrom([]string{"", "debian", "fedora"}).Draw(t, "distro")}); err != nil {
		t.Fatal(err)
	}
	return hosts, r
}

func aGroup(t *rapid.T, hosts []Host) *Group {
	g := &Group{
		Policy:            rapid.SampledFrom([]Policy{Affinity, AntiAffinity, SoftAffinity, SoftAntiAffinity}).Draw(t, "policy"),
		MaxServersPerHost: rapid.IntRange(0, 3).Draw(t, "max servers"),
		Members:           map[string]int{},
	}
	for _, h := range hosts {
		if n := rapid.IntRange(-2, 2).Draw(t, "members"); n > 0 {
			g.Members[h.ID] = n
		}
	}
	return g
}

// Without one of its filters the scheduler proposes the same hosts and perhaps
// more, never fewer.
func TestAFilterLessOnlyWidens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts, r := cloud(t)
		seed := rapid.Uint64().Draw(t, "seed")
		all := Default()
		with := ids(all.Choose(hosts, r, seed))
		i := rapid.IntRange(0, len(all.Filters)-1).Draw(t, "filter")
		fewer := *all
		fewer.Filters = slices.Delete(slices.Clone(all.Filters), i, i+1)
		without := ids(fewer.Choose(hosts, r, seed))
		for _, id := range with {
			if !slices.Contains(without, id) {
				t.Fatalf("%s is no candidate without %s: %v, then %v", id, all.Filters[i].Name, with, without)
			}
		}
	})
}

// Servers placed one after the other, each where the scheduler says, keep to
// their group's policy and to what the hosts have of what they ask for: a host that
// had promised too much of something else may take them.
func TestGroupsAndCapacityHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts, r := cloud(t)
		g := r.Group
		clear(g.Members)
		r.VCPUs = max(1, r.VCPUs)
		for range rapid.IntRange(1, 12).Draw(t, "servers") {
			v := Default().Choose(hosts, r, rapid.Uint64().Draw(t, "seed"))
			if len(v.Candidates) == 0 {
				break
			}
			chosen := v.Candidates[0]
			chosen.VCPUs.Used += r.VCPUs
			chosen.Memory.Used += r.MemoryMB
			chosen.Disk.Used += r.DiskGB
			for class, n := range r.Requirements.Resources {
				chosen.ResourcesUsed[class] += n
			}
			g.Members[chosen.ID]++
		}
		if g.Policy == Affinity && len(g.Members) > 1 {
			t.Fatalf("affinity, but on %v", g.Members)
		}
		for _, h := range hosts {
			n := g.Members[h.ID]
			if g.Policy == AntiAffinity && n > max(1, g.MaxServersPerHost) {
				t.Fatalf("anti-affinity of %d, but %d on %s", g.MaxServersPerHost, n, h.ID)
			}
			over := func(c Capacity, asked int64) bool { return asked > 0 && c.Free() < 0 }
			if n > 0 && (over(h.VCPUs, r.VCPUs) || over(h.Memory, r.MemoryMB) || over(h.Disk, r.DiskGB) || h.ResourcesUsed["CUSTOM_GOLD"] > h.Resources["CUSTOM_GOLD"].Total) {
				t.Fatalf("more is promised than there is: %+v", h)
			}
		}
	})
}

// Hosts that are alike get the same number of servers if the best is taken, and
// nearly the same if it is drawn among the best few.
func TestEqualHostsSpread(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "hosts")
		var hosts []Host
		for i := range n {
			hosts = append(hosts, Host{ID: fmt.Sprintf("id-%02d", i), Up: true,
				VCPUs:  Capacity{Total: 1000, Ratio: 1},
				Memory: Capacity{Total: 1000, Ratio: 1},
				Disk:   Capacity{Total: 1000, Ratio: 1}})
		}
		rounds := rapid.IntRange(1, 6).Draw(t, "rounds")
		placed := map[string]int{}
		s, slack := Default(), 3
		if rapid.Bool().Draw(t, "the best") {
			s.Few, slack = 1, 0
		}
		for i := range n * rounds {
			h := s.Choose(hosts, Request{VCPUs: 1, MemoryMB: 1, DiskGB: 1}, uint64(i)).Candidates[0]
			h.VCPUs.Used, h.Memory.Used, h.Disk.Used = h.VCPUs.Used+1, h.Memory.Used+1, h.Disk.Used+1
			placed[h.ID]++
		}
		for _, h := range hosts {
			if d := placed[h.ID] - rounds; d < -slack || d > slack {
				t.Fatalf("%d servers on %d equal hosts: %v", n*rounds, n, placed)
			}
		}
	})
}

// A host that an aggregate's multiplier makes unwelcome comes last, whatever
// the others' weights.
func TestAnAggregateHasItsOwnMultiplier(t *testing.T) {
	t.Parallel()
	s := Default()
	s.Few = 1
	hosts := roomy(3)
	hosts[0].Aggregates = Merge(map[string]string{"ram_weight_multiplier": "-5"}, map[string]string{"ram_weight_multiplier": "2"})
	if got := fmt.Sprint(ids(s.Choose(hosts, Request{}, 1))); got != "[id-01 id-02 id-00]" {
		t.Errorf("order %s", got)
	}
}

// Devices are kept for those who ask for them, and of hosts that have some the one with
// the fewest is used up first.
func TestDevicesAreSpared(t *testing.T) {
	t.Parallel()
	s := Default()
	s.Few = 1
	hosts := roomy(3)
	for i := range hosts {
		hosts[i].Memory.Used = 0
	}
	hosts[0].Parts.Devices = make([]pci.Device, 3)
	hosts[1].Parts.Devices = make([]pci.Device, 3)
	hosts[1].DevicesTaken = pci.Taken{"0000:01:00.0": true}
	if got := fmt.Sprint(ids(s.Choose(hosts, Request{}, 1))); got != "[id-02 id-01 id-00]" {
		t.Errorf("order %s", got)
	}
}

// The soft policies prefer, and with everything else equal that decides.
func TestSoftPoliciesPrefer(t *testing.T) {
	t.Parallel()
	s := Default()
	s.Few = 1
	for policy, want := range map[Policy]string{SoftAffinity: "[id-01 id-00 id-02]", SoftAntiAffinity: "[id-02 id-00 id-01]"} {
		hosts := roomy(3)
		for i := range hosts {
			hosts[i].Memory.Used = 0
		}
		g := &Group{Policy: policy, Members: map[string]int{"id-00": 1, "id-01": 2}}
		if got := fmt.Sprint(ids(s.Choose(hosts, Request{Group: g}, 1))); got != want {
			t.Errorf("%s: %s, want %s", policy, got, want)
		}
	}
}
