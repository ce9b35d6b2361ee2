package workers_test

// Volumes and interfaces that come and go, with both roles, the database, the
// engine, and the development cloud's services.

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/cinder"
	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/activities/neutron"
	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/volume"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/workers"
)

// stored is a cloud with a volume service, a running server on a host whose
// sub-steps are told by rules, and a client of the service.
func stored(t *testing.T, rules string) (c *cloud, service *companiontest.Client, id, dir string, stop func()) {
	t.Helper()
	// Who migrates a volume asks for the swap itself.
	compute := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	t.Cleanup(compute.Close)
	s, err := volume.New(volume.Config{Pool: companiontest.Pool(t, "volume", volume.Migrations()),
		Auth: companiontest.Callers{}, Log: companiontest.Log(t), Dir: t.TempDir(),
		Servers: &volume.Servers{URL: compute.URL, Token: func(context.Context) (string, error) { return "admin", nil }}})
	if err != nil {
		t.Fatal(err)
	}
	background(t, s.Run)
	service = companiontest.Serve(t, s)
	c = newCloudOf(t, neutron.Options{}, cinder.Options{Client: func(_ context.Context, project string) (*gophercloud.ServiceClient, error) {
		token := "demo"
		if project == "" {
			token = "admin"
		}
		return &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{TokenID: token},
			Endpoint: service.Base + "/v3/", Type: "block-storage", Microversion: "3.44", MoreHeaders: map[string]string{"X-Service-Token": "service"}}, nil
	}}, &fakeGlance{}, func(*workers.ControlConfig) {})
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "simulated.json"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	stop = c.host(t, "h1", dir)
	id = c.build(t)
	c.becomes(t, id, "active", 1)
	return c, service, id, dir, stop
}

// volumes makes volumes that are available.
func volumes(t *testing.T, service *companiontest.Client, n int) (ids []string) {
	t.Helper()
	service.Want(200, "admin", "PUT", "/v3/os-quota-sets/"+companiontest.DemoProject, `{"quota_set":{"volumes":-1,"gigabytes":-1}}`)
	for range n {
		ids = append(ids, service.Want(202, "demo", "POST", "/v3/volumes", `{"volume":{"size":1}}`).TextAt("volume", "id"))
	}
	for _, id := range ids {
		waitFor(t, service, id, "available")
	}
	return ids
}

