// Package leftovers is the part of the audit that asks the services: ports and
// volumes that were made for servers and that no server has. They are found by
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
	"holdfast.dev/internal/store/compute"
)

// Services are asked for all that bears a mark (openstack.Session).
type Services interface {
	MarkedPorts(context.Context) ([]compute.Made, error)
	MarkedVolumes(context.Context) ([]compute.Made, error)
}

// Probes ask services; nil ones, of a cloud without any, have nothing.
func Probes(db *store.DB, services Services) []engine.Probe {
	return []engine.Probe{
		{Name: "port-left-over",
			Why: "Neutron has a port that was made for a server, and no server has it. It takes an address and counts in its project's quota.",
			Run: run(services, Services.MarkedPorts, func(ctx context.Context, made []compute.Made) ([]*compute.LeftOver, error) {
				return compute.LeftOverPorts(ctx, db.Pool, made)
			})},
		{Name: "volume-left-over",
			Why: "Cinder has a volume that was made for a server, and no server has it. It takes room and counts in its project's quota.",
			Run: run(services, Services.MarkedVolumes, func(ctx context.Context, made []compute.Made) ([]*compute.LeftOver, error) {
				return compute.LeftOverVolumes(ctx, db.Pool, made)
			})},
	}
}

// run asks the service first and the rows afterwards, and both again for what
// seems to be left over: an operation may have made it or taken it away meanwhile.
func run(services Services, list func(Services, context.Context) ([]compute.Made, error),
	unclaimed func(context.Context, []compute.Made) ([]*compute.LeftOver, error)) func(context.Context, store.Queryer) ([]engine.Finding, error) {
	look := func(ctx context.Context) ([]*compute.LeftOver, error) {
		made, err := list(services, ctx)
		if err != nil {
			return nil, err
		}
		return unclaimed(ctx, made)
	}
	return func(ctx context.Context, _ store.Queryer) (found []engine.Finding, err error) {
		if services == nil {
			return nil, nil
		}
		first, err := look(ctx)
		if err == nil && len(first) > 0 {
			var again []*compute.LeftOver
			again, err = look(ctx)
			first = slices.DeleteFunc(first, func(l *compute.LeftOver) bool {
				return !slices.ContainsFunc(again, func(o *compute.LeftOver) bool { return *o == *l })
			})
		}
		if err != nil && faults.As(err).Code == openstack.CodeNoEndpoint {
			return nil, nil // a cloud without the service has nothing of its
		}
		if faults.Is(err, faults.Unavailable) {
			return []engine.Finding{{Subject: "service", Detail: "it can't be asked: " + faults.As(err).Message}}, nil
		}
		if err != nil {
			return nil, err
		}
		for _, l := range first {
			found = append(found, engine.Finding{Subject: l.ID, Detail: l.Why})
		}
		return found, nil
	}
}
