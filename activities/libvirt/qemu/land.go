package qemu

// Live migration, on the host that the guest comes to: what it needs there, and
// a look at it when it has come.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"
	"libvirt.org/go/libvirtxml"

	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/steps"
)

// markerFile is in the folder of a guest that is to leave: a host that sees it
// too has the same disks.
const markerFile = ".leaving"

// mark writes the marker, once.
func (g *guest) mark() (string, error) {
	text, err := os.ReadFile(g.file(markerFile))
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(uuid.NewString())
		err = statedir.Write(g.file(markerFile), text)
	}
	return string(text), broken(err)
}

// bootID tells one start of one kernel from all others.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// sizes are those of the guest's disks on the host, by file.
func (g *guest) sizes(ctx context.Context, domain *libvirtxml.Domain) (map[string]int64, error) {
	sizes := map[string]int64{}
	for _, disk := range localDisksOf(domain, g.dir) {
		err := g.domain(ctx, callTime, "measure a disk", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
			_, capacity, _, err := rpc.DomainGetBlockInfo(d, disk.Target.Dev, 0)
			sizes[filepath.Base(pathOf(disk))] = int64(capacity)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

// Land makes what a guest needs that is to come from another host: its folder,
// disks of the right sizes, bridges. What is there already stays.
func (d *Driver) Land(ctx context.Context, spec steps.ServerSpec, from steps.Departure) (steps.Landing, error) {
	g, err := d.guest(spec.ServerID)
	if err != nil {
		return steps.Landing{}, err
	}
	if err := d.takes(ctx, from); err != nil {
		return steps.Landing{}, err
	}
	shared, err := g.shares(from)
	if err != nil {
		return steps.Landing{}, err
	}
	to := steps.Landing{URI: d.migration.URI, Address: "tcp://" + d.migration.Address, Folder: g.dir, Shared: shared, HostID: d.hostID,
		NUMA:        spec.NUMA,
		SameMachine: from.Boot != "" && from.Boot == bootID(), Volumes: map[string]string{}}
	acts := []subStep{
		{"land.folder", func(context.Context) error { return g.open(spec) }},
		{"land.image", func(ctx context.Context) error { return g.linkBase(ctx, spec) }},
		{"land.disks", func(ctx context.Context) error { return g.landDisks(ctx, spec, from.Sizes) }},
		{"land.config", func(ctx context.Context) error { return g.makeConfigDrive(ctx, spec) }},
	}
	if shared {
		acts = nil
	}
	err = g.steps(ctx, append(acts,
		subStep{"land.bridges", func(ctx context.Context) error { return plug(ctx, spec.Ports) }},
		subStep{"land.volumes", func(ctx context.Context) error {
			volumes, err := g.volumes(ctx, spec)
			for _, v := range volumes {
				to.Volumes[v.Serial] = v.Path
			}
			return err
		}},
		subStep{"land.done", nil},
	)...)
	return to, err
}

// takes says whether this host can run what ran on the other.
func (d *Driver) takes(ctx context.Context, from steps.Departure) error {
	if from.KVM != d.kvm {
		return unfit("one host has KVM and the other has not")
	}
	if err := d.hasMachine(ctx, from.Machine); err != nil {
		return err
	}
	if !from.KVM || from.CPU == "" {
		return nil // every emulator has all that the guest sees
	}
	var verdict int32
	err := d.daemon.call(ctx, callTime, "compare processors", func(rpc *golibvirt.Libvirt) (err error) {
		verdict, err = rpc.ConnectCompareCPU(from.CPU, 0)
		return err
	})
	if err == nil && golibvirt.CPUCompareResult(verdict) <= golibvirt.CPUCompareIncompatible {
		err = unfit("Unacceptable CPU info: CPU doesn't have compatibility.\n\n%d\n\n"+
			"Refer to http://libvirt.org/html/libvirt-libvirt-host.html#virCPUCompareResult", verdict)
	}
	return err
}

// unfit is the original's MigrationPreCheckError.
func unfit(why string, args ...any) error {
	return faults.New(faults.Conflict, "MigrationPreCheckError", "Migration pre-check error: "+why, args...)
}

// hasMachine refuses a machine type that no emulator of the host has, in the words
// of the original's InvalidMachineType.
func (d *Driver) hasMachine(ctx context.Context, machine string) error {
	var text string
	err := d.daemon.call(ctx, callTime, "list machine types", func(rpc *golibvirt.Libvirt) (err error) {
		text, err = rpc.ConnectGetCapabilities()
		return err
	})
	if err != nil || machine == "" {
		return err
	}
	var caps libvirtxml.Caps
	if err := caps.Unmarshal(text); err != nil {
		return broken(err)
	}
	var quoted []string
	for _, guest := range caps.Guests {
		for _, m := range guest.Arch.Machines {
			if m.Name == machine {
				return nil
			}
			quoted = append(quoted, "'"+m.Name+"'")
		}
	}
	return unfit("'%s' is not valid/supported machine type, Supported machine types are: [%s]", machine, strings.Join(quoted, ", "))
}

// landDisks makes empty disks as large as the other host's, for QEMU to fill:
// it sends what has been written, so what an earlier move has left goes first.
func (g *guest) landDisks(ctx context.Context, spec steps.ServerSpec, sizes map[string]int64) error {
	if now, err := g.state(ctx); err != nil || !now.missing {
		return err // it is coming
	}
	for _, disk := range g.localDisks(spec) {
		name := filepath.Base(disk.Path)
		size, there := sizes[name]
		if !there {
			return unfit("the other host doesn't know the disk %s", name)
		}
		if err := os.RemoveAll(disk.Path); err != nil {
			return broken(err)
		}
		err := g.make(name, func(path string) error {
			if disk.Format == "raw" {
				return sparse(path, size)
			}
			return images.QemuImg(ctx, "create", "-q", "-f", "qcow2", "-F", "raw", "-b", baseFile, path, strconv.FormatInt(size, 10))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Landed looks at a guest that was to come: whether it is here, and how long it
// stood still on its way.
func (d *Driver) Landed(ctx context.Context, serverID string) (steps.LandedOut, error) {
	g, err := d.guest(serverID)
	if err != nil {
		return steps.LandedOut{}, err
	}
	now, err := g.state(ctx)
	if err != nil || now.missing {
		return steps.LandedOut{}, err
	}
	switch job, err := g.job(ctx); {
	case faults.Is(err, faults.Conflict), err == nil && (job.active || now.split):
		return steps.LandedOut{Coming: true}, nil // only the other host has its figures
	case err != nil:
		return steps.LandedOut{}, err
	}
	out := steps.LandedOut{Here: now.active, PowerState: now.power}
	if out.Here {
		if err := g.arrive(); err != nil {
			return out, err
		}
	}
	if err := statedir.Remove(g.file(markerFile)); err != nil {
		return out, broken(err)
	}
	// What libvirt has forgotten is not worth an error.
	_ = g.domain(ctx, callTime, "read the migration's figures", func(rpc *golibvirt.Libvirt, dom golibvirt.Domain) error {
		_, figures, err := rpc.DomainGetJobStats(dom, golibvirt.DomainJobStatsCompleted)
		for _, f := range figures {
			if ms, ok := f.Value.I.(uint64); ok && f.Field == golibvirt.DomainJobDowntime {
				out.Downtime = ms
			} else if ok && f.Field == golibvirt.DomainJobTimeElapsed {
				out.Elapsed = ms
			}
		}
		return err
	})
	return out, nil
}
