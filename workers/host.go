package workers

// The host worker: from its identity to the queue it serves.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/images"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/provider"
	"holdfast.dev/internal/steps"
)

// HostConfig is what a process of host workers is made of.
type HostConfig struct {
	Client client.Client
	// LinkURL is where the API serves the host link.
	LinkURL string
	Key     hostlink.Key
	// Heartbeat is the time between two; 0 is 10 s (report_interval of Nova).
	Heartbeat time.Duration
	Hosts     []HostSpec
	// Fleet are hosts besides that come and go; nil is none.
	Fleet *Fleet
	// Steps counts steps; nil doesn't.
	Steps *StepMetrics
	Log   *slog.Logger
}

// HostSpec is one host of the process.
type HostSpec struct {
	Name string
	// ID is the host's if it has one elsewhere; empty draws one at the first start.
	ID               string
	StateDir         string
	AvailabilityZone string
	// Driver names what Open opens: "libvirt", "simulated" or "ironic".
	Driver string
	Open   OpenDriver
	// LinkListen is where the host serves reads; empty is a free port of the
	// loopback interface.
	LinkListen string
	// Cells say what the host's CPUs and pages are for.
	Cells numa.Settings
	// Lent say which of its devices guests may have.
	Lent pci.Lent
	// Provided is what the operator says that hosts of the machine have.
	Provided provider.File
	// Builds is how many run at once; 0 is libvirt.DefaultBuilds.
	Builds int64
}

// OpenDriver opens a host's driver. What it needs to know of servers it asks over
// the link.
type OpenDriver func(stateDir string, link *hostlink.Client) (libvirt.Driver, error)

const (
	defaultHeartbeat = 10 * time.Second
	// hostSlots is how many activities a host takes at once. Builds that wait
	// for others hold a slot, so there are many more than builds.
	hostSlots = 60
	// hostCancel bounds how long a cancel is on its way to a running activity:
	// the SDK holds heartbeats back for as long.
	hostCancel = 4 * time.Second
	// hostPollers is few: a host's queue is short, and there are many hosts.
	hostPollers = 2
	// sweepEvery is the time between two clearings of old fences.
	sweepEvery = time.Hour
)

// Host serves all hosts of the process until ctx ends (nil). A host that may
// not run (its identity is another's, or a newer process has it) ends alone;
// its error comes back when the last one has ended.
func Host(ctx context.Context, cfg HostConfig) error {
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = defaultHeartbeat
	}
	transport := hostlink.NewTransport()
	defer transport.CloseIdleConnections()
	errs := make([]error, len(cfg.Hosts))
	var wg sync.WaitGroup
	for i, spec := range cfg.Hosts {
		wg.Go(func() {
			if err := runHost(ctx, cfg, spec, transport); unlessEnded(ctx, err) != nil {
				errs[i] = fmt.Errorf("host %s: %w", spec.Name, err)
				cfg.Log.ErrorContext(ctx, "the host has ended", "host", spec.Name, "error", err)
			}
		})
	}
	if cfg.Fleet != nil {
		wg.Go(func() { cfg.Fleet.follow(ctx, cfg, transport) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// host is one that runs.
type host struct {
	HostSpec
	cfg        HostConfig
	log        *slog.Logger
	identity   *hostlink.Identity
	driver     libvirt.Driver
	has        provider.Have
	activities *libvirt.Activities
	listener   *hostlink.Listener
	link       *hostlink.Client
	payer      *payer
	prefetcher *prefetcher
	swept      time.Time
}

// runHost is the life of a host: it says who it is, pays what it owes, serves
// its queue, and says that it lives.
func runHost(ctx context.Context, cfg HostConfig, spec HostSpec, transport http.RoundTripper) (err error) {
	identity, err := hostlink.OpenIdentity(spec.StateDir, spec.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, identity.Close()) }()
	h := &host{HostSpec: spec, cfg: cfg, identity: identity,
		log: cfg.Log.With("host", spec.Name, "host_id", identity.ID, "incarnation", identity.Incarnation)}
	if h.has, err = spec.Provided.Of(identity.ID, spec.Name); err != nil {
		return err
	}
	if h.link, err = hostlink.NewClient(cfg.LinkURL, identity.ID, cfg.Key, transport); err != nil {
		return err
	}
	if h.driver, err = spec.Open(spec.StateDir, h.link); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.driver.Close()) }()
	h.activities, err = libvirt.New(libvirt.Options{Driver: h.driver, StateDir: spec.StateDir, Builds: spec.Builds,
		Uploads: images.NewUploads(h.link), Puller: hostlink.NewPuller(cfg.Key, identity.ID), Log: h.log})
	if err != nil {
		return err
	}
	if h.LinkListen == "" {
		h.LinkListen = "127.0.0.1:0"
	}
	if h.listener, err = hostlink.Listen(h.LinkListen, identity.ID, cfg.Key, h.activities, h.log); err != nil {
		return err
	}
	defer h.listener.Close()
	h.payer = &payer{pay: h.activities.Pay, report: h.link.Paid, log: h.log}
	h.prefetcher = &prefetcher{get: h.driver.CacheImage, settled: h.link.ImageSettled, log: h.log}
	// What goes on beside the host ends before the driver that it uses.
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		h.payer.copies.wait.Wait()
		h.prefetcher.under.wait.Wait()
	}()

	answer, err := h.register(ctx)
	if err != nil {
		return err
	}
	if err := h.settle(ctx, answer.Debts); err != nil {
		return err
	}
	return h.serve(ctx)
}

