package libvirt

// The two daemons: how they are started, taken over, and ended.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"holdfast.dev/dev/netns"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/internal/kvm"
	"holdfast.dev/internal/libvirtd"
)

// Libvirt is a cloud's.
type Libvirt struct {
	// Dir keeps everything. It is made if there is none.
	Dir string
	// LogFile is libvirtd's.
	LogFile string
	// Restart says how libvirtd comes back when it has died of itself.
	Restart *supervise.Restart
	// Host is the one of several on this machine that it runs on; nil is the
	// machine itself.
	Host *Host
}

// Host is a namespace that stands for a machine.
type Host struct {
	// Name is the host's, Daemon what its libvirtd is called among the others.
	Name, Daemon string
	// Namespace is its network.
	Namespace string
	// Address is where other hosts' libvirtds send guests to.
	Address netip.Addr
	// UUID tells it from other hosts: a libvirtd takes no guest from itself.
	UUID uuid.UUID
	// Cache is the folder of what all hosts' libvirtds know of the one QEMU.
	Cache string
}

// mounts are the folders of Dir, and what libvirtd calls them.
var mounts = []mount{
	{"etc", "/etc/libvirt"},
	{"lib", "/var/lib/libvirt"},
	{"run", "/run/libvirt"},
	{"log", "/var/log/libvirt"},
	{"cache", cacheFolder},
}

type mount struct{ own, name string }

const cacheFolder = "/var/cache/libvirt"

// mounts gives the folders by their whole path.
func (l *Libvirt) mounts() []mount {
	all := slices.Clone(mounts)
	for i := range all {
		all[i].own = filepath.Join(l.Dir, all[i].own)
		if l.Host != nil && all[i].name == cacheFolder {
			all[i].own = l.Host.Cache
		}
	}
	return all
}

var configs = map[string]string{
	"etc/libvirtd.conf": "auth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\nunix_sock_rw_perms = \"0700\"\n",
	// Profiles of AppArmor know the machine's folders only. A guest's own /dev
	// can't be made where a file covers a device (inside).
	"etc/qemu.conf": "security_driver = \"none\"\nnamespaces = []\n",
}

// configs are the files of a libvirtd.
func (l *Libvirt) configs() map[string]string {
	all := maps.Clone(configs)
	if l.Host != nil {
		all["etc/libvirtd.conf"] += fmt.Sprintf("host_uuid = %q\n", l.Host.UUID)
		// In a namespace there are no control groups. An account of its own would
		// need the devices' groups there, and rights to disks that change hosts.
		all["etc/qemu.conf"] += fmt.Sprintf("user = \"root\"\ngroup = \"root\"\ncgroup_controllers = []\nmigration_address = %q\nmigration_host = %q\n", l.Host.Address, l.Host.Address)
	}
	return all
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
	for _, m := range l.mounts() {
		for _, dir := range []string{m.own, m.name} {
			// QEMU's account passes through.
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("libvirt's folders: %w", err)
			}
		}
	}
	for name, text := range l.configs() {
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
	name := "libvirtd"
	if l.Host != nil {
		name = l.Host.Daemon
	}
	return &supervise.Process{
		Name:    name,
		Args:    l.inside(libvirtd.Command("--pid-file", "/run/libvirt/libvirtd.pid")...),
		LogFile: l.LogFile,
		Ready:   func(ctx context.Context) error { return answers(ctx, l.Socket()) },
		Restart: l.Restart,
	}
}

// inside is a command line that runs a program where libvirt's folders are ours.
//
// A KVM that can't run guests is covered by a file that nobody may open; where
// guests are root's it can't be written, which stops root too. libvirtd compares
// what its emulators have found, as root, with what their account may use: where
// the two never agree it tries all emulators anew, for seconds, whenever it is
// asked anything.
func (l *Libvirt) inside(program ...string) []string {
	var script strings.Builder
	var where []string
	unshare, covered := []string{"unshare", "--mount", "--propagation", "private"}, "bind"
	if l.Host != nil {
		where = netns.Command(l.Host.Namespace)
		unshare = append(unshare, "--uts")
		fmt.Fprintf(&script, "hostname %s && ", l.Host.Name)
		covered += ",ro"
	}
	var sources []string
	cover := func(name, own, options string) {
		sources = append(sources, own)
		fmt.Fprintf(&script, "mount -o %s \"$%d\" %s && ", options, len(sources), name)
	}
	for _, m := range l.mounts() {
		cover(m.name, m.own, "bind")
	}
	if _, err := os.Stat(kvm.Device); err == nil && !kvm.Works() {
		cover(kvm.Device, filepath.Join(l.Dir, noKVM), covered)
	}
	fmt.Fprintf(&script, `shift %d && exec "$@"`, len(sources))
	return slices.Concat(where, unshare, []string{"sh", "-c", script.String(), "sh"}, sources, program)
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
