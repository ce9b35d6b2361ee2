package tftp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
)

// files are what the tests' server has, by name.
var files = map[string]string{
	"empty": "", "small": "few bytes", "one block": strings.Repeat("b", usualBlock), "large": strings.Repeat("0123456789", 5_000),
	"long": strings.Repeat("l", 8*70_000),
}

// serve starts a server, and gives where it is.
func serve(t *testing.T, s *Server) string {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if s.Open == nil {
		s.Open = func(_ context.Context, name string) (File, error) {
			if name == "broken" {
				return File{}, errors.New("the disk is gone")
			}
			text, has := files[name]
			if !has {
				return File{}, fs.ErrNotExist
			}
			return File{io.NopCloser(strings.NewReader(text)), int64(len(text))}, nil
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, conn) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return conn.LocalAddr().String()
}

// Whatever the size of a file and of its blocks, it comes as it is, to firmware and to curl.
func TestRead(t *testing.T) {
	t.Parallel()
	at := serve(t, &Server{})
	for name, text := range files {
		for _, block := range []int{0, 8, 512, 1432, 65464} {
			if name == "long" && block != 8 {
				continue // it is there to have more blocks than there are numbers
			}
			if got, err := bmc.ReadTFTP(t.Context(), at, name, block); err != nil || string(got) != text {
				t.Errorf("%s by %d: %d bytes, %v", name, block, len(got), err)
			}
		}
	}
	got, err := exec.CommandContext(t.Context(), "curl", "--silent", "--show-error", "tftp://"+at+"/large").Output()
	if err != nil || string(got) != files["large"] {
		t.Errorf("curl has %d bytes, %v", len(got), err)
	}
}

// What can't be read says so.
func TestWhatCanNotBeRead(t *testing.T) {
	t.Parallel()
	at := serve(t, &Server{})
	for name, says := range map[string]string{"nothing": "there is no such file (1)", "broken": "the file can't be read now (0)"} {
		if got, err := bmc.ReadTFTP(t.Context(), at, name, 0); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for packet, answer := range map[string]string{
		"\x00\x02large\x00octet\x00":                 "\x00\x05\x00\x02nothing is written here\x00",
		"\x00\x01large\x00netascii\x00":              "\x00\x05\x00\x04files are read as octets here\x00",
		"\x00\x01small\x00OCTET\x00":                 "\x00\x03\x00\x01few bytes",
		"\x00\x01small\x00octet\x00blksize\x007\x00": "\x00\x03\x00\x01few bytes",
		"\x00\x01small\x00octet\x00BLKSIZE\x009000\x00timeout\x0099\x00tsize\x000\x00windowsize\x004\x00": "\x00\x06blksize\x001468\x00tsize\x009\x00",
		"\x00\x01small\x00octet\x00timeout\x002\x00":                                                      "\x00\x06timeout\x002\x00",
	} {
		if got := newClient(t, at).ask(packet); got != answer {
			t.Errorf("%q: %q, not %q", packet, got, answer)
		}
	}
}

// client is one that says what it likes.
type client struct {
	*testing.T
	conn *net.UDPConn
	from *net.UDPAddr
}

func newClient(t *testing.T, at string) *client {
	t.Helper()
	to, err := net.ResolveUDPAddr("udp4", at)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: to.IP})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t, conn, to}
}

func (c *client) say(packet string) {
	c.Helper()
	if _, err := c.conn.WriteToUDP([]byte(packet), c.from); err != nil {
		c.Fatal(err)
	}
}

// hear is the next packet that comes, and the next ones go to where it has come from.
func (c *client) hear() string {
	c.Helper()
	if err := c.conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		c.Fatal(err)
	}
	packet := make([]byte, 1<<16)
	n, from, err := c.conn.ReadFromUDP(packet)
	if err != nil {
		c.Fatal(err)
	}
	c.from = from
	return string(packet[:n])
}

func (c *client) ask(packet string) string {
	c.Helper()
	c.say(packet)
	return c.hear()
}

