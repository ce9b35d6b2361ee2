package main

// holdfast worker: what carries operations out.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/activities/libvirt/ironic"
	"holdfast.dev/activities/libvirt/qemu"
	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/activities/maintenance"
	"holdfast.dev/activities/placement"
	"holdfast.dev/activities/records"
	"holdfast.dev/internal/cli"
	"holdfast.dev/internal/config"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hold"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/hosts"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/provider"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/telemetry"
	"holdfast.dev/workers"
	periodic "holdfast.dev/workflows/maintenance"
)

func workerCommand(env *cli.Env) *cobra.Command {
	var role, driver, types string
	var hosts int
	cmd := &cobra.Command{
		Use:   "worker --role control|host|conductor",
		Short: "Carry operations out: workflows and the engine's loops, the guests of hosts, or the BMCs of nodes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := env.Config()
			if err != nil {
				return err
			}
			if driver != "" {
				cfg.Host.Driver = driver
			}
			cfg.Orchestration.ResourceTypes = cmp.Or(types, cfg.Orchestration.ResourceTypes)
			switch workers.Role(role) {
			case workers.ControlRole:
				return runControl(cmd.Context(), cfg)
			case workers.HostRole:
				return runHosts(cmd.Context(), cfg, hosts)
			case workers.ConductorRole:
				return runConductor(cmd.Context(), cfg)
			}
			return faults.New(faults.Invalid, "InvalidRole", "--role is %q; it must be control, host or conductor", role)
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "control, host or conductor")
	cmd.Flags().StringVar(&driver, "driver", "", "libvirt, simulated or ironic (host.driver)")
	cmd.Flags().StringVar(&types, "resource-types", "", "folder with resource types of your own (orchestration.resource_types)")
	cmd.Flags().IntVar(&hosts, "hosts", 1, "hosts in this process, with the simulated driver")
	return cmd
}

// runControl serves the control queue and runs the engine's loops.
func runControl(ctx context.Context, cfg *config.Config) (err error) {
	p, err := newControlProcess(ctx, cfg, "control")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()

	loops := p.engine.NewLoops(p.temporal, steps.ControlQueue)
	health := telemetry.NewHealth(p.log, append(loopsProbes(loops), p.databaseProbe(), p.temporalProbe(), p.hostsProbe())...)
	metrics := p.engine.NewMetrics(loops)
	p.registry.MustRegister(metrics, hosts.Metrics{DB: p.db, DownAfter: cfg.Compute.HostDownAfter})
	chooser, err := scheduler.New(cfg.Compute.WeightMultipliers, cfg.Compute.ImageWeights)
	if err != nil {
		return err
	}
	recorder, placer := records.New(p.db, p.engine, p.starter.Offer), placement.New(p.db, p.engine, chooser)
	services := newServices(p)
	stackResources, stackIdentities, err := p.stackResources()
	if err != nil {
		return err
	}
	machine, err := machineName(cfg)
	if err != nil {
		return err
	}
	if placer.Aliases, err = pci.ReadAliases(cfg.Compute.PCIAlias); err != nil {
		return err
	}
	recorder.Finished, recorder.Knock = metrics.Finished, p.starter.KnockAt
	recorder.DownAfter, placer.DownAfter, placer.Since = cfg.Compute.HostDownAfter, cfg.Compute.HostDownAfter, time.Now()
	return p.beside(ctx, cfg.Telemetry.ControlListen, health, func(ctx context.Context) error {
		return workers.Control(ctx, workers.ControlConfig{
			Client:    p.temporal,
			Records:   recorder,
			Placement: placer,
			Neutron:   services.neutron,
			Cinder:    services.cinder,
			Glance:    services.glance,
			Resources: stackResources,
			Maintenance: maintenance.New(p.db, p.engine, maintenance.Options{Offer: p.starter.Offer, DownAfter: cfg.Compute.HostDownAfter,
				KeepServers: cfg.Retention.DeletedServers, KeepOperations: cfg.Retention.Operations, ReclaimAfter: cfg.Compute.ReclaimInstanceInterval,
				OffloadAfter: cfg.Compute.ShelvedOffloadTime, ConfirmAfter: cfg.Compute.ResizeConfirmWindow}),
			Beside: []func(context.Context){workers.Schedules(p.temporal, schedules(cfg), p.log), loops.Run, p.starter.Run, services.debts.Run, stackIdentities,
				workers.Heartbeat(p.db, machine, cfg.Host.ReportInterval, p.log)},
			Steps: workers.NewStepMetrics(p.registry),
			Hold:  hold.Points(cfg.Dev.HoldDir).At,
			Log:   p.log,
		})
	})
}

