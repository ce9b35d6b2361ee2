// Package ports finds free ports on loopback for the processes of a
// development cloud and of tests. It promises that the port was free when
// asked; it opens nothing that stays open.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The range lies below the ports that the kernel gives to outgoing
// connections: between the answer and its use, any connection could else take
// the port.
const first, count = 20_000, 12_000

// Free returns a free TCP port of 127.0.0.1.
func Free() (int, error) {
	var err error
	for range 100 {
		port := first + rand.IntN(count)
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}
