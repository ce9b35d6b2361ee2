package workers_test

// Host workers on a real Temporal server: work, kill -9, debts, refusals.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provider"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/testenv"
	"holdfast.dev/workers"
)

// deadline bounds what a test waits for.
const deadline = testenv.Patience

// registry is a hostlink.Registry that remembers what it was told.
type registry struct {
	mu     sync.Mutex
	debts  []hostlink.Debt
	refuse error           // what a heartbeat is answered
	ids    map[string]bool // hosts that have registered
	reg    []hostlink.Registration
	beats  []hostlink.Report
	paid   []string
	// images are those that hosts are to have, settled those that they have done with.
	images, settled []string
	left            []string // hosts that have taken leave
	// refuseLeave is what they are answered.
	refuseLeave error
	onPaid      func()
	changed     *sync.Cond
}

func newRegistry() *registry {
	r := &registry{ids: map[string]bool{}}
	r.changed = sync.NewCond(&r.mu)
	return r
}

func (r *registry) Register(_ context.Context, hostID string, in hostlink.Registration) (hostlink.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids[hostID] = true
	r.reg = append(r.reg, in)
	r.changed.Broadcast()
	return hostlink.Answer{Debts: slices.Clone(r.debts)}, nil
}

func (r *registry) Heartbeat(_ context.Context, _ string, in hostlink.Report) (hostlink.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beats = append(r.beats, in)
	r.changed.Broadcast()
	return hostlink.Answer{Debts: slices.Clone(r.debts), Images: slices.Clone(r.images)}, r.refuse
}

func (r *registry) Paid(_ context.Context, _, operationID string, seq int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paid = append(r.paid, fmt.Sprintf("%s %d", operationID, seq))
	r.debts = slices.DeleteFunc(r.debts, func(d hostlink.Debt) bool { return d.OperationID == operationID && d.Seq == seq })
	if r.onPaid != nil {
		r.onPaid()
	}
	r.changed.Broadcast()
	return nil
}

func (r *registry) ImageSettled(_ context.Context, _, imageID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settled = append(r.settled, imageID)
	r.images = slices.DeleteFunc(r.images, func(id string) bool { return id == imageID })
	r.changed.Broadcast()
	return nil
}

func (r *registry) Leave(_ context.Context, hostID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, hostID)
	r.changed.Broadcast()
	return r.refuseLeave
}

// wait blocks until what holds; it looks again when the registry changes, and from
// time to time for what changes elsewhere.
func (r *registry) wait(t testing.TB, why string, holds func() bool) {
	t.Helper()
	over := make(chan struct{})
	defer close(over)
	go func() {
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-over:
				return
			case <-again.C:
				r.changed.Broadcast()
			}
		}
	}()
	until := time.Now().Add(deadline)
	r.mu.Lock()
	defer r.mu.Unlock()
	for !holds() {
		if time.Now().After(until) {
			t.Fatalf("in vain: %s", why)
		}
		r.changed.Wait()
	}
}

// site is what a host needs around it.
type site struct {
	*registry
	address, namespace string
	url, keyFile       string
	key                hostlink.Key
	client             client.Client
	provided           provider.File
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{registry: newRegistry(), keyFile: filepath.Join(t.TempDir(), "key")}
	s.address, s.namespace = testenv.Temporal(t)
	var err error
	if s.key, err = hostlink.CreateKey(s.keyFile); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(hostlink.Handler(s.key, s.registry, nil))
	t.Cleanup(server.Close)
	s.url = server.URL
	if s.client, err = dial(s.address, s.namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	w := worker.New(s.client, "test", worker.Options{})
	w.RegisterWorkflow(buildWorkflow)
	w.RegisterWorkflow(lifeWorkflow)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return s
}

func dial(address, namespace string) (client.Client, error) {
	return engine.Dial(engine.TemporalOptions{Address: address, Namespace: namespace, Log: slog.New(slog.DiscardHandler)})
}

func (s *site) config(stateDir string, o simulated.Options, log *slog.Logger) workers.HostConfig {
	return workers.HostConfig{Client: s.client, LinkURL: s.url, Key: s.key, Heartbeat: 200 * time.Millisecond, Log: log,
		Hosts: []workers.HostSpec{{Name: "h1", StateDir: stateDir, Driver: "simulated", Provided: s.provided,
			Open: func(dir string, _ *hostlink.Client) (libvirt.Driver, error) {
				own := o // hosts of one process open theirs at once
				own.StateDir = dir
				return simulated.New(own)
			}}}}
}

// run serves a host until the test ends, or stop.
func (s *site) run(t *testing.T, stateDir string, o simulated.Options) (stop func()) {
	t.Helper()
	return background(t, func(ctx context.Context) error {
		return workers.Host(ctx, s.config(stateDir, o, slog.New(slog.DiscardHandler)))
	})
}

func (s *site) start(t *testing.T, w any, in any) client.WorkflowRun {
	t.Helper()
	run, err := s.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "test"}, w, in)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func (s *site) get(t *testing.T, run client.WorkflowRun, into any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := run.Get(ctx, into); err != nil {
		t.Fatal(err)
	}
}

