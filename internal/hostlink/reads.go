package hostlink

// Reads from hosts: the console log of a guest, what it was built from, how it
// does, and how far it has come where it is leaving.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
)

// Guests is what a host lets the API read, and other hosts copy.
type Guests interface {
	// Console gives the last length bytes of the console log, all that is kept
	// if length is negative. Errors: NotFound.
	Console(ctx context.Context, serverID string, length int) ([]byte, error)
	// Describe gives what the guest was built from, as JSON of
	// steps.ServerSpec. Errors: NotFound.
	Describe(ctx context.Context, serverID string) (json.RawMessage, error)
	// Disks gives what other hosts may copy of a guest. Errors: NotFound;
	// Conflict, the guest doesn't stand still.
	Disks(ctx context.Context, serverID string) (GuestDisks, error)
	// Diagnostics says how the guest does, as JSON of servers.Diagnostics.
	// Errors: NotFound.
	Diagnostics(ctx context.Context, serverID string) (json.RawMessage, error)
	// Progress says how far a guest that is leaving has come, as JSON of
	// steps.MoveProgress. Errors: NotFound, it isn't.
	Progress(ctx context.Context, serverID string) (json.RawMessage, error)
}

// maxRead bounds one read on its way, in bytes: of a longer console log the end
// is given (Nova's MAX_CONSOLE_BYTES is 100 KiB).
const maxRead = 1 << 20

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
	return serveLink(l, readsHandler(hostID, key, guests), readTime, log), nil
}

// serveLink serves what the API asks for, each within a time.
func serveLink(l net.Listener, handler http.Handler, longest time.Duration, log *slog.Logger) *Listener {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:           handler,
		Protocols:         &protocols,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       readTime,
		WriteTimeout:      longest,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	go func() { _ = server.Serve(l) }() // ends with Close
	return &Listener{server: server, listen: l}
}

// Address is the host:port that it listens on.
func (l *Listener) Address() string { return l.listen.Addr().String() }

// Close ends it, and reads that are under way.
func (l *Listener) Close() error { return l.server.Close() }

func readsHandler(hostID string, key Key, guests Guests) http.Handler {
	served := &spent{}
	mux := http.NewServeMux()
	for what, read := range guestReads {
		mux.HandleFunc("GET /guests/{id}/"+what, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), readTime)
			defer cancel()
			if err := admitRead(key, served, r, guestObject(hostID, r.PathValue("id"), what)); err != nil {
				writeFault(w, err)
				return
			}
			text, err := read(ctx, guests, r)
			if err != nil {
				writeFault(w, err)
				return
			}
			writeRead(w, "application/octet-stream", text[max(0, len(text)-maxRead):])
		})
	}
	(&diskServer{hostID: hostID, key: key, guests: guests, served: served}).register(mux)
	return mux
}

// writeRead answers with what was read.
func writeRead(w http.ResponseWriter, contentType string, text []byte) {
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(text) // who hung up has no use for the error
}

// admitRead lets the API in, once with each pass.
func admitRead(key Key, served *spent, r *http.Request, object string) error {
	pass, err := key.Check(r, object)
	if err != nil {
		return err
	}
	if pass.Caller != apiCaller || !served.spend(pass) {
		return faults.New(faults.Unauthorized, "Unauthorized", "the pass has served")
	}
	return nil
}

// What is read of a guest, by the end of its path.
const (
	consoleRead     = "console"
	specRead        = "spec"
	diagnosticsRead = "diagnostics"
	progressRead    = "progress"
)

var guestReads = map[string]func(context.Context, Guests, *http.Request) ([]byte, error){
	consoleRead: func(ctx context.Context, guests Guests, r *http.Request) ([]byte, error) {
		length, err := consoleLength(r.URL.Query().Get("length"))
		if err != nil {
			return nil, err
		}
		return guests.Console(ctx, r.PathValue("id"), length)
	},
	specRead: func(ctx context.Context, guests Guests, r *http.Request) ([]byte, error) {
		return guests.Describe(ctx, r.PathValue("id"))
	},
	diagnosticsRead: func(ctx context.Context, guests Guests, r *http.Request) ([]byte, error) {
		return guests.Diagnostics(ctx, r.PathValue("id"))
	},
	progressRead: func(ctx context.Context, guests Guests, r *http.Request) ([]byte, error) {
		return guests.Progress(ctx, r.PathValue("id"))
	},
}

