package compute

// The services beside this one, asked in the caller's own name before anything
// is accepted, outside of any transaction.

import (
	"context"

	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store/compute"
)

// Neighbours are Glance, Neutron and Cinder; internal/openstack has them.
type Neighbours interface {
	Image(ctx context.Context, who identity.Identity, id string) (*openstack.Image, error)
	CreateImage(ctx context.Context, who identity.Identity, document map[string]any, member string) (location string, err error)
	DeleteImage(ctx context.Context, who identity.Identity, id string) error
	Network(ctx context.Context, who identity.Identity, id string) (*openstack.Network, error)
	Networks(ctx context.Context, who identity.Identity) ([]openstack.Network, error)
	CanAllocateNetwork(ctx context.Context, who identity.Identity) error
	Port(ctx context.Context, who identity.Identity, id string) (*openstack.Port, error)
	SecurityGroups(ctx context.Context, who identity.Identity) (map[string]string, error)
	ServerSecurityGroups(ctx context.Context, who identity.Identity, serverIDs ...string) (map[string][]openstack.SecurityGroup, error)
	AddSecurityGroup(ctx context.Context, who identity.Identity, serverID, group string) error
	RemoveSecurityGroup(ctx context.Context, who identity.Identity, serverID, group string) error
	ServerAddresses(ctx context.Context, who identity.Identity, serverIDs ...string) ([]compute.PortAddresses, error)
	Interfaces(ctx context.Context, who identity.Identity, serverID string) ([]openstack.Interface, error)
	InterfacesAt(ctx context.Context, who identity.Identity, networkID, address string) ([]openstack.Interface, error)
	Interface(ctx context.Context, who identity.Identity, portID string) (*openstack.Interface, error)
	AddFixedIP(ctx context.Context, who identity.Identity, serverID, networkID string) error
	RemoveFixedIP(ctx context.Context, who identity.Identity, serverID, address string) error
	Volume(ctx context.Context, who identity.Identity, id string) (*openstack.Volume, error)
	Snapshot(ctx context.Context, who identity.Identity, id string) (*openstack.Volume, error)
	VolumeTypes(ctx context.Context, who identity.Identity) (map[string]string, error)
}

// reachable says whether a caller can be spoken for: by a token of Keystone's,
// which has a catalog. Static tokens have none, and nothing is asked for them.
func (a *API) reachable(who identity.Identity) bool {
	return a.Neighbours != nil && len(who.Catalog) > 0
}
