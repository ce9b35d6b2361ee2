// Package serverdata gathers what a server's guest is told from the rows of
// internal/store/compute: for the metadata service, and for the config drive
// that a host makes. It decides nothing; internal/metadata writes the documents.
package serverdata

import (
	"context"

	"holdfast.dev/internal/metadata"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Source reads servers' data.
type Source struct {
	DB  *store.DB
	Box *secrets.Box
	// Domain is put behind hostnames (dhcp_domain); empty for none.
	Domain string
}

// Instance is a server as its guest may know it, without the admin password.
// Errors: NotFound.
func (s *Source) Instance(ctx context.Context, serverID string) (*metadata.Instance, error) {
	instance, _, err := s.gather(ctx, serverID)
	return instance, err
}

// ConfigDrive gives the files of a server's config drive by their paths. They
// hold secrets; the admin password is among them until it is forgotten.
// Errors: NotFound.
func (s *Source) ConfigDrive(ctx context.Context, serverID string) (map[string][]byte, error) {
	instance, boot, err := s.gather(ctx, serverID)
	if err != nil {
		return nil, err
	}
	instance.AdminPassword = boot.AdminPassword
	for _, f := range boot.Files {
		instance.Files = append(instance.Files, metadata.InjectedFile{Path: f.Path, Contents: f.Contents})
	}
	return instance.ConfigDrive()
}

// PostPassword keeps what the guest posts for its user. Errors: Conflict if
// there is one, NotFound.
func (s *Source) PostPassword(ctx context.Context, serverID, password string) error {
	return compute.PostPassword(ctx, s.DB.Pool, serverID, password)
}

func (s *Source) gather(ctx context.Context, serverID string) (*metadata.Instance, compute.BootData, error) {
	server, boot, err := compute.AsItStarts(ctx, s.DB.Pool, s.Box, serverID)
	if err != nil {
		return nil, compute.BootData{}, err
	}
	ports, err := compute.ServerPorts(ctx, s.DB.Pool, serverID)
	if err != nil {
		return nil, compute.BootData{}, err
	}
	return s.instance(server, boot, ports), boot, nil
}

func (s *Source) instance(server *compute.Server, boot compute.BootData, ports []*compute.ServerPort) *metadata.Instance {
	i := &metadata.Instance{
		ID:               server.ID,
		ProjectID:        server.ProjectID,
		Name:             server.Name,
		Hostname:         s.hostname(server.Hostname),
		AvailabilityZone: server.AvailabilityZone,
		LaunchIndex:      server.LaunchIndex,
		ReservationID:    server.ReservationID,
		FlavorName:       server.Flavor.Name,
		ImageID:          server.ImageID,
		Meta:             server.Metadata,
		UserData:         boot.UserData,
		RandomSeed:       boot.RandomSeed,
		Password:         boot.Password,
		Mappings:         map[string]string{"ami": "vda", "root": "/dev/vda"},
	}
	if server.Host != nil {
		i.AvailabilityZone = server.Host.AvailabilityZone
	}
	if boot.KeyName != "" {
		i.Key = &metadata.Key{Name: boot.KeyName, Type: boot.KeyType, Data: boot.KeyData}
	}
	groups := map[string]bool{}
	for _, port := range ports {
		for _, group := range port.SecurityGroups {
			if !groups[group] {
				groups[group] = true
				i.SecurityGroups = append(i.SecurityGroups, group)
			}
		}
		if port.Bound {
			i.Links = append(i.Links, link(port))
		}
		if port.Bound && port.Tag != "" {
			i.Devices = append(i.Devices, metadata.Device{Type: "nic", Bus: "none", Address: "none", Tags: []string{port.Tag}, MAC: port.MAC})
		}
	}
	return i
}

func (s *Source) hostname(name string) string {
	if s.Domain == "" {
		return name
	}
	return name + "." + s.Domain
}

// link describes a bound port. Addresses are told as DHCP's: the rows don't keep
// what else the subnets say, and a guest that asks is always told right.
func link(port *compute.ServerPort) metadata.Link {
	l := metadata.Link{
		PortID:    port.PortID,
		NetworkID: port.NetworkID,
		Device:    "tap" + port.PortID[:min(11, len(port.PortID))],
		VIFType:   port.VIFType,
		MAC:       port.MAC,
		MTU:       port.MTU,
	}
	for _, ip := range port.FixedIPs {
		l.Addresses = append(l.Addresses, metadata.Address{IP: ip.Address, DHCP: true})
	}
	return l
}
