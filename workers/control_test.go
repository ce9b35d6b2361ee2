package workers_test

// Both roles together, with the database and the engine: servers are built and
// deleted, and a host that was down pays what it owes.

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/activities/cinder"
	"holdfast.dev/activities/glance"
	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/activities/maintenance"
	"holdfast.dev/activities/neutron"
	"holdfast.dev/activities/placement"
	"holdfast.dev/activities/records"
	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/hosts"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/testenv"
	"holdfast.dev/workers"
)

// cloud is a control worker, the host link, and what hosts need to join.
type cloud struct {
	db     *store.DB
	engine *engine.Engine
	offer  func(string)
	knock  func(string)
	hosts  workers.HostConfig
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	return newCloudWith(t, neutron.Options{})
}

// newCloudWith has a network service.
func newCloudWith(t *testing.T, network neutron.Options) *cloud {
	t.Helper()
	return newCloudOf(t, network, cinder.Options{}, &fakeGlance{}, func(*workers.ControlConfig) {})
}

// newCloudOf has a network, a block storage and an image service, and a control worker
// that is changed as asked.
func newCloudOf(t *testing.T, network neutron.Options, storage cinder.Options, images *fakeGlance, change func(*workers.ControlConfig)) *cloud {
	t.Helper()
	images.serve(t)
	log := slog.New(slog.DiscardHandler)
	db, err := store.Open(t.Context(), testenv.Database(t), 16)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	e := engine.New(db, compute.Resource())
	c, err := dial(testenv.Temporal(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	key, err := hostlink.CreateKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	link := httptest.NewServer(hostlink.Handler(key, hosts.New(db, e), &hosts.Servers{DB: db, Services: images}))
	t.Cleanup(link.Close)
	starter := e.NewStarter(c, steps.ControlQueue, 64, 4)
	loops := e.NewLoops(c, steps.ControlQueue)
	cfg := workers.ControlConfig{
		Client:      c,
		Records:     records.New(db, e, starter.Offer),
		Placement:   placement.New(db, e, scheduler.Default()),
		Neutron:     neutron.New(db, e, network),
		Cinder:      cinder.New(db, e, storage),
		Glance:      glance.New(db, e, glance.Options{Client: images.client}),
		Resources:   resources.New(db, e, resources.Options{}),
		Maintenance: maintenance.New(db, e, maintenance.Options{Offer: starter.Offer, DownAfter: time.Minute}),
		Beside:      []func(context.Context){starter.Run, loops.Run},
		Log:         log,
	}
	change(&cfg)
	background(t, func(ctx context.Context) error { return workers.Control(ctx, cfg) })
	return &cloud{db: db, engine: e, offer: starter.Offer, knock: starter.Knock,
		hosts: workers.HostConfig{Client: c, LinkURL: link.URL, Key: key, Heartbeat: 500 * time.Millisecond, Log: log}}
}

// background runs f until the test ends, or stop.
func background(t *testing.T, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// host runs a simulated host.
func (c *cloud) host(t *testing.T, name, dir string) (stop func()) {
	t.Helper()
	cfg := c.hosts
	cfg.Hosts = []workers.HostSpec{{Name: name, StateDir: dir, Driver: "simulated",
		Open: func(dir string, _ *hostlink.Client) (libvirt.Driver, error) {
			return simulated.New(simulated.Options{StateDir: dir})
		}}}
	stop = background(t, func(ctx context.Context) error { return workers.Host(ctx, cfg) })
	c.eventually(t, "host "+name+" is up", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT EXISTS (SELECT FROM compute.hosts WHERE name = $1 AND last_seen > now() - interval '5 s')`, name)
	})
	return stop
}

// build asks for a server with the ports.
func (c *cloud) build(t *testing.T, ports ...compute.ServerPort) string {
	t.Helper()
	return c.buildIn(t, "p", func(string) {}, ports, nil)
}

// buildIn asks for a server of a project; before is told of its id.
func (c *cloud) buildIn(t *testing.T, project string, before func(id string), ports []compute.ServerPort, devices []compute.BlockDevice) string {
	t.Helper()
	id := uuid.NewString()
	before(id)
	c.accept(t, operations.ServerBuild, id, func(tx store.Tx) error {
		s := &compute.Server{
			ID: id, ProjectID: project, UserID: "u", Name: "web", Hostname: "web", ImageID: "cirros",
			Flavor: compute.Flavor{ID: "1", Name: "m1.tiny", VCPUs: 1, MemoryMB: 512, RootGB: 1, Public: true},
			VCPUs:  1, MemoryMB: 512, DiskGB: 1, VMState: servers.VMBuilding, TaskState: servers.TaskScheduling,
		}
		if err := compute.ChargeQuota(t.Context(), tx, project, s.Delta()); err != nil {
			return err
		}
		if err := compute.InsertServer(t.Context(), tx, s); err != nil {
			return err
		}
		if err := compute.InsertBlockDevices(t.Context(), tx, id, devices); err != nil {
			return err
		}
		return compute.InsertServerPorts(t.Context(), tx, id, ports)
	})
	return id
}

func (c *cloud) delete(t *testing.T, id string) {
	t.Helper()
	c.deleteOf(t, "p", id)
}

func (c *cloud) deleteOf(t *testing.T, project, id string) {
	t.Helper()
	c.accept(t, operations.ServerDelete, id, func(tx store.Tx) error {
		_, err := compute.LockServer(t.Context(), tx, project, id)
		return err
	})
}

func (c *cloud) accept(t *testing.T, kind operations.Kind, id string, before func(store.Tx) error) {
	t.Helper()
	var accepted engine.Accepted
	err := c.db.InTx(t.Context(), func(tx store.Tx) (err error) {
		if err := before(tx); err != nil {
			return err
		}
		accepted, err = c.engine.Accept(t.Context(), tx, engine.Request{Kind: kind, ResourceID: id, ProjectID: "p", UserID: "u", RequestID: "req"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c.offer(accepted.OperationID)
}

func (c *cloud) one(ctx context.Context, sql string, args ...any) (is bool, err error) {
	return is, c.db.Pool.QueryRow(ctx, sql, args...).Scan(&is)
}

func (c *cloud) eventually(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for {
		is, err := holds(ctx)
		if ctx.Err() != nil {
			t.Fatalf("in vain: %s\n%s", what, c.operations(t))
		}
		if err != nil {
			t.Fatal(err)
		}
		if is {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (c *cloud) operations(t *testing.T) (text string) {
	t.Helper()
	ops, err := c.engine.Operations(t.Context(), c.db.Pool, engine.Filter{Limit: 20})
	if err != nil {
		return err.Error()
	}
	for _, op := range ops {
		text += fmt.Sprintf("%s %s step %s result %v: %s\n", op.ID, op.State(), op.Step, op.Result, op.Message)
	}
	return text
}

// silent fails the test if the audit finds anything.
func (c *cloud) silent(t *testing.T) {
	t.Helper()
	report, err := c.engine.Audit(t.Context(), compute.Probes...)
	if err != nil || len(report.Findings)+report.Owed+report.Unfinished > 0 {
		t.Errorf("the audit finds %+v, %v", report, err)
	}
}

func guests(t *testing.T, dir string) []libvirt.Guest {
	t.Helper()
	d, err := simulated.New(simulated.Options{StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	all, err := d.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestServersLiveAndGo(t *testing.T) {
	t.Parallel()
	c, dir := newCloud(t), t.TempDir()
	c.host(t, "h1", dir)
	const n = 5
	var ids []string
	for range n {
		ids = append(ids, c.build(t))
	}
	for _, id := range ids {
		c.eventually(t, "server "+id+" active", func(ctx context.Context) (bool, error) {
			return c.one(ctx, `SELECT vm_state = 'active' AND task_state IS NULL AND power_state = 1 AND operation_id IS NULL
				FROM compute.servers WHERE id = $1`, id)
		})
	}
	if got := guests(t, dir); len(got) != n {
		t.Errorf("guests %+v, want %d", got, n)
	}
	if used, err := c.one(t.Context(), `SELECT servers = $1 AND vcpus_used = $1 FROM compute.hosts`, n); err != nil || !used {
		t.Errorf("the host's sums are not those of %d servers: %v", n, err)
	}
	c.silent(t)
	for _, id := range ids {
		c.delete(t, id)
	}
	c.eventually(t, "all deleted", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT count(*) = $1 FROM compute.servers WHERE deleted_at IS NOT NULL AND operation_id IS NULL`, n)
	})
	if got := guests(t, dir); len(got) != 0 {
		t.Errorf("guests %+v, want none", got)
	}
	c.silent(t)
}

// A server is deleted while its host is down. The deletion doesn't wait; the
// host owes the guest and its room, and pays when it is back.
func TestHostPaysAfterItWasDown(t *testing.T) {
	t.Parallel()
	c, dir := newCloud(t), t.TempDir()
	stop := c.host(t, "h1", dir)
	id := c.build(t)
	c.eventually(t, "active", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT vm_state = 'active' AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
	})
	stop()
	if _, err := c.db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET last_seen = now() - interval '10 min'`); err != nil {
		t.Fatal(err)
	}
	c.delete(t, id)
	c.eventually(t, "deleted", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT deleted_at IS NOT NULL AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
	})
	if owed, err := c.one(t.Context(), `SELECT count(*) = 2 FROM engine.operation_effects WHERE state = 'owed'`); err != nil || !owed {
		t.Fatalf("the guest and its room are not owed: %v", err)
	}
	if held, err := c.one(t.Context(), `SELECT servers = 1 FROM compute.hosts`); err != nil || !held {
		t.Errorf("the room was given away while the guest may run: %v", err)
	}
	if got := guests(t, dir); len(got) != 1 {
		t.Fatalf("guests %+v, want the one that is owed", got)
	}
	c.host(t, "h1", dir)
	c.eventually(t, "the debt is paid", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT NOT EXISTS (SELECT FROM engine.operation_effects WHERE state = 'owed')
			AND (SELECT servers = 0 AND vcpus_used = 0 FROM compute.hosts)`)
	})
	if got := guests(t, dir); len(got) != 0 {
		t.Errorf("guests %+v, want none", got)
	}
	c.silent(t)
}

