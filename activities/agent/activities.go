package agent

// The activities, and a session of one with a node's ramdisk.

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/inspection"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// Options are what a conductor does by configuration.
type Options struct {
	// Networks are those that ramdisks are reached in; none is every one but the
	// machine's own and link-local ones.
	Networks []netip.Prefix
	// Plain lets ramdisks be without TLS.
	Plain bool
	// Patience is how long a step waits for a command before it says that it runs;
	// 0 is 10 s.
	Patience time.Duration
	// Poll is the time between two looks at a command; 0 is a second.
	Poll time.Duration
	// Priorities are those of steps by which ramdisks clean, by the steps' names; the
	// others have the priorities that ramdisks say.
	Priorities map[string]int
	// Inspection is what is made of what ramdisks find.
	Inspection inspection.Options
	// MaskSecrets says which inspection rules see secrets, and RuleNetworks are those that
	// rules make requests in; none is every one but the machine's own and link-local ones.
	MaskSecrets  inspection.MaskSecrets
	RuleNetworks []netip.Prefix
	// Log is where rules write.
	Log *slog.Logger
	// Glance has images, and URL is where this conductor serves them to ramdisks.
	Glance Glance
	URL    string
}

// Glance has images of nodes (internal/openstack).
type Glance interface {
	ImageFile(ctx context.Context, imageID string) (openstack.ImageFile, error)
}

// Activities implements steps.AgentActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	box    *secrets.Box
	Options
}

var _ steps.AgentActivities = (*Activities)(nil)

const (
	defaultPatience = 10 * time.Second
	defaultPoll     = time.Second
	// callTime bounds one request to a ramdisk (command_timeout), and lease is longer
	// (baremetal.Lease).
	callTime = 60 * time.Second
	lease    = 75 * time.Second
)

// New makes the activities.
func New(db *store.DB, e *engine.Engine, box *secrets.Box, o Options) *Activities {
	a := &Activities{db: db, engine: e, box: box, Options: o}
	for value, usual := range map[*time.Duration]time.Duration{&a.Patience: defaultPatience, &a.Poll: defaultPoll} {
		if *value == 0 {
			*value = usual
		}
	}
	return a
}

// session is one step's time with a node's ramdisk.
type session struct {
	*Activities
	*baremetal.Lease
	fence  steps.Fence
	node   *baremetal.Node
	known  map[string]any // driver_internal_info, its secrets in place
	client *client
}

// open reads the fenced operation's node and finds its ramdisk. Errors: Superseded,
// Unavailable, Conflict (code AgentNotHeard).
func (a *Activities) open(ctx context.Context, fence steps.Fence) (*session, error) {
	_, id, _, _ := operations.ParseID(fence.OperationID)
	held, err := baremetal.AwaitLease(ctx, a.db, id, lease, a.Poll)
	if err != nil {
		return nil, err
	}
	s := &session{Activities: a, Lease: held, fence: fence}
	if err := s.connect(ctx); err != nil {
		s.End(ctx)
		return nil, err
	}
	return s, nil
}

func (s *session) connect(ctx context.Context) (err error) {
	if s.node, err = baremetal.HeldNode(ctx, s.db.Pool, s.engine, s.fence); err != nil {
		return err
	}
	if s.known, err = nodes.Known(s.box, s.node); err != nil {
		return err
	}
	s.client, err = s.dial(s.text("agent_url"), s.text("agent_secret_token"), s.text("agent_verify_ca"))
	return err
}

// text is something that is known of the node; empty if it isn't.
func (s *session) text(name string) string {
	text, _ := s.known[name].(string)
	return text
}

// close lets go of the ramdisk and of its lease.
func (s *session) close(ctx context.Context) {
	s.client.http.CloseIdleConnections()
	s.End(ctx)
}

// write changes the database for the operation. Errors: as baremetal.Lease.Write.
func (s *session) write(ctx context.Context, change func(store.Tx) error) error {
	return s.Write(ctx, s.engine, s.fence, change)
}

// about are the parameters of a command that is about the node: the node and its
// ports as their rows have them.
func (s *session) about(ctx context.Context) (map[string]any, error) {
	ports, err := baremetal.Ports.List(ctx, s.db.Pool, baremetal.List{Filters: []baremetal.Filter{{SQL: "t.node_uuid = $", Value: s.node.UUID}}, Limit: maxPorts})
	if err != nil {
		return nil, err
	}
	return map[string]any{"node": s.node, "ports": ports}, nil
}

// maxPorts bounds what a ramdisk is told of its node.
const maxPorts = 1000

// notHeard is the answer about a node whose ramdisk has not called back.
func notHeard() error {
	return faults.New(faults.Conflict, "AgentNotHeard", "Agent driver requires agent_url in driver_internal_info")
}