// schedules is the periodic work of a cloud.
func schedules(cfg *config.Config) []workers.Schedule {
	return []workers.Schedule{
		{Workflow: periodic.SyncPowerName, Every: cfg.Compute.SyncPowerStateInterval},
		{Workflow: periodic.PurgeName, Every: cfg.Retention.Interval},
		{Workflow: periodic.ReclaimName, Every: min(cfg.Compute.ReclaimInstanceInterval, time.Minute)},
		{Workflow: periodic.OffloadName, Every: max(0, min(cfg.Compute.ShelvedOffloadTime, time.Minute))},
		{Workflow: periodic.ConfirmName, Every: min(cfg.Compute.ResizeConfirmWindow, time.Minute)},
		{Workflow: periodic.NodePowerName, Every: cfg.Conductor.SyncPowerStateInterval},
		{Workflow: periodic.NodeRecoveryName, Every: cfg.Conductor.PowerFailureRecoveryInterval},
		{Workflow: periodic.AddressesName, Every: cfg.Compute.HealInstanceInfoCacheInterval},
	}
}

// runHosts serves the queues of count hosts of this machine.
func runHosts(ctx context.Context, cfg *config.Config, count int) (err error) {
	var specs []workers.HostSpec
	fleet, err := nodesOf(cfg)
	if err == nil && fleet == nil {
		specs, err = hostSpecs(cfg, count)
	}
	if err != nil {
		return err
	}
	key, err := hostlinkKey(cfg, hostlink.LoadKey)
	if err != nil {
		return err
	}
	p, err := newProcess(ctx, cfg, "host")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	return p.beside(ctx, cfg.Telemetry.HostListen, telemetry.NewHealth(p.log, p.temporalProbe()), func(ctx context.Context) error {
		return workers.Host(ctx, workers.HostConfig{
			Client: p.temporal, LinkURL: cfg.Hostlink.URL, Key: key, Hosts: specs, Fleet: fleet, Heartbeat: cfg.Host.ReportInterval,
			Steps: workers.NewStepMetrics(p.registry), Log: p.log,
		})
	})
}

// hostSpecs names the hosts and their state folders: one is the machine
// itself, several are numbered.
func hostSpecs(cfg *config.Config, count int) ([]workers.HostSpec, error) {
	cells, err := numa.ReadSettings(cfg.Host.CPUSharedSet, cfg.Host.CPUDedicatedSet, cfg.Host.ReservedHugePages)
	if err != nil {
		return nil, err
	}
	lent, err := pci.ReadLent(cfg.Host.PCIDeviceSpec)
	if err != nil {
		return nil, err
	}
	provided, err := providerFile(cfg.Host.ProviderConfig)
	if err != nil {
		return nil, err
	}
	open, err := driverOf(cfg, cells)
	if err == nil {
		err = config.Need("host.state_dir", cfg.Host.StateDir)
	}
	switch {
	case err != nil:
		return nil, err
	case count < 1 || count > 1 && cfg.Host.Driver != "simulated":
		return nil, faults.New(faults.Invalid, "InvalidHosts", "--hosts is 1, or more with the simulated driver")
	}
	name, err := machineName(cfg)
	if err != nil {
		return nil, err
	}
	spec := workers.HostSpec{Name: name, StateDir: cfg.Host.StateDir, Driver: cfg.Host.Driver, LinkListen: cfg.Host.LinkListen, Open: open, Cells: cells, Lent: lent, Provided: provided}
	if count == 1 {
		return []workers.HostSpec{spec}, nil
	}
	specs := make([]workers.HostSpec, count)
	for i := range specs {
		specs[i] = spec
		specs[i].Name = fmt.Sprintf("%s-%d", name, i+1)
		specs[i].StateDir = filepath.Join(cfg.Host.StateDir, specs[i].Name)
	}
	return specs, nil
}

