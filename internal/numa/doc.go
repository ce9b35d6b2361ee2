// Package numa knows how guests lie on the processors and the memory of a host:
// NUMA cells, pinned CPUs, pages. Pure: what a host has and what is taken there
// goes in, where a guest lies comes out.
//
//	cpus.go       sets of CPUs, as settings and extra specs write them
//	host.go       what a host has, and which of its CPUs and pages are for what
//	request.go    what a flavor's extra specs and an image's properties ask for
//	policies.go   the CPU policies among those
//	cells.go      how the guest's CPUs and memory are split among its cells
//	fit.go        whether a guest fits on a host, and where
//	pack.go       which CPUs of a cell a guest is pinned to
//	placement.go  where a guest lies, and what all of them take
//
// internal/scheduler asks Fit of each host, activities/placement asks it again
// under the host's lock before it claims, and activities/libvirt/domain writes
// the Placement into the guest's XML.
package numa
