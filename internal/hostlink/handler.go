package hostlink

// The API's side of what hosts say.

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/faults"
)

// Registry is what the control plane knows of hosts. Its errors are faults:
// Conflict, the host must not run like this (renamed, or its identity is
// another's); Superseded, the process is stale and must stop; NotFound, it has
// to register first; others, try again.
type Registry interface {
	Register(ctx context.Context, hostID string, r Registration) (Answer, error)
	Heartbeat(ctx context.Context, hostID string, r Report) (Answer, error)
	// Paid takes note that the host has paid a debt. Said twice is fine.
	Paid(ctx context.Context, hostID, operationID string, seq int) error
	// ImageSettled takes note that the host has an image that it was to have, or can't
	// have it. Said twice is fine.
	ImageSettled(ctx context.Context, hostID, imageID string) error
	// Leave forgets the host. Said twice is fine. Errors: Conflict, it has servers yet.
	Leave(ctx context.Context, hostID string) error
}

const (
	// maxReport bounds a report: some thousands of guests, in bytes.
	maxReport = 1 << 20
	// handlerTime bounds one request.
	handlerTime = 15 * time.Second
)

// Prefix is where Handler's paths begin.
const Prefix = "/hostlink/v1/"

// Handler serves hosts under Prefix; without servers, nothing about them.
func Handler(key Key, registry Registry, servers Servers) http.Handler {
	h := handler{key, registry, servers}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Prefix+"hosts/{host}/register", h.serve(h.register))
	mux.HandleFunc("POST "+Prefix+"hosts/{host}/heartbeat", h.serve(h.heartbeat))
	mux.HandleFunc("POST "+Prefix+"hosts/{host}/debts/{operation}/{seq}/paid", h.serve(h.paid))
	mux.HandleFunc("POST "+Prefix+"hosts/{host}/images/{image}/settled", h.serve(h.imageSettled))
	mux.HandleFunc("POST "+Prefix+"hosts/{host}/leave", h.serve(h.leave))
	if servers != nil {
		mux.HandleFunc("GET "+Prefix+"hosts/{host}/images/{image}", h.serve(h.wantedImage))
		for what, read := range serverReads {
			mux.HandleFunc("GET "+Prefix+"servers/{server}/"+what, h.serverRead(read))
		}
	}
	return mux
}

type handler struct {
	key      Key
	registry Registry
	servers  Servers
}

// serve lets a host in that holds a pass for the path it asks for.
func (h handler) serve(f func(ctx context.Context, hostID string, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), handlerTime)
		defer cancel()
		answer, err := h.admit(ctx, r, f)
		if err != nil {
			writeFault(w, err)
			return
		}
		writeJSON(w, http.StatusOK, answer)
	}
}

func (h handler) admit(ctx context.Context, r *http.Request, f func(context.Context, string, *http.Request) (any, error)) (any, error) {
	pass, err := h.key.Check(r, r.URL.EscapedPath())
	if err != nil {
		return nil, err
	}
	id, err := uuid.Parse(r.PathValue("host"))
	if err != nil || id.String() != r.PathValue("host") {
		return nil, faults.New(faults.Invalid, "InvalidHost", "host id %q is not a UUID", r.PathValue("host"))
	}
	if pass.Caller != hostCaller(id.String()) {
		return nil, faults.New(faults.Forbidden, "Forbidden", "a host speaks for itself only")
	}
	return f(ctx, id.String(), r)
}

func hostCaller(id string) string { return "host/" + id }

// host gives the id of the host that a pass speaks for.
func (p Pass) host() (id string, ok bool) { return strings.CutPrefix(p.Caller, "host/") }

func (h handler) register(ctx context.Context, hostID string, r *http.Request) (any, error) {
	var in Registration
	if err := readJSON(r.Body, maxReport, &in); err != nil {
		return nil, err
	}
	if in.Name == "" || len(in.Name) > 255 {
		return nil, faults.New(faults.Invalid, "InvalidHost", "a host's name has 1 to 255 characters")
	}
	if err := in.Report.check(); err != nil {
		return nil, err
	}
	return h.registry.Register(ctx, hostID, in)
}

func (h handler) heartbeat(ctx context.Context, hostID string, r *http.Request) (any, error) {
	var in Report
	if err := readJSON(r.Body, maxReport, &in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return h.registry.Heartbeat(ctx, hostID, in)
}

func (r Report) check() error {
	if r.Incarnation < 1 || r.VCPUs < 0 || r.MemoryMB < 0 || r.DiskGB < 0 {
		return faults.New(faults.Invalid, "InvalidReport", "incarnation is at least 1, and no capacity is negative")
	}
	return nil
}

func (h handler) leave(ctx context.Context, hostID string, _ *http.Request) (any, error) {
	return struct{}{}, h.registry.Leave(ctx, hostID)
}

func (h handler) wantedImage(ctx context.Context, hostID string, r *http.Request) (any, error) {
	return h.servers.WantedImage(ctx, hostID, r.PathValue("image"))
}

func (h handler) imageSettled(ctx context.Context, hostID string, r *http.Request) (any, error) {
	return struct{}{}, h.registry.ImageSettled(ctx, hostID, r.PathValue("image"))
}

func (h handler) paid(ctx context.Context, hostID string, r *http.Request) (any, error) {
	seq, err := strconv.Atoi(r.PathValue("seq"))
	if err != nil || seq < 0 {
		return nil, faults.New(faults.Invalid, "InvalidDebt", "%q is no number of a ledger line", r.PathValue("seq"))
	}
	return struct{}{}, h.registry.Paid(ctx, hostID, r.PathValue("operation"), seq)
}
