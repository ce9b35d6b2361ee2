package scheduler

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/provider"
)

// able is a host that passes every filter of an empty request.
func able() Host {
	return Host{
		ID: "id-1", Name: "host-1", IP: netip.MustParseAddr("10.0.1.7"), AvailabilityZone: "nova", Up: true,
		VCPUs:     Capacity{Total: 16, Ratio: 4},
		Memory:    Capacity{Total: 32768, Ratio: 1},
		Disk:      Capacity{Total: 500, Ratio: 1},
		Resources: map[string]provider.Inventory{"CUSTOM_GOLD": {Total: 2, Ratio: 1, MinUnit: 1, MaxUnit: 2, StepSize: 1}}, ResourcesUsed: map[string]int64{"CUSTOM_GOLD": 1},
		Traits: map[string]bool{"HW_CPU_X86_AVX2": true},
		Aggregates: Merge(map[string]string{"ssd": "true", "os_distro": "debian, ubuntu"},
			map[string]string{"ssd": "fast"}),
		Parts: pci.Host{
			Devices: []pci.Device{{Address: "0000:01:00.0", Vendor: "10de", Product: "1db4"}, {Address: "0000:02:00.0", Vendor: "10de", Product: "1db4"}},
			Cells:   &numa.Host{Cells: []numa.Cell{{Dedicated: numa.CPUs{0, 1, 2, 3}, MemoryMB: 16384, Pages: []numa.Pages{{SizeKB: 4, Total: 4 << 20}}}}},
		},
		DevicesTaken:      pci.Taken{"0000:02:00.0": true},
		Guests:            []Guest{{"x86_64", "qemu", "hvm"}, {"i686", "qemu", "hvm"}},
		HypervisorType:    "QEMU",
		HypervisorVersion: 7002000,
		Properties:        map[string]any{"cpu_info": map[string]any{"vendor": "AMD", "maxphysaddr": map[string]any{"bits": 46.0}}},
	}
}

