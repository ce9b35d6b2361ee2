package qemu

// Building a guest: folder, disks, bridges, domain, and its start.

import (
	"context"
	"os"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/domain"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// Build makes the guest and starts it.
func (d *Driver) Build(ctx context.Context, spec steps.ServerSpec, confirm libvirt.Confirm) (libvirt.Guest, error) {
	g, err := d.guest(spec.ServerID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	now, err := g.settled(ctx)
	if err != nil {
		return libvirt.Guest{}, err
	}
	if now.active {
		return libvirt.Guest{ServerID: g.id, PowerState: now.power}, nil
	}
	if _, err := g.xml(spec, nil); err != nil {
		return libvirt.Guest{}, err // before anything is made
	}
	err = g.steps(ctx,
		subStep{"build.folder", func(context.Context) error { return g.open(spec) }},
		subStep{"build.image", func(ctx context.Context) error { return g.linkBase(ctx, spec) }},
		subStep{"build.disks", func(ctx context.Context) error { return g.makeDisks(ctx, spec) }},
		subStep{"build.config", func(ctx context.Context) error { return g.makeConfigDrive(ctx, spec) }},
		subStep{"build.define", func(ctx context.Context) error { return g.define(ctx, spec) }},
		subStep{"build.start", func(ctx context.Context) error { return g.start(ctx, spec, confirm) }},
		subStep{"build.done", nil},
	)
	if err != nil {
		return libvirt.Guest{}, err
	}
	return d.Observe(ctx, g.id)
}

// open makes the folder with what the guest is built from.
func (g *guest) open(spec steps.ServerSpec) error {
	if err := os.MkdirAll(g.dir, 0o711); err != nil {
		return broken(err)
	}
	have, err := g.read()
	if err != nil && !faults.Is(err, faults.NotFound) {
		return err
	}
	have.Spec, have.Host = spec, g.driver.hostID
	return g.write(have)
}

// define gives libvirt the domain as the spec has it now; the definition of one
// that is there is replaced.
func (g *guest) define(ctx context.Context, spec steps.ServerSpec) error {
	disks, err := g.disks(ctx, spec)
	if err != nil {
		return err
	}
	return g.defineWith(ctx, spec, disks)
}

// defineWith is define with disks that aren't the spec's.
func (g *guest) defineWith(ctx context.Context, spec steps.ServerSpec, disks []domain.Disk) error {
	text, err := g.xml(spec, disks)
	if err != nil {
		return err
	}
	return g.call(ctx, callTime, "define the domain", func(rpc *golibvirt.Libvirt) error {
		_, err := rpc.DomainDefineXMLFlags(text, golibvirt.DomainDefineValidate)
		return err
	})
}

func (g *guest) xml(spec steps.ServerSpec, disks []domain.Disk) (string, error) {
	return domain.XML(domain.Plan{Spec: spec, KVM: g.driver.kvm, AMD: g.driver.amd, Shared: g.driver.shared, Disks: disks, ConsoleLog: g.file(consoleFile)})
}

// start runs the domain if it stands still. It is the line after which the
// guest may have written to its disks and to the network.
func (g *guest) start(ctx context.Context, spec steps.ServerSpec, confirm libvirt.Confirm) error {
	if now, err := g.settled(ctx); err != nil || now.active {
		return err
	}
	if err := plug(ctx, spec.Ports); err != nil {
		return err
	}
	if err := confirm(); err != nil {
		return err
	}
	err := g.domain(ctx, startTime, "start the domain", func(rpc *golibvirt.Libvirt, d golibvirt.Domain) error {
		_, err := rpc.DomainCreateWithFlags(d, 0)
		return err
	})
	if faults.Is(err, faults.Conflict) {
		if now, looked := g.settled(ctx); looked == nil && now.active {
			return nil
		}
	}
	return err
}