type job struct {
	Host, Server string
}

func (j job) token(generation int64) steps.Token {
	return steps.Token{ServerID: j.Server, OperationID: "op", Generation: generation, Attempt: 1, Step: "guest"}
}

func (j job) spec() steps.ServerSpec { return steps.ServerSpec{ServerID: j.Server, Hostname: "web"} }

func buildWorkflow(ctx workflow.Context, j job) (steps.BuildOut, error) {
	return steps.Libvirt.Build(ctx, j.Host, steps.BuildIn{Token: j.token(1), Spec: j.spec()})
}

// lifeWorkflow builds, stops, starts and destroys a guest, and gives the power
// states on the way; the last is -1 for a guest that is gone.
func lifeWorkflow(ctx workflow.Context, j job) (states []int, err error) {
	built, err := steps.Libvirt.Build(ctx, j.Host, steps.BuildIn{Token: j.token(1), Spec: j.spec()})
	if err != nil {
		return nil, err
	}
	states = append(states, built.PowerState)
	for i, action := range []steps.PowerAction{steps.PowerStop, steps.PowerStart} {
		out, err := steps.Libvirt.Power(ctx, j.Host, steps.PowerIn{Token: j.token(int64(2 + i)), Action: action})
		if err != nil {
			return states, err
		}
		states = append(states, out.PowerState)
	}
	if err := steps.Libvirt.Destroy(ctx, j.Host, steps.DestroyIn{Token: j.token(4)}); err != nil {
		return states, err
	}
	out, err := steps.Libvirt.Power(ctx, j.Host, steps.PowerIn{Token: j.token(5), Action: steps.PowerObserve})
	if out.Missing {
		out.PowerState = -1
	}
	return append(states, out.PowerState), err
}

