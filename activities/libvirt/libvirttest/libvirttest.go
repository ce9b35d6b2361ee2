// Package libvirttest gives a test binary a libvirtd of its own.
//
// Main runs the tests in namespaces of their own: processes, mounts, network,
// host name. Folders that libvirt knows by name (/run, /etc/libvirt,
// /var/lib/libvirt, /var/log/libvirt) are empty ones in memory there, so the
// machine's libvirtd is neither seen nor touched, and all that tests start ends
// with them. It needs root, libvirtd, virtlogd and QEMU, and fails without.
package libvirttest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Socket is where the tests' libvirtd listens.
const Socket = "/run/libvirt/libvirt-sock"

const insideKey = "HOLDFAST_LIBVIRTTEST"

// Main is TestMain's body. It doesn't return. before is run first, with the
// machine's network; the tests see what it puts into the environment.
func Main(m *testing.M, before ...func() error) {
	switch os.Getenv(insideKey) {
	case "init":
		os.Exit(reap())
	case "tests":
		os.Exit(inside(m))
	}
	for _, f := range before {
		if err := f(); err != nil {
			fmt.Fprintln(os.Stderr, "before the tests:", err)
			os.Exit(1)
		}
	}
	code, err := outside()
	if err != nil {
		fmt.Fprintln(os.Stderr, "these tests need root, libvirtd, virtlogd and qemu-system-x86_64:", err)
		code = 1
	}
	os.Exit(code)
}

// outside runs the same binary in the namespaces and gives its exit code.
func outside() (int, error) {
	for _, name := range []string{"libvirtd", "virtlogd", "qemu-system-x86_64", "qemu-img", "ip"} {
		if _, err := exec.LookPath(name); err != nil {
			return 0, err
		}
	}
	// The signal for the parent's death is for the death of its thread.
	runtime.LockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideKey+"=init")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

// reap is the life of the namespace's first process: it runs the tests, and
// buries what they leave, since libvirtd waits for a guest's process to be gone.
func reap() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideKey+"=tests")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "libvirttest:", err)
		return 1
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			fmt.Fprintln(os.Stderr, "libvirttest:", err)
			return 1
		case pid == cmd.Process.Pid && status.Exited():
			return status.ExitStatus()
		case pid == cmd.Process.Pid:
			fmt.Fprintln(os.Stderr, "libvirttest: the tests ended by", status.Signal())
			return 1
		}
	}
}

// inside starts the daemons and runs the tests.
func inside(m *testing.M) int {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "libvirttest:", err)
		return 1
	}
	return m.Run()
}

var configs = map[string]string{
	"/etc/libvirt/qemu.conf":     "user = \"root\"\ngroup = \"root\"\nsecurity_driver = \"none\"\ncgroup_controllers = []\n",
	"/etc/libvirt/libvirtd.conf": "auth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\n",
	"/etc/libvirt/virtlogd.conf": "max_size = 65536\nmax_backups = 1\n",
}

func prepare() error {
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err == nil {
		err = syscall.Mount("proc", "/proc", "proc", 0, "")
	}
	for _, folder := range []string{"/run", "/etc/libvirt", "/var/lib/libvirt", "/var/log/libvirt"} {
		if err == nil {
			err = syscall.Mount("tmpfs", folder, "tmpfs", 0, "mode=755")
		}
	}
	for path, text := range configs {
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
	}
	if err == nil {
		err = exec.Command("ip", "link", "set", "lo", "up").Run()
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
