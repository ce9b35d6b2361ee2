package neutron

// The two steps: Allocate and Deallocate; one.go has what they do for one port.

import (
	"context"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"go.temporal.io/sdk/activity"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Options of the steps.
type Options struct {
	// Client gives Neutron in the name of the service user.
	Client func(context.Context) (*gophercloud.ServiceClient, error)
	// PlugPatience and PlugFatal are told to the workflow.
	PlugPatience time.Duration
	PlugFatal    bool
	// RefreshAfter is how old addresses may be before Refresh asks again.
	RefreshAfter time.Duration
	// Heartbeat sends one; nil is Temporal's.
	Heartbeat func(context.Context)
}

// Activities implements steps.NeutronActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	o      Options
}

var _ steps.NeutronActivities = (*Activities)(nil)

// New gives the steps.
func New(db *store.DB, e *engine.Engine, o Options) *Activities {
	if o.Heartbeat == nil {
		o.Heartbeat = func(ctx context.Context) { activity.RecordHeartbeat(ctx) }
	}
	return &Activities{db: db, engine: e, o: o}
}

// task is what one call works on.
type task struct {
	*calls
	server *compute.Server
	host   *compute.Host
	rows   []*compute.ServerPort
}

// begin checks the fence, reads the rows and reaches Neutron. With a host, the
// server is about to get its ports there.
func (a *Activities) begin(ctx context.Context, f steps.Fence, hostID string, position *int) (*task, error) {
	t := &task{}
	err := a.db.InTx(ctx, func(tx store.Tx) error {
		op, err := a.engine.CheckFence(ctx, tx, f)
		if err != nil {
			return err
		}
		if err := t.read(ctx, tx, op.ResourceID); err != nil {
			return err
		}
		t.only(position)
		if hostID == "" {
			return nil
		}
		if t.host, err = compute.GetHost(ctx, tx, hostID); err != nil {
			return err
		}
		return compute.ReservePorts(ctx, tx, t.rows)
	})
	if err != nil {
		return nil, err
	}
	return t, t.reach(ctx, a.o.Client, func() { a.o.Heartbeat(ctx) })
}

func (t *task) read(ctx context.Context, tx store.Tx, serverID string) (err error) {
	if t.server, err = compute.GetServerOrDeleted(ctx, tx, "", serverID); err != nil {
		return err
	}
	t.rows, err = compute.ServerPorts(ctx, tx, serverID)
	return err
}

func (t *task) reach(ctx context.Context, client func(context.Context) (*gophercloud.ServiceClient, error), alive func()) error {
	c, err := client(ctx)
	t.calls = &calls{client: c, alive: alive}
	return err
}

// Pay does what Deallocate could not while Neutron was down. It is idempotent as
// that is, and waits while an operation or a host has the server: then it may
// have ports again. Errors: Unavailable.
func (a *Activities) Pay(ctx context.Context, d engine.Debt) error {
	t := &task{}
	if d.Kind == operations.EffectPort {
		return a.payOne(ctx, d)
	}
	err := a.db.InTx(ctx, func(tx store.Tx) error {
		if err := t.read(ctx, tx, d.Ref); err != nil {
			return err
		}
		return t.server.Unused()
	})
	if err != nil {
		return err
	}
	if err := t.reach(ctx, a.o.Client, func() {}); err != nil {
		return err
	}
	if err := t.deallocate(ctx); err != nil {
		return refuses(err)
	}
	return a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.Paid(ctx, tx, "", d.OperationID, d.Seq); err != nil {
			return err
		}
		return compute.UnbindPorts(ctx, tx, d.Ref)
	})
}

// Allocate is idempotent by mark: a port of ours is looked for by its name on
// the server before it is made, and one that is bound already is left alone.
func (a *Activities) Allocate(ctx context.Context, in steps.AllocateIn) (steps.AllocateOut, error) {
	out := steps.AllocateOut{PlugPatience: a.o.PlugPatience, PlugFatal: a.o.PlugFatal}
	t, err := a.begin(ctx, in.Fence, in.HostID, in.Position)
	if err != nil {
		return out, err
	}
	if err := t.allocate(ctx); err != nil {
		return out, err
	}
	if t.host.Driver != compute.DriverIronic { // of whose ports Neutron tells nobody
		out.Ports = len(t.rows)
	}
	if in.Position != nil && len(t.rows) == 1 {
		out.PortID = t.rows[0].PortID
	}
	return out, a.write(ctx, in.Fence, t.bindRows(ctx))
}

