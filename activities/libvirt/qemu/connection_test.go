package qemu

// What becomes of the connection when libvirtd dies or hangs. These tests stop
// the daemon that all share, so they don't run beside others.

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/libvirttest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

func TestLibvirtdKilled(t *testing.T) {
	d, s := host(t, t.TempDir(), blank(), nil), spec()
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	libvirttest.Kill(t)
	if _, err := d.Observe(t.Context(), s.ServerID); !faults.Is(err, faults.Unavailable) {
		t.Errorf("without libvirtd: %v", err)
	}
	libvirttest.Start(t)
	if got, err := d.Observe(t.Context(), s.ServerID); err != nil || got.PowerState != libvirt.Running {
		t.Errorf("after its return: %+v, %v", got, err)
	}
	if got, err := d.Power(t.Context(), s.ServerID, steps.PowerStop, "", confirmed); err != nil || got.PowerState != libvirt.Shutdown {
		t.Errorf("stop: %+v, %v", got, err)
	}
}

func TestLibvirtdHangs(t *testing.T) {
	d := host(t, t.TempDir(), blank(), nil)
	version := func() error {
		return d.daemon.call(t.Context(), 300*time.Millisecond, "tell its version", func(rpc *golibvirt.Libvirt) error {
			_, err := rpc.ConnectGetLibVersion()
			return err
		})
	}
	if err := version(); err != nil {
		t.Fatal(err)
	}
	first := d.daemon.session
	libvirttest.Signal(t, syscall.SIGSTOP)
	hung := version()
	libvirttest.Signal(t, syscall.SIGCONT)
	if !faults.Is(hung, faults.Unavailable) || !first.conn.isDead() {
		t.Errorf("a call that hangs: %v, connection dropped: %v", hung, first.conn.isDead())
	}
	if err := version(); err != nil || d.daemon.session == first {
		t.Errorf("afterwards: %v, the same connection: %v", err, d.daemon.session == first)
	}
}

// A call waits for its turn as long as its context, and a closed driver makes none.
func TestTurnsAndClose(t *testing.T) {
	d := host(t, t.TempDir(), blank(), nil)
	for range inFlight {
		d.daemon.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Inventory(ctx); err != context.Canceled {
		t.Errorf("without a turn: %v", err)
	}
	for range inFlight {
		<-d.daemon.slots
	}
	i, err := d.Inventory(t.Context())
	if err != nil || i.VCPUs < 1 || i.MemoryMB < 1 || i.DiskGB < 1 {
		t.Errorf("inventory %+v, %v", i, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Inventory(t.Context()); !faults.Is(err, faults.Unavailable) {
		t.Errorf("closed: %v", err)
	}
}

// libvirtd is killed when it has noted that a guest starts and not yet its
// process. The next one would have it start for ever: Build doesn't take that for
// a guest that runs, and a libvirtd that is started by internal/libvirtd has
// forgotten it.
func TestStartCutOff(t *testing.T) {
	d, s := host(t, t.TempDir(), blank(), nil), spec()
	defer clean(t, d, s.ServerID)
	if _, err := d.Build(t.Context(), s, confirmed); err != nil {
		t.Fatal(err)
	}
	libvirttest.Kill(t)
	notes, err := filepath.Glob("/run/libvirt/qemu/*.xml")
	if err != nil || len(notes) != 1 {
		t.Fatalf("libvirtd's notes are %v, %v", notes, err)
	}
	note, err := os.ReadFile(notes[0])
	if err != nil {
		t.Fatal(err)
	}
	running := regexp.MustCompile(`<domstatus state='running' reason='\w+' pid='(\d+)'>`)
	found := running.FindSubmatch(note)
	if found == nil {
		t.Fatalf("libvirtd's note is %.1000s", note)
	}
	pid, err := strconv.Atoi(string(found[1]))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err == nil {
		note = running.ReplaceAll(note, []byte(`<domstatus state='paused' reason='starting up' pid='0'>`))
		note = bytes.Replace(note, []byte("<domain type="), []byte("<job type='none' async='start'/>\n  <domain type="), 1)
		err = os.WriteFile(notes[0], note, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}

	libvirttest.StartAsLeft(t)
	d.patience = time.Second
	if got, err := d.Build(t.Context(), s, confirmed); !faults.Is(err, faults.Unavailable) {
		t.Errorf("a guest that starts for ever is built: %+v, %v", got, err)
	}
	libvirttest.Kill(t)
	libvirttest.Start(t)
	if got, err := d.Build(t.Context(), s, confirmed); err != nil || got.PowerState != libvirt.Running {
		t.Errorf("after libvirtd's start: %+v, %v", got, err)
	}
}
