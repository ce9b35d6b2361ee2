package qemu

// What the host has.

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"syscall"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/numa"
)

// details is the opaque part of an inventory, in Nova's words.
type details struct {
	HypervisorType    string  `json:"hypervisor_type"`
	HypervisorVersion uint64  `json:"hypervisor_version"`
	CPU               cpuInfo `json:"cpu"`
	KVM               bool    `json:"kvm"`
	// SupportedInstances are [architecture, hypervisor, mode], Traits names of os-traits.
	SupportedInstances [][3]string `json:"supported_instances"`
	Traits             []string    `json:"traits"`
}

type cpuInfo struct {
	Arch     string   `json:"arch"`
	Model    string   `json:"model"`
	Vendor   string   `json:"vendor"`
	Topology topology `json:"topology"`
	Features []string `json:"features"`
}

type topology struct {
	Cells   int `json:"cells"`
	Sockets int `json:"sockets"`
	Cores   int `json:"cores"`
	Threads int `json:"threads"`
}

// Inventory asks libvirtd for processors and memory, and the file system of the
// state folder for its size.
func (d *Driver) Inventory(ctx context.Context) (libvirt.Inventory, error) {
	var i libvirt.Inventory
	about := details{HypervisorType: "QEMU", KVM: d.kvm}
	var capabilities string
	err := d.daemon.call(ctx, callTime, "describe the host", func(rpc *golibvirt.Libvirt) error {
		_, memoryKiB, cpus, _, cells, sockets, cores, threads, err := rpc.NodeGetInfo()
		if err != nil {
			return err
		}
		i.VCPUs, i.MemoryMB = int(cpus), int64(memoryKiB)>>10
		about.CPU.Topology = topology{int(cells), int(sockets), int(cores), int(threads)}
		if about.HypervisorVersion, err = rpc.ConnectGetVersion(); err != nil {
			return err
		}
		if capabilities, err = rpc.ConnectGetCapabilities(); err != nil {
			return err
		}
		if d.lends {
			i.Devices, err = pciDevices(rpc)
		}
		return err
	})
	if err != nil {
		return libvirt.Inventory{}, err
	}
	var caps libvirtxml.Caps
	if err := caps.Unmarshal(capabilities); err != nil {
		return libvirt.Inventory{}, broken(err)
	}
	about.CPU.read(caps)
	i.NUMA = cellsOf(caps)
	about.SupportedInstances, about.Traits = supported(caps), traits(about.CPU)
	var disk syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &disk); err != nil {
		return libvirt.Inventory{}, broken(err)
	}
	i.DiskGB = int64(disk.Blocks) * disk.Bsize >> 30
	if i.Details, err = json.Marshal(about); err != nil {
		return libvirt.Inventory{}, broken(err)
	}
	return i, nil
}

// cellsOf gives the host's cells; nil if libvirt doesn't tell of any.
func cellsOf(caps libvirtxml.Caps) *numa.Host {
	if caps.Host.NUMA == nil || caps.Host.NUMA.Cells == nil || len(caps.Host.NUMA.Cells.Cells) == 0 {
		return nil
	}
	host := &numa.Host{}
	for _, cell := range caps.Host.NUMA.Cells.Cells {
		c := numa.Cell{ID: cell.ID}
		if cell.Memory != nil {
			c.MemoryMB = int64(cell.Memory.Size) >> 10 // KiB
		}
		for _, pages := range cell.PageInfo {
			c.Pages = append(c.Pages, numa.Pages{SizeKB: int64(pages.Size), Total: int64(pages.Count)})
		}
		if cell.CPUS != nil {
			for _, cpu := range cell.CPUS.CPUs {
				c.Shared = c.Shared.Or(numa.CPUs{cpu.ID})
				if cpu.SocketID != nil {
					c.Socket = *cpu.SocketID
				}
				if core, err := numa.ParseCPUs(cpu.Siblings); err == nil && len(core) > 0 && core[0] == cpu.ID {
					c.Siblings = append(c.Siblings, core)
				}
			}
		}
		host.Cells = append(host.Cells, c)
	}
	return host
}

func (c *cpuInfo) read(caps libvirtxml.Caps) {
	c.Features = []string{}
	cpu := caps.Host.CPU
	if cpu == nil {
		return
	}
	c.Arch, c.Model, c.Vendor = cpu.Arch, cpu.Model, cpu.Vendor
	for _, feature := range cpu.FeatureFlags {
		c.Features = append(c.Features, feature.Name)
	}
}

// isAMD says whose processors the host has.
func isAMD() bool {
	info, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && bytes.Contains(info, []byte("AuthenticAMD"))
}
