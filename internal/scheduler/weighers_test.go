package scheduler

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pci"
)

// alike makes n hosts that no weigher tells apart.
func alike(n int) []Host {
	hosts := roomy(n)
	for i := range hosts {
		hosts[i].Memory.Used = 0
	}
	return hosts
}

// Each weigher alone says which of two hosts is tried first, and an aggregate's
// multiplier of the other sign turns that round.
func TestEveryWeigher(t *testing.T) {
	t.Parallel()
	ubuntu, fedora := &Image{map[string]string{"os_distro": "ubuntu", "owner": "me"}}, &Image{map[string]string{"os_distro": "fedora", "owner": "me"}}
	group := func(p Policy) *Group { return &Group{Policy: p, Members: map[string]int{"id-00": 1, "id-01": 2}} }
	cases := map[string]struct {
		change  func(first, second *Host)
		request Request
		want    string
		// opposite is the multiplier that turns it round.
		opposite string
	}{
		"RAMWeigher":                         {change: func(a, _ *Host) { a.Memory.Used = 1 }, want: "id-01", opposite: "-1"},
		"CPUWeigher":                         {change: func(a, _ *Host) { a.VCPUs.Used = 1 }, want: "id-01", opposite: "-1"},
		"DiskWeigher":                        {change: func(a, _ *Host) { a.Disk.Used = 1 }, want: "id-01", opposite: "-1"},
		"IoOpsWeigher":                       {change: func(a, _ *Host) { a.Building = 1 }, want: "id-01", opposite: "1"},
		"NumInstancesWeigher":                {change: func(_, b *Host) { b.Servers = 1 }, want: "id-00", opposite: "1"},
		"PCIWeigher":                         {change: func(a, _ *Host) { a.Parts.Devices = make([]pci.Device, 1) }, want: "id-01", opposite: "-1"},
		"HypervisorVersionWeigher":           {change: func(_, b *Host) { b.HypervisorVersion = 9002000 }, want: "id-01", opposite: "-1"},
		"ServerGroupSoftAffinityWeigher":     {request: Request{Group: group(SoftAffinity)}, want: "id-01", opposite: "-1"},
		"ServerGroupSoftAntiAffinityWeigher": {request: Request{Group: group(SoftAntiAffinity)}, want: "id-00", opposite: "-1"},
		"BuildFailureWeigher":                {change: func(a, _ *Host) { a.FailedBuilds = 1 }, want: "id-01", opposite: "-1"},
		"ImagePropertiesWeigher": {change: func(a, b *Host) {
			a.Images, b.Images = map[*Image]int{fedora: 3}, map[*Image]int{ubuntu: 1, fedora: 1}
		}, request: Request{Image: map[string]string{"os_distro": "ubuntu", "owner": "me"}}, want: "id-00", opposite: "1"},
	}
	for _, w := range Weighers {
		c, ok := cases[w.Name]
		if !ok {
			t.Errorf("%s isn't tried", w.Name)
			continue
		}
		delete(cases, w.Name)
		order := func(aggregate map[string]string) string {
			hosts := alike(2)
			for i := range hosts {
				hosts[i].Aggregates = Merge(aggregate)
			}
			if c.change != nil {
				c.change(&hosts[0], &hosts[1])
			}
			return ids((&Scheduler{Weighers: []Weigher{w}}).Choose(hosts, c.request, 0))[0]
		}
		other := map[string]string{"id-00": "id-01", "id-01": "id-00"}[c.want]
		if got := order(nil); got != c.want {
			t.Errorf("%s puts %s first, want %s", w.Name, got, c.want)
		}
		if got := order(map[string]string{w.Key: c.opposite}); got != other {
			t.Errorf("%s with an aggregate's %s = %s puts %s first, want %s", w.Name, w.Key, c.opposite, got, other)
		}
	}
	for name := range cases {
		t.Errorf("there is no %s", name)
	}
}

// Failed builds weigh more than all the rest together, in steps; a host whose
// aggregate has a multiplier of 0 is as good as one that failed none.
func TestFailedBuildsWeighMost(t *testing.T) {
	t.Parallel()
	s := Default()
	s.Few = 1
	hosts := roomy(4)
	for i, failed := range []int{2, 1, 0, 5} {
		hosts[i].FailedBuilds = failed
	}
	if got := fmt.Sprint(ids(s.Choose(hosts, Request{}, 1))); got != "[id-02 id-01 id-00 id-03]" {
		t.Errorf("order %s", got)
	}
	hosts[0].Aggregates = Merge(map[string]string{"build_failure_weight_multiplier": "0"})
	if got := fmt.Sprint(ids(s.Choose(hosts, Request{}, 1))); got != "[id-00 id-02 id-01 id-03]" {
		t.Errorf("order with an aggregate that forgives %s", got)
	}
}

