package pci

// Which devices a guest gets.

import (
	"cmp"
	"maps"
	"slices"

	"holdfast.dev/internal/matching"
	"holdfast.dev/internal/numa"
)

// Assigned is a device that a guest has.
type Assigned struct {
	Alias   string `json:"alias"`
	Address string `json:"address"`
}

// Devices are those that a guest has.
type Devices []Assigned

// Addresses are where they are, in their order.
func (all Devices) Addresses() []string {
	addresses := make([]string, len(all))
	for i, d := range all {
		addresses[i] = d.Address
	}
	return addresses
}

// Aliases are what its flavor calls them, in their order.
func (all Devices) Aliases() []string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Alias
	}
	return names
}

// Taken are addresses of a host's devices that guests have.
type Taken map[string]bool

// Host is what a host lends, on which cells.
type Host struct {
	Devices []Device
	Cells   *numa.Host
}

// free are the devices that no guest has. Nobody gets a card of which a guest has a
// part, or a part of a card that a guest has.
func (h Host) free(taken Taken) []Device {
	split := map[string]bool{}
	for _, d := range h.Devices {
		if taken[d.Address] {
			split[d.Parent] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(h.Devices), func(d Device) bool {
		return taken[d.Address] || taken[d.Parent] || split[d.Address]
	})
}

// Assign gives the guest that lies on the host's cells its devices, of those that
// will do the nearest; false if there are not enough. A guest that lies on no cell
// in particular gets any. Whole cards come first: their parts are no more to be had
// then.
func Assign(host Host, taken Taken, requests []Request, on *numa.Placement) (Devices, bool) {
	var all Devices
	gone := Taken{}
	maps.Copy(gone, taken)
	for _, whole := range []bool{true, false} {
		some, ok := host.assign(gone, slices.DeleteFunc(slices.Clone(requests), func(r Request) bool { return r.whole() != whole }), on)
		if !ok {
			return nil, false
		}
		for _, d := range some {
			gone[d.Address] = true
		}
		all = append(all, some...)
	}
	return all, true
}

// assign is Assign of requests that are all for whole cards, or none of them.
func (h Host) assign(taken Taken, requests []Request, on *numa.Placement) (Devices, bool) {
	free := h.free(taken)
	var all Devices
	var fits [][]int
	for _, r := range requests {
		if len(all)+r.Count > len(free) {
			return nil, false
		}
		near := h.near(free, r, on)
		for range r.Count {
			all, fits = append(all, Assigned{Alias: r.Name}), append(fits, near)
		}
	}
	seats, ok := matching.Seats(fits)
	if !ok {
		return nil, false
	}
	for i, seat := range seats {
		all[i].Address = free[seat].Address
	}
	return all, true
}

// near are those of the devices that will do for a request, the nearest first.
func (h Host) near(devices []Device, r Request, on *numa.Placement) []int {
	distance := func(d Device) int {
		switch {
		case on == nil || len(on.Cells) == 0 || d.Cell != nil && on.On(*d.Cell):
			return 0
		case d.Cell == nil:
			return 2
		case h.sameSocket(*d.Cell, on):
			return 1
		}
		return 3
	}
	allowed := map[Policy][]int{"": {0, 2}, Legacy: {0, 2}, Required: {0}, Socket: {0, 1}, Preferred: {0, 1, 2, 3}}[r.Policy]
	var near []int
	for i, d := range devices {
		if r.takes(d) && slices.Contains(allowed, distance(d)) {
			near = append(near, i)
		}
	}
	slices.SortStableFunc(near, func(a, b int) int { return cmp.Compare(distance(devices[a]), distance(devices[b])) })
	return near
}

// sameSocket says whether a cell is on the socket of one of the guest's.
func (h Host) sameSocket(cell int, on *numa.Placement) bool {
	if h.Cells == nil {
		return false
	}
	sockets := map[int]int{}
	for _, c := range h.Cells.Cells {
		sockets[c.ID] = c.Socket
	}
	at, known := sockets[cell]
	return known && slices.ContainsFunc(on.Cells, func(c numa.Placed) bool { return sockets[c.Host] == at })
}

// Wanted says how much a guest wants each of the host's cells for its devices: by
// how many of those that it asks for it can have next to the cell, or, if it asks
// for none, rather one without.
func Wanted(host Host, taken Taken, requests []Request) map[int]int {
	near := map[int][]Device{}
	for _, d := range host.free(taken) {
		if d.Cell != nil {
			near[*d.Cell] = append(near[*d.Cell], d)
		}
	}
	wanted := map[int]int{}
	for cell, devices := range near {
		if len(requests) == 0 {
			wanted[cell] = -len(devices)
			continue
		}
		var fits [][]int
		for _, r := range requests {
			var all []int
			for i, d := range devices {
				if r.takes(d) {
					all = append(all, i)
				}
			}
			fits = append(fits, slices.Repeat([][]int{all}, min(r.Count, len(all)))...)
		}
		wanted[cell] = matching.Most(fits)
	}
	return wanted
}

// Fit places a guest that asks for cells, devices or both on a host; false if it
// doesn't fit. It changes nothing.
func Fit(host Host, used *numa.Usage, taken Taken, cells *numa.Request, devices []Request, limits numa.Limits) (*numa.Placement, Devices, bool) {
	var placed *numa.Placement
	if cells != nil {
		if placed = numa.Fit(host.Cells, used, cells, limits, Wanted(host, taken, devices)); placed == nil {
			return nil, nil, false
		}
	}
	assigned, ok := Assign(host, taken, devices, placed)
	return placed, assigned, ok
}
