package main

// holdfast worker --role conductor: what is done to nodes.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"holdfast.dev/activities/agent"
	"holdfast.dev/activities/bmc"
	"holdfast.dev/activities/boot"
	"holdfast.dev/activities/network"
	"holdfast.dev/internal/config"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/hold"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/inspection"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/telemetry"
	"holdfast.dev/workers"
)

// enabledHardware are the types and the implementations that nodes may have.
func enabledHardware(cfg *config.Config) (*hardware.Enabled, error) {
	enabled, err := hardware.Enable(cfg.Baremetal.EnabledHardwareTypes)
	if err != nil {
		return nil, err
	}
	c := cfg.Baremetal
	for of, names := range map[hardware.Interface][]string{hardware.Boot: c.EnabledBootInterfaces, hardware.Rescue: c.EnabledRescueInterfaces,
		hardware.Inspect: c.EnabledInspectInterfaces, hardware.Firmware: c.EnabledFirmwareInterfaces, hardware.Network: c.EnabledNetworkInterfaces} {
		if err := enabled.EnableInterfaces(of, names); err != nil {
			return nil, err
		}
	}
	return enabled, enabled.Prefer(hardware.Network, c.DefaultNetworkInterface)
}

// nodeNetworks are those that nodes are on for their ramdisks.
func nodeNetworks(c config.Conductor) nodes.Networks {
	return nodes.Networks{
		Usual: map[steps.NodeNetwork]string{steps.NetworkCleaning: c.CleaningNetwork, steps.NetworkProvisioning: c.ProvisioningNetwork,
			steps.NetworkRescuing: c.RescuingNetwork, steps.NetworkInspection: c.InspectionNetwork, steps.NetworkServicing: c.ServicingNetwork},
		SecurityGroups: map[steps.NodeNetwork][]string{steps.NetworkCleaning: c.CleaningNetworkSG, steps.NetworkProvisioning: c.ProvisioningNetworkSG,
			steps.NetworkRescuing: c.RescuingNetworkSG, steps.NetworkInspection: c.InspectionNetworkSG, steps.NetworkServicing: c.ServicingNetworkSG},
		AllPorts: c.AddAllPorts, MustBind: c.FailOnPortBindingFailure, NeverOff: c.AllowDisablingPowerOff,
	}
}

// firstStage is what ports of Neutron say of how nodes are booted; nil if others say it.
func firstStage(c config.Conductor) (*nodes.FirstStage, error) {
	switch {
	case c.DHCPProvider != "neutron" && c.DHCPProvider != "none":
		return nil, fmt.Errorf("conductor.dhcp_provider: %q is neither neutron nor none", c.DHCPProvider)
	case c.DHCPProvider == "none", c.BootURL == "":
		return nil, nil
	}
	at, err := url.Parse(c.BootURL)
	if err != nil {
		return nil, fmt.Errorf("conductor.boot_url: %w", err)
	}
	first := &nodes.FirstStage{TFTP: cmp.Or(c.TFTPServer, at.Hostname()), URL: c.BootURL,
		IPXE: nodes.Loaders{BIOS: c.IPXELoader, UEFI: c.UEFIIPXELoader}, Other: nodes.Loaders{BIOS: c.PXELoader, UEFI: c.UEFIPXELoader}}
	if first.IPXE.ByArch, err = nodes.ReadLoaders(c.IPXELoadersByArch); err != nil {
		return nil, fmt.Errorf("conductor.ipxe_bootfile_name_by_arch: %w", err)
	}
	if first.Other.ByArch, err = nodes.ReadLoaders(c.PXELoadersByArch); err != nil {
		return nil, fmt.Errorf("conductor.pxe_bootfile_name_by_arch: %w", err)
	}
	return first, nil
}

// inspections are what is made of what ramdisks find.
func inspections(c config.Inspection) (o inspection.Options, err error) {
	o = inspection.Options{Add: inspection.AddPorts(c.AddPorts), Keep: inspection.KeepPorts(c.KeepPorts), Spacing: c.DiskPartitioningSpacing}
	if !c.UpdatePXEEnabled {
		o.Booting = inspection.Row
	}
	if o.Hooks, err = inspection.HookNames(c.Hooks); err != nil {
		return o, fmt.Errorf("inspection.hooks: %w", err)
	}
	if o.Aliases, err = inspection.ReadAliases(c.PCIDeviceAlias); err != nil {
		return o, fmt.Errorf("inspection.pci_device_alias: %w", err)
	}
	if o.Accelerators, err = inspection.ReadAccelerators(c.KnownAccelerators); err != nil {
		return o, fmt.Errorf("inspection.known_accelerators: %w", err)
	}
	if o.Networks, err = inspection.ReadPhysicalNetworks(c.PhysicalNetworkCIDRMap); err != nil {
		return o, fmt.Errorf("inspection.physical_network_cidr_map: %w", err)
	}
	return o, nil
}

