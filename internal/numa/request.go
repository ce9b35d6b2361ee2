package numa

// What a guest asks for.

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

// Request is what a guest asks of its host's cells.
type Request struct {
	Cells           []Wanted
	Policy          Policy
	ThreadPolicy    ThreadPolicy
	EmulatorThreads EmulatorThreads
}

// Page sizes that name none.
const (
	PageSmall int64 = -1
	PageLarge int64 = -2
	PageAny   int64 = -3
)

// Wanted is a cell of the guest.
type Wanted struct {
	// Shared are the guest's CPUs that float, Dedicated those that are pinned.
	Shared, Dedicated CPUs
	MemoryMB          int64
	// PageKB is the size of its memory's pages; 0 asks for none, and those above
	// name no size.
	PageKB int64
}

// Names of extra specs; an image's property is one of them with underscores.
const (
	specPolicy       = "hw:cpu_policy"
	specThreadPolicy = "hw:cpu_thread_policy"
	specEmulator     = "hw:emulator_threads_policy"
	specDedicated    = "hw:cpu_dedicated_mask"
	specRealtime     = "hw:cpu_realtime"
	specRealtimeMask = "hw:cpu_realtime_mask"
	specNodes        = "hw:numa_nodes"
	specCPUs         = "hw:numa_cpus"
	specMemory       = "hw:numa_mem"
	specPageSize     = "hw:mem_page_size"
)

// source is what the request is read from.
type source struct {
	flavor, image map[string]string
	vcpus         int
	memoryMB      int64
}

// both gives the flavor's word and the image's.
func (s *source) both(spec string) (flavor, image string) {
	return s.flavor[spec], s.image[strings.ReplaceAll(spec, ":", "_")]
}

// Read reads a flavor's extra specs and an image's properties; nil asks for
// nothing. Errors: what the original answers to a request for such a server.
func Read(extraSpecs, image map[string]string, vcpus int, memoryMB int64) (*Request, error) {
	s := &source{extraSpecs, image, vcpus, memoryMB}
	r := &Request{}
	pinned, err := s.policies(r)
	if err != nil {
		return nil, err
	}
	nodes, err := s.nodes()
	if err != nil {
		return nil, err
	}
	pageKB, err := s.pages()
	if err != nil {
		return nil, err
	}
	if nodes == 0 && pageKB == 0 && r.Policy != Dedicated && r.Policy != Mixed {
		return nil, nil
	}
	r.Cells, err = s.cells(max(nodes, 1), pinned)
	for i := range r.Cells {
		r.Cells[i].PageKB = pageKB
	}
	return r, err
}

// Running is what a guest asks of a host that it goes to while it runs as it is
// placed: pages of the sizes that it has, and nothing if it lies on no cell.
func (r *Request) Running(as *Placement) *Request {
	if r == nil || as == nil {
		return nil
	}
	same := *r
	same.Cells = slices.Clone(r.Cells)
	for i := range min(len(same.Cells), len(as.Cells)) {
		same.Cells[i].PageKB = as.Cells[i].PageKB
	}
	return &same
}

// Floating is how many of the guest's CPUs are not pinned, of vcpus; a nil
// request pins none.
func (r *Request) Floating(vcpus int) int {
	if r == nil {
		return vcpus
	}
	n := 0
	for _, c := range r.Cells {
		n += len(c.Shared)
	}
	return n
}

// nodes is how many cells the guest is to see; 0 doesn't say.
func (s *source) nodes() (int, error) {
	flavor, image := s.both(specNodes)
	if flavor != "" && image != "" {
		return 0, forbidden("hw_numa_nodes")
	}
	text := flavor + image
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 {
		return 0, faults.New(faults.Invalid, "InvalidNUMANodesNumber",
			"The property 'numa_nodes' cannot be '%s'. It must be a number greater than 0", text)
	}
	return n, nil
}

// forbidden refuses a property that the flavor has an extra spec for.
func forbidden(property string) error {
	return faults.New(faults.Invalid, "ImageNUMATopologyForbidden",
		"Image property '%s' is not permitted to override NUMA configuration set against the flavor", property)
}

// pages is the size of pages. An image may choose where the flavor leaves it open.
func (s *source) pages() (int64, error) {
	flavor, image := s.both(specPageSize)
	refused := func(against string) error {
		return faults.New(faults.Invalid, "MemoryPageSizeForbidden", "Page size %s forbidden against '%s'", image, against)
	}
	switch {
	case flavor == "" && image != "":
		return 0, refused("<empty>")
	case flavor == "":
		return 0, nil
	}
	size, err := pageSize(flavor)
	switch {
	case err != nil || image == "":
		return size, err
	case size != PageAny && size != PageLarge:
		return 0, refused(flavor)
	}
	return pageSize(image)
}

var pageWords = map[string]int64{"small": PageSmall, "large": PageLarge, "any": PageAny}

// units are how many bytes, or bits, a suffix stands for.
var units = map[string]float64{"": 1, "k": 1e3, "K": 1e3, "Ki": 1 << 10, "M": 1e6, "Mi": 1 << 20, "G": 1e9, "Gi": 1 << 30, "T": 1e12, "Ti": 1 << 40}

// pageSize reads a size in KiB: a word, a number of KiB, or a number with a unit.
// What is written as KB, MB, GB or TB is a power of 1024, as oslo reads it.
func pageSize(text string) (int64, error) {
	invalid := faults.New(faults.Invalid, "MemoryPageSizeInvalid", "Invalid memory page size '%s'", text)
	if size, ok := pageWords[text]; ok {
		return size, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 1 {
			return 0, invalid
		}
		return n, nil
	}
	digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
	n, err := strconv.ParseFloat(digits, 64)
	suffix, bits := strings.TrimPrefix(text, digits), 1.0
	unit, isBytes := strings.CutSuffix(suffix, "B")
	if !isBytes {
		if unit, isBytes = strings.CutSuffix(strings.TrimSuffix(suffix, "it"), "b"); isBytes {
			bits = 8
		}
	}
	scale, known := units[unit]
	if err != nil || !known || !isBytes {
		return 0, invalid
	}
	if !strings.HasSuffix(unit, "i") && unit != "" {
		scale = units[strings.ToUpper(unit)+"i"]
	}
	kb := n * scale / bits / 1024
	if kb < 1 || kb > math.MaxInt32 || kb != math.Trunc(kb) {
		return 0, invalid
	}
	return int64(kb), nil
}
