package cloud

// Holdfast itself: its configuration and its processes.

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"

	"holdfast.dev/dev/launch"
)

// startHoldfast writes the configuration and starts API, control and host.
func (c *cloud) startHoldfast(ctx context.Context) error {
	dsn, err := c.dsn()
	if err != nil {
		return err
	}
	password, err := c.password(serviceUser)
	if err != nil {
		return err
	}
	secret, err := c.password(metadataSecret)
	if err != nil {
		return err
	}
	heat, err := c.password(stackDomainAdmin)
	if err != nil {
		return err
	}
	config := c.path("holdfast.yaml")
	settings := map[string]any{
		"database.dsn":                              dsn,
		"database.max_connections":                  16,
		"temporal.address":                          c.at.host("temporal"),
		"api.listen":                                c.at.host("compute"),
		"compute.host_down_after":                   "20s",
		"compute.allow_resize_to_same_host":         c.Hosts == 1,
		"baremetal.service_project":                 serviceProject,
		"baremetal.enabled_hardware_types":          []string{"fake-hardware", "ipmi", "manual-management", "redfish"},
		"baremetal.enabled_rescue_interfaces":       []string{"agent", "no-rescue"},
		"baremetal.enabled_inspect_interfaces":      []string{"agent", "no-inspect", "redfish"},
		"baremetal.enabled_network_interfaces":      []string{"flat", "neutron", "noop"},
		"conductor.cleaning_network":                networkName,
		"conductor.provisioning_network":            networkName,
		"conductor.rescuing_network":                networkName,
		"conductor.inspection_network":              networkName,
		"conductor.servicing_network":               networkName,
		"hostlink.listen":                           c.at.host("hostlink"),
		"hostlink.url":                              c.at.url("hostlink"),
		"hostlink.key_file":                         c.path("hostlink.key"),
		"secrets.key_file":                          c.path("secrets.key"),
		"host.state_dir":                            c.path("hosts"),
		"host.driver":                               c.Driver,
		"host.report_interval":                      "5s",
		"log.format":                                "text",
		"telemetry.api_listen":                      c.at.host("telemetry-api"),
		"telemetry.control_listen":                  c.at.host("telemetry-control"),
		"telemetry.host_listen":                     c.at.host("telemetry-host"),
		"orchestration.enable_stack_abandon":        true,
		"orchestration.enable_stack_adopt":          true,
		"orchestration.guest_url":                   c.at.url("compute") + "/orchestration",
		"orchestration.cfn_guest_url":               c.at.url("compute") + "/cloudformation",
		"orchestration.stack_user_domain_name":      stackDomain,
		"orchestration.stack_domain_admin":          stackDomainAdmin,
		"orchestration.stack_domain_admin_password": heat,
		"metadata.listen":                           c.at.host("metadata"),
		"metadata.proxy_shared_secret":              secret,
		"openstack.auth_url":                        c.at.url("identity") + "/v3",
		"openstack.username":                        serviceUser,
		"openstack.password":                        password,
		"openstack.project":                         serviceProject,
		"openstack.region":                          region,
		"keystone.token_cache_time":                 "10s",
	}
	if l := c.libvirts(); len(l) == 1 {
		settings["host.libvirt_socket"] = l[0].Socket()
	}
	if c.Machines > 0 {
		maps.Copy(settings, c.conductor())
	}
	if err := launch.WriteConfig(config, settings); err != nil {
		return err
	}
	processes := []launch.HoldfastOptions{
		{Name: "api", Args: []string{"api"}},
		{Name: "control", Args: []string{"worker", "--role", "control"}},
	}
	if c.several == nil {
		processes = append(processes, launch.HoldfastOptions{Name: "host", Args: []string{"worker", "--role", "host", "--hosts", fmt.Sprint(c.Hosts)}})
	}
	if c.Machines > 0 {
		processes = append(processes, launch.HoldfastOptions{Name: "conductor", Args: []string{"worker", "--role", "conductor"}},
			launch.HoldfastOptions{Name: "nodes", Args: []string{"worker", "--role", "host"}})
	}
	for _, o := range processes {
		o.Config, o.Telemetry = config, c.at.host("telemetry-"+o.Name)
		if o.Name == "nodes" {
			if o.Config, err = c.nodesConfig(settings); err != nil {
				return err
			}
		}
		if err := c.startRole(ctx, o, nil); err != nil {
			return err
		}
	}
	return c.startHosts(ctx, settings)
}

// nodesConfig writes that of the host worker whose hosts are nodes: it stands beside
// another one on the machine.
func (c *cloud) nodesConfig(settings map[string]any) (string, error) {
	own, file := maps.Clone(settings), c.path("nodes.yaml")
	own["host.driver"], own["host.state_dir"], own["telemetry.host_listen"] = "ironic", c.path("nodes"), c.at.host("telemetry-nodes")
	return file, launch.WriteConfig(file, own)
}

// startHosts starts a worker on each of several hosts. One that comes back may
// find its namespace only, never another's state.
func (c *cloud) startHosts(ctx context.Context, settings map[string]any) error {
	if c.several == nil {
		return nil
	}
	// QEMU's account passes through.
	if err := os.MkdirAll(c.path("hosts"), 0o711); err != nil {
		return err
	}
	for i, h := range c.several.All {
		own := maps.Clone(settings)
		o := launch.HoldfastOptions{Name: fmt.Sprintf("host-%d", i+1), Args: []string{"worker", "--role", "host"}, Telemetry: h.Telemetry()}
		o.Config = c.path(o.Name + ".yaml")
		own["host.name"], own["host.state_dir"] = h.Name, c.path("hosts", h.Name)
		own["host.libvirt_socket"], own["host.link_listen"] = h.Libvirt.Socket(), net.JoinHostPort(h.Address.String(), "0")
		own["telemetry.host_listen"] = o.Telemetry
		own["host.live_migration_uri"], own["host.live_migration_inbound_addr"] = h.Libvirt.URI(), h.Address.String()
		if err := launch.WriteConfig(o.Config, own); err != nil {
			return err
		}
		if err := c.startRole(ctx, o, h.Command()); err != nil {
			return err
		}
	}
	return nil
}

// startRole starts one of our own processes, by a command before it if there is one.
func (c *cloud) startRole(ctx context.Context, o launch.HoldfastOptions, by []string) error {
	o.Program, o.LogFile = c.Program, c.log(o.Name)
	p := launch.Holdfast(o)
	p.Args = append(by, p.Args...)
	p.Restart = c.revival()
	return c.holdfast.Start(ctx, p)
}
