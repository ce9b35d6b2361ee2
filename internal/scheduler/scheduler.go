package scheduler

// The choice: filter, weigh, and a draw among the best few.

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Host is one host as the snapshot has it. CPUs, MiB, GiB.
type Host struct {
	ID, Name         string
	AvailabilityZone string
	// Up: its heartbeats come in and nobody declared it down.
	Up       bool
	Disabled bool

	VCPUs, Memory, Disk Capacity
	// Servers is how many have room here.
	Servers int
}

// Capacity is how much there is of one resource and how much is promised.
type Capacity struct {
	Total, Reserved, Used int64
	// Ratio is how often what isn't reserved may be promised.
	Ratio float64
}

// Fits says whether n more can be promised: together with what is used within
// (total - reserved) x ratio, and alone no more than the total. It is the check
// of store/compute.ClaimOnHost.
func (c Capacity) Fits(n int64) bool {
	return n <= c.Total && float64(c.Used+n) <= float64(c.Total-c.Reserved)*c.Ratio
}

// Free is what can still be promised.
func (c Capacity) Free() float64 { return float64(c.Total-c.Reserved)*c.Ratio - float64(c.Used) }

// Request is what is looked for. CPUs, MiB, GiB.
type Request struct {
	VCPUs, MemoryMB, DiskGB int64
	// Host is the name or id of the one host that is wanted; empty is any.
	Host string
	// AvailabilityZone is the zone that is wanted; empty is any.
	AvailabilityZone string
	// Exclude are ids of hosts that are not wanted.
	Exclude []string
}

// Scheduler is a set of rules. Its zero value lets every host pass and prefers none.
type Scheduler struct {
	Filters  []Filter
	Weighers []Weigher
	// Few is among how many of the best the choice is drawn, so that requests
	// which see the same snapshot don't all want the same host (Nova:
	// host_subset_size). Below 2 the best comes first.
	Few int
}

// Default has every filter and weigher of this release.
func Default() *Scheduler { return &Scheduler{Filters: Filters, Weighers: Weighers, Few: 3} }

// Verdict is the answer to a request.
type Verdict struct {
	// Candidates can take the request, in the order in which to try them.
	Candidates []*Host
	// Rejected counts the other hosts by the filter that turned them down.
	Rejected map[string]int
}

// Choose proposes hosts for the request. Seed draws among the best few; the
// same seed draws the same. The candidates point into hosts.
func (s *Scheduler) Choose(hosts []Host, r Request, seed uint64) Verdict {
	v := Verdict{Rejected: map[string]int{}}
	for i := range hosts {
		if name, ok := s.rejects(&r, &hosts[i]); ok {
			v.Rejected[name]++
		} else {
			v.Candidates = append(v.Candidates, &hosts[i])
		}
	}
	s.order(v.Candidates, &r)
	few := v.Candidates[:max(0, min(s.Few, len(v.Candidates)))]
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(few), func(i, j int) { few[i], few[j] = few[j], few[i] })
	return v
}

// rejects names the first filter that the host doesn't pass.
func (s *Scheduler) rejects(r *Request, h *Host) (filter string, rejected bool) {
	for _, f := range s.Filters {
		if !f.Pass(r, h) {
			return f.Name, true
		}
	}
	return "", false
}

// order sorts the heaviest first; equal ones by id, so that the order is one.
func (s *Scheduler) order(hosts []*Host, r *Request) {
	weights := make(map[*Host]float64, len(hosts))
	for _, w := range s.Weighers {
		for i, x := range normalize(w, r, hosts) {
			weights[hosts[i]] += w.Multiplier * x
		}
	}
	slices.SortFunc(hosts, func(a, b *Host) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(a.ID, b.ID))
	})
}

// normalize stretches what a weigher says of the hosts to 0 … 1, so that
// multipliers compare weighers of any unit.
func normalize(w Weigher, r *Request, hosts []*Host) []float64 {
	raw := make([]float64, len(hosts))
	for i, h := range hosts {
		raw[i] = w.Weigh(r, h)
	}
	if len(raw) == 0 {
		return raw
	}
	low, high := slices.Min(raw), slices.Max(raw)
	for i := range raw {
		if high > low {
			raw[i] = (raw[i] - low) / (high - low)
		} else {
			raw[i] = 0
		}
	}
	return raw
}