func waitFor(t *testing.T, service *companiontest.Client, id, status string) {
	t.Helper()
	until := time.Now().Add(deadline)
	for {
		is := service.Want(200, "demo", "GET", "/v3/volumes/"+id, "").TextAt("volume", "status")
		if is == status {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("volume %s is %s, not %s", id, is, status)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// attachVolume asks for a volume, as the API does.
func (c *cloud) attachVolume(t *testing.T, id, volumeID string) string {
	t.Helper()
	return c.share(t, operations.ServerAttachVolume, id, steps.VolumeInput{VolumeID: volumeID}, func(tx store.Tx) (*operations.Effect, error) {
		return &operations.Effect{Kind: operations.EffectVolume, Ref: volumeID}, compute.AddVolume(t.Context(), tx, compute.BlockDevice{ServerID: id, VolumeID: volumeID})
	})
}

func (c *cloud) detachVolume(t *testing.T, id, volumeID string) string {
	t.Helper()
	return c.share(t, operations.ServerDetachVolume, id, steps.VolumeInput{VolumeID: volumeID}, nil)
}

// share has an operation that shares the server accepted. One of many that ask at once
// may wait for the server's row in vain, and asks again.
func (c *cloud) share(t *testing.T, kind operations.Kind, id string, input any, before func(store.Tx) (*operations.Effect, error)) string {
	t.Helper()
	var accepted engine.Accepted
	accept := func(tx store.Tx) (err error) {
		if _, err := compute.LockServer(t.Context(), tx, "p", id); err != nil {
			return err
		}
		var holds []operations.Effect
		if before != nil {
			line, err := before(tx)
			if err != nil {
				return err
			}
			holds = append(holds, *line)
		}
		accepted, err = c.engine.Accept(t.Context(), tx, engine.Request{Kind: kind, ResourceID: id, ProjectID: "p", UserID: "u", RequestID: "req", Input: input, Effects: holds})
		return err
	}
	until := time.Now().Add(deadline)
	err := c.db.InTx(t.Context(), accept)
	for faults.Is(err, faults.Unavailable) && time.Now().Before(until) {
		err = c.db.InTx(t.Context(), accept)
	}
	if err != nil {
		t.Error(err)
		return ""
	}
	if accepted.Startable {
		c.offer(accepted.OperationID)
	}
	return accepted.OperationID
}

// over waits until nothing is done to the server any more.
func (c *cloud) over(t *testing.T, id string) {
	t.Helper()
	c.eventually(t, "all operations have ended", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT NOT EXISTS (SELECT FROM engine.operations WHERE resource_id = $1 AND finished_at IS NULL)`, id)
	})
}

// nothingLeft: Cinder has no attachment, and every volume is free.
func nothingLeft(t *testing.T, service *companiontest.Client, ids []string) {
	t.Helper()
	for _, id := range ids {
		waitFor(t, service, id, "available")
		if left := service.Want(200, "demo", "GET", "/v3/volumes/"+id, ""); len(left.At("volume", "attachments").([]any)) != 0 {
			t.Errorf("attachments are left: %s", left.Text)
		}
	}
}

// plugged counts the devices that the guest has.
func plugged(t *testing.T, dir, id string, devices []string) (n int) {
	t.Helper()
	d, err := simulated.New(simulated.Options{StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, device := range devices {
		there, err := d.Plugged(t.Context(), id, device)
		if err != nil {
			t.Fatal(err)
		}
		if there {
			n++
		}
	}
	return n
}

// Twenty volumes asked for at once come one after the other, and go again, some
// of them asked to go twice.
func TestTwentyVolumesAtOnce(t *testing.T) {
	t.Parallel()
	c, service, id, dir, _ := stored(t, `{}`)
	ids := volumes(t, service, 20)
	var group sync.WaitGroup
	for _, v := range ids {
		group.Go(func() { c.attachVolume(t, id, v) })
	}
	group.Wait()
	c.over(t, id)
	for _, v := range ids {
		waitFor(t, service, v, "in-use")
	}
	if n := plugged(t, dir, id, ids); n != 20 {
		t.Errorf("the guest has %d volumes\n%s", n, c.operations(t))
	}
	c.silent(t)
	for i, v := range ids {
		for range 1 + i%2 {
			group.Go(func() { c.detachVolume(t, id, v) })
		}
	}
	group.Wait()
	c.over(t, id)
	nothingLeft(t, service, ids)
	if n := plugged(t, dir, id, ids); n != 0 {
		t.Errorf("the guest has %d volumes", n)
	}
	if left, err := c.one(t.Context(), `SELECT EXISTS (SELECT FROM compute.block_devices WHERE server_id = $1)`, id); err != nil || left {
		t.Errorf("rows are left: %v", err)
	}
	c.silent(t)
}

// A delete that comes while volumes are being attached, one of them at work on
// the host, leaves none of them attached.
func TestAnchor25DeleteWhileVolumesAreAttached(t *testing.T) {
	t.Parallel()
	c, service, id, dir, _ := stored(t, `{"delay": "plug.device=2s"}`)
	ids := volumes(t, service, 4)
	for _, v := range ids {
		c.attachVolume(t, id, v)
	}
	c.eventually(t, "the first is at work", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT EXISTS (SELECT FROM engine.operations WHERE resource_id = $1 AND kind = $2 AND step = 'guest' AND finished_at IS NULL)`,
			id, operations.ServerAttachVolume)
	})
	c.delete(t, id)
	c.over(t, id)
	nothingLeft(t, service, ids)
	if left := guests(t, dir); len(left) != 0 {
		t.Errorf("guests are left: %v", left)
	}
	c.silent(t)
}

// The host's worker dies where it plugs a volume in, and where it takes one out: what was asked for is done when it is back, or was never there.
func TestAnchor25HostsDieWhileVolumesComeAndGo(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"plug.device", "unplug.device"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			c, service, id, dir, stop := stored(t, fmt.Sprintf(`{"delay": "%s=hang"}`, at))
			ids := volumes(t, service, 1)
			op := c.attachVolume(t, id, ids[0])
			if at[0] == 'u' {
				c.over(t, id)
				op = c.detachVolume(t, id, ids[0])
			}
			c.eventually(t, "it is at work", func(ctx context.Context) (bool, error) {
				return c.one(ctx, `SELECT step = 'guest' FROM engine.operations WHERE id = $1`, op)
			})
			time.Sleep(time.Second)
			stop()
			if err := os.WriteFile(filepath.Join(dir, "simulated.json"), []byte(`{}`), 0o600); err != nil {
				t.Fatal(err)
			}
			c.host(t, "h1", dir)
			c.over(t, id)
			want := 1
			if at[0] == 'u' {
				want = 0
			}
			if n := plugged(t, dir, id, ids); n != want {
				t.Errorf("the guest has %d volumes, want %d\n%s", n, want, c.operations(t))
			}
			waitFor(t, service, ids[0], map[int]string{0: "available", 1: "in-use"}[want])
			c.silent(t)
		})
	}
}

