package ipmi

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// What is sealed is opened again, whatever its length; nothing else is, however little of it
// is different or missing.
func TestPackets(t *testing.T) {
	t.Parallel()
	for suite, a := range suites {
		k, err := newKeys(a, bytes.Repeat([]byte{9}, 20))
		if err != nil {
			t.Fatal(err)
		}
		for n := range 40 {
			plain := bytes.Repeat([]byte{0xa5}, n)
			p, err := k.sealed(7, 1, plain)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := k.opened(p, 7); !ok || !bytes.Equal(got, plain) {
				t.Errorf("suite %d: %d bytes: %x, %v", suite, n, got, ok)
			}
			if _, ok := k.opened(p, 8); ok {
				t.Errorf("suite %d: another session's packet is opened", suite)
			}
			for at := range p {
				if _, ok := k.opened(p[:at], 7); ok {
					t.Errorf("suite %d: %d bytes of %d are opened", suite, at, len(p))
				}
				spoilt := bytes.Clone(p)
				spoilt[at] ^= 0x04
				if _, ok := k.opened(spoilt, 7); ok && at >= rmcpLength {
					t.Errorf("suite %d: byte %d of %d is changed", suite, at, len(p))
				}
			}
		}
		for n := range 80 {
			if plain, ok := k.decrypted(bytes.Repeat([]byte{1}, n)); ok && len(plain) >= n {
				t.Errorf("suite %d: %d bytes of nothing are %d", suite, n, len(plain))
			}
		}
	}
}

// An answer is that of the command alone.
func TestAnswer(t *testing.T) {
	t.Parallel()
	c := Command{NetFn: Chassis, Code: 1}
	said := []byte{remoteAddress, 0x04, 0x7b, bmcAddress, 5 << 2, 1, 0, 0x61, 0x00, 0x00}
	said = append(said, checksum(said[3:]))
	if code, data, ok := answer(said, c, 5); !ok || code != 0 || !bytes.Equal(data, []byte{0x61, 0, 0}) {
		t.Errorf("%v, %x, %v", code, data, ok)
	}
	for at := range said {
		if _, _, ok := answer(said[:at], c, 5); ok {
			t.Errorf("%d bytes answer it", at)
		}
		spoilt := bytes.Clone(said)
		spoilt[at] ^= 0x08
		if _, _, ok := answer(spoilt, c, 5); ok {
			t.Errorf("it is answered with another byte %d", at)
		}
	}
	for _, other := range []Command{{NetFn: App, Code: 1}, {NetFn: Chassis, Code: 2}} {
		if _, _, ok := answer(said, other, 5); ok {
			t.Errorf("it answers %+v", other)
		}
	}
	if _, _, ok := answer(said, c, 6); ok {
		t.Error("it answers the next request")
	}
}

// A BMC that answers nonsense, of whatever length, is one that doesn't answer.
func TestNonsense(t *testing.T) {
	t.Parallel()
	for n := range 64 {
		_, err := open(t.Context(), t, time.Millisecond, func(asked []byte) []byte {
			said := append(packet(openResponse, 0, 0, bytes.Repeat([]byte{0}, n)), 0xff)
			if n > 0 {
				said[frame] = asked[frame]
			}
			return said[:len(said)-n%3]
		})
		if !errors.Is(err, ErrSilent) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// A BMC that would have another cipher suite is not followed to it, and one that gives no
// session says why.
func TestNoSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(said []byte) []byte
		want   error
	}{
		"another suite":    {func(said []byte) []byte { said[frame+24] = 1; return said }, ErrSuite},
		"no suite":         {func(said []byte) []byte { said[frame+1] = 0x11; return said[:frame+8] }, ErrSuite},
		"no room":          {func(said []byte) []byte { said[frame+1] = 0x01; return said[:frame+8] }, Status(0x01)},
		"somebody else's":  {func(said []byte) []byte { said[frame+4] ^= 1; return said }, ErrSilent},
		"another exchange": {func(said []byte) []byte { said[frame]++; return said }, ErrSilent},
	} {
		retry := time.Minute
		if errors.Is(c.want, ErrSilent) {
			retry = time.Millisecond
		}
		_, err := open(t.Context(), t, retry, func(asked []byte) []byte {
			body := asked[frame:]
			said := append([]byte{body[0], 0, 4, 0}, body[4:8]...)
			said = append(append(said, 1, 2, 3, 4), body[8:]...)
			said = c.change(packet(openResponse, 0, 0, said))
			said[14] = byte(len(said) - frame)
			return said
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// open opens a session with somebody who answers each packet so.
func open(ctx context.Context, t *testing.T, retry time.Duration, answers func(asked []byte) []byte) (*Session, error) {
	t.Helper()
	bmc, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bmc.Close() })
	go func() {
		p := make([]byte, maxPacket)
		for {
			n, from, err := bmc.ReadFrom(p)
			if err != nil {
				return
			}
			if _, err := bmc.WriteTo(answers(p[:n]), from); err != nil {
				return
			}
		}
	}()
	conn, err := net.Dial("udp4", bmc.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	return Open(ctx, conn, Config{Username: "a", Password: "b", Suites: []Suite{SHA256}, Privilege: Administrator, Retry: retry})
}

// A step that is told to end does not wait for its BMC.
func TestTheEndOfARequest(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	_, err := open(ctx, t, time.Hour, func([]byte) []byte {
		end()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
