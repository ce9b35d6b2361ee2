package bmc

// How many talk to one BMC at a time, and how long one that failed is left alone.

import (
	"context"
	"sync"
	"time"

	"holdfast.dev/internal/faults"
)

const (
	// atOnce is how many sessions there may be with one service, which may be that
	// of many machines.
	atOnce = 4
	// firstRest is how long a service is left alone that has failed once; it doubles
	// up to longestRest.
	firstRest   = 500 * time.Millisecond
	longestRest = 15 * time.Second
	// forgetAfter is when a service that nobody talks to is forgotten.
	forgetAfter = 10 * time.Minute
)

// limits are those of every service that the process talks to, by address.
type limits struct {
	mu       sync.Mutex
	services map[string]*service
}

// service is one BMC.
type service struct {
	slots  chan struct{}
	failed int       // in a row
	rests  time.Time // until when it is left alone
	used   time.Time
	users  int // those that have or wait for a slot
}

func newLimits() *limits { return &limits{services: map[string]*service{}} }

// enter waits for a slot, and while the service is left alone. The error is ctx's.
func (l *limits) enter(ctx context.Context, address string) (leave func(err error), err error) {
	s := l.find(address)
	leave = func(err error) { l.leave(s, err) }
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		s.users--
		return nil, context.Cause(ctx)
	}
	l.mu.Lock()
	rest := time.Until(s.rests)
	l.mu.Unlock()
	if rest > 0 {
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			leave(nil)
			return nil, context.Cause(ctx)
		}
	}
	return leave, nil
}

func (l *limits) find(address string) *service {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other, s := range l.services {
		if s.users == 0 && time.Since(s.used) > forgetAfter {
			delete(l.services, other)
		}
	}
	s := l.services[address]
	if s == nil {
		s = &service{slots: make(chan struct{}, atOnce)}
		l.services[address] = s
	}
	s.users++
	return s
}

// leave gives the slot back; a failure of the service's own lets it rest.
func (l *limits) leave(s *service, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	<-s.slots
	s.users--
	s.used = time.Now()
	if !faults.Is(err, faults.Unavailable) {
		s.failed = 0
		return
	}
	s.rests = time.Now().Add(min(firstRest<<min(s.failed, 10), longestRest))
	s.failed++
}
