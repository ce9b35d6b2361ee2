// Package ports finds free ports on loopback for the processes of a
// development cloud and of tests. It promises that the port was free when
// asked; it opens nothing that stays open.
package ports

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// The range lies below the ports that the kernel gives to outgoing
// connections: between the answer and its use, any connection could else take
// the port.
const first, count = 20_000, 12_000

// block is how far apart processes begin: those that live at the same time
// rarely ask for the same port between its answer and its use.
const block = 40

var asked atomic.Int64

// Free returns a free TCP port of 127.0.0.1, another one at each call.
func Free() (int, error) {
	var err error
	for range 100 {
		port := first + (os.Getpid()*block+int(asked.Add(1)))%count
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}
