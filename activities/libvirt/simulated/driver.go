package simulated

// The driver: each method a sequence of sub-steps, each of which looks first.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/steps"
)

// Options of a simulated host.
type Options struct {
	// StateDir is the host's folder, locked by the caller.
	StateDir string
	// Inventory is what the host says it has; zero fields are 64 CPUs, 256 GiB
	// of memory, 4 TiB of disk, in two NUMA cells.
	Inventory libvirt.Inventory
	// Fail and Delay are for all guests: see the package's doc.
	Fail, Delay string
	// OnStep is told of each sub-step before it acts; for tests.
	OnStep func(serverID, step string)
	// Hold is called before each sub-step and keeps it waiting, or ends it by an
	// error; nil holds nothing.
	Hold func(ctx context.Context, serverID, step string) error
}

// Driver implements libvirt.Driver.
type Driver struct {
	dir       string
	rulesFile string
	inventory libvirt.Inventory
	rules     rules
	onStep    func(serverID, step string)
	hold      func(ctx context.Context, serverID, step string) error
}

var _ libvirt.Driver = (*Driver)(nil)

// New opens the host whose guests are in the state folder.
func New(o Options) (*Driver, error) {
	r, err := parseRules(o.Fail, o.Delay)
	if err != nil {
		return nil, fmt.Errorf("simulated driver: %w", err)
	}
	d := &Driver{
		dir:       filepath.Join(o.StateDir, "guests"),
		rulesFile: filepath.Join(o.StateDir, "simulated.json"),
		inventory: o.Inventory, rules: r, onStep: o.OnStep, hold: o.Hold,
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("simulated driver: %w", err)
	}
	if d.inventory.VCPUs == 0 {
		d.inventory.VCPUs = 64
	}
	if d.inventory.MemoryMB == 0 {
		d.inventory.MemoryMB = 256 << 10
	}
	if d.inventory.DiskGB == 0 {
		d.inventory.DiskGB = 4 << 10
	}
	if d.inventory.NUMA == nil {
		d.inventory.NUMA = cells(d.inventory.VCPUs, d.inventory.MemoryMB)
	}
	if d.inventory.Devices == nil {
		d.inventory.Devices = devices(d.inventory.NUMA)
	}
	if d.inventory.Details == nil {
		d.inventory.Details = json.RawMessage(`{"hypervisor_type":"simulated","hypervisor_version":1,"cpu":{"arch":"x86_64","model":"simulated"},
			"supported_instances":[["x86_64","qemu","hvm"]],"traits":["COMPUTE_NODE","COMPUTE_RESCUE_BFV","HW_ARCH_X86_64"]}`)
	}
	return d, nil
}

// cells are those of a host with so many CPUs and so much memory: two, or one for
// a host with an odd number of them; two threads a core where that goes, and a
// quarter of the memory in pages of 2 MiB.
func cells(cpus int, memoryMB int64) *numa.Host {
	host := &numa.Host{}
	n := 2 - cpus%2
	for id := range n {
		c := numa.Cell{ID: id, Socket: id, MemoryMB: memoryMB / int64(n)}
		huge := c.MemoryMB / 4 / 2
		c.Pages = []numa.Pages{{SizeKB: 4, Total: (c.MemoryMB - 2*huge) << 8}, {SizeKB: 2048, Total: huge}}
		for cpu := id * cpus / n; cpu < (id+1)*cpus/n; cpu++ {
			c.Shared = append(c.Shared, cpu)
		}
		for core := range slices.Chunk(c.Shared, 2) {
			c.Siblings = append(c.Siblings, slices.Clone(core))
		}
		host.Cells = append(host.Cells, c)
	}
	return host
}

// devices are two of a kind that nobody makes, next to each cell.
func devices(of *numa.Host) (all []pci.Device) {
	for _, c := range of.Cells {
		for slot := range 2 {
			all = append(all, pci.Device{Address: fmt.Sprintf("0000:%02x:%02x.0", 1+c.ID, slot), Vendor: "f00d", Product: "0001", Type: pci.Standard, Cell: &c.ID})
		}
	}
	return all
}

