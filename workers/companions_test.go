package workers_test

// Builds with ports and volumes, disturbed after each of their steps, with both
// roles, the database, the engine, and the development cloud's services.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/activities/cinder"
	"holdfast.dev/activities/neutron"
	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/workers"
)

// disturbance happens to a build once one of its steps has done its work.
type disturbance struct {
	name string
	do   func(ctx context.Context, c *cloud, server string) error
	// may is how the build may end then, unless it was over.
	may operations.Result
}

var disturbances = []disturbance{
	{"the step fails", func(context.Context, *cloud, string) error {
		return faults.New(faults.Invalid, "Disturbed", "it can't work")
	}, operations.ResultFailed},
	{"the worker dies before it answers", func(context.Context, *cloud, string) error {
		return faults.New(faults.Unavailable, "Disturbed", "the answer is lost")
	}, operations.ResultDone},
	{"it is cancelled", func(ctx context.Context, c *cloud, server string) error {
		id, err := c.buildOf(ctx, server)
		if err != nil {
			return err
		}
		return c.db.InTx(ctx, func(tx store.Tx) error {
			_, err := c.engine.RequestCancel(ctx, tx, id, "the test")
			return err
		})
	}, operations.ResultCancelled},
	{"its workflow is terminated", func(ctx context.Context, c *cloud, server string) error {
		id, err := c.buildOf(ctx, server)
		if err != nil {
			return err
		}
		return c.hosts.Client.TerminateWorkflow(ctx, id, "", "the test")
	}, operations.ResultFailed},
}

// buildOf is the id of a server's build.
func (c *cloud) buildOf(ctx context.Context, server string) (id string, err error) {
	err = c.db.Pool.QueryRow(ctx, `SELECT id FROM engine.operations WHERE resource_id = $1 AND kind = $2`, server, operations.ServerBuild).Scan(&id)
	return id, err
}

// disturber disturbs each server that it was told of, once.
type disturber struct {
	mu      sync.Mutex
	cloud   *cloud
	plans   map[string]plan     // by server
	reached map[string][]string // the points, by server
	struck  map[string]bool     // by server
}

// plan is what happens to a server's build, and where.
type plan struct {
	point string
	disturbance
}

// at is workers.ControlConfig.Hold.
func (d *disturber) at(ctx context.Context, server, point string) error {
	step, build := strings.CutPrefix(point, "build:")
	step, done := strings.CutSuffix(step, ".done")
	if !build || !done {
		return nil
	}
	d.mu.Lock()
	// A build advances many times; of other steps the first time is the one.
	if step == "records.Advance" {
		step = fmt.Sprintf("%s %d", step, 1+len(slices.DeleteFunc(slices.Clone(d.reached[server]), func(p string) bool { return !strings.HasPrefix(p, step) })))
	}
	d.reached[server] = append(d.reached[server], step)
	p := d.plans[server]
	strikes := p.point == step && !d.struck[server]
	d.struck[server] = d.struck[server] || strikes
	d.mu.Unlock()
	if !strikes {
		return nil
	}
	return p.do(ctx, d.cloud, server)
}

