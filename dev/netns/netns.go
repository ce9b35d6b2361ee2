// Package netns works in network namespaces that have a name: it listens in
// them, and has iproute2 make what they are joined by. It needs root.
package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// folder is where iproute2 keeps namespaces by name.
const folder = "/run/netns"

// Exists says whether there is a namespace of that name.
func Exists(name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

// Whole says whether it is one: an `ip netns add` that was killed leaves a file that is
// none.
func Whole(name string) bool {
	var on unix.Statfs_t
	return unix.Statfs(filepath.Join(folder, name), &on) == nil && on.Type == unix.NSFS_MAGIC
}

// IP runs the program of package iproute2.
func IP(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Bridge is one in a namespace.
type Bridge struct {
	Namespace, Name string
	// MTU 0 is the kernel's own.
	MTU int
}

// Make makes it if it isn't there.
func (b Bridge) Make(ctx context.Context) error {
	if IP(ctx, "-n", b.Namespace, "link", "show", "dev", b.Name) == nil {
		return nil
	}
	add := []string{"-n", b.Namespace, "link", "add", "name", b.Name}
	if b.MTU > 0 {
		add = append(add, "mtu", strconv.Itoa(b.MTU))
	}
	if err := IP(ctx, append(add, "type", "bridge", "forward_delay", "0", "stp_state", "0")...); err != nil {
		return err
	}
	return IP(ctx, "-n", b.Namespace, "link", "set", "dev", b.Name, "up")
}

// Command is a command line that runs a program in a namespace, with the
// namespace's devices in /sys.
func Command(name string, program ...string) []string {
	return append([]string{"ip", "netns", "exec", name}, program...)
}

// Listen listens in a namespace. The listener is used from anywhere.
func Listen(name, address string) (listener net.Listener, err error) {
	err = inside(name, func() (err error) {
		listener, err = net.Listen("tcp4", address)
		return err
	})
	return listener, err
}

// inside runs f on a thread in the namespace, which is never used again: it
// ends with its goroutine.
func inside(name string, f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		file, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			result <- err
			return
		}
		err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
		if err != nil {
			err = fmt.Errorf("enter namespace %s: %w", name, err)
		} else {
			err = f()
		}
		result <- errors.Join(err, file.Close())
	}()
	return <-result
}