// Close does nothing: there are no connections.
func (d *Driver) Close() error { return nil }

// Inventory says what the host has.
func (d *Driver) Inventory(context.Context) (libvirt.Inventory, error) { return d.inventory, nil }

// Build makes the folder, the disk, the domain, and starts it.
func (d *Driver) Build(ctx context.Context, spec steps.ServerSpec, confirm libvirt.Confirm) (libvirt.Guest, error) {
	run, err := d.run(spec.ServerID, spec.ExtraSpecs)
	if err != nil {
		return libvirt.Guest{}, err
	}
	err = run.steps(ctx,
		subStep{"build.image", func() error { return broken(os.MkdirAll(string(run.folder), 0o700)) }},
		subStep{"build.disk", func() error { return run.makeDisks(spec) }},
		subStep{"build.define", func() error { return run.define(spec) }},
		subStep{"build.start", func() error { return run.start(confirm) }},
		subStep{"build.done", nil},
	)
	if err != nil {
		return libvirt.Guest{}, err
	}
	return shown(spec.ServerID, run.defined), nil
}

// makeDisks makes an empty file for each disk on the host.
func (r *run) makeDisks(spec steps.ServerSpec) error {
	for i, disk := range spec.LocalDisks() {
		file, err := os.OpenFile(r.folder.file(diskName(i, disk)), os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			return broken(err)
		}
	}
	return nil
}

func diskName(i int, disk steps.Disk) string { return fmt.Sprintf("disk.%d.%s", i, disk.Kind) }

