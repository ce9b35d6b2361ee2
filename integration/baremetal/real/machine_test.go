//go:build real

package real

// Machines: domains of libvirt, and how they are.

import (
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
)

// machine is a domain that has a BMC.
type machine struct {
	t    *testing.T
	name string
	uuid string
	disk string // its file
	log  string // the file of what its serial console has shown
}

// described is a domain as libvirt describes it.
type described struct {
	UUID string `xml:"uuid"`
	Boot []struct {
		Device string `xml:"dev,attr"`
	} `xml:"os>boot"`
	Disks []struct {
		Device string `xml:"device,attr"`
		Source struct {
			File string `xml:"file,attr"`
		} `xml:"source"`
		Boot *struct {
			Order int `xml:"order,attr"`
		} `xml:"boot"`
	} `xml:"devices>disk"`
	NICs []struct {
		Boot *struct {
			Order int `xml:"order,attr"`
		} `xml:"boot"`
	} `xml:"devices>interface"`
}

// virsh runs a command of libvirt's shell.
func virsh(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("virsh", append([]string{"-q", "-c", "qemu:///system"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("virsh %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// pool is where sushy-tools puts media, by libvirt.
func pool(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	virsh(t, "pool-create-as", "default", "dir", "--target", dir)
	t.Cleanup(func() { virsh(t, "pool-destroy", "default") })
}

// newMachine makes a machine that is off and that starts from the network, where nothing
// is; the test image is on its disk.
func newMachine(t *testing.T, name string) *machine {
	t.Helper()
	log := filepath.Join(t.TempDir(), "console.log")
	m := define(t, name, body{
		memory: 192,
		starts: "<os><type arch='x86_64' machine='pc'>hvm</type><boot dev='network'/></os>",
		size:   "64M",
		devices: "<interface type='user'><model type='virtio'/></interface>" +
			"<serial type='file'><source path='" + log + "' append='on'/></serial>",
	})
	m.log = log
	return m
}

// body is what a machine is made of: MiB of memory, the elements of what it starts by and
// of its devices, and the size of its disk, which has the test image.
type body struct {
	memory                int
	starts, size, devices string
}

// define makes a machine that is off.
func define(t *testing.T, name string, b body) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{t: t, name: name, disk: filepath.Join(dir, "disk.qcow2")}
	file := filepath.Join(dir, "domain.xml")
	if out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", os.Getenv(cloud.ImageVariable), m.disk, b.size).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := fmt.Sprintf(`<domain type='qemu'>
  <name>%s</name>
  <memory unit='MiB'>%d</memory>
  <vcpu>1</vcpu>
  %s
  <features><acpi/></features>
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s'/><target dev='vda' bus='virtio'/></disk>
    %s
  </devices>
</domain>`, name, b.memory, b.starts, m.disk, b.devices)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	virsh(t, "define", file)
	t.Cleanup(func() {
		if m.runs() {
			virsh(t, "destroy", name)
		}
		virsh(t, "undefine", "--nvram", name)
	})
	m.uuid = m.described().UUID
	return m
}

// runs says whether the machine is on.
func (m *machine) runs() bool {
	m.t.Helper()
	return virsh(m.t, "domstate", m.name) == "running"
}

// described is how the machine will be when it starts next.
func (m *machine) described() (d described) {
	m.t.Helper()
	if err := xml.Unmarshal([]byte(virsh(m.t, "dumpxml", "--inactive", m.name)), &d); err != nil {
		m.t.Fatal(err)
	}
	return d
}

// starts is the first that the machine starts from: "network", "hd" or "cdrom".
func (m *machine) starts() string {
	m.t.Helper()
	d := m.described()
	if len(d.Boot) > 0 {
		return d.Boot[0].Device
	}
	first, order := "", 1<<30
	for _, disk := range d.Disks {
		if disk.Boot != nil && disk.Boot.Order < order {
			first, order = map[string]string{"disk": "hd", "cdrom": "cdrom"}[disk.Device], disk.Boot.Order
		}
	}
	for _, nic := range d.NICs {
		if nic.Boot != nil && nic.Boot.Order < order {
			first, order = "network", nic.Boot.Order
		}
	}
	return first
}

// medium is the file of the disc in the machine's drive; empty for none.
func (m *machine) medium() string {
	m.t.Helper()
	for _, disk := range m.described().Disks {
		if disk.Device == "cdrom" && disk.Source.File != "" {
			return disk.Source.File
		}
	}
	return ""
}

// shown is how often the machine's console has shown a text.
func (m *machine) shown(text string) int {
	m.t.Helper()
	log, err := os.ReadFile(m.log)
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return strings.Count(string(log), text)
}
