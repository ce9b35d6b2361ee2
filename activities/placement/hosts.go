package placement

// The hosts in memory: a snapshot that claims share and that is read again when
// it is too old.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/provider"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// wholeAge is the time after which all hosts are read again, and not only those that
// have changed.
const wholeAge = time.Minute

// hosts is the snapshot. Claims made here are counted in it at once, those of
// other processes when what has changed is read again.
type hosts struct {
	// countsImages says whether the scheduler asks for the images of hosts' servers.
	countsImages func(aggregates map[string][]map[string]string) bool

	mu sync.Mutex
	// readAt is when the hosts were read, wholeAt when all of them were.
	readAt, wholeAt time.Time
	snapshot
	// touched are those that claims of this process were counted in since.
	touched []string
	// silent are hosts that nobody has declared down, by id with their names.
	silent map[string]string
}

// snapshot is what was read.
type snapshot struct {
	mark compute.Mark
	all  []scheduler.Host
	// heard is when each of them was heard of; nothing of one that is declared down.
	heard []time.Time
	// at says where in all a host is, by its id.
	at map[string]int
	// known are what the hosts' inventories say, by their text: that is read once,
	// and kept until all hosts are read again.
	known map[string]*facts
}

// choose proposes a host from a snapshot that was read after since; nil if
// none can take the request, and then rejected says by which filters. It reads
// by the claim's own transaction: one more connection for each of many claims
// could never be had once they hold them all.
func (h *hosts) choose(ctx context.Context, tx store.Tx, since time.Time, downAfter time.Duration,
	choice func([]scheduler.Host) scheduler.Verdict) (*scheduler.Host, map[string]int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readAt.Before(since) {
		if err := h.read(ctx, tx, downAfter); err != nil {
			return nil, nil, err
		}
	}
	v := choice(h.all)
	if len(v.Candidates) == 0 {
		return nil, v.Rejected, nil
	}
	chosen := *v.Candidates[0]
	return &chosen, v.Rejected, nil
}

// read brings the snapshot up to now; the caller holds the lock. If it fails it is
// of no time, and what it lacks is read before it is used.
func (h *hosts) read(ctx context.Context, tx store.Tx, downAfter time.Duration) error {
	began := time.Now()
	h.readAt = time.Time{}
	mark, err := compute.MarkHosts(ctx, tx)
	if err != nil {
		return err
	}
	// One that is gone is missed only when all are read.
	s, whole := &h.snapshot, began.Sub(h.wholeAt) >= wholeAge || mark.Hosts != len(h.all)
	if whole {
		s = &snapshot{at: make(map[string]int, mark.Hosts), known: map[string]*facts{}}
	}
	if err := s.catchUp(ctx, tx, h.touched); err != nil {
		return err
	}
	aggregates, err := compute.AggregateMetadata(ctx, tx)
	if err != nil {
		return err
	}
	building, err := compute.BuildingOn(ctx, tx)
	if err != nil {
		return err
	}
	images, err := h.images(ctx, tx, aggregates)
	if err != nil {
		return err
	}
	if downAfter == 0 {
		downAfter = compute.DownAfter
	}
	h.silent = map[string]string{}
	for i := range s.all {
		x, heard := &s.all[i], s.heard[i]
		x.Up = began.Sub(heard) <= downAfter
		x.Building, x.Images, x.Aggregates = building[x.ID], images[x.ID], scheduler.Merge(aggregates[x.ID]...)
		if !x.Up && !x.Disabled && heard != declaredDown {
			h.silent[x.ID] = x.Name
		}
	}
	if s.mark = mark; whole {
		h.snapshot, h.wholeAt = *s, began
	}
	h.readAt, h.touched = began, nil
	return nil
}

// declaredDown is when hosts were heard of that are down whatever they say, and
// neverHeard when others were that have said nothing yet.
var declaredDown, neverHeard = time.Time{}, time.Unix(0, 0)

// catchUp reads the hosts that have changed since the mark, and those that are touched.
func (s *snapshot) catchUp(ctx context.Context, tx store.Tx, touched []string) error {
	var changed []string
	err := compute.ChangedHosts(ctx, tx, s.mark, touched, func(r *compute.Host) error {
		changed = append(changed, r.ID)
		return s.take(r)
	})
	if err != nil {
		return err
	}
	taken, err := compute.TakenParts(ctx, tx, changed...)
	if err != nil {
		return err
	}
	for id, t := range taken {
		x := &s.all[s.at[id]]
		x.CellsUsed, x.DevicesTaken, x.ResourcesUsed = &t.Cells, t.Devices, t.Resources
	}
	return nil
}

