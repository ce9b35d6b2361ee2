package cloud

// Simulated machines: their BMCs, what they are booted from, and the file by which
// their nodes are enrolled.

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/internal/statedir"
)

const (
	bmcUser   = "admin"
	nodesFile = "nodes.json"
	diskImage = "disk.img"
)

// parts are what boot images are made of, and an image to deploy. Simulated machines
// read of them what their kernel is told and how long they are.
var parts = map[string]string{"kernel": "a kernel", "ramdisk": "its initial file system", "bootloader": "an EFI system partition",
	diskImage: strings.Repeat("a disk to deploy\n", 1<<16)}

// startMachines starts the machines, which end with this process and are off and
// empty at the next start, and says how they are enrolled.
func (c *cloud) startMachines(ctx context.Context) error {
	if c.Machines == 0 {
		return nil
	}
	began := time.Now()
	password, err := c.password("bmc")
	if err != nil {
		return err
	}
	service, err := bmc.Start(bmc.Options{Machines: c.Machines, Listen: c.at.host("redfish"), Dir: c.Dir, User: bmcUser, Password: password, Delay: time.Second})
	if err != nil {
		return err
	}
	c.stops = append(c.stops, service.Close)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.at.host("parts"))
	if err != nil {
		return err
	}
	files := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		part, ok := parts[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprint(w, part) // who reads it sees its end
	})}
	served := make(chan error, 1)
	go func() { served <- files.Serve(listener) }()
	c.stops = append(c.stops, func() error {
		err := files.Close()
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		return err
	})
	service.OfferIPXE(c.at.host("boot"), c.at.url("boot"))
	err = bmc.WriteLoaders(c.path("loaders"))
	if err == nil {
		err = c.writeNodes(service, password)
	}
	if err != nil {
		return err
	}
	c.done("machines", began)
	return nil
}

// writeNodes writes what `openstack baremetal create` makes the machines' nodes of.
func (c *cloud) writeNodes(service *bmc.Service, password string) error {
	var nodes []map[string]any
	for _, m := range service.Machines {
		nodes = append(nodes, map[string]any{
			"name": "node-" + m.ID, "driver": "redfish", "boot_interface": "redfish-virtual-media", "deploy_interface": "direct", "rescue_interface": "agent", "network_interface": "noop", "resource_class": "baremetal",
			"driver_info": map[string]any{"redfish_address": service.URL(), "redfish_system_id": "/redfish/v1/Systems/" + m.ID,
				"redfish_username": bmcUser, "redfish_password": password, "redfish_verify_ca": service.CAFile},
			"ports": []map[string]any{{"address": m.MAC, "local_link_connection": map[string]any{"switch_id": "52:54:00:00:00:01", "port_id": "Ethernet" + m.ID, "switch_info": "simulated"}}},
		})
	}
	text, err := json.MarshalIndent(map[string]any{"nodes": nodes}, "", "  ")
	if err == nil {
		err = statedir.Write(c.path(nodesFile), text)
	}
	if err != nil {
		return fmt.Errorf("the machines' nodes: %w", err)
	}
	return nil
}

// instance is the instance_info by which a machine is deployed with the image that is
// there for that.
func (c *cloud) instance() map[string]string {
	return map[string]string{"image_source": c.at.url("parts") + "/" + diskImage, "image_os_hash_algo": "sha256",
		"image_os_hash_value": fmt.Sprintf("%x", sha256.Sum256([]byte(parts[diskImage])))}
}

// conductor is what a conductor of the machines is configured with.
func (c *cloud) conductor() map[string]any {
	loopback := []string{"127.0.0.0/8"}
	return map[string]any{
		"conductor.name":             "conductor",
		"conductor.networks":         loopback,
		"conductor.image_networks":   loopback,
		"conductor.boot_listen":      c.at.host("boot"),
		"conductor.boot_url":         c.at.url("boot"),
		"conductor.boot_dir":         c.path("boot"),
		"conductor.tftp_listen":      c.at.host("boot"),
		"conductor.tftp_root":        c.path("loaders"),
		"conductor.callback_url":     c.at.url("compute") + "/baremetal",
		"conductor.deploy_kernel":    c.at.url("parts") + "/kernel",
		"conductor.deploy_ramdisk":   c.at.url("parts") + "/ramdisk",
		"conductor.bootloader":       c.at.url("parts") + "/bootloader",
		"baremetal.agent_networks":   loopback,
		"telemetry.conductor_listen": c.at.host("telemetry-conductor"),
	}
}
