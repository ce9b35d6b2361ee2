package bmc

// Inspect: what a node's BMC says that the machine is made of, as a ramdisk would say
// it; and Expect: by what a ramdisk is known that will say it.

import (
	"cmp"
	"context"
	"net"
	"slices"

	"github.com/stmcginnis/gofish/common"
	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/inspection"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// inspector is a driver whose BMCs know what their machines are made of.
type inspector interface {
	inspect(ctx context.Context) (inspection.Found, error)
}

// Inspect is idempotent: it reads, and what it found before is written over. Errors:
// as in steps.InspectActivities.
func (a *Activities) Inspect(ctx context.Context, in steps.NodeIn) (struct{}, error) {
	s, err := a.open(ctx, in.Fence, in.Fence.OperationID)
	if err != nil {
		return struct{}{}, err
	}
	defer s.close(ctx)
	d, ok := s.driver.(inspector)
	if !ok {
		return struct{}{}, hardware.Unsupported(s.node.Driver, "inspect")
	}
	found, err := d.inspect(ctx)
	if err != nil {
		return struct{}{}, err
	}
	if err := s.keepSettings(ctx); err != nil {
		return struct{}{}, err
	}
	return struct{}{}, s.Write(ctx, s.engine, s.fence, func(tx store.Tx) error { return baremetal.KeepFindings(ctx, tx, s.node.UUID, found) })
}

// teller is a driver whose BMCs know the hardware addresses of their machines.
type teller interface {
	macs(ctx context.Context) ([]string, error)
}

// Expect is idempotent: it reads, and what it wrote before is written over. Errors: as in
// steps.InspectActivities.
func (a *Activities) Expect(ctx context.Context, in steps.NodeIn) (struct{}, error) {
	s, err := a.open(ctx, in.Fence, in.Fence.OperationID)
	if err != nil {
		return struct{}{}, err
	}
	defer s.close(ctx)
	info, err := nodes.DriverInfo(s.box, s.node)
	if err != nil {
		return struct{}{}, err
	}
	var macs []string
	if d, ok := s.driver.(teller); ok && a.CreatePorts {
		if macs, err = d.macs(ctx); err != nil {
			return struct{}{}, err
		}
	}
	bmcs := a.addresses(ctx, info.Hosts())
	return struct{}{}, s.Write(ctx, s.engine, s.fence, func(tx store.Tx) error { return baremetal.Expect(ctx, tx, s.node.UUID, macs, bmcs) })
}

// addresses are those of hosts, by name and by number, but the machine's own: a ramdisk
// that says one of those says nothing.
func (a *Activities) addresses(ctx context.Context, hosts []string) []string {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var all []string
	for _, host := range hosts {
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			continue // nobody is known by a name that leads nowhere
		}
		known := host
		for _, ip := range found {
			if ip = ip.Unmap(); !ip.IsLoopback() {
				all = append(all, ip.String())
				continue
			}
			known = ""
		}
		if known != "" {
			all = append(all, known)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// macs are the addresses of the interfaces that are enabled.
func (d *redfish) macs(context.Context) ([]string, error) {
	all, err := d.system.EthernetInterfaces()
	if err != nil {
		return nil, d.fault(err)
	}
	var macs []string
	for _, i := range inOrder(all, func(i *rf.EthernetInterface) string { return i.ODataID }) {
		if address, ok := inspection.Address(i.MACAddress); ok && i.Status.State == common.EnabledState && len(macs) < most {
			macs = append(macs, address)
		}
	}
	return macs, nil
}

// architectures are what the words of Redfish mean.
var architectures = map[rf.InstructionSet]string{
	rf.X86InstructionSet: "i686", rf.X8664InstructionSet: "x86_64", rf.ARMA32InstructionSet: "arm", rf.ARMA64InstructionSet: "aarch64",
	rf.IA64InstructionSet: "ia64", rf.MIPS32InstructionSet: "mips", rf.MIPS64InstructionSet: "mips64",
}

// inOrder puts parts that were asked for side by side into the order of their paths.
func inOrder[T any](all []T, path func(T) string) []T {
	slices.SortFunc(all, func(a, b T) int {
		return cmp.Or(cmp.Compare(len(path(a)), len(path(b))), cmp.Compare(path(a), path(b)))
	})
	return all
}

// look is one part of what a BMC is asked.
type look func(*inspection.Found) error

func (d *redfish) inspect(ctx context.Context) (inspection.Found, error) {
	f := inspection.Found{Properties: map[string]any{}, Inventory: map[string]any{}, Plugin: map[string]any{}}
	for _, part := range []look{d.memory, d.processors, d.disks, d.interfaces, d.identity} {
		if err := d.lease.Keep(ctx); err != nil {
			return f, err
		}
		if err := part(&f); err != nil {
			return f, d.fault(err)
		}
	}
	return f, nil
}

func (d *redfish) memory(f *inspection.Found) error {
	if size := d.system.MemorySummary.TotalSystemMemoryGiB; size > 0 {
		mb := int(size * 1024)
		f.Properties["memory_mb"] = mb
		f.Inventory["memory"] = map[string]any{"physical_mb": mb}
	}
	return nil
}

func (d *redfish) processors(f *inspection.Found) error {
	cpu := map[string]any{"count": 0, "architecture": ""}
	f.Inventory["cpu"] = cpu
	all, err := d.system.Processors()
	if err != nil || len(all) == 0 {
		return err
	}
	if count := cmp.Or(d.system.ProcessorSummary.LogicalProcessorCount, d.system.ProcessorSummary.Count); count > 0 {
		cpu["count"] = count
	}
	first := inOrder(all, func(p *rf.Processor) string { return p.ODataID })[0]
	cpu["architecture"] = architectures[first.InstructionSet]
	if first.Model != "" {
		cpu["model_name"] = bounded(first.Model)
	}
	if first.MaxSpeedMHz > 0 {
		cpu["frequency"] = int(first.MaxSpeedMHz)
	}
	return nil
}

const (
	// smallest is what a disk needs to be worth something, and giga the unit.
	smallest = 4 << 30
	giga     = 1 << 30
	// most bounds the disks and the interfaces of a machine.
	most = 1000
)

// disks are all that there are; what the node's property says is the smaller one of
// the first that either kind of controller has, less what others keep for themselves.
func (d *redfish) disks(f *inspection.Found) error {
	var disks []any
	volumes, drives, simple := disk{}, disk{}, disk{}
	storages, err := d.system.Storage()
	if err != nil {
		return err
	}
	for _, s := range inOrder(storages, func(s *rf.Storage) string { return s.ODataID }) {
		made, err := s.Volumes()
		if err != nil {
			return err
		}
		for _, v := range inOrder(made, func(v *rf.Volume) string { return v.ODataID }) {
			volumes.add(int64(v.CapacityBytes))
		}
		has, err := s.Drives()
		if err != nil {
			return err
		}
		for _, drive := range inOrder(has, func(d *rf.Drive) string { return d.ODataID }) {
			drives.add(drive.CapacityBytes)
			disks = append(disks, map[string]any{"name": bounded(drive.Name), "size": drive.CapacityBytes})
		}
	}
	plain, err := d.system.SimpleStorages()
	if err != nil {
		return err
	}
	for _, s := range inOrder(plain, func(s *rf.SimpleStorage) string { return s.ODataID }) {
		for _, device := range s.Devices {
			simple.add(device.CapacityBytes)
			if len(storages) == 0 {
				disks = append(disks, map[string]any{"name": bounded(device.Name), "size": device.CapacityBytes})
			}
		}
	}
	if len(disks) > 0 {
		f.Inventory["disks"] = disks[:min(len(disks), most)]
	}
	size := cmp.Or(volumes.size, drives.size)
	if size == 0 || simple.size > 0 && simple.size < size {
		size = simple.size
	}
	f.Properties["local_gb"] = max(size/giga-1, 0)
	return nil
}

// disk is the first of some that is large enough.
type disk struct{ size int64 }

func (d *disk) add(size int64) {
	if d.size == 0 && size >= smallest {
		d.size = size
	}
}

func (d *redfish) interfaces(f *inspection.Found) error {
	all, err := d.system.EthernetInterfaces()
	if err != nil {
		return err
	}
	found := []any{}
	for _, i := range inOrder(all, func(i *rf.EthernetInterface) string { return i.ODataID }) {
		address, ok := inspection.Address(i.MACAddress)
		if !ok || len(found) == most {
			continue
		}
		one := map[string]any{"mac_address": address, "name": bounded(i.ID)}
		if i.SpeedMbps > 0 {
			one["speed_mbps"] = i.SpeedMbps
		}
		found = append(found, one)
	}
	f.Inventory["interfaces"] = found
	return nil
}

func (d *redfish) identity(f *inspection.Found) error {
	vendor := map[string]any{}
	for name, value := range map[string]string{"product_name": d.system.Model, "serial_number": d.system.SerialNumber,
		"manufacturer": d.system.Manufacturer, "system_uuid": d.system.UUID} {
		if value != "" {
			vendor[name] = bounded(value)
		}
	}
	if len(vendor) > 0 {
		f.Inventory["system_vendor"] = vendor
	}
	if mode := bootModes[d.system.Boot.BootSourceOverrideMode]; mode != "" {
		f.Inventory["boot"] = map[string]any{"current_boot_mode": mode}
	}
	return nil
}