// Deallocate is idempotent by what Neutron says: ports that are gone, or that
// aren't the server's any more, are left alone.
func (a *Activities) Deallocate(ctx context.Context, in steps.DeallocateIn) (struct{}, error) {
	t, err := a.begin(ctx, in.Fence, "", in.Position)
	if err != nil {
		return struct{}{}, err
	}
	if err := t.deallocate(ctx); err != nil {
		return struct{}{}, refuses(err)
	}
	return struct{}{}, a.write(ctx, in.Fence, func(tx store.Tx) error {
		if in.Position != nil {
			return compute.ForgetPort(ctx, tx, t.server.ID, *in.Position)
		}
		return compute.UnbindPorts(ctx, tx, t.server.ID)
	})
}

func (a *Activities) write(ctx context.Context, f steps.Fence, rows func(store.Tx) error) error {
	return a.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := a.engine.CheckFence(ctx, tx, f); err != nil {
			return err
		}
		return rows(tx)
	})
}

// mark names the port that is made for a server's interface.
func mark(row *compute.ServerPort) string {
	return openstack.Mark(row.ServerID, row.Position)
}

// owner is device_owner of a port on a host.
func (t *task) owner() string { return "compute:" + t.host.AvailabilityZone }

// allocate gives every row its port, bound to the host.
func (t *task) allocate(ctx context.Context) error {
	have, err := t.portsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	networks := map[string]*network{}
	for _, row := range t.rows {
		p, err := t.bound(ctx, row, have)
		if err != nil {
			return err
		}
		if p.VIFType == vifBindingFailed {
			return faults.New(faults.NoCapacity, "PortBindingFailed", "Binding failed for port %s, please check neutron logs for more information.", p.ID)
		}
		n := networks[p.NetworkID]
		if n == nil {
			if n, err = t.network(ctx, p.NetworkID); err != nil {
				return err
			}
			networks[p.NetworkID] = n
		}
		p.fill(row, n)
		if row.Ours {
			continue
		}
		// A user's own may have some already; of one of ours an event tells.
		if row.FloatingIPs, err = t.floatingIPs(ctx, p.ID); err != nil {
			return err
		}
	}
	return nil
}

// bound gives a row's port on the host: found, made, or the user's own.
func (t *task) bound(ctx context.Context, row *compute.ServerPort, have []*port) (*port, error) {
	is := func(p *port) bool { return p.ID == row.PortID }
	if row.Ours {
		is = func(p *port) bool { return p.Name == mark(row) }
	}
	var p *port
	if i := slices.IndexFunc(have, is); i >= 0 {
		p = have[i]
	}
	switch {
	case p != nil && p.HostID == t.host.Name:
		return p, nil
	case p == nil && row.Ours:
		if row.NetworkID == "" {
			var err error
			if row.NetworkID, err = t.projectNetwork(ctx, t); err != nil {
				return nil, err
			}
		}
		return t.create(ctx, t, row)
	case p == nil:
		var err error
		if p, err = t.port(ctx, row.PortID); err != nil {
			return nil, err
		}
		if err := t.usable(p); err != nil {
			return nil, err
		}
	}
	return t.bind(ctx, p.ID, binding{device: t.server.ID, owner: t.owner(), host: t.host.Name})
}

// usable says whether a user's own port can be the server's.
func (t *task) usable(p *port) error {
	switch {
	case p.DeviceID != "" && p.DeviceID != t.server.ID:
		return faults.New(faults.Conflict, "PortInUse", "Port %s is still in use.", p.ID)
	case p.ProjectID != t.server.ProjectID:
		return faults.New(faults.Invalid, "PortNotUsable", "Port %s not usable for instance %s.", p.ID, t.server.ID)
	case len(p.FixedIPs) == 0:
		return faults.New(faults.Invalid, "PortRequiresFixedIP", "Port %s requires a FixedIP in order to be used.", p.ID)
	}
	return nil
}

// deallocate takes the server off all its ports.
func (t *task) deallocate(ctx context.Context) error {
	have, err := t.portsOf(ctx, t.server.ID)
	if err != nil {
		return err
	}
	for _, p := range have {
		i := slices.IndexFunc(t.rows, func(row *compute.ServerPort) bool {
			return row.PortID == p.ID || row.Ours && mark(row) == p.Name
		})
		switch {
		case i < 0: // somebody else has given it the server's id
			continue
		case t.rows[i].Ours:
			err = t.remove(ctx, p.ID)
		default:
			_, err = t.bind(ctx, p.ID, binding{})
		}
		if err != nil && !faults.Is(err, faults.NotFound) {
			return err
		}
	}
	return nil
}

// callTimeout bounds a call that must not be cut short by a cancel.
const callTimeout = openstack.CallTimeout
