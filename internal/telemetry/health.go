package telemetry

// Health: what this process needs, asked when somebody wants to know.

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// probeTimeout bounds one probe, so that a hung database is an answer too.
const probeTimeout = 3 * time.Second

// Probe asks about one thing that the process needs.
type Probe struct {
	// Name is the key in the answer, "database".
	Name string
	// Vital says that without it the process can't serve: the answer is 503. What
	// isn't vital is reported and leaves the answer 200: an API with Temporal
	// down still accepts.
	Vital bool
	// Run says nil, or a sentence about what is wrong.
	Run func(context.Context) error
}

// Finding is a probe's answer.
type Finding struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Vital bool   `json:"vital"`
	// Reason is a sentence; causes go to the log, since anybody may read this.
	Reason string `json:"reason,omitempty"`
}

// Health asks a fixed set of probes.
type Health struct {
	log    *slog.Logger
	probes []Probe
}

// NewHealth makes a Health of the probes.
func NewHealth(log *slog.Logger, probes ...Probe) *Health {
	return &Health{log: log, probes: probes}
}

// Report is the answer of all probes.
type Report struct {
	// Status is "ok", "degraded" (something that isn't vital is wrong) or "down".
	Status string    `json:"status"`
	Checks []Finding `json:"checks"`
}

// Report asks all probes at the same time.
func (h *Health) Report(ctx context.Context) Report {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	findings := make([]Finding, len(h.probes))
	var wait sync.WaitGroup
	for i, probe := range h.probes {
		wait.Go(func() { findings[i] = h.ask(ctx, probe) })
	}
	wait.Wait()
	return Report{Status: status(findings), Checks: findings}
}

func (h *Health) ask(ctx context.Context, p Probe) Finding {
	err := p.Run(ctx)
	if err == nil {
		return Finding{Name: p.Name, OK: true, Vital: p.Vital}
	}
	h.log.WarnContext(ctx, "health probe failed", "probe", p.Name, "error", err)
	return Finding{Name: p.Name, Vital: p.Vital, Reason: publicReason(err)}
}

// Notice is a probe's error whose text anybody may read.
type Notice string

func (n Notice) Error() string { return string(n) }

// Noticef makes a Notice.
func Noticef(format string, args ...any) error { return Notice(fmt.Sprintf(format, args...)) }

func publicReason(err error) string {
	if n, ok := err.(Notice); ok {
		return string(n)
	}
	return "can't be reached; the log says why"
}

func status(findings []Finding) string {
	wrong := func(f Finding) bool { return !f.OK }
	switch {
	case slices.ContainsFunc(findings, func(f Finding) bool { return wrong(f) && f.Vital }):
		return "down"
	case slices.ContainsFunc(findings, wrong):
		return "degraded"
	}
	return "ok"
}
