// Package leftovers is the part of the audit that asks the services: ports and
// volumes that were made for servers or nodes and that none has. They are found by
// their marks and named to an operator; nothing here changes anything, since a
// user may have taken one over, or have given one such a name.
package leftovers

import (
	"context"
	"slices"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute"
)

// Services are asked for all that bears a mark (openstack.Session).
type Services interface {
	MarkedPorts(context.Context) ([]compute.Made, error)
	MarkedVolumes(context.Context) ([]compute.Made, error)
	NodePorts(context.Context) ([]baremetal.NetworkPort, error)
}

// Probes ask services; nil ones, of a cloud without any, have nothing.
func Probes(db *store.DB, services Services) []engine.Probe {
	return []engine.Probe{
		{Name: "port-left-over",
			Why: "Neutron has a port that was made for a server, and no server has it. It takes an address and counts in its project's quota.",
			Run: run(services, Services.MarkedPorts, func(ctx context.Context, made []compute.Made) ([]engine.Finding, error) {
				return found(compute.LeftOverPorts(ctx, db.Pool, made))
			})},
		{Name: "volume-left-over",
			Why: "Cinder has a volume that was made for a server, and no server has it. It takes room and counts in its project's quota.",
			Run: run(services, Services.MarkedVolumes, func(ctx context.Context, made []compute.Made) ([]engine.Finding, error) {
				return found(compute.LeftOverVolumes(ctx, db.Pool, made))
			})},
		{Name: "node-port-left-over",
			Why: "Neutron has a port that was made for a node's ramdisk, which doesn't run, or has one bound to a node that doesn't bear it. What the node runs may be on a network that isn't its own.",
			Run: run(services, Services.NodePorts, func(ctx context.Context, ports []baremetal.NetworkPort) ([]engine.Finding, error) {
				return baremetal.LeftOverPorts(ctx, db.Pool, ports)
			})},
	}
}

// found are findings of what is left over.
func found(all []*compute.LeftOver, err error) (findings []engine.Finding, _ error) {
	for _, l := range all {
		findings = append(findings, engine.Finding{Subject: l.ID, Detail: l.Why})
	}
	return findings, err
}

// run asks the service first and the rows afterwards, and both again for what
// seems to be left over: an operation may have made it or taken it away meanwhile.
func run[T any](services Services, list func(Services, context.Context) ([]T, error),
	unclaimed func(context.Context, []T) ([]engine.Finding, error)) func(context.Context, store.Queryer) ([]engine.Finding, error) {
	look := func(ctx context.Context) ([]engine.Finding, error) {
		made, err := list(services, ctx)
		if err != nil {
			return nil, err
		}
		return unclaimed(ctx, made)
	}
	return func(ctx context.Context, _ store.Queryer) ([]engine.Finding, error) {
		if services == nil {
			return nil, nil
		}
		first, err := look(ctx)
		if err == nil && len(first) > 0 {
			var again []engine.Finding
			again, err = look(ctx)
			first = slices.DeleteFunc(first, func(f engine.Finding) bool { return !slices.Contains(again, f) })
		}
		if err != nil && faults.As(err).Code == openstack.CodeNoEndpoint {
			return nil, nil // a cloud without the service has nothing of its
		}
		if faults.Is(err, faults.Unavailable) {
			return []engine.Finding{{Subject: "service", Detail: "it can't be asked: " + faults.As(err).Message}}, nil
		}
		return first, err
	}
}
