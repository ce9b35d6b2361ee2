package domain

// What each concern writes, exactly.

import (
	"encoding/xml"
	"errors"
	"reflect"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/steps"
)

const id = "11111111-2222-4333-8444-555555555555"

// placed lies on two cells, of which one is pinned and has huge pages; isolated has
// a CPU for the emulator besides, shared has it run among those that float.
var placed, isolated, shared = onCells(""), onCells(numa.EmulatorIsolated), onCells(numa.EmulatorShared)

func onCells(emulator numa.EmulatorThreads) Plan {
	on := &numa.Placement{EmulatorThreads: emulator, Cells: []numa.Placed{
		{Host: 3, CPUs: numa.CPUs{0, 1}, Pinned: map[int]int{0: 24, 1: 26}, MemoryMB: 32, PageKB: 2048, Huge: true},
		{Host: 1, CPUs: numa.CPUs{2, 3}, Floating: numa.CPUs{8, 9}, MemoryMB: 32}}}
	switch emulator {
	case numa.EmulatorIsolated:
		on.Cells[0].Emulator = numa.CPUs{27}
	case numa.EmulatorShared:
		on.Cells[0].Floating = numa.CPUs{20, 21}
	}
	return Plan{Spec: steps.ServerSpec{NUMA: on}}
}

