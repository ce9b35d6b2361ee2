package ipmi

// How a session is opened: what is proposed, and the exchange of keys (RAKP).

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
)

// Open opens a session over a connection of packets, which is closed with it, or if there
// is none. Errors: ErrSilent, ErrKey, ErrSuite, Status, Code (of the privilege), ctx's.
func Open(ctx context.Context, conn net.Conn, c Config) (*Session, error) {
	s := &Session{conn: conn, retry: c.Retry}
	if s.retry == 0 {
		s.retry = usualRetry
	}
	if err := s.open(ctx, c); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

func (s *Session) open(ctx context.Context, c Config) error {
	err := ErrSuite
	for _, suite := range c.Suites {
		if err = s.enter(ctx, c, suite); !errors.Is(err, ErrSuite) {
			break
		}
	}
	if err != nil {
		return err
	}
	_, err = s.Send(ctx, Command{NetFn: App, Code: 0x3b, Data: []byte{byte(c.Privilege)}})
	return err
}

// handshake is a session being opened with one suite.
type handshake struct {
	*Session
	Config
	algorithms
	tag byte
	// who is the privilege that is asked for and the name of who asks, as they are signed.
	who []byte
	// mine and its are both sides' random numbers, guid is what the BMC calls itself.
	mine, its, guid []byte
}

func id(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

func random(n int) ([]byte, error) {
	all := make([]byte, n)
	if _, err := rand.Read(all); err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	return all, nil
}

// byName has the name alone say who enters.
const byName = 0x10

func (s *Session) enter(ctx context.Context, c Config, suite Suite) error {
	a, known := suites[suite]
	if !known {
		return ErrSuite
	}
	h := &handshake{Session: s, Config: c, algorithms: a}
	h.who = append([]byte{byName | byte(c.Privilege), byte(len(c.Username))}, c.Username...)
	for _, step := range []func(context.Context) error{h.propose, h.greet, h.prove} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ask sends a packet of the handshake and gives what comes back, of at least so many bytes
// unless it says no.
func (h *handshake) ask(ctx context.Context, kind, back payload, body []byte, least int) (said []byte, err error) {
	h.tag++
	body[0] = h.tag
	pack := func() ([]byte, error) { return packet(kind, 0, 0, body), nil }
	err = h.exchange(ctx, pack, false, func(p []byte) bool {
		answered, _, ok := unpacked(p, back, 0)
		if !ok || len(answered) < 2 || answered[0] != h.tag {
			return false
		}
		if answered[1] == 0 && (len(answered) < least || binary.LittleEndian.Uint32(answered[4:]) != h.ours) {
			return false
		}
		said = append([]byte(nil), answered...)
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case Status(said[1]).ofTheSuite() && back == openResponse:
		return nil, fmt.Errorf("%w: %w", ErrSuite, Status(said[1]))
	case said[1] != 0:
		return nil, Status(said[1])
	}
	return said, nil
}

// propose asks for a session with the suite. A BMC that would have another one is not
// followed to it.
func (h *handshake) propose(ctx context.Context) error {
	ours, err := random(4)
	if err != nil {
		return err
	}
	h.ours = binary.LittleEndian.Uint32(ours) | 1 // 0 is no session
	algorithm := func(kind, number byte) []byte { return []byte{kind, 0, 0, 8, number, 0, 0, 0} }
	body := append([]byte{0, 0, 0, 0}, id(h.ours)...)
	body = append(body, algorithm(0, h.authentication)...)
	body = append(body, algorithm(1, h.integrity)...)
	body = append(body, algorithm(2, h.confidentiality)...)
	said, err := h.ask(ctx, openRequest, openResponse, body, 36)
	if err != nil {
		return err
	}
	if said[16] != h.authentication || said[24] != h.integrity || said[32] != h.confidentiality {
		return ErrSuite
	}
	h.theirs = binary.LittleEndian.Uint32(said[8:])
	return nil
}

// greet tells who enters, and has the BMC show that it knows the password.
func (h *handshake) greet(ctx context.Context) (err error) {
	if h.mine, err = random(16); err != nil {
		return err
	}
	body := append([]byte{0, 0, 0, 0}, id(h.theirs)...)
	body = append(body, h.mine...)
	body = append(body, h.who[0], 0, 0)
	body = append(body, h.who[1:]...)
	length := 40 + h.hash().Size()
	said, err := h.ask(ctx, rakp1, rakp2, body, length)
	if err != nil {
		return err
	}
	h.its, h.guid = said[8:24], said[24:40]
	if !hmac.Equal(said[40:length], h.mac([]byte(h.Password), id(h.ours), id(h.theirs), h.mine, h.its, h.guid, h.who)) {
		return ErrKey
	}
	return nil
}

// prove shows that the password is known here too, and makes the session's keys.
func (h *handshake) prove(ctx context.Context) error {
	body := append([]byte{0, 0, 0, 0}, id(h.theirs)...)
	body = append(body, h.mac([]byte(h.Password), h.its, id(h.ours), h.who)...)
	said, err := h.ask(ctx, rakp3, rakp4, body, 8+h.code)
	if err != nil {
		return err
	}
	kg := h.Kg
	if len(kg) == 0 {
		kg = []byte(h.Password)
	}
	sik := h.mac(kg, h.mine, h.its, h.who)
	if !hmac.Equal(said[8:8+h.code], h.mac(sik, h.mine, id(h.theirs), h.guid)[:h.code]) {
		return ErrKey
	}
	h.keys, err = newKeys(h.algorithms, sik)
	return err
}
