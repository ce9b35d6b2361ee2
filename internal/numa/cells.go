package numa

// How the guest's CPUs and memory are split among its cells.

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

// maxCells is how many cells extra specs may describe.
const maxCells = 128

var errIncomplete = faults.New(faults.Invalid, "ImageNUMATopologyIncomplete", "CPU and memory allocation must be provided for all NUMA nodes")

// cells splits evenly, or as flavor or image describe each cell.
func (s *source) cells(nodes int, pinned CPUs) ([]Wanted, error) {
	cpus, err := described(s, specCPUs, ParseCPUs)
	if err != nil {
		return nil, err
	}
	memory, err := described(s, specMemory, megabytes)
	switch {
	case err != nil:
		return nil, err
	case cpus == nil && memory == nil:
		return s.even(nodes, pinned)
	case len(cpus) != nodes || len(memory) != nodes:
		return nil, errIncomplete
	}
	return s.described(cpus, memory, pinned)
}

// described reads hw:numa_cpus.0, hw:numa_cpus.1 and so on of the flavor, or else
// those of the image.
func described[T any](s *source, spec string, read func(string) (T, error)) ([]T, error) {
	property := strings.ReplaceAll(spec, ":", "_")
	ofFlavor, err := numbered(s.flavor, spec, read)
	if err != nil {
		return nil, err
	}
	ofImage, err := numbered(s.image, property, read)
	switch {
	case err != nil:
		return nil, err
	case ofFlavor == nil:
		return ofImage, nil
	case ofImage != nil:
		return nil, forbidden(property)
	}
	return ofFlavor, nil
}

func numbered[T any](from map[string]string, name string, read func(string) (T, error)) ([]T, error) {
	var all []T
	for cell := range maxCells {
		text, there := from[fmt.Sprintf("%s.%d", name, cell)]
		if !there {
			break
		}
		one, err := read(text)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func megabytes(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 1 {
		return 0, faults.New(faults.Invalid, "InvalidInput", "'%s' is no amount of memory for a NUMA node", text)
	}
	return n, nil
}

func (s *source) even(nodes int, pinned CPUs) ([]Wanted, error) {
	if s.vcpus%nodes > 0 || s.memoryMB%int64(nodes) > 0 {
		return nil, faults.New(faults.Invalid, "ImageNUMATopologyAsymmetric",
			"Instance CPUs and/or memory cannot be evenly distributed across instance NUMA nodes. Explicit assignment of CPUs and memory to nodes is required")
	}
	all, err := s.all()
	if err != nil {
		return nil, err
	}
	each, cells := s.vcpus/nodes, make([]Wanted, nodes)
	for i := range cells {
		cells[i] = wanted(all[i*each:(i+1)*each], pinned, s.memoryMB/int64(nodes))
	}
	return cells, nil
}

func wanted(cpus, pinned CPUs, memoryMB int64) Wanted {
	return Wanted{Shared: cpus.Less(pinned), Dedicated: cpus.And(pinned), MemoryMB: memoryMB}
}

func (s *source) described(cpus []CPUs, memory []int64, pinned CPUs) ([]Wanted, error) {
	left, err := s.all()
	if err != nil {
		return nil, err
	}
	var cells []Wanted
	var total int64
	for i := range cpus {
		for _, cpu := range cpus[i] {
			switch {
			case cpu >= s.vcpus:
				return nil, faults.New(faults.Invalid, "ImageNUMATopologyCPUOutOfRange", "CPU number %d is larger than max %d", cpu, s.vcpus-1)
			case !left.Has(cpu):
				return nil, faults.New(faults.Invalid, "ImageNUMATopologyCPUDuplicates", "CPU number %d is assigned to two nodes", cpu)
			}
		}
		left = left.Less(cpus[i])
		cells = append(cells, wanted(cpus[i], pinned, memory[i]))
		total += memory[i]
	}
	if len(left) > 0 {
		return nil, faults.New(faults.Invalid, "ImageNUMATopologyCPUsUnassigned", "CPU number %s is not assigned to any node", braces(left))
	}
	if total != s.memoryMB {
		return nil, faults.New(faults.Invalid, "ImageNUMATopologyMemoryOutOfRange", "%d MB of memory assigned, but expected %d MB", total, s.memoryMB)
	}
	return cells, nil
}

// braces writes a set as Python does.
func braces(cpus CPUs) string {
	words := make([]string, len(cpus))
	for i, cpu := range cpus {
		words[i] = strconv.Itoa(cpu)
	}
	return "{" + strings.Join(words, ", ") + "}"
}