// What is no request, however long, gets no answer, and harms nobody.
func TestHostilePackets(t *testing.T) {
	t.Parallel()
	at := serve(t, &Server{})
	c := newClient(t, at)
	for _, packet := range []string{"", "\x00", "\x00\x01", "\x00\x01\x00", "\x00\x01\x00\x00", "\x00\x01large", "\x00\x01large\x00", "\x00\x01large\x00octet", "\x00\x01\x00octet\x00",
		"\x00\x03\x00\x01data", "\x00\x04\x00\x01", "\x00\x05\x00\x01no\x00", "\x00\x06tsize\x001\x00", "\xff\xff", "\x00\x01" + strings.Repeat("x", 60_000),
		"\x00\x01large\x00octet\x00" + strings.Repeat("a\x00b\x00", 10_000)} {
		c.say(packet)
	}
	if got := c.ask("\x00\x01small\x00octet\x00"); got != "\x00\x03\x00\x01few bytes" {
		t.Errorf("%q", got)
	}
}

// A packet that is lost is sent again; what comes from a stranger, or has been said before,
// changes nothing.
func TestWhatIsLost(t *testing.T) {
	t.Parallel()
	at := serve(t, &Server{Timeout: 20 * time.Millisecond})
	c := newClient(t, at)
	first := c.ask("\x00\x01large\x00octet\x00")
	if again := c.hear(); again != first || len(first) != 4+usualBlock {
		t.Errorf("%q, then %q", first, again)
	}
	stranger := newClient(t, c.from.String())
	if got := stranger.ask("\x00\x04\x00\x01"); got != "\x00\x05\x00\x05this is somebody else's transfer\x00" {
		t.Errorf("%q", got)
	}
	c.say("\x00\x04\x00\x09")
	c.say("\x00\x04\x00\x01")
	got := first
	for got == first {
		got = c.hear()
	}
	if binary.BigEndian.Uint16([]byte(got[2:])) != 2 {
		t.Errorf("%q", got[:4])
	}
	c.say("\x00\x05\x00\x00enough\x00")
}

// Who gives no answer is left.
func TestASilentClient(t *testing.T) {
	t.Parallel()
	s := &Server{Timeout: 20 * time.Millisecond}
	c := newClient(t, serve(t, s))
	c.say("\x00\x01large\x00octet\x00")
	for range tries {
		if got := c.hear(); !strings.HasPrefix(got, "\x00\x03\x00\x01") {
			t.Fatalf("%q", got)
		}
	}
	for until := time.Now().Add(30 * time.Second); s.count() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the read has not ended")
		}
	}
}

// How many read at once is bounded, of one machine and of all; who asks again while it
// reads has one read.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := &Server{}
	at := func(host, port int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(host)}), uint16(port))
	}
	for host := range maxReads / maxOfOne {
		for port := range maxOfOne {
			if !s.enter(at(host, port)) || s.enter(at(host, port)) {
				t.Fatalf("the client %s", at(host, port))
			}
		}
		if s.enter(at(host, maxOfOne)) {
			t.Fatalf("%d reads more", maxOfOne)
		}
	}
	if s.enter(at(200, 0)) {
		t.Error("there is no end of clients")
	}
	s.leave(at(0, 0))
	if !s.enter(at(200, 0)) || s.enter(at(0, 0)) {
		t.Error("the place of one that has gone isn't given to one")
	}
	for host := range maxReads / maxOfOne {
		for port := range maxOfOne {
			if host+port > 0 {
				s.leave(at(host, port))
			}
		}
	}
	if s.leave(at(200, 0)); len(s.reads)+len(s.ofClient) > 0 {
		t.Errorf("%v and %v are left", s.reads, s.ofClient)
	}
}

func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.reads)
}

// The request of a packet is what its bytes say, whatever they are.
func FuzzRequest(f *testing.F) {
	f.Add([]byte("\x00\x01name\x00octet\x00blksize\x00512\x00"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		r, err := readRequest(packet)
		if err != nil {
			return
		}
		if len(r.name) == 0 || len(r.options) > maxOptions || bytes.Contains([]byte(fmt.Sprint(r.name, r.mode)), []byte{0}) {
			t.Errorf("%+v", r)
		}
	})
}