func TestConcerns(t *testing.T) {
	t.Parallel()
	type words = map[string]string
	for name, c := range map[string]struct {
		plan          Plan
		image, flavor words
		part          func(*libvirtxml.Domain) any
		want          string
	}{
		"memory":            {part: func(d *libvirtxml.Domain) any { return d.Memory }, want: `<DomainMemory unit="MiB">64</DomainMemory>`},
		"balloon":           {part: func(d *libvirtxml.Domain) any { return d.Devices.MemBalloon }, want: `<memballoon model="virtio"><stats period="10"></stats></memballoon>`},
		"cpu, emulated":     {part: func(d *libvirtxml.Domain) any { return d.CPU }, want: `<cpu match="exact" mode="custom"><model fallback="allow">qemu64</model><topology sockets="4" cores="1" threads="1"></topology></cpu>`},
		"cpu, KVM":          {plan: Plan{KVM: true}, part: func(d *libvirtxml.Domain) any { return d.CPU }, want: `<cpu match="exact" mode="host-model"><topology sockets="4" cores="1" threads="1"></topology></cpu>`},
		"cpu, KVM on AMD":   {plan: Plan{KVM: true, AMD: true}, part: func(d *libvirtxml.Domain) any { return d.CPU }, want: `<cpu match="exact" mode="host-model"><topology sockets="4" cores="1" threads="1"></topology><feature policy="disable" name="arch-capabilities"></feature></cpu>`},
		"topology by image": {image: words{"hw_cpu_sockets": "2", "hw_cpu_threads": "1"}, part: func(d *libvirtxml.Domain) any { return d.CPU.Topology }, want: `<DomainCPUTopology sockets="2" cores="2" threads="1"></DomainCPUTopology>`},
		"topology, limited": {flavor: words{"hw:cpu_max_sockets": "1", "hw:cpu_max_cores": "2"}, part: func(d *libvirtxml.Domain) any { return d.CPU.Topology }, want: `<DomainCPUTopology sockets="1" cores="2" threads="2"></DomainCPUTopology>`},
		"flavor over image": {image: words{"hw_cpu_cores": "4"}, flavor: words{"hw:cpu_cores": "2"}, part: func(d *libvirtxml.Domain) any { return d.CPU.Topology }, want: `<DomainCPUTopology sockets="2" cores="2" threads="1"></DomainCPUTopology>`},
		"os":                {part: func(d *libvirtxml.Domain) any { return d.OS }, want: `<DomainOS><type arch="x86_64" machine="q35">hvm</type><boot dev="hd"></boot><smbios mode="sysinfo"></smbios></DomainOS>`},
		"a disk that boots": {plan: Plan{Disks: []Disk{{Path: "/d", Format: "raw"}, {Path: "/r", Format: "qcow2", Bus: "usb", Boots: true}}}, part: func(d *libvirtxml.Domain) any { return &d.Devices.Disks[1] }, want: `<disk type="file" device="disk"><driver name="qemu" type="qcow2"></driver><source file="/r"></source><target dev="sda" bus="usb"></target><boot order="1"></boot></disk>`},
		"its os":            {plan: Plan{Disks: []Disk{{Path: "/r", Format: "qcow2", Boots: true}}}, part: func(d *libvirtxml.Domain) any { return d.OS }, want: `<DomainOS><type arch="x86_64" machine="q35">hvm</type><smbios mode="sysinfo"></smbios></DomainOS>`},
		"machine, menu":     {image: words{"hw_machine_type": "pc", "hw_boot_menu": "yes"}, part: func(d *libvirtxml.Domain) any { return d.OS }, want: `<DomainOS><type arch="x86_64" machine="pc">hvm</type><boot dev="hd"></boot><bootmenu enable="yes"></bootmenu><smbios mode="sysinfo"></smbios></DomainOS>`},
		"UEFI":              {image: words{"hw_firmware_type": "uefi"}, part: func(d *libvirtxml.Domain) any { return d.OS.Loader }, want: `<DomainLoader secure="no"></DomainLoader>`},
		"secure boot":       {image: words{"hw_firmware_type": "uefi", "os_secure_boot": "required"}, part: func(d *libvirtxml.Domain) any { return d.Features }, want: `<DomainFeatureList><acpi></acpi><apic></apic><smm state="on"></smm><vmcoreinfo state="on"></vmcoreinfo></DomainFeatureList>`},
		"disk":              {plan: Plan{Disks: []Disk{{Path: "/d", Format: "qcow2"}}}, part: func(d *libvirtxml.Domain) any { return &d.Devices.Disks[0] }, want: `<disk type="file" device="disk"><driver name="qemu" type="qcow2"></driver><source file="/d"></source><target dev="vda" bus="virtio"></target></disk>`},
		"disk by name":      {plan: Plan{Disks: []Disk{{Path: "/d", Format: "raw", Name: "vdc"}, {Path: "/e", Format: "raw"}}}, part: func(d *libvirtxml.Domain) any { return d.Devices.Disks[0].Target.Dev + d.Devices.Disks[1].Target.Dev }, want: `<string>vdcvda</string>`},
		"config drive":      {plan: Plan{Disks: []Disk{{Path: "/d", Format: "raw"}, {Path: "/c", Format: "raw", CDROM: true}}}, part: func(d *libvirtxml.Domain) any { return &d.Devices.Disks[1] }, want: `<disk type="file" device="cdrom"><driver name="qemu" type="raw"></driver><source file="/c"></source><target dev="sda" bus="sata"></target><readonly></readonly></disk>`},
		"volume, SCSI":      {plan: Plan{Disks: []Disk{{Path: "/dev/x", Format: "raw", Block: true, Serial: "v"}}}, image: words{"hw_disk_bus": "scsi"}, part: func(d *libvirtxml.Domain) any { return &d.Devices.Disks[0] }, want: `<disk type="block" device="disk"><driver name="qemu" type="raw"></driver><source dev="/dev/x"></source><target dev="sda" bus="scsi"></target><serial>v</serial></disk>`},
		"volume, shared":    {plan: Plan{Disks: []Disk{{Path: "/v", Format: "raw", Shareable: true}}}, part: func(d *libvirtxml.Domain) any { return d.Devices.Disks[0].Shareable != nil }, want: `<bool>true</bool>`},
		"room for devices":  {part: func(d *libvirtxml.Domain) any { return len(d.Devices.Controllers) }, want: `<int>29</int>`},
		"SCSI controller":   {plan: Plan{Disks: []Disk{{Path: "/d", Format: "raw"}}}, image: words{"hw_disk_bus": "scsi"}, part: func(d *libvirtxml.Domain) any { return d.Devices.Controllers[0] }, want: `<controller type="scsi" index="0" model="virtio-scsi"></controller>`},
		"nic":               {part: func(d *libvirtxml.Domain) any { return &d.Devices.Interfaces[0] }, want: `<interface type="bridge"><mac address="fa:16:3e:00:00:01"></mac><source bridge="brq1"></source><target dev="tap12345678-90"></target><model type="virtio"></model><mtu size="1450"></mtu></interface>`},
		"nic, queues":       {flavor: words{"hw:vif_multiqueue_enabled": "true"}, part: func(d *libvirtxml.Domain) any { return d.Devices.Interfaces[0].Driver }, want: `<DomainInterfaceDriver name="vhost" queues="4"></DomainInterfaceDriver>`},
		"console":           {plan: Plan{ConsoleLog: "/l"}, part: func(d *libvirtxml.Domain) any { return &d.Devices.Serials[0] }, want: `<serial type="pty"><target type="isa-serial" port="0"></target><log file="/l" append="off"></log></serial>`},
		"video":             {part: func(d *libvirtxml.Domain) any { return d.Devices.Videos[0] }, want: `<video><model type="virtio"></model></video>`},
		"rng":               {image: words{"hw_rng_model": "virtio"}, flavor: words{"hw_rng:rate_bytes": "10", "hw_rng:rate_period": "20"}, part: func(d *libvirtxml.Domain) any { return d.Devices.RNGs[0] }, want: `<rng model="virtio"><rate bytes="10" period="20"></rate><backend model="random">/dev/urandom</backend></rng>`},
		"clock of Windows":  {image: words{"os_type": "windows"}, part: func(d *libvirtxml.Domain) any { return d.Clock.Offset }, want: `<string>localtime</string>`},
		"floating":          {plan: Plan{Shared: numa.CPUs{0, 1, 4}}, part: func(d *libvirtxml.Domain) any { return d.VCPU }, want: `<DomainVCPU placement="static" cpuset="0-1,4">4</DomainVCPU>`},
		"its cells":         {plan: placed, part: func(d *libvirtxml.Domain) any { return d.CPU.Numa }, want: `<DomainNuma><cell id="0" cpus="0-1" memory="32768" unit="KiB" memAccess="shared"></cell><cell id="1" cpus="2-3" memory="32768" unit="KiB"></cell></DomainNuma>`},
		"where they lie":    {plan: placed, part: func(d *libvirtxml.Domain) any { return d.NUMATune }, want: `<DomainNUMATune><memory mode="strict" nodeset="1,3"></memory><memnode cellid="0" mode="strict" nodeset="3"></memnode><memnode cellid="1" mode="strict" nodeset="1"></memnode></DomainNUMATune>`},
		"pinned":            {plan: placed, part: func(d *libvirtxml.Domain) any { return d.CPUTune }, want: `<DomainCPUTune><vcpupin vcpu="0" cpuset="24"></vcpupin><vcpupin vcpu="1" cpuset="26"></vcpupin><vcpupin vcpu="2" cpuset="8-9"></vcpupin><vcpupin vcpu="3" cpuset="8-9"></vcpupin><emulatorpin cpuset="8-9,24,26"></emulatorpin></DomainCPUTune>`},
		"with an emulator":  {plan: isolated, part: func(d *libvirtxml.Domain) any { return d.CPUTune.EmulatorPin }, want: `<DomainCPUTuneEmulatorPin cpuset="27"></DomainCPUTuneEmulatorPin>`},
		"with the others":   {plan: shared, part: func(d *libvirtxml.Domain) any { return d.CPUTune.EmulatorPin }, want: `<DomainCPUTuneEmulatorPin cpuset="8-9,20-21"></DomainCPUTuneEmulatorPin>`},
		"huge pages":        {plan: placed, part: func(d *libvirtxml.Domain) any { return d.MemoryBacking }, want: `<DomainMemoryBacking><hugepages><page size="2048" unit="KiB" nodeset="0"></page></hugepages></DomainMemoryBacking>`},
		"in real time":      {plan: placed, flavor: words{"hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "0-1"}, part: func(d *libvirtxml.Domain) any { return d.CPUTune.VCPUSched }, want: `<DomainCPUTuneVCPUSched vcpus="0-1" scheduler="fifo" priority="1"></DomainCPUTuneVCPUSched>`},
		"of the host":       {plan: Plan{Spec: steps.ServerSpec{Devices: pci.Devices{{Alias: "gpu", Address: "0000:81:02.1"}}}}, part: func(d *libvirtxml.Domain) any { return &d.Devices.Hostdevs[0] }, want: `<hostdev mode="subsystem" type="pci" managed="yes"><source><address domain="0x0000" bus="0x81" slot="0x02" function="0x1"></address></source></hostdev>`},
		"name":              {part: func(d *libvirtxml.Domain) any { return d.Name }, want: `<string>instance-11111111</string>`},
	} {
		c.plan.Spec = steps.ServerSpec{ServerID: id, VCPUs: 4, MemoryMB: 64, ImageProperties: c.image, ExtraSpecs: c.flavor,
			Ports: []steps.Port{{ID: "12345678-90ab-cdef", MAC: "fa:16:3e:00:00:01", VIFType: "bridge", Bridge: "brq1", MTU: 1450}}, NUMA: c.plan.Spec.NUMA, Devices: c.plan.Spec.Devices}
		text, err := XML(c.plan)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var d libvirtxml.Domain
		if err := d.Unmarshal(text); err != nil {
			t.Fatal(err)
		}
		got, err := xml.Marshal(c.part(&d))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		image, flavor map[string]string
		code, says    string
	}{
		{map[string]string{"hw_disk_bus": "xen"}, nil, "InvalidImageProperty", `hw_disk_bus is "xen"`},
		{map[string]string{"hw_cpu_cores": "many"}, nil, "InvalidImageProperty", `hw_cpu_cores is "many"`},
		{nil, map[string]string{"hw:cpu_max_sockets": "1", "hw:cpu_max_cores": "1", "hw:cpu_max_threads": "1"}, "ImageVCPULimitsRangeImpossible", "1:1:1"},
		{map[string]string{"architecture": "aarch64"}, nil, "InvalidArchitectureName", "aarch64"},
		{map[string]string{"hw_machine_type": "virt"}, nil, "InvalidImageProperty", "virt"},
		{map[string]string{"os_secure_boot": "required"}, nil, "InvalidImageProperty", "uefi"},
		{map[string]string{"hw_rng_model": "egd"}, nil, "InvalidImageProperty", "egd"},
	} {
		_, err := XML(Plan{Spec: steps.ServerSpec{ServerID: id, VCPUs: 2, MemoryMB: 64, ImageProperties: c.image, ExtraSpecs: c.flavor}})
		if f := faults.As(err); f == nil || f.Kind != faults.Invalid || f.Code != c.code || !strings.Contains(f.Message, c.says) {
			t.Errorf("%v %v: %v", c.image, c.flavor, err)
		}
	}
	_, err := XML(Plan{Spec: steps.ServerSpec{ServerID: id, VCPUs: 1, Ports: []steps.Port{{VIFType: "binding_failed"}}}})
	if f := faults.As(err); f == nil || f.Code != "VirtualInterfacePlugException" {
		t.Errorf("a port that can't be plugged: %v", err)
	}
}

// A domain that moves lies where it is placed there, and is as it was otherwise.
func TestMoved(t *testing.T) {
	t.Parallel()
	plan := placed
	plan.Spec = steps.ServerSpec{ServerID: id, VCPUs: 4, MemoryMB: 64, NUMA: placed.Spec.NUMA,
		ExtraSpecs: map[string]string{"hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "0-1"}}
	here, err := XML(plan)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Moved(here, nil); same != here || err != nil {
		t.Errorf("%s, %v", same, err)
	}
	there, err := Moved(here, &numa.Placement{Cells: []numa.Placed{
		{Host: 0, CPUs: numa.CPUs{0, 1}, Pinned: map[int]int{0: 4, 1: 5}, MemoryMB: 32, PageKB: 2048, Huge: true},
		{Host: 2, CPUs: numa.CPUs{2, 3}, Floating: numa.CPUs{12, 13}, MemoryMB: 32}}})
	if err != nil {
		t.Fatal(err)
	}
	var was, is libvirtxml.Domain
	if err := errors.Join(was.Unmarshal(here), is.Unmarshal(there)); err != nil {
		t.Fatal(err)
	}
	for want, part := range map[string]any{
		`<DomainNUMATune><memory mode="strict" nodeset="0,2"></memory><memnode cellid="0" mode="strict" nodeset="0"></memnode><memnode cellid="1" mode="strict" nodeset="2"></memnode></DomainNUMATune>`:                                                                                                                     is.NUMATune,
		`<DomainCPUTune><vcpupin vcpu="0" cpuset="4"></vcpupin><vcpupin vcpu="1" cpuset="5"></vcpupin><vcpupin vcpu="2" cpuset="12-13"></vcpupin><vcpupin vcpu="3" cpuset="12-13"></vcpupin><emulatorpin cpuset="4-5,12-13"></emulatorpin><vcpusched vcpus="0-1" scheduler="fifo" priority="1"></vcpusched></DomainCPUTune>`: is.CPUTune,
	} {
		if got, err := xml.Marshal(part); err != nil || string(got) != want {
			t.Errorf("%s, %v\nwant %s", got, err, want)
		}
	}
	was.NUMATune, was.CPUTune = is.NUMATune, is.CPUTune
	if !reflect.DeepEqual(was, is) {
		t.Errorf("it has changed otherwise:\n%s\n%s", here, there)
	}
	if _, err := Moved("<domain", placed.Spec.NUMA); err == nil {
		t.Error("what is no domain moves")
	}
}