// A server is deleted while its host hangs in the build: the build is cut
// short, and nothing of it stays.
func TestDeleteCutsBuildShort(t *testing.T) {
	t.Parallel()
	c, dir := newCloud(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "simulated.json"), []byte(`{"delay":"build.start=hang"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c.host(t, "h1", dir)
	id := c.build(t)
	c.eventually(t, "the guest half-made", func(context.Context) (bool, error) { return len(guests(t, dir)) == 1, nil })
	c.delete(t, id)
	c.eventually(t, "deleted", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT deleted_at IS NOT NULL AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
	})
	if got := guests(t, dir); len(got) != 0 {
		t.Errorf("guests %+v, want none", got)
	}
	if free, err := c.one(t.Context(), `SELECT servers = 0 AND vcpus_used = 0 FROM compute.hosts`); err != nil || !free {
		t.Errorf("room is still taken: %v", err)
	}
	c.silent(t)
}

// A build that fails on one host ends on another, and nothing stays on the first.
func TestBuildFindsAnotherHost(t *testing.T) {
	t.Parallel()
	c, bad, good := newCloud(t), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bad, "simulated.json"), []byte(`{"fail":"build.start=no_capacity"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c.host(t, "bad", bad)
	first := c.build(t)
	c.eventually(t, "in ERROR for want of a second host", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT vm_state = 'error' AND operation_id IS NULL FROM compute.servers WHERE id = $1`, first)
	})
	c.host(t, "good", good)
	var ids []string
	for range 4 {
		ids = append(ids, c.build(t))
	}
	for _, id := range ids {
		c.eventually(t, "active", func(ctx context.Context) (bool, error) {
			return c.one(ctx, `SELECT vm_state = 'active' AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
		})
	}
	if got := guests(t, bad); len(got) != 0 {
		t.Errorf("the host that fails has guests %+v, want none", got)
	}
	if got := guests(t, good); len(got) != len(ids) {
		t.Errorf("guests %+v, want %d", got, len(ids))
	}
	c.silent(t)
}