// identity makes the host's identity ahead of its first start.
func identity(t *testing.T, stateDir string) string {
	t.Helper()
	id, err := hostlink.OpenIdentity(stateDir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Close(); err != nil {
		t.Fatal(err)
	}
	return id.ID
}

func TestHostServes(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	j := job{identity(t, dir), uuid.NewString()}
	var err error
	s.provided, err = provider.Read("p.yaml", strings.NewReader(`
meta: {schema_version: '1.0'}
providers:
  - identification: {name: h1}
    inventories: {additional: [{CUSTOM_GOLD: {total: 4, max_unit: 2}}]}
    traits: {additional: [CUSTOM_NEAR]}`))
	if err != nil {
		t.Fatal(err)
	}
	stop := s.run(t, dir, simulated.Options{})
	var states []int
	s.get(t, s.start(t, lifeWorkflow, j), &states)
	if want := []int{1, 4, 1, -1}; !slices.Equal(states, want) {
		t.Errorf("power states %v, want %v", states, want)
	}
	s.mu.Lock()
	reg := s.reg[0]
	s.mu.Unlock()
	gold := provider.Inventory{Total: 4, Ratio: 1, MinUnit: 1, MaxUnit: 2, StepSize: 1}
	if r := reg.Report; r.Resources["CUSTOM_GOLD"] != gold || len(r.Resources) != 1 || !slices.Equal(r.Traits, []string{"CUSTOM_NEAR"}) {
		t.Errorf("it has %+v and %v", r.Resources, r.Traits)
	}
	want := workers.Steps(workers.HostRole)
	if reg.Name != "h1" || reg.Driver != "simulated" || reg.Report.Incarnation != 2 || reg.Report.VCPUs != 64 || !slices.Equal(reg.Report.Steps, want) {
		t.Errorf("registration %+v", reg)
	}

	j.Server = uuid.NewString()
	s.get(t, s.start(t, buildWorkflow, j), nil)
	reader := hostlink.NewReader(s.key)
	log, err := reader.Console(t.Context(), j.Host, reg.LinkAddress, j.Server, -1)
	if err != nil || string(log) != "booted web\n" {
		t.Errorf("console %q, %v", log, err)
	}
	if spec, err := reader.Describe(t.Context(), j.Host, reg.LinkAddress, j.Server); err != nil || !strings.Contains(string(spec), j.Server) {
		t.Errorf("described as %s, %v", spec, err)
	}
	s.wait(t, "a heartbeat that lists the guest", func() bool {
		return slices.Equal(s.beats[len(s.beats)-1].Guests, []hostlink.Guest{{ServerID: j.Server, PowerState: 1, Generation: 1}})
	})
	stop()
}

// What the host owes is paid before it takes the work that waits for it.
func TestDebtsBeforeWork(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	hostID, owed, wanted := identity(t, dir), uuid.NewString(), job{Server: uuid.NewString()}
	wanted.Host = hostID
	makeGuest(t, dir, owed)
	s.debts = []hostlink.Debt{{OperationID: "server/" + owed + "/build/x", Seq: 2, Kind: "guest", Ref: owed, Generation: 1, Attempt: 1}}
	var mu sync.Mutex
	var seen []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, what)
	}
	s.onPaid = func() { note("paid") }
	run := s.start(t, buildWorkflow, wanted)
	s.run(t, dir, simulated.Options{OnStep: func(id, step string) {
		if id == owed && step == "destroy.done" || id == wanted.Server && step == "build.image" {
			note(step)
		}
	}})
	s.get(t, run, nil)
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"destroy.done", "paid", "build.image"}; !slices.Equal(seen, want) {
		t.Errorf("order %v, want %v", seen, want)
	}
	if want := []string{"server/" + owed + "/build/x 2"}; !slices.Equal(s.paid, want) {
		t.Errorf("paid %v, want %v", s.paid, want)
	}
}

// A debt that turns up while the host works is paid at the next heartbeat; one
// that can't be paid is tried again.
func TestDebtsWhileAtWork(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	identity(t, dir)
	owed := uuid.NewString()
	makeGuest(t, dir, owed)
	s.run(t, dir, simulated.Options{Fail: "destroy.stop=unavailable:2"})
	s.wait(t, "a heartbeat", func() bool { return len(s.beats) > 0 })
	s.mu.Lock()
	s.debts = []hostlink.Debt{{OperationID: "op", Seq: 1, Kind: "guest", Ref: owed, Generation: 1, Attempt: 1},
		{OperationID: "op", Seq: 2, Kind: "of a later release", Ref: owed}}
	s.mu.Unlock()
	s.wait(t, "the debt paid", func() bool { return slices.Equal(s.paid, []string{"op 1"}) })
	s.wait(t, "the guest gone", func() bool { return len(s.beats[len(s.beats)-1].Guests) == 0 })
}

// copying copies a volume back until it is told to end.
type copying struct {
	libvirt.Driver
	begun func()
	under atomic.Bool
}

func (c *copying) UndoSwap(ctx context.Context, _, _ string, _ libvirt.Confirm) error {
	c.under.Store(true)
	c.begun()
	<-ctx.Done()
	c.under.Store(false)
	return ctx.Err()
}

func (c *copying) Close() error {
	if c.under.Load() {
		return errors.New("closed while it copies a volume")
	}
	return c.Driver.Close()
}

// A host that is refused while it copies a volume has ended with that when it ends.
func TestHostEndsItsCopies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	driver := &copying{begun: func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refuse = faults.New(faults.Superseded, "StaleIncarnation", "another incarnation of the host is registered")
	}}
	s.debts = []hostlink.Debt{{OperationID: "server/" + uuid.NewString() + "/swap-volume/" + strings.Repeat("o", 20), Kind: string(operations.EffectSwapped), Ref: "v", Generation: 1, Attempt: 1}}
	cfg := s.config(t.TempDir(), simulated.Options{}, slog.New(slog.DiscardHandler))
	open := cfg.Hosts[0].Open
	cfg.Hosts[0].Open = func(dir string, link *hostlink.Client) (_ libvirt.Driver, err error) {
		driver.Driver, err = open(dir, link)
		return driver, err
	}
	err := workers.Host(t.Context(), cfg)
	if !faults.Is(err, faults.Superseded) || strings.Contains(err.Error(), "copies") {
		t.Errorf("%v", err)
	}
}

