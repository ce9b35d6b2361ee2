package scheduler

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// aHost draws a host in any condition, small numbers so that limits are met.
func aHost(t *rapid.T, i int) Host {
	capacity := func(name string) Capacity {
		c := Capacity{
			Total:    rapid.Int64Range(0, 32).Draw(t, name+" total"),
			Reserved: rapid.Int64Range(0, 4).Draw(t, name+" reserved"),
			Ratio:    rapid.SampledFrom([]float64{0.5, 1, 1.5, 4}).Draw(t, name+" ratio"),
		}
		c.Used = rapid.Int64Range(0, 40).Draw(t, name+" used")
		return c
	}
	return Host{
		ID: fmt.Sprintf("id-%02d", i), Name: fmt.Sprintf("host-%02d", i),
		AvailabilityZone: rapid.SampledFrom([]string{"nova", "east"}).Draw(t, "zone"),
		Up:               rapid.Bool().Draw(t, "up"),
		Disabled:         rapid.Bool().Draw(t, "disabled"),
		VCPUs:            capacity("vcpus"), Memory: capacity("memory"), Disk: capacity("disk"),
	}
}

func aRequest(t *rapid.T, hosts []Host) Request {
	names, ids := []string{"", "", "host-99"}, []string{"id-99"}
	for _, h := range hosts {
		names, ids = append(names, h.Name, h.ID), append(ids, h.ID)
	}
	return Request{
		VCPUs:            rapid.Int64Range(0, 8).Draw(t, "vcpus"),
		MemoryMB:         rapid.Int64Range(0, 8).Draw(t, "memory"),
		DiskGB:           rapid.Int64Range(0, 8).Draw(t, "disk"),
		Host:             rapid.SampledFrom(names).Draw(t, "host"),
		AvailabilityZone: rapid.SampledFrom([]string{"", "", "nova", "east", "west"}).Draw(t, "zone"),
		Exclude:          rapid.SliceOfN(rapid.SampledFrom(ids), 0, 3).Draw(t, "exclude"),
	}
}

// takes is the rule said a second time, in the words of the promise.
func takes(h Host, r Request) bool {
	room := func(c Capacity, n int64) bool {
		return n == 0 || n <= c.Total && float64(c.Used)+float64(n) <= c.Ratio*float64(c.Total-c.Reserved)
	}
	return h.Up && !h.Disabled && !slices.Contains(r.Exclude, h.ID) &&
		(r.Host == "" || r.Host == h.Name || r.Host == h.ID) &&
		(r.AvailabilityZone == "" || r.AvailabilityZone == h.AvailabilityZone) &&
		room(h.VCPUs, r.VCPUs) && room(h.Memory, r.MemoryMB) && room(h.Disk, r.DiskGB)
}

// Every candidate can take the request, every host that can is a candidate
// once, and what isn't a candidate is counted as rejected.
func TestCandidatesAreExactlyTheHostsThatCan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var hosts []Host
		for i := range rapid.IntRange(0, 12).Draw(t, "hosts") {
			hosts = append(hosts, aHost(t, i))
		}
		r := aRequest(t, hosts)
		v := Default().Choose(hosts, r, rapid.Uint64().Draw(t, "seed"))

		var got, want []string
		for _, h := range v.Candidates {
			got = append(got, h.ID)
		}
		for _, h := range hosts {
			if takes(h, r) {
				want = append(want, h.ID)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("candidates %v, want %v", got, want)
		}
		rejected := 0
		for _, n := range v.Rejected {
			rejected += n
		}
		if rejected+len(got) != len(hosts) {
			t.Fatalf("%d rejected and %d candidates of %d hosts", rejected, len(got), len(hosts))
		}
	})
}

// The same snapshot, request and seed give the same order, whatever the order
// of the snapshot.
func TestTheChoiceIsAFunctionOfItsInput(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var hosts []Host
		for i := range rapid.IntRange(0, 8).Draw(t, "hosts") {
			hosts = append(hosts, aHost(t, i))
		}
		r, seed := aRequest(t, hosts), rapid.Uint64().Draw(t, "seed")
		first := ids(Default().Choose(hosts, r, seed))
		shuffled := rapid.Permutation(hosts).Draw(t, "shuffled")
		if again := ids(Default().Choose(shuffled, r, seed)); !slices.Equal(first, again) {
			t.Fatalf("%v, then %v", first, again)
		}
	})
}