// take puts a row in the place of what was known of the host.
func (s *snapshot) take(r *compute.Host) error {
	i, known := s.at[r.ID]
	if !known {
		i = len(s.all)
		s.at[r.ID], s.all, s.heard = i, append(s.all, scheduler.Host{}), append(s.heard, time.Time{})
	}
	switch {
	case r.ForcedDown:
		s.heard[i] = declaredDown
	case r.SeenAgo < 0:
		s.heard[i] = neverHeard
	default:
		s.heard[i] = time.Now().Add(-r.SeenAgo)
	}
	s.all[i] = scheduler.Host{
		ID: r.ID, Name: r.Name, AvailabilityZone: r.AvailabilityZone, Disabled: r.Disabled,
		VCPUs:   scheduler.Capacity{Total: int64(r.VCPUs), Reserved: int64(r.ReservedVCPUs), Used: int64(r.VCPUsUsed), Ratio: r.CPURatio},
		Memory:  scheduler.Capacity{Total: r.MemoryMB, Reserved: r.ReservedMemoryMB, Used: r.MemoryMBUsed, Ratio: r.RAMRatio},
		Disk:    scheduler.Capacity{Total: r.DiskGB, Reserved: r.ReservedDiskGB, Used: r.DiskGBUsed, Ratio: r.DiskRatio},
		Servers: r.Servers, FailedBuilds: r.FailedBuilds,
	}
	if address, err := netip.ParseAddrPort(r.LinkAddress); err == nil {
		s.all[i].IP = address.Addr()
	}
	says := s.known[string(r.Inventory)]
	if says == nil {
		var err error
		if says, err = readFacts(r); err != nil {
			return err
		}
		s.known[string(r.Inventory)] = says
	}
	says.describe(&s.all[i])
	return nil
}

// images are those of the hosts' servers, by host; none if nobody asks for them.
// Servers whose images say the same share them.
func (h *hosts) images(ctx context.Context, tx store.Tx, aggregates map[string][]map[string]string) (map[string]map[*scheduler.Image]int, error) {
	if !h.countsImages(aggregates) {
		return nil, nil
	}
	counted, err := compute.ImagesOn(ctx, tx)
	if err != nil {
		return nil, err
	}
	known, on := map[string]*scheduler.Image{}, map[string]map[*scheduler.Image]int{}
	for _, c := range counted {
		image := known[c.Properties]
		if image == nil {
			image = &scheduler.Image{}
			if err := json.Unmarshal([]byte(c.Properties), &image.Properties); err != nil {
				return nil, fmt.Errorf("properties of the images on host %s: %w", c.HostID, err)
			}
			known[c.Properties] = image
		}
		if on[c.HostID] == nil {
			on[c.HostID] = map[*scheduler.Image]int{}
		}
		on[c.HostID][image] = c.Servers
	}
	return on, nil
}

// facts are what a host's worker says of it: what the filters for images, traits
// and capabilities ask. Hosts that say the same share them.
type facts struct {
	HypervisorType     string      `json:"hypervisor_type"`
	HypervisorVersion  int         `json:"hypervisor_version"`
	SupportedInstances [][3]string `json:"supported_instances"`
	TraitNames         []string    `json:"traits"`

	parts      pci.Host
	resources  map[string]provider.Inventory
	guests     []scheduler.Guest
	traits     scheduler.Set
	properties map[string]any
}

func readFacts(r *compute.Host) (*facts, error) {
	f := &facts{}
	var report struct {
		Cells     *numa.Host                    `json:"numa"`
		Devices   []pci.Device                  `json:"devices"`
		Resources map[string]provider.Inventory `json:"resources"`
		Traits    []string                      `json:"traits"`
		Details   json.RawMessage               `json:"details"`
	}
	if err := json.Unmarshal(r.Inventory, &report); err != nil {
		return f, err
	}
	f.parts, f.resources = pci.Host{Cells: report.Cells, Devices: report.Devices}, report.Resources
	if len(report.Details) > 0 {
		if err := errors.Join(json.Unmarshal(report.Details, f), json.Unmarshal(report.Details, &f.properties)); err != nil {
			return nil, fmt.Errorf("inventory of host %s: %w", r.Name, err)
		}
	}
	f.traits = scheduler.SetOf(append(report.Traits, f.TraitNames...)...)
	for _, kind := range f.SupportedInstances {
		f.guests = append(f.guests, scheduler.Guest{Architecture: kind[0], Hypervisor: kind[1], Mode: kind[2]})
	}
	return f, nil
}

func (f *facts) describe(h *scheduler.Host) {
	h.HypervisorType, h.HypervisorVersion, h.Guests = f.HypervisorType, f.HypervisorVersion, f.guests
	h.Traits, h.Properties, h.Parts, h.Resources = f.traits, f.properties, f.parts, f.resources
}

// unheard names a silent host that isn't among those to be left out; "" if
// there is none.
func (h *hosts) unheard(leftOut []string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, name := range h.silent {
		if !slices.Contains(leftOut, id) {
			return name
		}
	}
	return ""
}

// took counts a claim that has just been committed.
func (h *hosts) took(id string, c compute.Claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, known := h.at[id]
	if !known {
		return
	}
	h.touched = append(h.touched, id)
	x := &h.all[i]
	x.VCPUs.Used += int64(c.VCPUs)
	x.Memory.Used += c.MemoryMB
	x.Disk.Used += c.DiskGB
	x.Servers++
	if c.NUMA != nil && x.CellsUsed == nil {
		x.CellsUsed = &numa.Usage{}
	}
	x.CellsUsed.Add(c.NUMA)
	if len(c.Devices) > 0 && x.DevicesTaken == nil {
		x.DevicesTaken = pci.Taken{}
	}
	for _, d := range c.Devices {
		x.DevicesTaken[d.Address] = true
	}
	if len(c.Resources) > 0 && x.ResourcesUsed == nil {
		x.ResourcesUsed = map[string]int64{}
	}
	for class, n := range c.Resources {
		x.ResourcesUsed[class] += n
	}
}
