package ironic

// The driver of one node: what it has, and what its one guest is like.

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/provider"
)

// Servers tells of the servers that are claimed for the node; hostlink.Client is one.
type Servers interface {
	ConfigDrive(ctx context.Context, serverID string) (hostlink.ConfigDrive, error)
}

// Driver implements libvirt.Driver for one node.
type Driver struct {
	refusals
	service *Service
	id      string
	servers Servers
}

var _ libvirt.Driver = (*Driver)(nil)

// Driver is that of a node.
func (s *Service) Driver(id string, servers Servers) *Driver {
	return &Driver{service: s, id: id, servers: servers}
}

// Close does nothing: there is one session for all nodes.
func (d *Driver) Close() error { return nil }

// hostKey is where a node's instance_info says whose host it is: a node that has been
// deployed without Compute doesn't.
const hostKey = "nova_host_id"

// serverOf is the server whose guest the node is; empty for none.
func (d *Driver) serverOf(n *nodes.Node) string {
	if n.InstanceInfo[hostKey] != d.id {
		return ""
	}
	return n.InstanceUUID
}

// List shows the node's guest; one that is gone has none.
func (d *Driver) List(context.Context) ([]libvirt.Guest, error) {
	n, err := d.service.seen(d.id)
	if err != nil && !faults.Is(err, faults.NotFound) {
		return nil, err
	}
	if n == nil || d.serverOf(n) == "" {
		return []libvirt.Guest{}, nil
	}
	return []libvirt.Guest{guestOf(n)}, nil
}

// Observe shows the guest.
func (d *Driver) Observe(ctx context.Context, serverID string) (libvirt.Guest, error) {
	n, err := d.guest(ctx, serverID)
	if err != nil {
		return libvirt.Guest{}, err
	}
	return guestOf(n), nil
}

// guest reads the node if it is the server's. Errors: NotFound.
func (d *Driver) guest(ctx context.Context, serverID string) (*nodes.Node, error) {
	n, err := d.service.look(ctx, d.id)
	if err != nil {
		return nil, err
	}
	if d.serverOf(n) != serverID {
		return nil, faults.New(faults.NotFound, "GuestNotFound", "node %s is no guest of server %s", d.id, serverID)
	}
	return n, nil
}

// powers are the states of guests by those of nodes.
var powers = map[string]int{string(nodes.PowerOn): libvirt.Running, string(nodes.PowerOff): libvirt.Shutdown}

// made are the states in which somebody's image is on the node.
var made = map[nodes.ProvisionState]bool{nodes.Active: true, nodes.Rescue: true, nodes.RescueFail: true, nodes.RescueWait: true, nodes.Rescuing: true,
	nodes.Unrescuing: true, nodes.UnrescueFail: true, nodes.Servicing: true, nodes.ServiceWait: true, nodes.ServiceFail: true, nodes.ServiceHold: true}

// guestOf is the guest of a node that is somebody's; half-made or half-removed it has no
// power.
func guestOf(n *nodes.Node) libvirt.Guest {
	g := libvirt.Guest{ServerID: n.InstanceUUID, PowerState: libvirt.NoState}
	if made[nodes.ProvisionState(n.ProvisionState)] {
		g.PowerState = powers[n.PowerState]
	}
	return g
}

// Inventory is one of the node's resource class, held back unless it is free. A node that
// is gone has nothing.
func (d *Driver) Inventory(context.Context) (libvirt.Inventory, error) {
	n, err := d.service.seen(d.id)
	if faults.Is(err, faults.NotFound) {
		return libvirt.Inventory{}, nil
	}
	if err != nil {
		return libvirt.Inventory{}, err
	}
	details, err := json.Marshal(detailsOf(n))
	if err != nil {
		return libvirt.Inventory{}, faults.Wrap(err, faults.Internal, "InvalidInventory", "what node %s is can't be told", d.id)
	}
	one := provider.Inventory{Total: 1, MinUnit: 1, MaxUnit: 1, StepSize: 1, Ratio: 1}
	if !free(n) {
		one.Reserved = 1
	}
	return libvirt.Inventory{Resources: map[string]provider.Inventory{provider.Custom(n.ResourceClass): one}, Details: details}, nil
}

// detailsOf are what filters ask of a node: its traits, its architecture, and the
// capabilities of its properties ("boot_mode:uefi,disk_label:gpt").
func detailsOf(n *nodes.Node) map[string]any {
	details := map[string]any{}
	capabilities, _ := n.Properties["capabilities"].(string)
	for pair := range strings.SplitSeq(capabilities, ",") {
		if key, value, ok := strings.Cut(pair, ":"); ok && key != "" && value != "" && !strings.Contains(value, ":") {
			details[strings.TrimSpace(key)] = value
		}
	}
	guests := [][3]string{}
	if arch, _ := n.Properties["cpu_arch"].(string); arch != "" {
		details["cpu_arch"] = arch
		guests = append(guests, [3]string{arch, "baremetal", "hvm"})
	}
	details["hypervisor_type"], details["hypervisor_version"] = "ironic", 1
	details["supported_instances"], details["traits"] = guests, n.Traits
	return details
}
