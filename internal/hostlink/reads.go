package hostlink

// Reads from hosts: the console log. Streams and diagnostics will be beside it.

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holdfast.dev/internal/faults"
)

// Guests is what a host lets the API read.
type Guests interface {
	// Console gives the last length bytes of the console log, all that is kept
	// if length is negative. Errors: NotFound.
	Console(ctx context.Context, serverID string, length int) ([]byte, error)
}

// maxConsole bounds a console log on its way, in bytes (Nova's
// MAX_CONSOLE_BYTES is 100 KiB).
const maxConsole = 1 << 20

// readTime bounds one read.
const readTime = 10 * time.Second

// Listener serves reads from one host, over HTTP/2 without TLS or HTTP/1.1.
type Listener struct {
	server *http.Server
	listen net.Listener
}

// Listen begins to serve at address ("127.0.0.1:0" takes a free port).
func Listen(address, hostID string, key Key, guests Guests, log *slog.Logger) (*Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("host link listener: %w", err)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:           readsHandler(hostID, key, guests),
		Protocols:         &protocols,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       readTime,
		WriteTimeout:      readTime,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() { _ = server.Serve(l) }() // ends with Close
	return &Listener{server: server, listen: l}, nil
}

// Address is the host:port that it listens on.
func (l *Listener) Address() string { return l.listen.Addr().String() }

// Close ends it, and reads that are under way.
func (l *Listener) Close() error { return l.server.Close() }

func readsHandler(hostID string, key Key, guests Guests) http.Handler {
	var served spent
	mux := http.NewServeMux()
	mux.HandleFunc("GET /guests/{id}/console", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readTime)
		defer cancel()
		log, err := func() ([]byte, error) {
			pass, err := key.Check(r, consoleObject(hostID, r.PathValue("id")))
			if err != nil {
				return nil, err
			}
			if pass.Caller != apiCaller || !served.spend(pass) {
				return nil, faults.New(faults.Unauthorized, "Unauthorized", "the pass has served")
			}
			length, err := consoleLength(r.URL.Query().Get("length"))
			if err != nil {
				return nil, err
			}
			return guests.Console(ctx, r.PathValue("id"), length)
		}()
		if err != nil {
			writeFault(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(log[max(0, len(log)-maxConsole):])
	})
	return mux
}

const apiCaller = "api"

func consoleObject(hostID, serverID string) string {
	return "host/" + hostID + "/guest/" + serverID + "/console"
}

func consoleLength(text string) (int, error) {
	if text == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < -1 {
		return 0, faults.New(faults.Invalid, "InvalidLength", "length %q is not a number of bytes", text)
	}
	return n, nil
}

// Reader reads from hosts for the API.
type Reader struct {
	key  Key
	http *http.Client
}

// NewReader makes the reader that a process shares.
func NewReader(key Key) *Reader {
	t := NewTransport()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	t.Protocols = &protocols
	return &Reader{key: key, http: &http.Client{Transport: t, Timeout: readTime, CheckRedirect: noRedirect}}
}

// Console gives the last length bytes (negative: all that is kept) of a guest's
// console log from the host that listens at linkAddress. Errors: NotFound, no
// such guest there; Unavailable, the host can't be reached.
func (r *Reader) Console(ctx context.Context, hostID, linkAddress, serverID string, length int) ([]byte, error) {
	address := "http://" + linkAddress + "/guests/" + url.PathEscape(serverID) + "/console"
	if length >= 0 {
		address += "?length=" + strconv.Itoa(length)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "HostLink", "the host's link address is not usable")
	}
	req.Header.Set("Authorization", "Bearer "+r.key.Issue(apiCaller, http.MethodGet, consoleObject(hostID, serverID)))
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "HostLink", "the host can't be reached")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, readFault(resp)
	}
	log, err := io.ReadAll(io.LimitReader(resp.Body, maxConsole))
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "HostLink", "the host hung up")
	}
	return log, nil
}