func (r *run) removeDisks() error {
	disks, err := filepath.Glob(r.folder.file("disk.*"))
	if err != nil {
		return broken(err)
	}
	for _, path := range disks {
		if err := r.folder.remove(filepath.Base(path)); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) define(spec steps.ServerSpec) (err error) {
	if r.defined, err = r.folder.domain(); r.defined != nil || err != nil {
		return err
	}
	r.defined = &domain{Spec: spec, PowerState: libvirt.Shutdown}
	return r.folder.define(r.defined)
}

// start starts what is defined: no other call is about the guest.
func (r *run) start(confirm libvirt.Confirm) error {
	if r.defined.PowerState == libvirt.Running {
		return nil
	}
	if err := confirm(); err != nil {
		return err
	}
	return r.turn(r.defined, libvirt.Running, "booted "+r.defined.Spec.Hostname)
}

// turn puts the domain into a power state and lets the guest say so.
func (r *run) turn(have *domain, state int, line string) error {
	if err := r.folder.say(line); err != nil {
		return err
	}
	have.PowerState = state
	return r.folder.define(have)
}

// Inherit finds nothing: each host has a folder that no other sees.
func (d *Driver) Inherit(context.Context, steps.ServerSpec, string) (bool, error) { return false, nil }

// Destroy stops the guest and removes its disk, its domain, and its folder.
func (d *Driver) Destroy(ctx context.Context, serverID string, confirm libvirt.Confirm) error {
	run, err := d.run(serverID, nil)
	if err != nil {
		return err
	}
	if there, err := run.folder.exists(""); !there || err != nil {
		return broken(err)
	}
	return run.steps(ctx,
		subStep{"destroy.stop", func() error { return run.stop(confirm) }},
		subStep{"destroy.disk", run.removeDisks},
		subStep{"destroy.undefine", func() error { return run.folder.remove("guest.json") }},
		subStep{"destroy.done", func() error { return broken(os.RemoveAll(string(run.folder))) }},
	)
}

func (r *run) stop(confirm libvirt.Confirm) error {
	if err := confirm(); err != nil {
		return err
	}
	have, err := r.folder.domain()
	if have == nil || err != nil {
		return err
	}
	return r.turn(have, libvirt.Shutdown, "stopped")
}

// powers is what each action does: from which states it starts, and where it
// leads to.
var powers = map[steps.PowerAction]struct {
	from   []int
	to     int
	reboot bool
	// lenient leaves a guest in the state that it doesn't start from.
	lenient bool
	// leaves a rescue; then to is what the guest was, if asItWas.
	leaves, asItWas bool
	// ends what a resize has set aside; then the guest is that again, if asItWas.
	ends bool
	// stays where it is, once for a mark as a reboot.
	stays bool
}{
	steps.PowerStart:     {from: []int{libvirt.Shutdown, libvirt.Crashed, libvirt.Paused, libvirt.Suspended}, to: libvirt.Running},
	steps.PowerStop:      {from: []int{libvirt.Running, libvirt.Paused, libvirt.Suspended, libvirt.Crashed}, to: libvirt.Shutdown},
	steps.PowerForceStop: {from: []int{libvirt.Running, libvirt.Paused, libvirt.Suspended, libvirt.Crashed}, to: libvirt.Shutdown},
	steps.PowerPause:     {from: []int{libvirt.Running}, to: libvirt.Paused},
	steps.PowerFreeze:    {from: []int{libvirt.Running}, to: libvirt.Paused, lenient: true},
	steps.PowerUnpause:   {from: []int{libvirt.Paused}, to: libvirt.Running},
	steps.PowerSuspend:   {from: []int{libvirt.Running}, to: libvirt.Suspended},
	steps.PowerResume:    {from: []int{libvirt.Suspended}, to: libvirt.Running},
	steps.PowerReboot:    {from: []int{libvirt.Running}, to: libvirt.Running, reboot: true},
	steps.PowerHardReboot: {from: []int{libvirt.Running, libvirt.Paused, libvirt.Suspended, libvirt.Crashed, libvirt.Shutdown},
		to: libvirt.Running, reboot: true},
	steps.PowerInjectNMI:  {from: []int{libvirt.Running, libvirt.Paused}, stays: true, reboot: true},
	steps.PowerUnrescue:   {leaves: true},
	steps.PowerUndoRescue: {leaves: true, asItWas: true},
	steps.PowerKeepResize: {ends: true},
	steps.PowerUndoResize: {ends: true, asItWas: true},
}

// Power drives the guest to the state that the action leads to.
func (d *Driver) Power(ctx context.Context, serverID string, action steps.PowerAction, mark string, confirm libvirt.Confirm) (libvirt.Guest, error) {
	power, ok := powers[action]
	if !ok {
		return libvirt.Guest{}, faults.New(faults.Invalid, "UnknownPowerAction", "power action %q is unknown", action)
	}
	run, err := d.run(serverID, nil)
	if err != nil {
		return libvirt.Guest{}, err
	}
	have, err := run.folder.domain()
	if err != nil {
		return libvirt.Guest{}, err
	}
	if have == nil {
		return libvirt.Guest{}, notFound(serverID)
	}
	act := func() error {
		if power.leaves {
			return run.unrescue(have, power.asItWas, confirm)
		}
		if power.ends {
			return run.leaveResize(have, power.asItWas, confirm)
		}
		there := have.PowerState == power.to
		if power.reboot && have.RebootedFor == mark || !power.reboot && there {
			return nil
		}
		starts := slices.Contains(power.from, have.PowerState)
		if !starts && power.lenient {
			return nil
		}
		if !starts {
			return faults.New(faults.Conflict, "InstanceInvalidState", "can't %s a guest in power state %d", action, have.PowerState)
		}
		if err := confirm(); err != nil {
			return err
		}
		if power.to == libvirt.Running {
			if err := run.renew(); err != nil {
				return err
			}
			if have.Rebuild != nil {
				have.Rebuild.Done = true
			}
		}
		if power.reboot {
			have.RebootedFor = mark
		}
		to := power.to
		if power.stays {
			to = have.PowerState
		}
		return run.turn(have, to, string(action))
	}
	err = run.steps(ctx, subStep{"power." + string(action), act}, subStep{"power.done", nil})
	if err != nil {
		return libvirt.Guest{}, err
	}
	return run.folder.guest()
}

// Observe shows one guest.
func (d *Driver) Observe(_ context.Context, serverID string) (libvirt.Guest, error) {
	f, err := d.folder(serverID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	switch there, err := f.exists(""); {
	case err != nil:
		return libvirt.Guest{}, broken(err)
	case !there:
		return libvirt.Guest{}, notFound(serverID)
	}
	return f.guest()
}

// List shows all guests.
func (d *Driver) List(context.Context) ([]libvirt.Guest, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, broken(err)
	}
	guests := make([]libvirt.Guest, 0, len(entries))
	for _, entry := range entries {
		guest, err := folder(filepath.Join(d.dir, entry.Name())).guest()
		if err != nil {
			return nil, err
		}
		guests = append(guests, guest)
	}
	return guests, nil
}

// Console gives the last length bytes of the guest's console log.
func (d *Driver) Console(ctx context.Context, serverID string, length int) ([]byte, error) {
	if _, err := d.Observe(ctx, serverID); err != nil {
		return nil, err
	}
	f, err := d.folder(serverID)
	if err != nil {
		return nil, err
	}
	return f.console(length)
}

func (d *Driver) folder(serverID string) (folder, error) {
	if serverID == "" || strings.ContainsAny(serverID, "/\x00") || strings.HasPrefix(serverID, ".") {
		return "", faults.New(faults.Invalid, "InvalidServer", "%q is no server id", serverID)
	}
	return folder(filepath.Join(d.dir, serverID)), nil
}

// run is one call for one guest.
type run struct {
	driver   *Driver
	serverID string
	folder   folder
	own      rules // of the guest's flavor
	// defined is the domain that start starts, as it was found or made.
	defined *domain
}

// run begins a call; without specs, those that the guest was made with count.
func (d *Driver) run(serverID string, specs map[string]string) (*run, error) {
	f, err := d.folder(serverID)
	if err != nil {
		return nil, err
	}
	if specs == nil {
		if have, err := f.domain(); err != nil {
			return nil, err
		} else if have != nil {
			specs = have.Spec.ExtraSpecs
		}
	}
	own, err := parseRules(specs[failKey], specs[delayKey])
	if err != nil {
		return nil, faults.Wrap(err, faults.Invalid, "InvalidSimulation", "the flavor's simulated faults: %v", err)
	}
	return &run{driver: d, serverID: serverID, folder: f, own: own}, nil
}

// subStep is one act that observes first; nil only marks a place.
type subStep struct {
	name string
	act  func() error
}

func (r *run) steps(ctx context.Context, all ...subStep) error {
	for _, s := range all {
		if r.driver.onStep != nil {
			r.driver.onStep(r.serverID, s.name)
		}
		if r.driver.hold != nil {
			if err := r.driver.hold(ctx, r.serverID, s.name); err != nil {
				return err
			}
		}
		fromFile, err := readRules(r.driver.rulesFile)
		if err != nil {
			return faults.Wrap(err, faults.Internal, "InvalidSimulation", "the host's simulated faults: %v", err)
		}
		now := r.own.over(fromFile.over(r.driver.rules))
		if err := now.pause(ctx, s.name); err != nil {
			return err
		}
		if err := r.fail(now.fail[s.name], s.name); err != nil {
			return err
		}
		if s.act == nil {
			continue
		}
		if err := s.act(); err != nil {
			return err
		}
	}
	return nil
}

// fail makes the failure that is due at the sub-step. How often it has been is
// kept with the guest, so that a restart doesn't count again.
func (r *run) fail(f failure, name string) error {
	if f.kind == "" {
		return nil
	}
	if f.times > 0 {
		counts := map[string]int{}
		if _, err := r.folder.read("failures.json", &counts); err != nil {
			return err
		}
		if counts[name] >= f.times {
			return nil
		}
		counts[name]++
		if err := os.MkdirAll(string(r.folder), 0o700); err != nil {
			return broken(err)
		}
		if err := r.folder.write("failures.json", counts); err != nil {
			return err
		}
	}
	return faults.New(f.kind, "Simulated", "simulated failure at %s", name)
}
