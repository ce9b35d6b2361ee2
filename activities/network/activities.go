package network

// The activities, and a session of one with a node's networks.

import (
	"context"
	"log/slog"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// Options are what a conductor does by configuration.
type Options struct {
	// Client gives Neutron in the name of the service user.
	Client func(context.Context) (*gophercloud.ServiceClient, error)
	// Networks are those of nodes that don't name others.
	Networks nodes.Networks
	// FirstStage is what the ports say of how nodes are booted; nil leaves that to others.
	FirstStage *nodes.FirstStage
	// Poll is the time between two tries to be the only one at a node; 0 is a second.
	Poll time.Duration
	// Log has what doesn't fail a node.
	Log *slog.Logger
}

// Activities implements steps.NetworkActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	box    *secrets.Box
	Options
}

var _ steps.NetworkActivities = (*Activities)(nil)

const (
	defaultPoll = time.Second
	// lease is longer than a call to Neutron lasts (baremetal.Lease).
	lease = callTimeout + 15*time.Second
)

// New makes the activities.
func New(db *store.DB, e *engine.Engine, box *secrets.Box, o Options) *Activities {
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	return &Activities{db: db, engine: e, box: box, Options: o}
}

// session is one step's time with a node's networks.
type session struct {
	*Activities
	*baremetal.Lease
	*calls
	node  *baremetal.Node
	info  nodes.Info
	wires *nodes.Wiring
	// boot is what the node's ports say of how it is booted.
	boot []nodes.DHCPOption
	// write changes the database as long as the session may.
	write func(context.Context, func(store.Tx) error) error
}

// open reads the fenced operation's node, and is the only one at it. Errors: Superseded,
// Unavailable.
func (a *Activities) open(ctx context.Context, fence steps.Fence) (*session, error) {
	_, id, _, _ := operations.ParseID(fence.OperationID)
	held, err := baremetal.AwaitLease(ctx, a.db, id, lease, a.Poll)
	if err != nil {
		return nil, err
	}
	s := &session{Activities: a, Lease: held}
	s.write = func(ctx context.Context, change func(store.Tx) error) error {
		return held.Write(ctx, a.engine, fence, change)
	}
	if s.node, err = baremetal.HeldNode(ctx, a.db.Pool, a.engine, fence); err == nil {
		err = s.reach(ctx)
	}
	if err != nil {
		held.End(ctx)
		return nil, err
	}
	return s, nil
}

// reach reads what the session needs of the node's row, and has Neutron be asked.
func (s *session) reach(ctx context.Context) (err error) {
	if s.info, err = nodes.DriverInfo(s.box, s.node); err != nil {
		return err
	}
	if s.wires, err = nodes.WiringOf(ctx, s.db.Pool, s.node); err != nil {
		return err
	}
	client, err := s.Client(ctx)
	s.calls = &calls{client: client, before: s.alone}
	return err
}

// alone says that nobody else is at the node, or at one that is no more. Errors:
// Unavailable.
func (s *session) alone(ctx context.Context) error {
	if s.Lease == nil {
		return nil
	}
	return s.Keep(ctx)
}

// Switch is idempotent by what Neutron has for the node: what is there and as it should be
// stays, and everything else goes or comes. Errors: as in steps.NetworkActivities.
func (a *Activities) Switch(ctx context.Context, in steps.NetworkIn) (steps.NetworkOut, error) {
	s, err := a.open(ctx, in.Fence)
	if err != nil {
		return steps.NetworkOut{}, err
	}
	defer s.End(ctx)
	return s.to(ctx, in.To)
}

// byTenants are the places in which a node is on the networks of its instance, by its
// network interface: on a flat one its ramdisk has no other.
var byTenants = map[string][]steps.NodeNetwork{
	nodes.NetworkFlat:    {steps.NetworkProvisioning, steps.NetworkRescuing, steps.NetworkServicing, steps.NetworkTenant},
	nodes.NetworkNeutron: {steps.NetworkTenant},
}

// to has the node be in a place, and nowhere else: what it leaves goes first.
func (s *session) to(ctx context.Context, place steps.NodeNetwork) (out steps.NetworkOut, err error) {
	kind := nodes.NetworkInterface(s.node)
	if byTenants[kind] == nil {
		return out, nil
	}
	ramdisk, tenants, err := s.goal(ctx, kind, place)
	if err == nil {
		err = s.boots(place)
	}
	if err != nil {
		return out, err
	}
	have, err := s.leave(ctx, ramdisk)
	if err == nil && !tenants {
		err = s.unbind(ctx)
	}
	if err != nil {
		return out, err
	}
	var plugged []*port
	made := map[string]string{}
	switch {
	case tenants:
		plugged, err = s.bindTenants(ctx, kind)
	case ramdisk != "":
		plugged, made, err = s.plugRamdisk(ctx, place, ramdisk, have)
	}
	if err == nil {
		err = s.write(ctx, func(tx store.Tx) error { return s.wires.KeepRamdiskPorts(ctx, tx, place, made) })
	}
	if err != nil {
		return out, err
	}
	return s.waits(plugged), nil
}

// goal is what a place is made of: a network for the ramdisk, or those of the instance.
func (s *session) goal(ctx context.Context, kind string, place steps.NodeNetwork) (ramdisk string, tenants bool, err error) {
	for _, p := range byTenants[kind] {
		if p == place {
			return "", true, nil
		}
	}
	if place == steps.NetworkNone {
		return "", false, nil
	}
	ident, what, err := s.info.Network(place, s.Networks)
	if err != nil && place == steps.NetworkInspection {
		return "", false, nil // it is inspected where it is
	}
	if err == nil {
		ramdisk, err = s.networkID(ctx, ident, what)
	}
	return ramdisk, false, err
}

// waits says whether a node has to wait for one of its ports.
func (s *session) waits(plugged []*port) steps.NetworkOut {
	if !s.info.MustBind(s.Networks) {
		return steps.NetworkOut{}
	}
	for _, p := range plugged {
		if p.Status != active {
			return steps.NetworkOut{Pending: true, Port: p.ID}
		}
	}
	return steps.NetworkOut{}
}

// bound refuses a port that no mechanism could bind, if that fails the node.
func (s *session) bound(p *port) error {
	if p.VIFType != vifBindingFailed || !s.info.MustBind(s.Networks) {
		return nil
	}
	return faults.New(faults.Conflict, CodeNetworkError, "Binding failed for neutron port %s", p.ID)
}