// register says who the host is until it is heard or refused.
func (h *host) register(ctx context.Context) (hostlink.Answer, error) {
	for wait := newBackoff(500*time.Millisecond, 10*time.Second); ; {
		report, err := h.report(ctx)
		if err == nil {
			var answer hostlink.Answer
			answer, err = h.link.Register(ctx, hostlink.Registration{
				Name: h.Name, Instance: h.identity.Instance, Driver: h.Driver, AvailabilityZone: h.AvailabilityZone,
				LinkAddress: h.listener.Address(), Report: report,
			})
			if err == nil {
				h.log.InfoContext(ctx, "registered", "debts", len(answer.Debts))
				return answer, nil
			}
		}
		if mustNotRun(err) {
			return hostlink.Answer{}, err
		}
		h.log.WarnContext(ctx, "can't register yet", "error", err)
		if err := wait.pause(ctx); err != nil {
			return hostlink.Answer{}, err
		}
	}
}

// mustNotRun says that the API has refused this process, not just this request.
func mustNotRun(err error) bool {
	return faults.Is(err, faults.Conflict) || faults.Is(err, faults.Superseded) || faults.Is(err, faults.Invalid)
}

// settleRounds is how often the debts found at a start are tried before the
// host takes work nonetheless: one guest that can't be removed must not keep
// all others from being served. What is left is tried again at each heartbeat.
const settleRounds = 4