// runConductor serves the queue of a group of nodes.
func runConductor(ctx context.Context, cfg *config.Config) (err error) {
	p, err := newControlProcess(ctx, cfg, "conductor")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	box, err := p.secrets()
	if err != nil {
		return err
	}
	enabled, err := enabledHardware(cfg)
	if err != nil {
		return err
	}
	machine, err := machineName(cfg)
	if err != nil {
		return err
	}
	name := cmp.Or(cfg.Conductor.Name, machine)
	c := cfg.Conductor
	inspected, err := inspections(cfg.Inspection)
	if err != nil {
		return err
	}
	controllers := bmc.New(p.db, p.engine, box, bmc.Options{Networks: c.Networks, CreatePorts: cfg.Inspection.PreCreatePorts, VerifyClock: c.VerifyBMCClock, Sync: bmc.SyncOptions{Force: c.ForcePowerStateDuringSync,
		MaxRetries: c.PowerStateSyncMaxRetries, Timeout: c.PowerStateChangeTimeout, Workers: c.SyncPowerStateWorkers}})
	first, err := firstStage(c)
	if err != nil {
		return err
	}
	services := openstack.NewSession(openstack.Options(cfg.OpenStack))
	networks := network.New(p.db, p.engine, box, network.Options{Client: services.Network, Networks: nodeNetworks(c), FirstStage: first, Log: p.log})
	starts := boot.New(p.db, p.engine, box, controllers, boot.Options{Conductor: name, Dir: c.BootDir, URL: c.BootURL, API: c.CallbackURL, Networks: c.ImageNetworks,
		Loaders: c.TFTPRoot, ByTFTP: c.TFTPListen != "", InspectionParams: strings.Fields(cfg.Inspection.KernelParams), Glance: services,
		Usual: nodes.BootDefaults{Kernel: c.DeployKernel, Ramdisk: c.DeployRamdisk, Bootloader: c.Bootloader, Append: c.KernelAppendParams}})
	served, err := bootListener(ctx, c)
	if err != nil {
		return err
	}
	byTFTP, err := tftpListener(ctx, c)
	if err != nil {
		return err
	}
	key, err := hostlinkKey(cfg, hostlink.CreateKey)
	if err != nil {
		return err
	}
	link, err := hostlink.ListenNodes(c.LinkListen, name, key, controllers, p.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, link.Close()) }()
	return p.beside(ctx, cfg.Telemetry.ConductorListen, telemetry.NewHealth(p.log, p.databaseProbe(), p.temporalProbe()), func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		if served != nil {
			group.Go(func() error { return starts.Serve(ctx, served, p.log) })
		}
		if byTFTP != nil {
			group.Go(func() error { return starts.ServeTFTP(ctx, byTFTP, p.log) })
		}
		group.Go(func() error {
			workers.Debts{DB: p.db, Engine: p.engine, Of: steps.ConductorQueue(c.Group), Log: p.log,
				Pay: map[operations.EffectKind]func(context.Context, engine.Debt) error{operations.EffectRamdisk: starts.Pay, operations.EffectNetwork: networks.Pay}}.Run(ctx)
			return nil
		})
		group.Go(func() error {
			return workers.RunConductor(ctx, workers.ConductorConfig{
				Client: p.temporal, DB: p.db, Heartbeat: c.HeartbeatInterval,
				Conductor: baremetal.Conductor{Hostname: name, Group: c.Group, Drivers: enabled.Types(), DownAfter: c.HeartbeatTimeout, LinkAddress: link.Address()},
				BMC:       controllers, Boot: starts, Network: networks,
				Agent: agent.New(p.db, p.engine, box, agent.Options{Networks: cfg.Baremetal.AgentNetworks, Plain: !cfg.Baremetal.AgentRequireTLS, Priorities: priorities(c), Inspection: inspected,
					MaskSecrets: inspection.MaskSecrets(cfg.Inspection.MaskSecrets), RuleNetworks: cfg.Inspection.RuleNetworks, Log: p.log, Glance: services, URL: c.BootURL}),
				Steps: workers.NewStepMetrics(p.registry), Hold: hold.Points(cfg.Dev.HoldDir).At, Log: p.log,
			})
		})
		return group.Wait()
	})
}

// priorities are those of steps of ramdisks that the configuration gives.
func priorities(c config.Conductor) map[string]int {
	given := map[string]int{"erase_devices": c.EraseDevicesPriority, "erase_devices_metadata": c.EraseDevicesMetadataPriority}
	maps.DeleteFunc(given, func(_ string, priority int) bool { return priority < 0 })
	return given
}

// bootListener is where what nodes are booted from is served by HTTP; nil where nothing is.
func bootListener(ctx context.Context, c config.Conductor) (net.Listener, error) {
	if c.BootListen == "" {
		return nil, nil
	}
	if err := os.MkdirAll(c.BootDir, 0o700); err != nil {
		return nil, fmt.Errorf("conductor.boot_dir: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.BootListen)
	if err != nil {
		return nil, fmt.Errorf("listen for boot images: %w", err)
	}
	return listener, nil
}

// tftpListener is where it is served by TFTP; nil where nothing is.
func tftpListener(ctx context.Context, c config.Conductor) (*net.UDPConn, error) {
	if c.TFTPListen == "" {
		return nil, nil
	}
	conn, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", c.TFTPListen)
	if err != nil {
		return nil, fmt.Errorf("conductor.tftp_listen: %w", err)
	}
	udp, ok := conn.(*net.UDPConn)
	if !ok {
		return nil, fmt.Errorf("conductor.tftp_listen: %s is no address of UDP", c.TFTPListen)
	}
	return udp, nil
}