// nodesOf are the nodes of the bare metal service as hosts; nil with another driver.
func nodesOf(cfg *config.Config) (*workers.Fleet, error) {
	if cfg.Host.Driver != compute.DriverIronic {
		return nil, nil
	}
	err := errors.Join(config.Need("host.state_dir", cfg.Host.StateDir), config.Need("openstack.auth_url", cfg.OpenStack.AuthURL))
	if err != nil {
		return nil, err
	}
	provided, err := providerFile(cfg.Host.ProviderConfig)
	if err != nil {
		return nil, err
	}
	service := ironic.New(ironic.Options{Client: openstack.NewSession(openstack.Options(cfg.OpenStack)).BareMetal, Stale: max(time.Minute, 3*cfg.Host.ReportInterval)})
	list := func(ctx context.Context, known func(string) bool) ([]string, error) {
		all, err := service.Nodes(ctx)
		if err != nil {
			return nil, err
		}
		return ironic.Offered(all, known), nil
	}
	host := func(id string) workers.HostSpec {
		return workers.HostSpec{Name: id, ID: id, Driver: cfg.Host.Driver, Provided: provided, Builds: 1,
			Open: func(_ string, link *hostlink.Client) (libvirt.Driver, error) { return service.Driver(id, link), nil }}
	}
	return &workers.Fleet{Dir: filepath.Join(cfg.Host.StateDir, "nodes"), List: list, Host: host}, nil
}

// providerFile reads what the operator says that the machine's hosts have; no path is
// nothing.
func providerFile(path string) (provider.File, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("host.provider_config: %w", err)
	}
	defer file.Close()
	return provider.Read(path, file)
}

// machineName is what the machine is called in the cloud.
func machineName(cfg *config.Config) (string, error) {
	if cfg.Host.Name != "" {
		return cfg.Host.Name, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("the machine has no name; set host.name: %w", err)
	}
	return name, nil
}

// driverOf opens what runs guests.
func driverOf(cfg *config.Config, cells numa.Settings) (workers.OpenDriver, error) {
	switch cfg.Host.Driver {
	case "libvirt":
		return func(stateDir string, link *hostlink.Client) (libvirt.Driver, error) {
			return qemu.New(qemu.Options{
				HostID: link.HostID(), StateDir: stateDir, Socket: cfg.Host.LibvirtSocket, CacheBytes: int64(cfg.Host.ImageCacheGB) << 30,
				Images: images.NewGlance(link), Servers: link, Migration: migrationOf(cfg), Shared: cells.Shared, Lends: len(cfg.Host.PCIDeviceSpec) > 0, Hold: hold.Points(cfg.Dev.HoldDir).At,
			})
		}, nil
	case "simulated":
		return func(stateDir string, _ *hostlink.Client) (libvirt.Driver, error) {
			return simulated.New(simulated.Options{StateDir: stateDir, Hold: hold.Points(cfg.Dev.HoldDir).At})
		}, nil
	}
	return nil, faults.New(faults.Invalid, "NoDriver", "host.driver is %q; it must be libvirt, simulated or ironic", cfg.Host.Driver)
}

// migrationOf is how guests come to and leave the host.
func migrationOf(cfg *config.Config) qemu.Migration {
	h := cfg.Host
	address := h.LiveMigrationInboundAddr
	if address == "" {
		address, _ = machineName(cfg) // without a name the host doesn't start
	}
	return qemu.Migration{
		URI: strings.ReplaceAll(h.LiveMigrationURI, "%s", address), Address: address,
		CompletionTimeout: h.LiveMigrationCompletionTimeout, TimeoutAction: qemu.TimeoutAction(h.LiveMigrationTimeoutAction),
		PermitPostCopy: h.LiveMigrationPermitPostCopy, PermitAutoConverge: h.LiveMigrationPermitAutoConverge,
	}
}

// beside runs work with the telemetry listener next to it; either's end is the
// end of both.
func (p *process) beside(ctx context.Context, address string, health *telemetry.Health, work func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	group.Go(func() error {
		defer stop()
		return work(ctx)
	})
	group.Go(func() error { return serve(ctx, p.log, p.cfg.API.ShutdownPatience, p.telemetry(address, health)) })
	return group.Wait()
}
