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
)

// Socket is where the tests' libvirtd listens.
const Socket = "/run/libvirt/libvirt-sock"

// Main is TestMain's body. It doesn't return. before is run first, with the
// machine's network; the tests see what it puts into the environment.
func Main(m *testing.M, before ...func() error) {
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
		_, err = start("virtlogd", "/run/libvirt/virtlogd-sock")
	}
	if err == nil {
		libvirtd, err = start("libvirtd", Socket)
	}
	return err
}

var libvirtd *exec.Cmd

// start runs a daemon and waits until it listens.
func start(name, socket string) (*exec.Cmd, error) {
	cmd := exec.Command(name)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if os.Getenv("HOLDFAST_LIBVIRTTEST_LOG") == "" {
		cmd.Stdout, cmd.Stderr = nil, nil
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for range 300 {
		if conn, err := net.Dial("unix", socket); err == nil {
			return cmd, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, fmt.Errorf("%s does not listen on %s", name, socket)
}

// Kill ends libvirtd by SIGKILL; guests live on.
func Kill(t testing.TB) {
	t.Helper()
	if err := libvirtd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = libvirtd.Wait() // says that it was killed
}

// Start starts libvirtd after Kill.
func Start(t testing.TB) {
	t.Helper()
	_ = os.Remove("/run/libvirtd.pid")
	var err error
	if libvirtd, err = start("libvirtd", Socket); err != nil {
		t.Fatal(err)
	}
}

// Signal sends one to libvirtd: SIGSTOP makes it hang, SIGCONT goes on.
func Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := libvirtd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