// Each filter turned down and passed once at least, with everything else as it
// should be. An empty name is a host that takes the request.
func TestFilters(t *testing.T) {
	t.Parallel()
	type edit = func(*Request, *Host)
	specs := func(kv ...string) edit {
		return func(r *Request, _ *Host) {
			m := map[string]string{}
			for i := 0; i < len(kv); i += 2 {
				m[kv[i]] = kv[i+1]
			}
			if err := r.Apply(m, nil); err != nil {
				panic(err)
			}
		}
	}
	image := func(key, value string) edit {
		return func(r *Request, _ *Host) {
			if err := r.Apply(nil, map[string]string{key: value}); err != nil {
				panic(err)
			}
		}
	}
	aggregate := func(key, value string) edit {
		return func(_ *Request, h *Host) { h.Aggregates = Merge(map[string]string{key: value}) }
	}
	both := func(a, b edit) edit { return func(r *Request, h *Host) { a(r, h); b(r, h) } }
	group := func(p Policy, most int, members map[string]int) edit {
		return func(r *Request, _ *Host) { r.Group = &Group{p, most, members} }
	}
	query := func(text string) edit {
		return func(r *Request, _ *Host) {
			q, err := ParseQuery(text)
			if err != nil {
				panic(err)
			}
			r.Query = q
		}
	}
	gpus := func(n int) edit {
		return func(r *Request, _ *Host) {
			r.Devices = []pci.Request{{Name: "gpu", Count: n, Alias: pci.Alias{Specs: []pci.Spec{{Vendor: "10de", Product: "1db4"}}}}}
		}
	}
	cells := func(vcpus int, specs map[string]string) edit {
		return func(r *Request, _ *Host) {
			wanted, err := numa.Read(specs, nil, vcpus, 512)
			if err != nil {
				panic(err)
			}
			r.Cells = wanted
		}
	}
	pinned := map[string]string{"hw:cpu_policy": "dedicated"}
	untold := map[string]bool{}
	for _, f := range Filters {
		untold[f.Name] = true
	}
	for _, c := range []struct {
		what     string
		edit     edit
		rejected string
	}{
		{"nothing asked", func(*Request, *Host) {}, ""},
		{"tried before", func(r *Request, _ *Host) { r.Exclude = []string{"id-1"} }, "IgnoreHostsFilter"},
		{"another host", func(r *Request, _ *Host) { r.Host = "host-2" }, "RequestedHostFilter"},
		{"by name", func(r *Request, _ *Host) { r.Host = "host-1" }, ""},
		{"silent", func(_ *Request, h *Host) { h.Up = false }, "ComputeFilter"},
		{"disabled", func(_ *Request, h *Host) { h.Disabled = true }, "ComputeFilter"},
		{"another zone", func(r *Request, _ *Host) { r.AvailabilityZone = "east" }, "AvailabilityZoneFilter"},
		{"too many CPUs", func(r *Request, _ *Host) { r.VCPUs = 17 }, "CapacityFilter"},
		{"all CPUs", func(r *Request, _ *Host) { r.VCPUs = 16 }, ""},
		{"resources instead of the flavor's", specs("resources:VCPU", "17"), "CapacityFilter"},
		{"no memory by resources", both(func(r *Request, _ *Host) { r.MemoryMB = 40000 }, specs("resources:MEMORY_MB", "0")), ""},
		{"a custom resource", specs("resources:CUSTOM_GOLD", "1"), ""},
		{"too much of it", specs("resources:CUSTOM_GOLD", "1", "resources1:CUSTOM_GOLD", "1"), "ResourcesFilter"},
		{"an unknown resource", specs("resources:CUSTOM_TIN", "1"), "ResourcesFilter"},
		{"none of an unknown one", specs("resources:CUSTOM_TIN", "0"), ""},
		{"a trait", specs("trait:HW_CPU_X86_AVX2", "required"), ""},
		{"a trait that it lacks", specs("trait:HW_CPU_X86_SGX", "required"), "TraitsFilter"},
		{"a trait in a group", specs("trait_CPU:HW_CPU_X86_SGX", "required"), "TraitsFilter"},
		{"a forbidden trait", specs("trait:HW_CPU_X86_AVX2", "forbidden"), "TraitsFilter"},
		{"an image's trait", image("trait:HW_CPU_X86_SGX", "required"), "TraitsFilter"},
		{"same host", func(r *Request, _ *Host) { r.SameHost = SetOf("id-1", "id-2") }, ""},
		{"same host elsewhere", func(r *Request, _ *Host) { r.SameHost = SetOf("id-2") }, "SameHostFilter"},
		{"same host as a server that is nowhere", func(r *Request, _ *Host) { r.SameHost = Set{} }, "SameHostFilter"},
		{"different host", func(r *Request, _ *Host) { r.DifferentHost = SetOf("id-1") }, "DifferentHostFilter"},
		{"different host elsewhere", func(r *Request, _ *Host) { r.DifferentHost = SetOf("id-2") }, ""},
		{"affinity, the first", group(Affinity, 0, nil), ""},
		{"affinity here", group(Affinity, 0, map[string]int{"id-1": 3}), ""},
		{"affinity elsewhere", group(Affinity, 0, map[string]int{"id-2": 1}), "ServerGroupAffinityFilter"},
		{"anti-affinity elsewhere", group(AntiAffinity, 0, map[string]int{"id-2": 1}), ""},
		{"anti-affinity here", group(AntiAffinity, 0, map[string]int{"id-1": 1}), "ServerGroupAntiAffinityFilter"},
		{"anti-affinity, two allowed", group(AntiAffinity, 2, map[string]int{"id-1": 1}), ""},
		{"anti-affinity, two there", group(AntiAffinity, 2, map[string]int{"id-1": 2}), "ServerGroupAntiAffinityFilter"},
		{"soft anti-affinity", group(SoftAntiAffinity, 0, map[string]int{"id-1": 9}), ""},
		{"near", func(r *Request, _ *Host) { r.Near = netip.MustParsePrefix("10.0.1.0/24") }, ""},
		{"far", func(r *Request, _ *Host) { r.Near = netip.MustParsePrefix("10.0.2.0/24") }, "SimpleCIDRAffinityFilter"},
		{"another's aggregate", aggregate("filter_tenant_id", "p2,p3"), "AggregateMultiTenancyIsolation"},
		{"the project's aggregate", aggregate("filter_tenant_id2", "p2, p1"), ""},
		{"another flavor's aggregate", aggregate("instance_type", "m1.big"), "AggregateTypeAffinityFilter"},
		{"the flavor's aggregate", aggregate("instance_type", "m1.big, m1.small"), ""},
		{"an aggregate's key", specs("aggregate_instance_extra_specs:ssd", "fast"), ""},
		{"another value of it", specs("aggregate_instance_extra_specs:ssd", "slow"), "AggregateInstanceExtraSpecsFilter"},
		{"a key that none has", specs("aggregate_instance_extra_specs:gpu", "1"), "AggregateInstanceExtraSpecsFilter"},
		{"either of two values", specs("aggregate_instance_extra_specs:ssd", "<or> slow <or> true"), ""},
		{"an image that the aggregate is for", image("os_distro", "ubuntu"), ""},
		{"another image", image("os_distro", "fedora"), "AggregateImagePropertiesIsolation"},
		{"as many servers as may be", both(aggregate("max_instances_per_host", "3"), func(_ *Request, h *Host) { h.Servers = 3 }), "AggregateNumInstancesFilter"},
		{"one less", both(aggregate("max_instances_per_host", "4,9"), func(_ *Request, h *Host) { h.Servers = 3 }), ""},
		{"as many builds as may be", both(aggregate("max_io_ops_per_host", "x,2"), func(_ *Request, h *Host) { h.Building = 2 }), "AggregateIoOpsFilter"},
		{"an architecture", image("hw_architecture", "amd64"), ""},
		{"another architecture", image("hw_architecture", "aarch64"), "ImagePropertiesFilter"},
		{"another hypervisor", image("img_hv_type", "xen"), "ImagePropertiesFilter"},
		{"a mode by its old name", image("hw_vm_mode", "hv"), ""},
		{"a version", image("img_hv_requested_version", ">=6.0, <8"), ""},
		{"a newer version", image("img_hv_requested_version", ">=7.2.1"), "ImagePropertiesFilter"},
		{"no version", image("img_hv_requested_version", ">=new"), "ImagePropertiesFilter"},
		{"a capability", specs("capabilities:cpu_info:vendor", "AMD"), ""},
		{"another value", specs("capabilities:cpu_info:vendor", "s!= AMD"), "ComputeCapabilitiesFilter"},
		{"a capability that it lacks", specs("capabilities:cpu_info:model:name", "EPYC"), "ComputeCapabilitiesFilter"},
		{"wide addresses", specs("hw:maxphysaddr_bits", "42"), ""},
		{"wider addresses", specs("hw:maxphysaddr_bits", "52"), "ComputeCapabilitiesFilter"},
		{"a fact", specs("capabilities:hypervisor_type", "<in> EMU"), ""},
		{"an unscoped spec", specs("mine", "1"), ""},
		{"a query", query(`["and", [">=", "$free_ram_mb", 1024], ["=", "$hypervisor_type", "QEMU"]]`), ""},
		{"a query that fails", query(`["<", "$free_ram_mb", 1024]`), "JsonFilter"},
		{"a query by path", query(`["in", "$cpu_info.vendor", "Intel", "AMD"]`), ""},
		{"not", query(`["not", ["=", "$hypervisor_type", "QEMU"]]`), "JsonFilter"},
		{"a query for what it lacks", query(`["=", "$nothing", 1]`), "JsonFilter"},
		{"an empty query", query(`[]`), ""},
		{"texts and numbers have no order", query(`["<", "$hypervisor_type", 7]`), "JsonFilter"},
		{"a device", gpus(1), ""},
		{"one that another guest has", gpus(2), "PciPassthroughFilter"},
		{"pinned CPUs", cells(4, pinned), ""},
		{"more than there are", cells(5, pinned), "NUMATopologyFilter"},
		{"pages that it lacks", cells(1, map[string]string{"hw:mem_page_size": "2048"}), "NUMATopologyFilter"},
	} {
		delete(untold, c.rejected)
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			h := able()
			r := Request{ProjectID: "p1", Flavor: "m1.small", VCPUs: 1, MemoryMB: 512, DiskGB: 1}
			c.edit(&r, &h)
			v := Default().Choose([]Host{h}, r, 1)
			want := map[string]int{c.rejected: 1}
			if c.rejected == "" {
				want = map[string]int{}
			}
			if fmt.Sprint(v.Rejected) != fmt.Sprint(want) {
				t.Errorf("rejected by %v, want %v", v.Rejected, want)
			}
		})
	}
	if len(untold) > 0 {
		t.Errorf("nothing is turned down by %v", untold)
	}
}

