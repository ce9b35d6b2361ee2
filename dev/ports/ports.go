// Package ports finds free ports on loopback for the processes of a
// development cloud and of tests. It promises that the port was free when asked,
// and that no other process that asks here gets it while this one lives.
package ports

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

// The range lies below the ports that the kernel gives to outgoing
// connections: between the answer and its use, any connection could else take
// the port. The Temporal server's inner ports are the 2000 above.
const first, count = 20_000, 10_000

// block is how far apart processes begin, so that they rarely meet.
const block = 40

var (
	// begin is where this process begins.
	begin = os.Getpid() * block
	asked atomic.Int64
)

// Free returns a free TCP port of 127.0.0.1, another one at each call.
func Free() (int, error) {
	for range count {
		port := first + (begin+int(asked.Add(1)))%count
		if err := reserve(port); errors.Is(err, syscall.EADDRINUSE) {
			continue
		} else if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("find a free port: none is left")
}

// reserve keeps a port from other processes by a socket of an abstract name, which
// ends with this process. Ports that were given are few, and none is given back.
func reserve(port int) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: fmt.Sprintf("@holdfast-port-%d", port)}); err != nil {
		return errors.Join(err, syscall.Close(fd))
	}
	return nil
}
