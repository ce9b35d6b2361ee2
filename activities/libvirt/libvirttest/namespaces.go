package libvirttest

// The namespaces that tests run in.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

const insideKey = "HOLDFAST_TEST_LIBVIRT"

// Isolated is TestMain's body for tests that start a libvirtd themselves. It
// doesn't return. before is run first, with the machine's network; prepare is
// run in the namespaces, before the tests.
func Isolated(m interface{ Run() int }, prepare func() error, before ...func() error) {
	role := os.Getenv(insideKey)
	_ = os.Unsetenv(insideKey) // set again for whom it is meant; the name is a valid one
	switch role {
	case "init":
		os.Exit(reap())
	case "tests":
		os.Exit(inside(m, prepare))
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

// inside makes the machine look fresh and runs the tests.
func inside(m interface{ Run() int }, prepare func() error) int {
	err := isolate()
	if err == nil {
		err = prepare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "libvirttest:", err)
		return 1
	}
	return m.Run()
}

// isolate covers what the machine's libvirtd and networks have made.
func isolate() error {
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err == nil {
		err = syscall.Mount("proc", "/proc", "proc", 0, "")
	}
	for _, folder := range []string{"/run", "/etc/libvirt", "/var/lib/libvirt", "/var/log/libvirt"} {
		if err == nil {
			err = syscall.Mount("tmpfs", folder, "tmpfs", 0, "mode=755")
		}
	}
	if err == nil {
		err = ownDevices()
	}
	if err == nil {
		err = exec.Command("ip", "link", "set", "lo", "up").Run()
	}
	return err
}

// ownDevices has /sys show the namespace's network devices instead of the
// machine's; control groups stay the machine's.
func ownDevices() error {
	const place = "/run/sys"
	err := os.Mkdir(place, 0o755)
	if err == nil {
		err = syscall.Mount("sysfs", place, "sysfs", 0, "")
	}
	if err == nil {
		err = syscall.Mount("/sys/fs/cgroup", place+"/fs/cgroup", "", syscall.MS_BIND|syscall.MS_REC, "")
	}
	if err == nil {
		err = syscall.Mount(place, "/sys", "", syscall.MS_MOVE, "")
	}
	if err == nil {
		err = os.Remove(place)
	}
	return err
}
