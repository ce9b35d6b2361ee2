package hosts

// What hosts reach of the machine's loopback interface.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"holdfast.dev/dev/netns"
)

// maxForwarded is how many connections are forwarded at once for a port of a host.
const maxForwarded = 256

// forward listens on a port of the host's loopback interface, and connects
// whoever comes with the same port of the machine's, until ctx ends.
func (h *Hosts) forward(ctx context.Context, host *Host, port int) error {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	listener, err := netns.Listen(host.Namespace, address)
	if err != nil {
		return err
	}
	h.running.Go(func() {
		<-ctx.Done()
		_ = listener.Close() // ends Accept
	})
	h.running.Go(func() {
		slots := make(chan struct{}, maxForwarded)
		var connections sync.WaitGroup
		defer connections.Wait()
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				h.Say(fmt.Errorf("host %s, port %d: %w", host.Name, port, err))
				time.Sleep(100 * time.Millisecond)
				continue
			}
			slots <- struct{}{}
			connections.Go(func() {
				defer func() { <-slots }()
				relay(ctx, conn, address)
			})
		}
	})
	return nil
}

// relay carries bytes both ways until either side ends. What breaks is for the
// two to notice.
func relay(ctx context.Context, conn net.Conn, address string) {
	defer conn.Close()
	other, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp4", address)
	if err != nil {
		return
	}
	defer other.Close()
	defer context.AfterFunc(ctx, func() { _, _ = conn.Close(), other.Close() })()
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{conn, other}, {other, conn}} {
		ways.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			if tcp, ok := way[0].(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
		})
	}
	ways.Wait()
}