func ids(v Verdict) []string {
	all := []string{}
	for _, h := range v.Candidates {
		all = append(all, h.ID)
	}
	return all
}

// roomy makes n hosts that differ only by free memory: host i has i GiB used.
func roomy(n int) []Host {
	hosts := make([]Host, n)
	for i := range hosts {
		hosts[i] = Host{ID: fmt.Sprintf("id-%02d", i), Up: true,
			VCPUs:  Capacity{Total: 64, Ratio: 1},
			Memory: Capacity{Total: 1 << 20, Ratio: 1, Used: int64(i) << 10},
			Disk:   Capacity{Total: 1000, Ratio: 1}}
	}
	return hosts
}

func TestFreeMemoryDecides(t *testing.T) {
	t.Parallel()
	s := Default()
	s.Few = 1
	if got, want := ids(s.Choose(roomy(4), Request{}, 7)), []string{"id-00", "id-01", "id-02", "id-03"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	s.Weighers = []Weigher{{Name: "RAMWeigher", Multiplier: -1, Weigh: Weighers[0].Weigh}}
	if got, want := ids(s.Choose(roomy(4), Request{}, 7)), []string{"id-03", "id-02", "id-01", "id-00"}; !slices.Equal(got, want) {
		t.Errorf("order with a negative multiplier %v, want %v", got, want)
	}
}

// Among many candidates the first are those that a sort would bring to the front.
func TestTheFirstAreRanked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := make([]weighed, rapid.IntRange(0, 60).Draw(t, "candidates"))
		for i := range all {
			all[i] = weighed{&Host{ID: fmt.Sprintf("id-%02d", i)}, float64(rapid.IntRange(0, 9).Draw(t, "weight"))}
		}
		all = rapid.Permutation(all).Draw(t, "order")
		want := slices.Clone(all)
		slices.SortFunc(want, weighed.compare)
		n := rapid.IntRange(0, len(all)).Draw(t, "ranked")
		rank(all, n)
		if !slices.Equal(all[:n], want[:n]) {
			t.Fatalf("%v, want %v", all[:n], want[:n])
		}
		slices.SortFunc(all, weighed.compare)
		if !slices.Equal(all, want) {
			t.Fatal("a candidate is lost")
		}
	})
}

// Over many seeds each of the best few comes first about as often, and no other.
func TestTheFirstIsDrawnAmongTheBestFew(t *testing.T) {
	t.Parallel()
	first := map[string]int{}
	for seed := range uint64(3000) {
		v := Default().Choose(roomy(6), Request{}, seed)
		first[v.Candidates[0].ID]++
		if v.Candidates[3].ID != "id-03" || len(v.Candidates) != 6 {
			t.Fatalf("the rest is not in order: %v", ids(v))
		}
	}
	for _, id := range []string{"id-00", "id-01", "id-02"} {
		if first[id] < 800 {
			t.Errorf("%s came first %d times of 3000", id, first[id])
		}
	}
	if len(first) != 3 {
		t.Errorf("hosts that came first: %v", first)
	}
}

func TestRejectionsAreCountedByFilter(t *testing.T) {
	t.Parallel()
	hosts := roomy(5)
	hosts[0].Disabled = true
	hosts[1].Up = false
	hosts[2].AvailabilityZone = "east"
	hosts[3].VCPUs.Used = 64
	v := Default().Choose(hosts, Request{VCPUs: 1, AvailabilityZone: "", Exclude: []string{"id-04"}}, 0)
	want := map[string]int{"ComputeFilter": 2, "CapacityFilter": 1, "IgnoreHostsFilter": 1}
	if fmt.Sprint(v.Rejected) != fmt.Sprint(want) || fmt.Sprint(ids(v)) != "[id-02]" {
		t.Errorf("rejected %v, candidates %v", v.Rejected, ids(v))
	}
}

// All can take the request, as in a cloud that has room.
func BenchmarkChooseAmong10000Hosts(b *testing.B) {
	hosts := roomy(10000)
	for i := range hosts {
		hosts[i].Memory.Used = int64(i%7) << 10
		hosts[i].Guests, hosts[i].HypervisorVersion = []Guest{{"x86_64", "kvm", "hvm"}}, 9002000
	}
	r := Request{VCPUs: 1, MemoryMB: 512, DiskGB: 1, Image: map[string]string{"hw_architecture": "x86_64"}}
	for seed := range uint64(b.N) {
		Default().Choose(hosts, r, seed)
	}
}
