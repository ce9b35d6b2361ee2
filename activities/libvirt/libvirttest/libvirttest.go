// Package libvirttest gives a test binary a libvirtd of its own.
//
// Main runs the tests in namespaces of their own: processes, mounts, network,
// host name. Folders that libvirt knows by name (/run, /etc/libvirt,
// /var/lib/libvirt, /var/log/libvirt) are empty ones in memory there, so the
// machine's libvirtd is neither seen nor touched, and all that tests start ends
// with them. It needs root, libvirtd, virtlogd and QEMU, and fails without.
package libvirttest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	start "holdfast.dev/internal/libvirtd"
)

// Socket is where the tests' libvirtd listens.
const Socket = "/run/libvirt/libvirt-sock"

// Main is TestMain's body. It doesn't return. before is run first, with the
// machine's network; the tests see what it puts into the environment. m is a
// *testing.M, or one with something to do after the tests.
func Main(m interface{ Run() int }, before ...func() error) {
	Isolated(m, prepare, before...)
}

var configs = map[string]string{
	"/etc/libvirt/qemu.conf":     "user = \"root\"\ngroup = \"root\"\nsecurity_driver = \"none\"\ncgroup_controllers = []\n",
	"/etc/libvirt/libvirtd.conf": "auth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\n",
	"/etc/libvirt/virtlogd.conf": "max_size = 65536\nmax_backups = 1\n",
}

// prepare starts the daemons.
func prepare() error {
	var err error
	for path, text := range configs {
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
	}
	if err == nil {
		err = virtlogd.start()
	}
	if err == nil {
		err = libvirtd.start()
	}
	return err
}

// daemon is one of libvirt's.
type daemon struct {
	name, socket string
	// command starts it.
	command []string
	cmd     *exec.Cmd
}

var (
	virtlogd = &daemon{name: "virtlogd", socket: "/run/libvirt/virtlogd-sock", command: []string{"virtlogd"}}
	libvirtd = &daemon{name: "libvirtd", socket: Socket, command: start.Command()}
)

// patience is for a machine that does much else.
const patience = 4 * time.Minute

// start runs the daemon and waits until it listens.
func (d *daemon) start() error {
	_ = os.Remove("/run/" + d.name + ".pid") // of one that was killed
	d.cmd = exec.Command(d.command[0], d.command[1:]...)
	if os.Getenv("HOLDFAST_TEST_LIBVIRT_LOG") != "" {
		d.cmd.Stdout, d.cmd.Stderr = os.Stderr, os.Stderr
	}
	if err := d.cmd.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("unix", d.socket)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not listen: %w", d.name, err)
		}
	}
}

func (d *daemon) kill(t testing.TB) {
	t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait() // says that it was killed
}

func (d *daemon) restart(t testing.TB) {
	t.Helper()
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
}

// Kill ends libvirtd by SIGKILL; guests live on.
func Kill(t testing.TB) {
	t.Helper()
	libvirtd.kill(t)
}

// Start starts libvirtd after Kill.
func Start(t testing.TB) {
	t.Helper()
	libvirtd.restart(t)
}

// StartAsLeft starts libvirtd after Kill, and leaves what the killed one has
// noted of guests as it is.
func StartAsLeft(t testing.TB) {
	t.Helper()
	whole := libvirtd.command
	defer func() { libvirtd.command = whole }()
	libvirtd.command = []string{"libvirtd"}
	libvirtd.restart(t)
}

// KillLog ends virtlogd by SIGKILL; what guests say from then on is lost.
func KillLog(t testing.TB) {
	t.Helper()
	virtlogd.kill(t)
}

// StartLog starts virtlogd after KillLog.
func StartLog(t testing.TB) {
	t.Helper()
	virtlogd.restart(t)
}

// Signal sends one to libvirtd: SIGSTOP makes it hang, SIGCONT goes on.
func Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := libvirtd.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
