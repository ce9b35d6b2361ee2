//go:build real

package real

// What is around a machine with an agent: a network with addresses and with a door to the
// API, and a console that is listened to.

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/dev/netns"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/internal/nodes"
)

// The network is one for tests between devices (RFC 2544), in the tests' own namespace.
const (
	lanNetwork = "198.18.77.0/24"
	lanAddress = "198.18.77.1"
	lanBridge  = "machines"
	lanMAC     = "52:54:00:1b:a0:01"
)

// lan is a network of machines.
type lan struct {
	t *testing.T
	// listen is an address on it that nobody listens at; iPXE is told to find its first
	// script there.
	listen string
}

// newLAN makes it, until the test ends.
func newLAN(t *testing.T) *lan {
	t.Helper()
	ip := func(ctx context.Context, command string) {
		t.Helper()
		if err := netns.IP(ctx, strings.Fields(command)...); err != nil {
			t.Fatal(err)
		}
	}
	ip(t.Context(), "link add name "+lanBridge+" type bridge forward_delay 0 stp_state 0")
	t.Cleanup(func() { ip(context.Background(), "link delete "+lanBridge) })
	ip(t.Context(), "address add "+lanAddress+"/24 dev "+lanBridge)
	ip(t.Context(), "link set "+lanBridge+" up")
	dir, listen := t.TempDir(), fmt.Sprintf("%s:%d", lanAddress, freePort(t))
	run(t, &supervise.Process{Name: "dnsmasq", LogFile: filepath.Join(dir, "log"), Args: []string{"dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--user=root", "--pid-file=",
		"--port=0", "--interface=" + lanBridge, "--bind-interfaces", "--dhcp-range=198.18.77.10,198.18.77.99", "--dhcp-leasefile=" + filepath.Join(dir, "leases"),
		"--dhcp-match=set:ipxe,175", "--dhcp-boot=tag:ipxe,http://" + listen + "/" + nodes.FirstScript}})
	return &lan{t, listen}
}

// serve serves on the network, until the test ends, and gives the URL.
func (l *lan) serve(handler http.Handler) string {
	l.t.Helper()
	listener, err := net.Listen("tcp", lanAddress+":0")
	if err != nil {
		l.t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	server.Start()
	l.t.Cleanup(server.Close)
	return server.URL
}

// door is how machines reach an API that listens elsewhere. It knows when agents were
// heard of.
type door struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	to    http.Handler // nil until it is open
	beats []time.Time
}

// door makes one that is shut.
func (l *lan) door() *door {
	l.t.Helper()
	d := &door{t: l.t}
	d.url = l.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		to := d.to
		if strings.Contains(r.URL.Path, "/heartbeat/") {
			d.beats = append(d.beats, time.Now())
		}
		d.mu.Unlock()
		if to == nil {
			http.Error(w, "there is no API yet", http.StatusServiceUnavailable)
			return
		}
		to.ServeHTTP(w, r)
	}))
	return d
}

// open opens it to an API.
func (d *door) open(api string) {
	d.t.Helper()
	at, err := url.Parse(api)
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = httputil.NewSingleHostReverseProxy(at)
}

// heard is when an agent was heard of first after a time.
func (d *door) heard(after time.Time) time.Time {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, beat := range d.beats {
		if beat.After(after) {
			return beat
		}
	}
	d.t.Fatal("no agent was heard of")
	return time.Time{}
}

// console is a machine's serial console, which the machine connects to when it starts.
type console struct {
	port int

	mu   sync.Mutex
	seen []*shown
}

// shown is what it has shown in one run of the machine.
type shown struct {
	since time.Time
	text  strings.Builder
}

// newConsole listens until the test ends.
func newConsole(t *testing.T) *console {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &console{port: listener.Addr().(*net.TCPAddr).Port}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			now := &shown{since: time.Now()}
			c.mu.Lock()
			c.seen = append(c.seen, now)
			c.mu.Unlock()
			running.Go(func() { c.read(conn, now) })
		}
	})
	t.Cleanup(running.Wait)
	t.Cleanup(func() { _ = listener.Close() }) // it is, at the end
	return c
}

// read keeps what a run shows until it is over.
func (c *console) read(conn io.ReadCloser, to *shown) {
	defer conn.Close()
	part := make([]byte, 4<<10)
	for {
		n, err := conn.Read(part)
		c.mu.Lock()
		to.text.WriteString(strings.ReplaceAll(string(part[:n]), "\r", ""))
		c.mu.Unlock()
		if err != nil {
			return // the machine is off
		}
	}
}

// starts is how often the machine has started.
func (c *console) starts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// start is when a run has begun, and what it has shown so far.
func (c *console) start(n int) (since time.Time, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n >= len(c.seen) {
		return time.Now(), ""
	}
	return c.seen[n].since, c.seen[n].text.String()
}

// end is the end of what the last run has shown.
func (c *console) end() string {
	_, text := c.start(max(c.starts()-1, 0))
	return text[max(0, len(text)-8<<10):]
}
