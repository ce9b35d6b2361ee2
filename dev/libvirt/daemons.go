package libvirt

// The two daemons: how they are started, taken over, and ended.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holdfast.dev/dev/supervise"
	"holdfast.dev/internal/kvm"
)

// Libvirt is a cloud's.
type Libvirt struct {
	// Dir keeps everything. It is made if there is none.
	Dir string
	// LogFile is libvirtd's.
	LogFile string
	// Restart says how libvirtd comes back when it has died of itself.
	Restart *supervise.Restart
}

// mounts are the folders of Dir, and what libvirtd calls them.
var mounts = []struct{ own, name string }{
	{"etc", "/etc/libvirt"},
	{"lib", "/var/lib/libvirt"},
	{"run", "/run/libvirt"},
	{"log", "/var/log/libvirt"},
	{"cache", "/var/cache/libvirt"},
}

var configs = map[string]string{
	"etc/libvirtd.conf": "auth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\nunix_sock_rw_perms = \"0700\"\n",
	// Profiles of AppArmor know the machine's folders only.
	"etc/qemu.conf": "security_driver = \"none\"\n",
}

// maxSocket is how long a socket's path can be.
const maxSocket = 107

// Socket is where libvirtd listens.
func (l *Libvirt) Socket() string { return filepath.Join(l.Dir, "run", "libvirt-sock") }

// URI is what virsh calls libvirtd.
func (l *Libvirt) URI() string {
	return "qemu+unix:///system?" + url.Values{"socket": {l.Socket()}}.Encode()
}

func (l *Libvirt) virtlogdSocket() string { return filepath.Join(l.Dir, "run", "virtlogd-sock") }

// Fits refuses a folder in which the sockets' paths would be too long.
func (l *Libvirt) Fits() error {
	longest := l.virtlogdSocket()
	if n := len(longest) - maxSocket; n > 0 {
		return fmt.Errorf("the path %s is %d bytes too long for a socket: choose another folder (--dir)", longest, n)
	}
	return nil
}

// Prepare makes the folders and has virtlogd run: one that is left from an
// earlier run, or a new one.
func (l *Libvirt) Prepare(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("libvirt needs root; holdfast dev --driver simulated does not")
	}
	if err := l.Fits(); err != nil {
		return err
	}
	for _, m := range mounts {
		for _, dir := range []string{filepath.Join(l.Dir, m.own), m.name} {
			// QEMU's account passes through.
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("libvirt's folders: %w", err)
			}
		}
	}
	for name, text := range configs {
		if err := os.WriteFile(filepath.Join(l.Dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("libvirt's folders: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(l.Dir, noKVM), nil, 0); err != nil {
		return fmt.Errorf("libvirt's folders: %w", err)
	}
	return l.startVirtlogd(ctx)
}

// noKVM is the file that covers KVM where it can't run guests.
const noKVM = "no-kvm"

// startVirtlogd starts virtlogd if none listens. It outlives this process.
func (l *Libvirt) startVirtlogd(ctx context.Context) error {
	if answers(ctx, l.virtlogdSocket()) == nil {
		return nil
	}
	args := l.inside("virtlogd", "--daemon", "--pid-file", "/run/libvirt/virtlogd.pid")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	// A process group of its own: a terminal's interrupt is not for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("virtlogd: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Process is libvirtd, which isn't started yet.
func (l *Libvirt) Process() *supervise.Process {
	return &supervise.Process{
		Name:    "libvirtd",
		Args:    l.inside("libvirtd", "--pid-file", "/run/libvirt/libvirtd.pid"),
		LogFile: l.LogFile,
		Ready:   func(ctx context.Context) error { return answers(ctx, l.Socket()) },
		Restart: l.Restart,
	}
}

// inside is a command line that runs a program where libvirt's folders are ours.
//
// A KVM that can't run guests is covered by a file that nobody may open. libvirtd
// compares what its emulators have found, as root, with what their account may
// use: where /dev/kvm is root's alone the two never agree, and it tries all
// emulators anew, for seconds, whenever it is asked anything.
func (l *Libvirt) inside(program ...string) []string {
	var script strings.Builder
	for _, m := range mounts {
		fmt.Fprintf(&script, "mount --bind \"$0/%s\" %s && ", m.own, m.name)
	}
	if _, err := os.Stat(kvm.Device); err == nil && !kvm.Works() {
		fmt.Fprintf(&script, "mount --bind \"$0/%s\" %s && ", noKVM, kvm.Device)
	}
	script.WriteString(`exec "$@"`)
	return append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-c", script.String(), l.Dir}, program...)
}

// Keep starts virtlogd again when it has died, until ctx ends.
func (l *Libvirt) Keep(ctx context.Context, say func(error)) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := l.startVirtlogd(ctx); err != nil && ctx.Err() == nil {
				say(err)
			}
		}
	}
}

// stopPatience is how long virtlogd may take to end.
const stopPatience = 10 * time.Second

// StopVirtlogd ends the process that listens at virtlogd's socket.
func (l *Libvirt) StopVirtlogd() error {
	pid, err := listener(l.virtlogdSocket())
	if err != nil || pid == 0 {
		return err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("stop virtlogd: %w", err)
	}
	defer process.Release()
	if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop virtlogd: %w", err)
	}
	for deadline := time.Now().Add(stopPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if now, err := listener(l.virtlogdSocket()); err != nil || now != pid {
			return err
		}
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop virtlogd: %w", err)
	}
	return nil
}

// listener is the process that listens at a socket, 0 if none does.
func listener(socket string) (pid int, err error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return 0, nil
	}
	defer conn.Close()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) { peer, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if asked != nil {
		return 0, fmt.Errorf("who listens at %s: %w", socket, asked)
	}
	return int(peer.Pid), nil
}

func answers(ctx context.Context, socket string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	return conn.Close()
}
