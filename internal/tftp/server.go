package tftp

// The server: who asks for what, and how many at once.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"sync"
	"time"
)

// File is one that is read.
type File struct {
	io.ReadCloser
	Size int64
}

// Server serves files.
type Server struct {
	// Open opens a file by its name. Errors: fs.ErrNotExist, or whatever is wrong, of
	// which the client isn't told.
	Open func(ctx context.Context, name string) (File, error)
	// Timeout is how long an answer is waited for until a packet is sent again; 0 is a
	// second.
	Timeout time.Duration

	mu       sync.Mutex
	reads    map[netip.AddrPort]bool
	ofClient map[netip.Addr]int
}

// Bounds of what is served at once.
const (
	maxReads   = 512
	maxOfOne   = 16
	maxRequest = 1024
)

// Serve answers who asks at a connection until ctx ends, and closes it.
func (s *Server) Serve(ctx context.Context, conn *net.UDPConn) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // told of at the read
	var work sync.WaitGroup
	defer func() { cancel(); stop(); _ = conn.Close(); work.Wait() }()
	for packet := make([]byte, maxRequest+1); ; {
		n, from, err := conn.ReadFromUDPAddrPort(packet)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		asked, err := readRequest(packet[:n])
		if err != nil || n > maxRequest || !s.enter(from) {
			continue
		}
		work.Go(func() {
			defer s.leave(from)
			s.answer(ctx, conn, from, asked)
		})
	}
}

// enter says whether a client's read may begin: it hasn't yet, and there is room.
func (s *Server) enter(from netip.AddrPort) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads == nil {
		s.reads, s.ofClient = map[netip.AddrPort]bool{}, map[netip.Addr]int{}
	}
	if s.reads[from] || len(s.reads) >= maxReads || s.ofClient[from.Addr()] >= maxOfOne {
		return false
	}
	s.reads[from] = true
	s.ofClient[from.Addr()]++
	return true
}

func (s *Server) leave(from netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reads, from)
	if s.ofClient[from.Addr()]--; s.ofClient[from.Addr()] == 0 {
		delete(s.ofClient, from.Addr())
	}
}

// answer sends what was asked for, from a port of its own.
func (s *Server) answer(ctx context.Context, at *net.UDPConn, to netip.AddrPort, asked request) {
	local, ok := at.LocalAddr().(*net.UDPAddr)
	if !ok {
		return
	}
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: local.IP, Zone: local.Zone})
	if err != nil {
		return // the client asks again
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	t := transfer{conn: conn, to: to, block: usualBlock, timeout: s.Timeout}
	if t.timeout == 0 {
		t.timeout = time.Second
	}
	switch {
	case asked.op == opWrite:
		t.refuse(codeDenied, "nothing is written here")
		return
	case asked.mode != "octet":
		t.refuse(codeIllegal, "files are read as octets here")
		return
	}
	file, err := s.Open(ctx, asked.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.refuse(codeNotFound, "there is no such file")
		return
	case err != nil:
		t.refuse(codeOther, "the file can't be read now")
		return
	}
	defer func() { _ = file.Close() }() // it was only read
	t.send(file, asked.options)
}