// Whatever happens to a build after whichever step, it ends; one that has not
// made a server has left no port, no volume and no attachment, and neither has
// one whose server is deleted.
func TestBuildsAreDisturbedAfterEachStep(t *testing.T) {
	t.Parallel()
	services := companiontest.Start(t)
	session := openstack.NewSession(openstack.Options{AuthURL: services.Identity, Username: "holdfast", UserDomain: "Default",
		Password: services.Password("holdfast"), Project: "service", ProjectDomain: "Default", Region: companiontest.Region})
	token, _, project := services.Login(t, "demo")
	admin, _, _ := services.Login(t, "admin")
	neutronAPI, cinderAPI := services.At(t, services.Network), services.At(t, services.Volume)
	networkID := neutronAPI.Want(201, token, "POST", "/v2.0/networks", `{"network":{"name":"private"}}`).TextAt("network", "id")
	neutronAPI.Want(201, token, "POST", "/v2.0/subnets", `{"subnet":{"network_id":"`+networkID+`","cidr":"10.0.0.0/16","ip_version":4}}`)
	neutronAPI.Want(200, admin, "PUT", "/v2.0/quotas/"+project, `{"quota":{"port":-1}}`)
	cinderAPI.Want(200, admin, "PUT", "/v3/os-quota-sets/"+project, `{"quota_set":{"volumes":-1,"gigabytes":-1}}`)

	d := &disturber{plans: map[string]plan{}, reached: map[string][]string{}, struck: map[string]bool{}}
	c := newCloudOf(t, neutron.Options{Client: session.Network, PlugPatience: time.Minute, PlugFatal: true},
		cinder.Options{Client: session.Volume, Patience: time.Minute}, &fakeGlance{}, func(cfg *workers.ControlConfig) { cfg.Hold = d.at })
	d.cloud = c
	dir := t.TempDir()
	c.host(t, "h1", dir)
	err := c.db.InTx(t.Context(), func(tx store.Tx) (err error) {
		for _, resource := range []string{"instances", "cores", "ram"} {
			err = errors.Join(err, compute.SetLimit(t.Context(), tx, project, resource, -1))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	build := func(p plan) string {
		return c.buildIn(t, project, func(id string) {
			d.mu.Lock()
			d.plans[id] = p
			d.mu.Unlock()
		}, []compute.ServerPort{{Ours: true, NetworkID: networkID}},
			[]compute.BlockDevice{{SourceType: "blank", DestinationType: "volume", VolumeSizeGB: 1, BootIndex: new(0), DeleteOnTermination: true}})
	}
	plain := build(plan{})
	c.becomes(t, plain, "active", 1)
	points := slices.Compact(slices.Sorted(slices.Values(d.reached[plain])))
	if len(points) < 10 {
		t.Fatalf("a build has only the steps %v", points)
	}
	all := map[string]plan{plain: {}}
	for _, point := range points {
		for _, dis := range disturbances {
			p := plan{point, dis}
			all[build(p)] = p
		}
	}
	c.eventually(t, "every operation has ended", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT NOT EXISTS (SELECT FROM engine.operations WHERE finished_at IS NULL)`)
	})
	for id, p := range all {
		build, err := c.buildOf(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		op, err := c.engine.Get(t.Context(), c.db.Pool, build)
		if err != nil {
			t.Fatal(err)
		}
		if p.point != "" && !d.struck[id] {
			t.Errorf("%s was never reached", p.point)
		}
		// The step before the last is a local one, and Finish may follow it in the
		// same task although the workflow is terminated.
		over := p.point == "" || p.point == "records.Finish" || p.point == "records.Plugged" && p.may == operations.ResultFailed
		if op.Result != p.may && !(over && op.Result == operations.ResultDone) {
			t.Errorf("%s after %s: the build ended as %s: %s", p.name, p.point, op.Result, op.Message)
		}
		if op.Result == operations.ResultDone {
			continue
		}
		if left := neutronAPI.Want(200, admin, "GET", "/v2.0/ports?device_id="+id, ""); len(left.At("ports").([]any)) > 0 {
			t.Errorf("%s after %s leaves %s", p.name, p.point, left.Text)
		}
		if left := cinderAPI.Want(200, token, "GET", "/v3/volumes?name=holdfast-"+id+"-0", ""); len(left.At("volumes").([]any)) > 0 &&
			left.TextAt("volumes", 0, "status") != "deleting" {
			t.Errorf("%s after %s leaves %s", p.name, p.point, left.Text)
		}
	}
	c.silent(t)
	for id := range all {
		c.deleteOf(t, project, id)
	}
	c.eventually(t, "every server is deleted", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT NOT EXISTS (SELECT FROM compute.servers WHERE deleted_at IS NULL OR operation_id IS NOT NULL)`)
	})
	c.eventually(t, "no port, volume or attachment is left", func(context.Context) (bool, error) {
		ports := neutronAPI.Want(200, admin, "GET", "/v2.0/ports?network_id="+networkID, "")
		volumes := cinderAPI.Want(200, token, "GET", "/v3/volumes", "")
		return len(ports.At("ports").([]any))+len(volumes.At("volumes").([]any)) == 0, nil
	})
	cinderAPI.Header.Set("OpenStack-API-Version", "volume 3.44")
	if left := cinderAPI.Want(200, token, "GET", "/v3/attachments", ""); len(left.At("attachments").([]any)) > 0 {
		t.Errorf("attachments are left: %s", left.Text)
	}
	if got := guests(t, dir); len(got) != 0 {
		t.Errorf("guests %+v, want none", got)
	}
	c.silent(t)
}
