package compute_test

import (
	"context"
	"testing"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
)

// allocator is a Neutron in which a project has these networks, and may have none
// made for it if refused says so.
type allocator struct {
	neighbour
	networks []openstack.Network
	refused  error
}

func (n allocator) Networks(context.Context, identity.Identity) ([]openstack.Network, error) {
	return n.networks, nil
}

func (n allocator) Network(_ context.Context, _ identity.Identity, id string) (*openstack.Network, error) {
	return &openstack.Network{ID: id, Subnets: []string{"s"}}, nil
}

func (n allocator) Image(_ context.Context, _ identity.Identity, id string) (*openstack.Image, error) {
	return &openstack.Image{ID: id, Status: "active"}, nil
}

func (n allocator) CanAllocateNetwork(context.Context, identity.Identity) error { return n.refused }

// A server that leaves its networks to us has the project's only one; where there
// is none, one that is made when it is built if its request says "auto", and none
// otherwise.
func TestNetworksThatAreLeftToUs(t *testing.T) {
	t.Parallel()
	refused := faults.New(faults.Invalid, "UnableToAutoAllocateNetwork", "Unable to automatically allocate a network for project a11ce")
	one := openstack.Network{ID: network}
	for name, of := range map[string]struct {
		neutron       allocator
		version, asks string
		status        int
		fault         string
		want          string // the network of each of the servers' ports
	}{
		"auto, none":          {allocator{}, "2.37", `, "networks": "auto", "max_count": 3`, 202, "", `["", "", ""]`},
		"auto, none is made":  {allocator{refused: refused}, "2.37", `, "networks": "auto"`, 400, invalid(refused.Message), ""},
		"auto, one":           {allocator{networks: []openstack.Network{one}, refused: refused}, "2.104", `, "networks": "auto"`, 202, "", `["` + network + `"]`},
		"auto, two":           {allocator{networks: []openstack.Network{one, one}}, "2.37", `, "networks": "auto"`, 409, "", ""},
		"nothing, none":       {allocator{refused: refused}, "2.36", "", 202, "", `[]`},
		"an empty list, none": {allocator{refused: refused}, "2.37", `, "networks": []`, 202, "", `[]`},
		"none":                {allocator{networks: []openstack.Network{one}}, "2.37", `, "networks": "none"`, 202, "", `[]`},
		"auto before it was":  {allocator{}, "2.36", `, "networks": "auto"`, 400, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t, func(a *compute.API) { a.Neighbours = of.neutron })
			c.play(step{"alice+", of.version, "POST", "/servers", server(`, "imageRef": "` + image + `"` + of.asks), of.status, of.fault})
			got := c.query(`SELECT COALESCE(jsonb_agg(network_id ORDER BY server_id), '[]')::text FROM compute.server_ports WHERE ours AND port_id = ''`)
			if of.status == 202 && got != of.want {
				t.Errorf("networks %s, want %s", got, of.want)
			}
			if made := c.query(`SELECT count(*)::text FROM compute.servers`); of.status != 202 && made != "0" {
				t.Errorf("refused, and %s servers", made)
			}
		})
	}
}
