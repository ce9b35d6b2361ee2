package bmc

// The activities, and a session of one with a node.

import (
	"context"
	"net/netip"
	"time"

	"github.com/google/uuid"

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
}

// Activities implements steps.BMCActivities.
type Activities struct {
	db     *store.DB
	engine *engine.Engine
	box    *secrets.Box
	guard  netguard.Policy
	limits *limits
	Options
}

var _ steps.BMCActivities = (*Activities)(nil)

const (
	defaultPatience = 45 * time.Second
	defaultPoll     = time.Second
	defaultSettle   = 20 * time.Second
	// callTime bounds one request to a BMC, and lease is longer: whoever takes a
	// lease over that has ended knows that nothing of its last holder is under way.
	callTime = 20 * time.Second
	lease    = 30 * time.Second
)

// New makes the activities.
func New(db *store.DB, e *engine.Engine, box *secrets.Box, o Options) *Activities {
	a := &Activities{db: db, engine: e, box: box, limits: newLimits(), Options: o}
	for value, usual := range map[*time.Duration]time.Duration{&a.Patience: defaultPatience, &a.Poll: defaultPoll, &a.Settle: defaultSettle} {
		if *value == 0 {
			*value = usual
		}
	}
	a.guard = netguard.Policy{Use: "BMC", Allow: o.Networks, MaxBody: 8 << 20, Timeout: callTime}
	if len(o.Networks) == 0 {
		a.guard.Deny = netguard.Loopback
	}
	return a
}

// session is one step's time with a node's BMC.
type session struct {
	*Activities
	fence  steps.Fence
	of     string
	node   *baremetal.Node
	acts   map[string]baremetal.Act
	holder string
	driver driver
}

// open reads the fenced operation's node, takes the lease of its BMC and connects.
// Errors: Superseded, Unavailable, Invalid.
func (a *Activities) open(ctx context.Context, fence steps.Fence, of string) (*session, error) {
	_, id, _, _ := operations.ParseID(fence.OperationID)
	s := &session{Activities: a, fence: fence, of: of, holder: uuid.NewString()}
	if err := baremetal.AwaitLease(ctx, a.db.Pool, id, s.holder, lease, a.Poll); err != nil {
		return nil, err
	}
	if err := s.connect(ctx, id); err != nil {
		s.end(ctx, id)
		return nil, err
	}
	return s, nil
}

func (s *session) connect(ctx context.Context, id string) (err error) {
	// Read under the lease: what another attempt has done is there by now.
	if s.node, err = baremetal.Nodes.Find(ctx, s.db.Pool, id, false); err == nil {
		s.acts, err = baremetal.Acts(ctx, s.db.Pool, s.of)
	}
	if lost := s.engine.PeekFence(ctx, s.db.Pool, s.fence); lost != nil {
		return lost
	}
	if err != nil {
		return err
	}
	s.driver, err = s.openDriver(ctx, s.node, s.acts)
	return err
}

// close lets go of the BMC and of its lease.
func (s *session) close(ctx context.Context) {
	s.driver.close(ctx)
	s.end(ctx, s.node.UUID)
}

// end lets go of the lease; one that can't be let go of ends by itself.
func (s *session) end(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = s.db.InTx(ctx, func(tx store.Tx) error { return baremetal.EndLease(ctx, tx, id, s.holder) })
}

// keep has the lease last on.
func (s *session) keep(ctx context.Context) error {
	return baremetal.KeepLease(ctx, s.db.Pool, s.node.UUID, s.holder, lease)
}

// note writes down that the session is about to send something, if the operation
// still has its node and the session its lease. Errors: Superseded, Unavailable.
func (s *session) note(ctx context.Context, name string) error {
	return s.db.InTx(ctx, func(tx store.Tx) error {
		if _, err := s.engine.CheckFence(ctx, tx, s.fence); err != nil {
			return err
		}
		if err := baremetal.KeepLease(ctx, tx, s.node.UUID, s.holder, lease); err != nil {
			return err
		}
		return baremetal.NoteAct(ctx, tx, s.of, name, "")
	})
}

// answered writes down that what was sent has been accepted.
func (s *session) answered(ctx context.Context, name string) error {
	return s.db.InTx(ctx, func(tx store.Tx) error { return baremetal.AnswerAct(ctx, tx, s.of, name) })
}

// sleep waits, or gives the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