// Row 25 of the anchors, LP 2048837 and LP 1960401: two deletes of servers, and
// two detaches, at the same moment leave no attachment behind.
func TestAnchor25ConcurrentDetachAndDelete(t *testing.T) {
	t.Parallel()
	c, service, id, _, _ := stored(t, `{"delay": "unplug.device=300ms"}`)
	ids := volumes(t, service, 3)
	for _, v := range ids {
		c.attachVolume(t, id, v)
	}
	c.over(t, id)
	var group sync.WaitGroup
	for _, v := range ids {
		group.Go(func() { c.detachVolume(t, id, v) })
		group.Go(func() { c.detachVolume(t, id, v) })
	}
	group.Wait()
	c.delete(t, id)
	c.over(t, id)
	nothingLeft(t, service, ids)
	c.silent(t)
}

// Interfaces come and go: one of ours, and a user's own.
func TestInterfacesComeAndGo(t *testing.T) {
	t.Parallel()
	c, service, networkID := networked(t)
	dir := t.TempDir()
	c.host(t, "h1", dir)
	id := c.build(t)
	c.becomes(t, id, "active", 1)
	own := service.Want(201, "admin", "POST", "/v2.0/ports", `{"port":{"network_id":"`+networkID+`","name":"mine","tenant_id":"p"}}`).TextAt("port", "id")
	for _, port := range []compute.ServerPort{{ServerID: id, Ours: true, NetworkID: networkID}, {ServerID: id, PortID: own}} {
		var position int
		c.share(t, operations.ServerAttachInterface, id, steps.InterfaceInput{}, func(tx store.Tx) (*operations.Effect, error) {
			var err error
			position, err = compute.AddPort(t.Context(), tx, port)
			return &operations.Effect{Kind: operations.EffectPort, Ref: strconv.Itoa(position)}, err
		})
		c.over(t, id)
		rows, err := compute.ServerPorts(t.Context(), c.db.Pool, id)
		if err != nil || len(rows) != 1 || !rows[0].Bound || plugged(t, dir, id, []string{rows[0].PortID}) != 1 {
			t.Fatalf("%+v, %v\n%s", rows, err, c.operations(t))
		}
		c.silent(t)
		c.share(t, operations.ServerDetachInterface, id, steps.InterfaceInput{Position: position, PortID: rows[0].PortID}, nil)
		c.over(t, id)
		if left, err := compute.ServerPorts(t.Context(), c.db.Pool, id); err != nil || len(left) != 0 || plugged(t, dir, id, []string{rows[0].PortID}) != 0 {
			t.Errorf("%+v, %v\n%s", left, err, c.operations(t))
		}
		c.silent(t)
	}
	left := service.Want(200, "admin", "GET", "/v2.0/ports?network_id="+networkID, "")
	if all := left.At("ports").([]any); len(all) != 1 || left.TextAt("ports", 0, "device_id") != "" {
		t.Errorf("ports are left: %s", left.Text)
	}
}