func TestBadRequirementsAreRefused(t *testing.T) {
	t.Parallel()
	for specs, want := range map[[2]string]string{
		{"resources:VCPU", "two"}:    `extra spec resources:VCPU: "two" is no amount of a resource`,
		{"resources:VCPU", "-1"}:     `extra spec resources:VCPU: "-1" is no amount of a resource`,
		{"trait:CUSTOM_A", "wanted"}: `trait:CUSTOM_A is "wanted": a trait is required or forbidden`,
	} {
		var r Request
		if err := r.Apply(map[string]string{specs[0]: specs[1]}, nil); err == nil || err.Error() != want {
			t.Errorf("%v: %v, want %s", specs, err, want)
		}
	}
}

// Groups ask together for no more than can be counted: a sum that wraps round would
// ask for less than nothing.
func TestResourcesThatCantBeSummedAreRefused(t *testing.T) {
	t.Parallel()
	var r Request
	most := strconv.Itoa(math.MaxInt64)
	if err := r.Apply(map[string]string{"resources1:MEMORY_MB": most, "resources2:MEMORY_MB": most}, nil); !faults.Is(err, faults.Invalid) {
		t.Errorf("%v, r.MemoryMB %d", err, r.MemoryMB)
	}
}

func TestBadQueriesAreRefused(t *testing.T) {
	t.Parallel()
	deep, wide := `["=", 1, 1]`, []any{"or"}
	for range maxQueryDepth {
		deep = `["not", ` + deep + `]`
	}
	for range maxQueryParts {
		wide = append(wide, 1)
	}
	many, _ := json.Marshal(wide)
	for _, q := range []string{`{"=": 1}`, `["=", 1`, `["eval", "x"]`, `[1, 2]`, `["and", ["xor", 1]]`, deep, string(many), ``} {
		if _, err := ParseQuery(q); err == nil {
			t.Errorf("%.60s was taken for a query", q)
		}
	}
}

func TestOperators(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want  want
		value string
		holds bool
	}{
		{"1", "1", true}, {"1", "2", false}, {"", "", true}, {"", "x", false},
		{"= 4", "8", true}, {"= 8", "4", false}, {"== 4", "4.0", true}, {"!= 4", "4", false}, {">= 4", "4", true}, {"<= 4", "5", false},
		{"= x", "4", false}, {"=", "4", false},
		{"s== a", "a", true}, {"s!= a", "b", true}, {"s< b", "a", true}, {"s<= a", "a", true}, {"s> a", "b", true}, {"s>= b", "a", false},
		{"<in> sse", "avx,sse2", true}, {"<in> sgx", "avx", false},
		{"<all-in> avx sse", "avx,sse2", true}, {"<all-in> avx sgx", "avx,sse2", false},
		{"<or> a <or> b", "b", true}, {"<or> a <or> b", "<or>", false}, {"<or>", "a", false},
		{"> 4", "> 4", true},
	} {
		if got := c.want.holds(c.value); got != c.holds {
			t.Errorf("%q of %q: %v", c.want, c.value, got)
		}
	}
}
