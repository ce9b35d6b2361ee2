package bmc

// The activities, and a session of one with a node.

import (
	"context"
	"net/netip"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/netguard"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// Options are what a conductor does by configuration.
type Options struct {
	// Networks are those that BMCs are reached in; none is every one but the
	// machine's own and link-local ones.
	Networks []netip.Prefix
	// Patience is how long a step waits for a machine before it says that it is
	// pending; 0 is 45 s.
	Patience time.Duration
	// Poll is the time between two looks at a machine; 0 is a second.
	Poll time.Duration
	// Settle is how long a machine may show nothing of what was sent to it without an
	// answer before that is sent again; 0 is 20 s.
	Settle time.Duration
	// Retry is how long an answer by IPMI is waited for before the request is sent again,
	// the first time; 0 is a second.
	Retry time.Duration
	// Sync is what is done by the clock.
	Sync SyncOptions
	// VerifyClock has a BMC whose clock is wrong be set right when its node is verified.
	VerifyClock bool
	// CreatePorts has machines that a ramdisk inspects get ports for the interfaces that
	// their BMCs tell.
	CreatePorts bool
}

// Activities implements steps.BMCActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	box    *secrets.Box
	guard  netguard.Policy
	limits *limits
	lanes  lanes
	Options
}

var _ steps.BMCActivities = (*Activities)(nil)

const (
	defaultPatience = 45 * time.Second
	defaultPoll     = time.Second
	defaultSettle   = 20 * time.Second
	// callTime bounds one request to a BMC, and lease is longer (baremetal.Lease).
	callTime = 20 * time.Second
	lease    = 30 * time.Second
)

// New makes the activities.
func New(db *store.DB, e *engine.Engine, box *secrets.Box, o Options) *Activities {
	a := &Activities{db: db, engine: e, box: box, limits: newLimits(), lanes: newLanes(o.Sync.Workers), Options: o}
	for value, usual := range map[*time.Duration]time.Duration{&a.Patience: defaultPatience, &a.Poll: defaultPoll, &a.Settle: defaultSettle,
		&a.Sync.Timeout: time.Minute} {
		if *value == 0 {
			*value = usual
		}
	}
	a.guard = netguard.Policy{Use: "BMC", MaxBody: 8 << 20, Timeout: callTime}.Within(o.Networks)
	return a
}

// session is one step's time with a node's BMC.
type session struct {
	*Activities
	*baremetal.Lease
	fence  steps.Fence
	of     string
	node   *baremetal.Node
	acts   map[string]baremetal.Act
	driver driver
}

// open reads the fenced operation's node, takes the lease of its BMC and connects.
// Errors: Superseded, Unavailable, Invalid.
func (a *Activities) open(ctx context.Context, fence steps.Fence, of string) (*session, error) {
	_, id, _, _ := operations.ParseID(fence.OperationID)
	held, err := baremetal.AwaitLease(ctx, a.db, id, lease, a.Poll)
	if err != nil {
		return nil, err
	}
	s := &session{Activities: a, Lease: held, fence: fence, of: of}
	if err := s.connect(ctx); err != nil {
		s.End(ctx)
		return nil, err
	}
	return s, nil
}

func (s *session) connect(ctx context.Context) (err error) {
	// Read under the lease: what another attempt has done is there by now.
	if s.node, err = baremetal.HeldNode(ctx, s.db.Pool, s.engine, s.fence); err != nil {
		return err
	}
	if s.acts, err = baremetal.Acts(ctx, s.db.Pool, s.of); err != nil {
		return err
	}
	s.driver, err = s.openDriver(ctx)
	return err
}

// close lets go of the BMC and of its lease.
func (s *session) close(ctx context.Context) {
	s.driver.close(ctx)
	s.End(ctx)
}

// note writes down that the session is about to send something. Errors: as
// baremetal.Lease.Write.
func (s *session) note(ctx context.Context, name string) error {
	return s.Write(ctx, s.engine, s.fence, func(tx store.Tx) error { return baremetal.NoteAct(ctx, tx, s.of, name, "") })
}

// answered writes down that what was sent has been accepted.
func (s *session) answered(ctx context.Context, name string) error {
	return s.db.InTx(ctx, func(tx store.Tx) error { return baremetal.AnswerAct(ctx, tx, s.of, name) })
}