// A host gets the images that it is to have beside its work: one that it was stopped over
// at its next start, and one that can't be had is given up.
func TestHostGetsImages(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	identity(t, dir)
	s.images = []string{"first", "second"}
	begun := make(chan string, 10)
	stop := s.run(t, dir, simulated.Options{Delay: "cache.done=hang", OnStep: func(id, step string) {
		if step == "cache.done" {
			begun <- id
		}
	}})
	got := []string{<-begun, <-begun}
	stop()
	slices.Sort(got)
	if want := []string{"first", "second"}; !slices.Equal(got, want) || len(s.settled) > 0 {
		t.Errorf("got %v, settled %v, want %v and none", got, s.settled, want)
	}
	stop = s.run(t, dir, simulated.Options{})
	s.wait(t, "no image wanted", func() bool { return len(s.images) == 0 })
	stop()
	for _, id := range got {
		if _, err := os.Stat(filepath.Join(dir, "images", id)); err != nil || !slices.Contains(s.settled, id) {
			t.Errorf("image %s: %v, settled %v", id, err, s.settled)
		}
	}
	s.images = []string{"gone"}
	s.run(t, dir, simulated.Options{Fail: "cache.image=not_found"})
	s.wait(t, "the image given up", func() bool { return slices.Contains(s.settled, "gone") })
	if _, err := os.Stat(filepath.Join(dir, "images", "gone")); err == nil {
		t.Error("it is there")
	}
}

