package hosts

// Two hosts without their libvirtds: what they reach, and how their networks are
// joined.

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/activities/libvirt/libvirttest"
	"holdfast.dev/dev/netns"
)

func TestMain(m *testing.M) { libvirttest.Isolated(m, func() error { return nil }) }

// run runs a command that succeeds.
func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// until waits for something to be so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestHosts(t *testing.T) {
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the machine") }))
	defer machine.Close()
	_, text, err := net.SplitHostPort(machine.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: t.TempDir(), Name: "h", Count: 2, Loopback: []int{port},
		Log: func(string) string { return os.DevNull }, Say: func(err error) { t.Error(err) }}
	for range 2 { // what an earlier run has left is taken over
		h, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Each reaches the machine's loopback interface, and the other by the lan.
		for i, host := range h.All {
			if got := run(t, host.Command("curl", "--silent", "--max-time", "20", machine.URL)...); got != "the machine" {
				t.Errorf("host %d got %q", i, got)
			}
			run(t, host.Command("ip", "route", "get", h.All[1-i].Address.String())...)
		}
		if err := h.Stop(); err != nil {
			t.Fatal(err)
		}
	}

	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A bridge with a guest on each host is one network with the machine's.
	const bridge, guest = "brq0", "tap0"
	run(t, "ip", "link", "add", bridge, "type", "bridge")
	run(t, "ip", "link", "set", bridge, "up")
	for _, host := range h.All {
		run(t, host.Command("ip", "link", "add", bridge, "type", "bridge")...)
		run(t, host.Command("ip", "link", "set", bridge, "up")...)
		run(t, host.Command("ip", "link", "add", guest, "type", "veth", "peer", "name", "tap1")...)
		run(t, host.Command("ip", "link", "set", guest, "master", bridge, "up")...)
	}
	joined := func(n int) func() bool {
		return func() bool { return strings.Count(run(t, "ip", "link", "show", "master", bridge), "hfj") >= n }
	}
	until(t, "both hosts' bridges are joined", joined(2))
	for i, host := range h.All {
		if !strings.Contains(run(t, host.Command("ip", "link", "show", "master", bridge)...), h.peerName(host, bridge)) {
			t.Errorf("host %d's end is not in its bridge", i)
		}
	}
	// Without a guest it is parted.
	run(t, h.All[0].Command("ip", "link", "delete", guest)...)
	until(t, "the first host's bridge is parted", func() bool { return !hasDevice(h.peerName(h.All[0], bridge)) })
	if !hasDevice(h.peerName(h.All[1], bridge)) {
		t.Error("the second host's bridge was parted too")
	}
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	until(t, "all is parted", func() bool { return !hasDevice(h.peerName(h.All[1], bridge)) })
	if err := h.Remove(); err != nil {
		t.Fatal(err)
	}
	for _, host := range h.All {
		if netns.Exists(host.Namespace) {
			t.Errorf("%s is left", host.Namespace)
		}
	}
	// One that was half made goes as well.
	if err := os.WriteFile(filepath.Join("/run/netns", h.All[0].Namespace), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(); err != nil || netns.Exists(h.All[0].Namespace) {
		t.Errorf("of a half-made host: %v", err)
	}
	if left, err := filepath.Glob("/sys/class/net/" + h.cloud + "*"); err != nil || len(left) > 0 {
		t.Errorf("%v are left: %v", left, err)
	}
}
