package libvirt

// The fence: per server, the highest token that this host has let in. It is on
// disk before anything is done under it, so a worker that is killed and started
// again refuses what it would have refused before.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/steps"
)

// act is what a token was let in for.
type act string

const (
	actBuild   act = "build"
	actDestroy act = "destroy"
	actPower   act = "power"
	actDevice  act = "device"
	// actSnapshot copies the guest's disk, or removes a copy.
	actSnapshot act = "snapshot"
)

// stand is where a server's fence stands.
type stand struct {
	Token steps.Token `json:"token"`
	// Act is the last thing that was let in. After a destroy the guest is
	// condemned: whoever wanted it has given it up.
	Act act       `json:"act"`
	At  time.Time `json:"at"`
	// GivenUp marks the last migration that the host has said it gave up.
	GivenUp string `json:"given_up,omitempty"`
}

// fences are those of one host.
type fences struct {
	dir string
	now func() time.Time

	mu sync.Mutex
	// active are the servers that steps are in or wait for; the rest is on disk
	// only, so memory is bounded by the worker's slots.
	active map[string]*fence
}

// fence is that of one server for as long as steps are about it.
type fence struct {
	users int
	stand stand
	// turn holds one value: the right to work on the server.
	turn chan struct{}
	// leave tells the step that is in to stop; nil if none is.
	leave context.CancelCauseFunc
}

// openFences reads nothing yet: each fence is read when its server is asked for.
func openFences(stateDir string) (*fences, error) {
	dir := filepath.Join(stateDir, "fences")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("fences: %w", err)
	}
	if err := statedir.Sweep(dir); err != nil {
		return nil, fmt.Errorf("fences: %w", err)
	}
	return &fences{dir: dir, now: time.Now, active: map[string]*fence{}}, nil
}

// Within runs f as the only step on the token's server, or refuses with a
// Superseded error. The fence is raised at once: an older step that is at work
// is told to leave through its context and stopped by its confirm, and then f
// has its turn. f gets a confirm of its own.
func (s *fences) Within(ctx context.Context, t steps.Token, why act, f func(context.Context, Confirm) error) error {
	e, err := s.enter(t, why)
	if err != nil {
		return err
	}
	defer s.exit(t.ServerID, e)
	select {
	case <-e.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { e.turn <- struct{}{} }()

	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	confirm := func() error { return s.confirm(e, t) }
	if err := s.take(e, t, leave); err != nil {
		return err
	}
	err = f(ctx, confirm)
	if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && faults.Is(cause, faults.Superseded) {
		return cause
	}
	return err
}

// enter lets the token in, or refuses it, and puts a higher one on disk.
func (s *fences) enter(t steps.Token, why act) (*fence, error) {
	if !validID(t.ServerID) {
		return nil, faults.New(faults.Invalid, "InvalidServer", "%q is no server id", t.ServerID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.active[t.ServerID]
	if e == nil {
		known, err := s.read(t.ServerID)
		if err != nil {
			return nil, err
		}
		e = &fence{stand: known, turn: make(chan struct{}, 1)}
		e.turn <- struct{}{}
	}
	if t.Older(e.stand.Token) {
		return nil, superseded(t, e.stand.Token)
	}
	if e.stand.Token.Older(t) || e.stand.Act != why {
		raised := stand{Token: t, Act: why, At: s.now().UTC(), GivenUp: e.stand.GivenUp}
		if err := s.write(raised); err != nil {
			return nil, err
		}
		if e.leave != nil && e.stand.Token.Older(t) {
			e.leave(superseded(e.stand.Token, t))
		}
		e.stand = raised
	}
	e.users++
	s.active[t.ServerID] = e
	return e, nil
}

func (s *fences) exit(serverID string, e *fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.users--; e.users == 0 {
		delete(s.active, serverID)
	}
}

// take makes leave the way to end the step that is in. The fence may have risen
// while the step waited for its turn.
func (s *fences) take(e *fence, t steps.Token, leave context.CancelCauseFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Older(e.stand.Token) {
		return superseded(t, e.stand.Token)
	}
	e.leave = leave
	return nil
}

func (s *fences) confirm(e *fence, t steps.Token) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Older(e.stand.Token) {
		return superseded(t, e.stand.Token)
	}
	return nil
}

// giveUp keeps for good that the migration with the mark is not to begin here any
// more. The caller is within the server's fence.
func (s *fences) giveUp(serverID, mark string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.active[serverID]
	if e.stand.GivenUp == mark {
		return nil
	}
	after := e.stand
	after.GivenUp = mark
	if err := s.write(after); err != nil {
		return err
	}
	e.stand = after
	return nil
}

// condemned says whether the last that was let in for the server took its guest
// away, and under which token.
func (s *fences) condemned(serverID string) (steps.Token, bool, error) {
	known, err := s.stands(serverID)
	return known.Token, known.Act == actDestroy, err
}

// stands says where the server's fence stands.
func (s *fences) stands(serverID string) (stand, error) {
	if !validID(serverID) {
		return stand{}, faults.New(faults.Invalid, "InvalidServer", "%q is no server id", serverID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.active[serverID]; e != nil {
		return e.stand, nil
	}
	return s.read(serverID)
}

// keep is how long the fence of a guest that is gone still matters. It refuses
// steps of operations that were overtaken. Such an operation is finished when
// the lock changes hands, and the engine starts no attempt of a step of a
// finished operation; one that was handed out before lasts no longer than the
// longest operation. Debts don't need the fence: to destroy what is gone does
// nothing. So the longest deadline of any operation on a server, and twice that for clocks
// that are set.
func keep() time.Duration {
	var longest time.Duration
	for _, spec := range operations.All() {
		if spec.Resource == operations.Server {
			longest = max(longest, spec.Deadline)
		}
	}
	return 2 * longest
}

// Sweep forgets the fences that can't matter any more: of servers without a
// guest here, untouched for longer than keep.
func (s *fences) Sweep(guests []Guest) error {
	here := make(map[string]bool, len(guests))
	for _, g := range guests {
		here[g.ServerID] = true
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("fences: %w", err)
	}
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok || here[id] {
			continue
		}
		info, statErr := entry.Info()
		if statErr != nil || s.now().Sub(info.ModTime()) <= keep() {
			continue
		}
		err = errors.Join(err, s.forget(id))
	}
	return err
}

func (s *fences) forget(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[id] != nil {
		return nil
	}
	return statedir.Remove(s.path(id))
}

func (s *fences) path(serverID string) string { return filepath.Join(s.dir, serverID+".json") }

func (s *fences) read(serverID string) (stand, error) {
	var known stand
	data, err := os.ReadFile(s.path(serverID))
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil {
		// Without its fence nothing may be done to the server.
		return known, faults.Wrap(err, faults.Unavailable, "FenceUnreadable", "the host can't read its fence of server %s", serverID)
	}
	return known, nil
}

func (s *fences) write(raised stand) error {
	data, err := json.Marshal(raised)
	if err == nil {
		err = statedir.Write(s.path(raised.Token.ServerID), data)
	}
	if err != nil {
		return faults.Wrap(err, faults.Unavailable, "FenceUnwritable", "the host can't write its fence of server %s", raised.Token.ServerID)
	}
	return nil
}

func superseded(t, by steps.Token) error {
	return faults.New(faults.Superseded, "Superseded", "server %s: generation %d attempt %d is overtaken by generation %d attempt %d",
		t.ServerID, t.Generation, t.Attempt, by.Generation, by.Attempt)
}

// validID keeps an id from being a path.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "0123456789abcdefABCDEF-") == ""
}