func makeGuest(t *testing.T, dir, server string) {
	t.Helper()
	d, err := simulated.New(simulated.Options{StateDir: dir})
	if err == nil {
		_, err = d.Build(t.Context(), job{Server: server}.spec(), func() error { return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A stale process is told to stop, and stops.
func TestStaleHostStops(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	identity(t, dir)
	s.refuse = faults.New(faults.Superseded, "StaleIncarnation", "another incarnation of the host is registered")
	err := workers.Host(t.Context(), s.config(dir, simulated.Options{}, slog.New(slog.DiscardHandler)))
	if !faults.Is(err, faults.Superseded) || !strings.Contains(err.Error(), "host h1") {
		t.Errorf("a stale host ends with %v", err)
	}
}

// Two processes can't be one host.
func TestOneProcessPerStateDir(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	id, err := hostlink.OpenIdentity(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer id.Close()
	err = workers.Host(t.Context(), s.config(dir, simulated.Options{}, slog.New(slog.DiscardHandler)))
	if err == nil || !strings.Contains(err.Error(), "another process has this state folder") {
		t.Errorf("a second process: %v", err)
	}
	if len(s.reg) != 0 {
		t.Errorf("it registered: %+v", s.reg)
	}
}

// Killed in the middle of a build and started again, the host finishes it.
func TestKilledMidBuild(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	j := job{identity(t, dir), uuid.NewString()}
	rules := filepath.Join(dir, "simulated.json")
	if err := os.WriteFile(rules, []byte(`{"delay":"build.start=hang"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	first := s.process(t, dir, 0)
	run := s.start(t, buildWorkflow, j)
	s.wait(t, "the guest defined", func() bool {
		return len(s.beats) > 0 && slices.Equal(s.beats[len(s.beats)-1].Guests, []hostlink.Guest{{ServerID: j.Server, PowerState: 4, Generation: 1}})
	})
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	if err := os.Remove(rules); err != nil {
		t.Fatal(err)
	}
	s.process(t, dir, 0)
	var built steps.BuildOut
	s.get(t, run, &built)
	if built.PowerState != libvirt.Running {
		t.Errorf("power state %d, want running", built.PowerState)
	}
	s.wait(t, "a heartbeat with the guest running", func() bool {
		return slices.Equal(s.beats[len(s.beats)-1].Guests, []hostlink.Guest{{ServerID: j.Server, PowerState: 1, Generation: 1}})
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	var incarnations []int64
	for _, r := range s.reg {
		incarnations = append(incarnations, r.Report.Incarnation)
	}
	if !slices.Equal(incarnations, []int64{2, 3}) || s.reg[0].Instance == s.reg[1].Instance {
		t.Errorf("incarnations %v, want 2 and 3; registrations %+v", incarnations, s.reg)
	}
}

// A hundred hosts live in one process, and a worker of each takes work.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	const hosts, megabytes = 100, 80
	s, dir := newSite(t), t.TempDir()
	cmd := s.process(t, dir, hosts)
	s.wait(t, "all registered", func() bool { return len(s.ids) == hosts })
	s.mu.Lock()
	var runs []client.WorkflowRun
	for id := range s.ids {
		runs = append(runs, s.start(t, buildWorkflow, job{id, uuid.NewString()}))
	}
	s.mu.Unlock()
	for _, run := range runs {
		s.get(t, run, nil)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var kilobytes int
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d hosts: %d MB resident", hosts, kilobytes>>10)
	if kilobytes == 0 || kilobytes>>10 > megabytes && !racing {
		t.Errorf("%d hosts take %d MB, want at most %d", hosts, kilobytes>>10, megabytes)
	}
}

// A cancel reaches a build that hangs, and the workflow hears of it only when
// the build has left; what it made can be undone then.
func TestCancelReachesBuild(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	j := job{identity(t, dir), uuid.NewString()}
	var left atomic.Bool
	cfg := s.config(dir, simulated.Options{}, slog.New(slog.DiscardHandler))
	cfg.Hosts[0].Open = func(dir string, _ *hostlink.Client) (libvirt.Driver, error) {
		d, err := simulated.New(simulated.Options{StateDir: dir, Delay: "build.start=hang"})
		return watched{d, &left}, err
	}
	background(t, func(ctx context.Context) error { return workers.Host(ctx, cfg) })
	run := s.start(t, buildWorkflow, j)
	s.wait(t, "the guest defined", func() bool {
		return len(s.beats) > 0 && len(s.beats[len(s.beats)-1].Guests) == 1
	})
	if err := s.client.CancelWorkflow(t.Context(), run.GetID(), run.GetRunID()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := run.Get(ctx, nil); !temporal.IsCanceledError(err) {
		t.Errorf("the workflow ends with %v, want cancelled", err)
	}
	if !left.Load() {
		t.Error("the workflow has ended before the build")
	}
}

// watched is a driver that says when a build has left it.
type watched struct {
	libvirt.Driver
	left *atomic.Bool
}

func (w watched) Build(ctx context.Context, spec steps.ServerSpec, confirm libvirt.Confirm) (libvirt.Guest, error) {
	defer w.left.Store(true)
	return w.Driver.Build(ctx, spec, confirm)
}

// helper is the environment variable that makes the test binary a host worker.
const helper = "WORKERS_TEST_HOST"

type helperConfig struct {
	Address, Namespace, URL, KeyFile, Dir string
	// Hosts is how many hosts the process has; 0 is one, in Dir itself.
	Hosts int
}

// process runs hosts in a process of their own, which is killed when the test ends.
func (s *site) process(t *testing.T, dir string, hosts int) *exec.Cmd {
	t.Helper()
	data, err := json.Marshal(helperConfig{s.address, s.namespace, s.url, s.keyFile, dir, hosts})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helper+"="+string(data))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestMain(m *testing.M) {
	text := os.Getenv(helper)
	if text == "" {
		testenv.Waiting(8) // for hosts that are down, half a minute each
		testenv.Main(m)
	}
	if err := serveAsHelper(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveAsHelper(text string) error {
	var c helperConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	key, err := hostlink.LoadKey(c.KeyFile)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	cl, err := dial(c.Address, c.Namespace)
	if err != nil {
		return err
	}
	s := &site{url: c.URL, key: key, client: cl}
	cfg := s.config(c.Dir, simulated.Options{}, log)
	if c.Hosts > 0 {
		cfg.Heartbeat = 10 * time.Second
		spec := cfg.Hosts[0]
		cfg.Hosts = nil
		for i := range c.Hosts {
			spec.Name = fmt.Sprint("h", i)
			spec.StateDir = filepath.Join(c.Dir, spec.Name)
			cfg.Hosts = append(cfg.Hosts, spec)
		}
	}
	return workers.Host(context.Background(), cfg)
}