// settle pays what the host owes before any other work.
func (h *host) settle(ctx context.Context, debts []hostlink.Debt) error {
	wait := newBackoff(time.Second, 8*time.Second)
	for round := 1; len(debts) > 0; {
		if unpaid := h.payer.payAll(ctx, debts); unpaid > 0 {
			if round++; round > settleRounds {
				h.log.ErrorContext(ctx, "the host takes work with debts unpaid", "unpaid", unpaid)
				return nil
			}
			if err := wait.pause(ctx); err != nil {
				return err
			}
		}
		answer, err := h.beat(ctx)
		if mustNotRun(err) {
			return err
		}
		if err == nil {
			debts = answer.Debts
		} else if err := wait.pause(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// serve takes work from the host's queue and says that it lives, until ctx ends
// or the API says to stop.
func (h *host) serve(ctx context.Context) error {
	// Work outlives the wish to stop for a while, but not the right to be here.
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	fatal := make(chan error, 1)
	// Heartbeats don't wait for Temporal: the host is alive without it.
	started := make(chan worker.Worker, 1)
	starting, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go func() {
		w, err := start(starting, h.log, func() (worker.Worker, error) { return h.newWorker(work, fatal) })
		if err != nil {
			fatal <- err
		}
		started <- w
	}()
	err := h.live(ctx, fatal)
	giveUp()
	if err != nil {
		abandon()
	}
	if w := <-started; w != nil {
		w.Stop()
	}
	return err
}

func (h *host) newWorker(work context.Context, fatal chan<- error) (worker.Worker, error) {
	o := options(h.log, h.cfg.Steps)
	o.DisableWorkflowWorker = true
	o.MaxConcurrentActivityExecutionSize = hostSlots
	o.MaxConcurrentActivityTaskPollers = hostPollers
	o.MaxHeartbeatThrottleInterval = hostCancel
	o.BackgroundActivityContext = work
	o.Identity = fmt.Sprintf("%s#%d", h.Name, h.identity.Incarnation)
	o.OnFatalError = func(err error) { fatal <- err }
	w := worker.New(h.cfg.Client, steps.HostQueue(h.identity.ID), o)
	return w, register(w, HostRole, map[string]any{"libvirt": h.activities})
}

// live sends heartbeats, has debts paid that they list, and gets the images.
func (h *host) live(ctx context.Context, fatal <-chan error) error {
	paying := make(chan []hostlink.Debt, 1)
	payCtx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { h.payer.run(payCtx, paying) })

	tick := time.NewTicker(h.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-fatal:
			return unlessEnded(ctx, err)
		case <-tick.C:
		}
		answer, err := h.beat(ctx)
		if mustNotRun(err) {
			return err
		}
		if err != nil {
			h.log.WarnContext(ctx, "heartbeat", "error", err)
			continue
		}
		h.prefetcher.begin(payCtx, answer.Images)
		if len(answer.Debts) > 0 {
			select {
			case paying <- answer.Debts:
			default: // the last list is still being paid
			}
		}
	}
}

// beat sends one heartbeat, and registers again where the API has lost the host.
func (h *host) beat(ctx context.Context) (hostlink.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	report, err := h.report(ctx)
	if err != nil {
		return hostlink.Answer{}, err
	}
	answer, err := h.link.Heartbeat(ctx, report)
	if faults.Is(err, faults.NotFound) {
		return h.register(ctx)
	}
	return answer, err
}

// report is what the host has now. A driver that can't say is no sign of life.
func (h *host) report(ctx context.Context) (hostlink.Report, error) {
	inventory, err := h.driver.Inventory(ctx)
	if err != nil {
		return hostlink.Report{}, driverSilent(err)
	}
	guests, err := h.driver.List(ctx)
	if err != nil {
		return hostlink.Report{}, driverSilent(err)
	}
	if time.Since(h.swept) > sweepEvery {
		if err := h.activities.SweepFences(guests); err != nil {
			h.log.WarnContext(ctx, "old fences stay", "error", err)
		}
		h.swept = time.Now()
	}
	up, err := uptime("/proc", time.Now())
	if err != nil {
		h.log.WarnContext(ctx, "the host doesn't say how long it has been up", "error", err)
	}
	r := hostlink.Report{
		Incarnation: h.identity.Incarnation, Uptime: up,
		VCPUs: inventory.VCPUs, MemoryMB: inventory.MemoryMB, DiskGB: inventory.DiskGB, Details: inventory.Details,
		NUMA: h.Cells.Apply(inventory.NUMA), Devices: h.Lent.Of(inventory.Devices), Resources: h.resources(inventory), Traits: h.has.Traits,
		Guests: make([]hostlink.Guest, len(guests)), Steps: Steps(HostRole),
	}
	if r.NUMA != nil {
		r.VCPUs = r.NUMA.SharedCPUs()
	}
	for i, g := range guests {
		r.Guests[i] = hostlink.Guest{ServerID: g.ServerID, PowerState: g.PowerState, Generation: h.activities.Generation(g.ServerID)}
	}
	return r, nil
}

// resources are those that the host has by itself, and those that its operator says.
func (h *host) resources(has libvirt.Inventory) map[string]provider.Inventory {
	all := maps.Clone(has.Resources)
	if all == nil {
		return h.has.Inventories
	}
	maps.Copy(all, h.has.Inventories)
	return all
}

// driverSilent keeps a driver's error from being taken for the API's.
func driverSilent(err error) error {
	return faults.Wrap(err, faults.Unavailable, "DriverSilent", "the driver can't say what the host has")
}
