package scheduler

// The choice: filter, weigh, and a draw among the best few.

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

// Scheduler is a set of rules. Its zero value lets every host pass and prefers none.
type Scheduler struct {
	Filters  []Filter
	Weighers []Weigher
	// Few is among how many of the best the choice is drawn, so that requests
	// which see the same snapshot don't all want the same host (Nova:
	// host_subset_size). The worse half is never drawn from, so that few hosts
	// are filled evenly too. Below 2 the best comes first.
	Few int
}

// Default has every filter and weigher of this release.
func Default() *Scheduler { return &Scheduler{Filters: Filters, Weighers: Weighers, Few: 3} }

// New is Default with what a configuration says of weighers: multipliers by their
// keys, and how much each property of an image weighs, both as name=number.
func New(multipliers, imageProperties []string) (*Scheduler, error) {
	s := Default()
	s.Weighers = slices.Clone(s.Weighers)
	own, err := settings("compute.weight_multipliers", multipliers)
	if err != nil {
		return nil, err
	}
	properties, err := settings("compute.image_props_weight_setting", imageProperties)
	if err != nil {
		return nil, err
	}
	for i := range s.Weighers {
		w := &s.Weighers[i]
		if m, ok := own[w.Key]; ok {
			w.Multiplier = m
			delete(own, w.Key)
		}
		if w.Key == imageKey {
			w.Weigh = commonImage(properties)
		}
	}
	for key := range own {
		return nil, faults.New(faults.Invalid, "InvalidConfiguration", "compute.weight_multipliers: no weigher has a multiplier %s", key)
	}
	return s, nil
}

// settings reads the entries name=number of a key of the configuration.
func settings(key string, entries []string) (map[string]float64, error) {
	all := map[string]float64{}
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		name = strings.TrimSpace(name)
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if _, twice := all[name]; name == "" || twice || err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, faults.New(faults.Invalid, "InvalidConfiguration", "%s: %q is no name=number, or another entry has its name", key, entry)
		}
		all[name] = n
	}
	return all, nil
}

// Verdict is the answer to a request.
type Verdict struct {
	// Candidates can take the request; the first 16 (ranked) are in the order in
	// which to try them, and before all others.
	Candidates []*Host
	// Rejected counts the other hosts by the filter that turned them down.
	Rejected map[string]int
}

// Choose proposes hosts for the request. Seed draws among the best few; the
// same seed draws the same. The candidates point into hosts.
func (s *Scheduler) Choose(hosts []Host, r Request, seed uint64) Verdict {
	v := Verdict{Candidates: make([]*Host, 0, len(hosts)), Rejected: map[string]int{}}
	rules := s.rules(&r)
	for i := range hosts {
		if broken := slices.IndexFunc(rules, func(f rule) bool { return !f.pass(&hosts[i]) }); broken >= 0 {
			v.Rejected[rules[broken].name]++
		} else {
			v.Candidates = append(v.Candidates, &hosts[i])
		}
	}
	s.order(v.Candidates, &r)
	few := v.Candidates[:max(0, min(s.Few, (len(v.Candidates)+1)/2))]
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(few), func(i, j int) { few[i], few[j] = few[j], few[i] })
	return v
}

// rule is a filter for one request.
type rule struct {
	name string
	pass func(*Host) bool
}

// rules are those of the request, without the filters of which it asks nothing.
func (s *Scheduler) rules(r *Request) (all []rule) {
	for _, f := range s.Filters {
		if pass := f.Pass(r); pass != nil {
			all = append(all, rule{f.Name, pass})
		}
	}
	return all
}

// ranked is how many candidates are brought into order: who needs more than that
// asks again.
const ranked = 16

// weighed is a candidate and what the weighers give it.
type weighed struct {
	host   *Host
	weight float64
}

// compare puts the heaviest first; equal ones by id, so that the order is one.
func (w weighed) compare(other weighed) int {
	if by := cmp.Compare(other.weight, w.weight); by != 0 {
		return by
	}
	return strings.Compare(w.host.ID, other.host.ID)
}

// before is compare of those that are rarely equal.
func (w *weighed) before(other *weighed) bool {
	return w.weight > other.weight || w.weight == other.weight && w.host.ID < other.host.ID
}

// scale is a weigher for one request.
type scale struct {
	*Weigher
	weigh func(*Host) float64
	span  span
}

// scales are those of the request, without the weighers to which every host weighs
// the same.
func (s *Scheduler) scales(hosts []*Host, r *Request) (all []scale) {
	for i := range s.Weighers {
		w := &s.Weighers[i]
		if weigh := w.Weigh(r); weigh != nil {
			all = append(all, scale{w, weigh, newSpan(w.Share)})
		}
	}
	for _, h := range hosts {
		for i := range all {
			all[i].span.take(all[i].weigh(h))
		}
	}
	return slices.DeleteFunc(all, func(s scale) bool { return !s.span.matters() })
}

// order brings the heaviest to the front.
func (s *Scheduler) order(hosts []*Host, r *Request) {
	scales := s.scales(hosts, r)
	all := make([]weighed, len(hosts))
	for k, h := range hosts {
		all[k].host = h
		for i := range scales {
			all[k].weight += h.multiplier(scales[i].Weigher) * scales[i].span.share(scales[i].weigh(h))
		}
	}
	rank(all, min(len(all), max(ranked, s.Few)))
	for i := range all {
		hosts[i] = all[i].host
	}
}

// rank brings the first n to the front, in order: sorting ten thousand takes
// longer than all the rest of a choice.
func rank(all []weighed, n int) {
	slices.SortFunc(all[:n], weighed.compare)
	for i := n; i < len(all); i++ {
		for from, to := i, n-1; to >= 0 && all[from].before(&all[to]); from, to = to, to-1 {
			all[from], all[to] = all[to], all[from]
		}
	}
}

// span is what a weigher gives, from the lightest to the heaviest, of which shares
// are counted.
type span struct {
	low, high float64
	counts    Share
}

func newSpan(counts Share) span {
	s := span{low: math.Inf(1), high: math.Inf(-1), counts: counts}
	if counts == FromZero {
		s.low = 0
	}
	return s
}

func (s *span) take(weight float64) {
	if weight < s.low && s.counts != FromZero {
		s.low = weight
	}
	if weight > s.high {
		s.high = weight
	}
}

// matters says that the weights come to something for anybody.
func (s *span) matters() bool { return s.high > s.low }

// share is what of a weight counts.
func (s *span) share(weight float64) float64 {
	share := max(0, weight-s.low) / (s.high - s.low)
	if s.counts == Against {
		return -share
	}
	return share
}