const apiCaller = "api"

func guestObject(hostID, serverID, what string) string {
	return "host/" + hostID + "/guest/" + serverID + "/" + what
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

// Reader reads from hosts and conductors for the API.
type Reader struct {
	key  Key
	http *http.Client
	// patient is for what takes longer.
	patient *http.Client
}

// NewReader makes the reader that a process shares.
func NewReader(key Key) *Reader {
	return &Reader{key: key, http: readingClient(readTime), patient: readingClient(askTime)}
}

// readingClient is a client whose requests take no longer than that.
func readingClient(longest time.Duration) *http.Client {
	t := NewTransport()
	t.ResponseHeaderTimeout = longest
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	t.Protocols = &protocols
	return &http.Client{Transport: t, Timeout: longest, CheckRedirect: noRedirect}
}

// Console gives the last length bytes (negative: all that is kept) of a guest's
// console log from the host that listens at linkAddress. Errors: NotFound, no
// such guest there; Unavailable, the host can't be reached.
func (r *Reader) Console(ctx context.Context, hostID, linkAddress, serverID string, length int) ([]byte, error) {
	query := ""
	if length >= 0 {
		query = "?length=" + strconv.Itoa(length)
	}
	return r.read(ctx, hostID, linkAddress, serverID, consoleRead, query)
}

// Describe gives what a guest was built from, as JSON of steps.ServerSpec.
// Errors are Console's.
func (r *Reader) Describe(ctx context.Context, hostID, linkAddress, serverID string) (json.RawMessage, error) {
	return r.read(ctx, hostID, linkAddress, serverID, specRead, "")
}

// Diagnostics says how a guest does. Errors are Console's.
func (r *Reader) Diagnostics(ctx context.Context, hostID, linkAddress, serverID string) (servers.Diagnostics, error) {
	return readAs[servers.Diagnostics](ctx, r, hostID, linkAddress, serverID, diagnosticsRead)
}

// Progress says how far a guest that leaves the host has come. Errors are
// Console's.
func (r *Reader) Progress(ctx context.Context, hostID, linkAddress, serverID string) (steps.MoveProgress, error) {
	return readAs[steps.MoveProgress](ctx, r, hostID, linkAddress, serverID, progressRead)
}

func readAs[T any](ctx context.Context, r *Reader, hostID, linkAddress, serverID, what string) (said T, err error) {
	text, err := r.read(ctx, hostID, linkAddress, serverID, what, "")
	if err != nil {
		return said, err
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return said, faults.Wrap(err, faults.Unavailable, "HostLink", "the host's answer can't be read")
	}
	return said, nil
}

func (r *Reader) read(ctx context.Context, hostID, linkAddress, serverID, what, query string) ([]byte, error) {
	return r.get(ctx, r.http, linkAddress, "/guests/"+url.PathEscape(serverID)+"/"+what+query, guestObject(hostID, serverID, what))
}

// get reads what a host or conductor that listens at linkAddress says of an object.
func (r *Reader) get(ctx context.Context, client *http.Client, linkAddress, path, object string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+linkAddress+path, nil)
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "HostLink", "the link address is not usable")
	}
	req.Header.Set("Authorization", "Bearer "+r.key.Issue(apiCaller, http.MethodGet, object))
	resp, err := client.Do(req)
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "HostLink", "the link can't be reached, or takes too long")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, readFault(resp)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRead+1))
	if err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "HostLink", "the link hung up")
	}
	if len(text) > maxRead {
		return nil, faults.New(faults.Unavailable, "HostLink", "the link says more than %d bytes", maxRead)
	}
	return text, nil
}
