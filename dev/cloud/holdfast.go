package cloud

// Holdfast itself: its configuration and its three processes.

import (
	"context"
	"fmt"

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
	config := c.path("holdfast.yaml")
	settings := map[string]any{
		"database.dsn":                 dsn,
		"database.max_connections":     16,
		"temporal.address":             c.at.host("temporal"),
		"api.listen":                   c.at.host("compute"),
		"compute.host_down_after":      "20s",
		"hostlink.listen":              c.at.host("hostlink"),
		"hostlink.url":                 c.at.url("hostlink"),
		"hostlink.key_file":            c.path("hostlink.key"),
		"secrets.key_file":             c.path("secrets.key"),
		"host.state_dir":               c.path("hosts"),
		"host.driver":                  c.Driver,
		"host.report_interval":         "5s",
		"log.format":                   "text",
		"telemetry.api_listen":         c.at.host("telemetry-api"),
		"telemetry.control_listen":     c.at.host("telemetry-control"),
		"telemetry.host_listen":        c.at.host("telemetry-host"),
		"metadata.listen":              c.at.host("metadata"),
		"metadata.proxy_shared_secret": secret,
		"openstack.auth_url":           c.at.url("identity") + "/v3",
		"openstack.username":           serviceUser,
		"openstack.password":           password,
		"openstack.project":            serviceProject,
		"openstack.region":             region,
		"keystone.token_cache_time":    "10s",
	}
	if l := c.libvirt(); l != nil {
		settings["host.libvirt_socket"] = l.Socket()
	}
	if err := launch.WriteConfig(config, settings); err != nil {
		return err
	}
	for _, role := range []struct {
		name string
		args []string
	}{
		{"api", []string{"api"}},
		{"control", []string{"worker", "--role", "control"}},
		{"host", []string{"worker", "--role", "host", "--hosts", fmt.Sprint(c.Hosts)}},
	} {
		p := launch.Holdfast(launch.HoldfastOptions{
			Name: role.name, Program: c.Program, Config: config, Args: role.args,
			Telemetry: c.at.host("telemetry-" + role.name), LogFile: c.log(role.name),
		})
		p.Restart = revival
		if err := c.holdfast.Start(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
