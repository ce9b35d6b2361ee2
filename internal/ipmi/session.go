package ipmi

// Sessions: what is asked in one, and how an answer is waited for.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// NetFn is a family of commands.
type NetFn byte

// The families that are used here.
const (
	Chassis NetFn = 0x00
	App     NetFn = 0x06
)

// Command is what a BMC is asked.
type Command struct {
	NetFn NetFn
	Code  byte
	Data  []byte
	// Once has it be sent once: whether it was done isn't known if no answer comes.
	Once bool
}

// Privilege is what a session is allowed.
type Privilege byte

// The privileges.
const (
	Callback      Privilege = 1
	User          Privilege = 2
	Operator      Privilege = 3
	Administrator Privilege = 4
)

// Config says who enters a BMC, and how.
type Config struct {
	Username, Password string
	// Kg is the BMC's own key; none is for those that have none.
	Kg []byte
	// Suites are tried in this order.
	Suites    []Suite
	Privilege Privilege
	// Retry is how long an answer is waited for before the request is sent again, the
	// first time; it doubles. 0 is a second.
	Retry time.Duration
}

// The longest names and keys that there are.
const (
	MaxUsername = 16
	MaxPassword = 20
)

const (
	usualRetry = time.Second
	// tries is how often a request is sent.
	tries = 3
	// maxPacket is longer than any packet.
	maxPacket = 4096
)

// Session is one with a BMC. It is for one caller at a time.
type Session struct {
	conn  net.Conn
	retry time.Duration
	keys  keys
	// ours and theirs are the session's ids, for packets to here and to there.
	ours, theirs uint32
	sent         uint32
	asked        byte
	// lost says that the last request had no answer.
	lost bool
}

// Send gives what the BMC answers a command. Errors: ErrSilent, Code, ctx's.
func (s *Session) Send(ctx context.Context, c Command) ([]byte, error) {
	s.asked = s.asked%63 + 1
	pack := func() ([]byte, error) {
		s.sent++
		return s.keys.sealed(s.theirs, s.sent, request(c, s.asked))
	}
	var code Code
	var data []byte
	err := s.exchange(ctx, pack, c.Once, func(p []byte) bool {
		plain, ok := s.keys.opened(p, s.ours)
		if ok {
			code, data, ok = answer(plain, c, s.asked)
		}
		return ok
	})
	s.lost = errors.Is(err, ErrSilent)
	if err == nil && code != 0 {
		err = code
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// exchange sends a packet until its answer comes, which match knows and keeps.
func (s *Session) exchange(ctx context.Context, pack func() ([]byte, error), once bool, match func([]byte) bool) error {
	// A read that waits is woken when ctx ends.
	stop := context.AfterFunc(ctx, func() { _ = s.conn.SetReadDeadline(time.Now()) })
	defer stop()
	wait := s.retry
	if once {
		wait *= 1<<tries - 1
	}
	for try := 0; try < tries && (try == 0 || !once); try++ {
		p, err := pack()
		if err != nil {
			return err
		}
		if _, err := s.conn.Write(p); err != nil {
			return unreachable(ctx, err)
		}
		came, err := s.listen(ctx, time.Now().Add(wait), match)
		if came || err != nil {
			return err
		}
		wait *= 2
	}
	return ErrSilent
}

// listen reads until the answer comes, or the time is over.
func (s *Session) listen(ctx context.Context, until time.Time, match func([]byte) bool) (came bool, err error) {
	buffer := make([]byte, maxPacket)
	for {
		if err := s.conn.SetReadDeadline(until); err != nil {
			return false, fmt.Errorf("wait for a BMC: %w", err)
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		n, err := s.conn.Read(buffer)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			return false, nil
		case err != nil:
			return false, unreachable(ctx, err)
		case match(buffer[:n]):
			return true, nil
		}
	}
}

func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", ErrSilent, err)
}

// Close ends the session, of which a BMC has only a few, also when ctx has ended, and closes
// the connection. A session with a BMC that doesn't answer ends by itself.
func (s *Session) Close(ctx context.Context) error {
	if s.keys.block != nil && !s.lost {
		_, _ = s.Send(context.WithoutCancel(ctx), Command{NetFn: App, Code: 0x3c, Data: id(s.theirs), Once: true})
	}
	return s.conn.Close()
}
