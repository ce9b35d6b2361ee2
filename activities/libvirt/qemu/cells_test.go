package qemu

import (
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/internal/numa"
)

// A guest runs on the CPUs and the cell where it is placed.
func TestAGuestOnCells(t *testing.T) {
	t.Parallel()
	d := host(t, t.TempDir(), blank(), nil)
	has, err := d.Inventory(t.Context())
	if err != nil || has.NUMA == nil || has.NUMA.SharedCPUs() != has.VCPUs {
		t.Fatalf("%+v, %v", has.NUMA, err)
	}
	keeps := numa.Settings{Dedicated: has.NUMA.Cells[0].Shared[:1]}.Apply(has.NUMA)
	s := spec()
	asked, err := numa.Read(map[string]string{"hw:cpu_policy": "dedicated"}, nil, s.VCPUs, int64(s.MemoryMB))
	if err != nil {
		t.Fatal(err)
	}
	if s.NUMA = numa.Fit(keeps, nil, asked, numa.Limits{CPU: 1, RAM: 1}, nil); s.NUMA == nil {
		t.Fatalf("it doesn't fit on %+v", keeps)
	}
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	g, err := d.guest(s.ServerID)
	if err != nil {
		t.Fatal(err)
	}
	domain, err := g.described(t.Context(), golibvirt.DomainXMLFlags(0))
	if err != nil {
		t.Fatal(err)
	}
	if domain.CPUTune == nil || len(domain.CPUTune.VCPUPin) != 1 || domain.CPUTune.VCPUPin[0].CPUSet != keeps.Cells[0].Dedicated.String() ||
		domain.NUMATune == nil || len(domain.CPU.Numa.Cell) != 1 {
		t.Errorf("it lies on %+v, %+v, %+v", domain.CPUTune, domain.NUMATune, domain.CPU.Numa)
	}
}
