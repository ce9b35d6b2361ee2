package qemu

// The one connection to libvirtd: made when it is needed, dropped when it hangs.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/internal/faults"
)

const (
	// callTime bounds calls that change or read something small.
	callTime = 30 * time.Second
	// startTime bounds the start of a guest, saveTime the writing of its memory.
	startTime = 2 * time.Minute
	saveTime  = 4 * time.Minute
	// endTime bounds the end of a guest: libvirt gives its process 15 s, and then
	// waits 30 s for what else is done with the domain.
	endTime  = time.Minute
	dialTime = 10 * time.Second
	// inFlight is how many calls libvirtd takes at once from one client by its
	// default (max_client_requests); more would wait unseen in its socket.
	inFlight = 5
)

// connection makes calls to libvirtd. A call that lasts longer than its limit
// costs the connection, since a client can't tell a slow daemon from a dead one;
// whoever else waits on it gets Unavailable and comes again.
type connection struct {
	dial  func(context.Context) (net.Conn, error)
	slots chan struct{}

	mu      sync.Mutex
	session *session
	closed  bool
}

// session is a connection that is open.
type session struct {
	rpc  *golibvirt.Libvirt
	conn *watchedConn
}

// newConnection prepares one to the daemon that listens at a socket.
func newConnection(socket string) *connection {
	return &connection{slots: make(chan struct{}, inFlight), dial: func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "unix", socket)
	}}
}

// watchedConn notes that the other side has gone, so that the next call dials.
type watchedConn struct {
	net.Conn
	once sync.Once
	dead chan struct{}
}

func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.die()
	}
	return n, err
}

func (c *watchedConn) die() { c.once.Do(func() { close(c.dead); _ = c.Conn.Close() }) }

func (c *watchedConn) isDead() bool {
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// Dial implements the library's dialer with a connection that is there already.
func (c *watchedConn) Dial() (net.Conn, error) { return c, nil }

// call runs f with the daemon and waits for it up to limit, whatever becomes of
// ctx meanwhile: an answer that nobody waited for would leave the guest in a
// state that nobody knows. Errors: NotFound, no such domain; Conflict, the
// domain is in the wrong state; Unavailable.
func (c *connection) call(ctx context.Context, limit time.Duration, what string, f func(*golibvirt.Libvirt) error) error {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.slots }()
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	return s.watch(limit, what, func() error { return f(s.rpc) })
}

// watch runs f and drops the session if it lasts too long or the line breaks.
func (s *session) watch(limit time.Duration, what string, f func() error) error {
	answer := make(chan error, 1)
	go func() { answer <- f() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-answer:
		if err != nil && !isAnswer(err) {
			s.conn.die()
		}
		return translate(err, what)
	case <-timer.C:
		s.conn.die()
		return faults.New(faults.Unavailable, "HypervisorUnavailable", "libvirt did not %s within %s", what, limit)
	}
}

// open gives the session, a new one if there is none.
func (c *connection) open(ctx context.Context) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, faults.New(faults.Unavailable, "HypervisorUnavailable", "the driver is closed")
	}
	if c.session != nil && !c.session.conn.isDead() {
		return c.session, nil
	}
	conn, err := c.dial(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, faults.Wrap(err, faults.Unavailable, "HypervisorUnavailable", "libvirt can't be reached")
	}
	s := &session{conn: &watchedConn{Conn: conn, dead: make(chan struct{})}}
	s.rpc = golibvirt.NewWithDialer(s.conn)
	if err := s.watch(dialTime, "open a connection", func() error { return s.rpc.ConnectToURI(golibvirt.QEMUSystem) }); err != nil {
		s.conn.die()
		return nil, err
	}
	c.session = s
	return s, nil
}

// close ends the session for good.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.session != nil {
		c.session.conn.die()
	}
}

// isUnsupported says that the daemon can't do what it was asked.
func isUnsupported(err error) bool {
	var e golibvirt.Error
	return errors.As(err, &e) && e.Code == uint32(golibvirt.ErrNoSupport)
}

// isAnswer says that the daemon itself has said no.
func isAnswer(err error) bool {
	var e golibvirt.Error
	return errors.As(err, &e)
}

// kinds of what libvirt answers; everything else may be another answer next time.
var kinds = map[golibvirt.ErrorNumber]faults.Kind{
	golibvirt.ErrNoDomain:          faults.NotFound,
	golibvirt.ErrOperationInvalid:  faults.Conflict,
	golibvirt.ErrXMLError:          faults.Invalid,
	golibvirt.ErrXMLDetail:         faults.Invalid,
	golibvirt.ErrConfigUnsupported: faults.Invalid,
}

func translate(err error, what string) error {
	if err == nil {
		return nil
	}
	var e golibvirt.Error
	if !errors.As(err, &e) {
		return faults.Wrap(err, faults.Unavailable, "HypervisorUnavailable", "the connection to libvirt broke while it was to %s", what)
	}
	kind, ok := kinds[golibvirt.ErrorNumber(e.Code)]
	if !ok {
		kind = faults.Unavailable
	}
	code := "LibvirtError"
	if kind == faults.NotFound {
		code = "GuestNotFound"
	}
	return faults.Wrap(fmt.Errorf("code %d: %w", e.Code, err), kind, code, "libvirt could not %s: %s", what, e.Message)
}