// Of images' properties those weigh that ratios name, each as often as it is there;
// without ratios all that say something of guests.
func TestCommonImages(t *testing.T) {
	t.Parallel()
	one := &Image{map[string]string{"os_distro": "debian", "hw_machine_type": "q35", "owner": "me"}}
	two := &Image{map[string]string{"os_distro": "debian", "hw_machine_type": "pc"}}
	h := &Host{Images: map[*Image]int{one: 2, two: 3}}
	r := &Request{Image: map[string]string{"os_distro": "debian", "hw_machine_type": "q35", "owner": "me"}}
	for _, c := range []struct {
		ratios map[string]float64
		want   float64
	}{
		{nil, 5 + 2},
		{map[string]float64{"os_distro": 1, "hw_machine_type": -1}, 5 - 2},
		{map[string]float64{"owner": 10, "hw_machine_type": 0}, 20},
	} {
		for range 2 { // what is remembered of the first time is the same
			if got := commonImage(c.ratios)(r)(h); got != c.want {
				t.Errorf("ratios %v: %v, want %v", c.ratios, got, c.want)
			}
		}
	}
	for name, none := range map[string]struct {
		ratios map[string]float64
		image  map[string]string
	}{
		"no image":            {nil, nil},
		"nothing of guests":   {nil, map[string]string{"owner": "me"}},
		"nothing with ratios": {map[string]float64{"os_type": 1}, r.Image},
	} {
		if commonImage(none.ratios)(&Request{Image: none.image}) != nil {
			t.Errorf("%s: hosts are weighed", name)
		}
	}
}

func TestWhoCountsImages(t *testing.T) {
	t.Parallel()
	on := func(metadata map[string]string) map[string][]map[string]string {
		return map[string][]map[string]string{"id-00": {{"ssd": "true"}, metadata}}
	}
	s, err := New([]string{"image_props_weight_multiplier=-1"}, nil)
	if err != nil || !s.CountsImages(nil) {
		t.Errorf("with a multiplier of its own: not (%v)", err)
	}
	if Default().CountsImages(on(map[string]string{"ram_weight_multiplier": "1"})) {
		t.Error("without a multiplier: counted")
	}
	if !Default().CountsImages(on(map[string]string{"image_props_weight_multiplier": "1"})) {
		t.Error("with an aggregate's: not")
	}
}

func TestMultipliersOfTheConfiguration(t *testing.T) {
	t.Parallel()
	s, err := New([]string{"ram_weight_multiplier=-2", " cpu_weight_multiplier = 0.5"}, []string{"os_distro=1"})
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range s.Weighers {
		want := Weighers[i].Multiplier
		switch w.Name {
		case "RAMWeigher":
			want = -2
		case "CPUWeigher":
			want = 0.5
		}
		if w.Multiplier != want {
			t.Errorf("%s has %v, want %v", w.Name, w.Multiplier, want)
		}
	}
	for _, wrong := range []struct{ multipliers, images []string }{
		{[]string{"ram_weight_multiplier"}, nil},
		{[]string{"ram_weight_multiplier=x"}, nil},
		{[]string{"ram_weight_multiplier=NaN"}, nil},
		{[]string{"=1"}, nil},
		{[]string{"metrics_weight_multiplier=1"}, nil},
		{[]string{"ram_weight_multiplier=1", "ram_weight_multiplier=2"}, nil},
		{nil, []string{"os_distro"}},
		{nil, []string{"os_distro=+Inf"}},
	} {
		if _, err := New(wrong.multipliers, wrong.images); !faults.Is(err, faults.Invalid) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

// Whatever the multipliers, weighers only order: no host is a candidate by them, and
// none is lost.
func TestAMultiplierNeverWidens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts, r := cloud(t)
		seed := rapid.Uint64().Draw(t, "seed")
		want := ids((&Scheduler{Filters: Filters}).Choose(hosts, r, seed))
		s := Default()
		s.Weighers = slices.Clone(s.Weighers)
		for i := range s.Weighers {
			s.Weighers[i].Multiplier = rapid.SampledFrom([]float64{-1e6, -1, 0, 1, 1e6}).Draw(t, s.Weighers[i].Key)
		}
		got := ids(s.Choose(hosts, r, seed))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("candidates %v, without weighers %v", got, want)
		}
	})
}

// However servers are spread otherwise, hosts that failed fewer builds come before
// those that failed more.
func TestFailedBuildsSpreadLast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts, r := cloud(t)
		s := Default()
		s.Few = 1
		v := s.Choose(hosts, r, 0)
		for i, h := range v.Candidates {
			if i > 0 && v.Candidates[i-1].FailedBuilds > h.FailedBuilds {
				t.Fatalf("%s with %d failed builds before %s with %d", v.Candidates[i-1].ID, v.Candidates[i-1].FailedBuilds, h.ID, h.FailedBuilds)
			}
		}
	})
}
