package workers_test

// Ports, with both roles, the database, the engine, and the development cloud's
// network service.

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/neutron"
	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/network"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// unplugged has every port down: the companion plugs at once, and builds would
// never wait.
func unplugged(service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		service.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(bytes.ReplaceAll(answer.Body.Bytes(), []byte(`"status":"ACTIVE"`), []byte(`"status":"DOWN"`)))
	})
}

// networked is a cloud with a network, and a client of its service. Neutron has
// ten minutes to plug a port: nothing here waits for so long, since it says when
// it has.
func networked(t *testing.T) (c *cloud, service *companiontest.Client, networkID string) {
	t.Helper()
	s := network.New(network.Config{Pool: companiontest.Pool(t, "network", network.Migrations()), Auth: companiontest.Callers{}, Log: companiontest.Log(t)})
	background(t, s.Run)
	service = companiontest.Serve(t, unplugged(s))
	networkID = service.Want(201, "admin", "POST", "/v2.0/networks", `{"network":{"name":"private","shared":true}}`).TextAt("network", "id")
	service.Want(201, "admin", "POST", "/v2.0/subnets", `{"subnet":{"network_id":"`+networkID+`","cidr":"10.0.0.0/24","ip_version":4}}`)
	c = newCloudWith(t, neutron.Options{PlugPatience: 10 * time.Minute, PlugFatal: true,
		Client: func(context.Context) (*gophercloud.ServiceClient, error) {
			return &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{TokenID: "admin"},
				Endpoint: service.Base + "/", ResourceBase: service.Base + "/v2.0/"}, nil
		}})
	return c, service, networkID
}

// plug says what Neutron says of every port of the server, as the API takes it.
func (c *cloud) plug(t *testing.T, id, status string) {
	t.Helper()
	rows, err := compute.ServerPorts(t.Context(), c.db.Pool, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		payload, err := json.Marshal(servers.ExternalEvent{Tag: row.PortID, Status: status})
		if err != nil {
			t.Fatal(err)
		}
		var operation string
		err = c.db.InTx(t.Context(), func(tx store.Tx) (err error) {
			operation, err = c.engine.Put(t.Context(), tx, engine.Event{Resource: operations.Server, ResourceID: id,
				Name: engine.NetworkVIFPlugged, SenderKey: row.PortID + " " + status, Payload: payload})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if operation != "" {
			c.knock(operation)
		}
	}
}

// bound waits until the server's ports are bound and its guest runs: the build
// waits for Neutron then, if it waits at all.
func (c *cloud) bound(t *testing.T, id, dir string) {
	t.Helper()
	c.eventually(t, "ports and guest are there", func(ctx context.Context) (bool, error) {
		bound, err := c.one(ctx, `SELECT count(*) = 2 FROM compute.server_ports WHERE server_id = $1 AND bound`, id)
		return bound && len(guests(t, dir)) == 1 && guests(t, dir)[0].PowerState == 1, err
	})
}

func (c *cloud) gone(t *testing.T, service *companiontest.Client, networkID, id string) {
	t.Helper()
	left := service.Want(200, "admin", "GET", "/v2.0/ports?device_id="+id, "")
	if len(left.At("ports").([]any)) != 0 {
		t.Errorf("ports of the server are left: %s", left.Text)
	}
	if all := service.Want(200, "admin", "GET", "/v2.0/ports?network_id="+networkID, ""); len(all.At("ports").([]any)) != 0 {
		t.Errorf("ports are left: %s", all.Text)
	}
}

// A server gets its ports, runs once Neutron has plugged them, and takes them
// along when it goes.
func TestServersHavePorts(t *testing.T) {
	t.Parallel()
	c, service, networkID := networked(t)
	dir := t.TempDir()
	c.host(t, "h1", dir)
	id := c.build(t, compute.ServerPort{Ours: true, NetworkID: networkID}, compute.ServerPort{Ours: true, NetworkID: networkID, FixedIP: "10.0.0.77"})
	c.bound(t, id, dir)
	c.plug(t, id, "completed")
	c.becomes(t, id, "active", 1)
	s, err := compute.GetServer(t.Context(), c.db.Pool, "p", id)
	if err != nil || len(s.Ports) != 2 || s.Ports[1].FixedIPs[0].Address != "10.0.0.77" || s.Ports[0].NetworkName != "private" {
		t.Errorf("its ports are %+v (%v)", s.Ports, err)
	}
	c.silent(t)
	c.delete(t, id)
	c.eventually(t, "deleted", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT deleted_at IS NOT NULL AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
	})
	c.gone(t, service, networkID, id)
	c.silent(t)
}

// Neutron can't plug a port: the build fails, and nothing of it stays.
func TestPortsThatCannotBePlugged(t *testing.T) {
	t.Parallel()
	c, service, networkID := networked(t)
	dir := t.TempDir()
	c.host(t, "h1", dir)
	id := c.build(t, compute.ServerPort{Ours: true, NetworkID: networkID}, compute.ServerPort{Ours: true, NetworkID: networkID})
	c.bound(t, id, dir)
	c.plug(t, id, "failed")
	c.becomes(t, id, "error", 0)
	if told, err := c.one(t.Context(), `SELECT message = 'Build of instance ' || server_id || ' aborted: Failed to allocate the network(s), not rescheduling.'
		AND code = 500 FROM compute.server_faults WHERE server_id = $1`, id); err != nil || !told {
		t.Errorf("the fault is another: %v", err)
	}
	if got := guests(t, dir); len(got) != 0 {
		t.Errorf("guests %+v, want none", got)
	}
	c.gone(t, service, networkID, id)
	c.silent(t)
}

// A server is deleted while its build waits for Neutron.
func TestDeleteWhileNeutronIsWaitedFor(t *testing.T) {
	t.Parallel()
	c, service, networkID := networked(t)
	dir := t.TempDir()
	c.host(t, "h1", dir)
	id := c.build(t, compute.ServerPort{Ours: true, NetworkID: networkID}, compute.ServerPort{Ours: true, NetworkID: networkID})
	c.bound(t, id, dir)
	c.delete(t, id)
	c.eventually(t, "deleted", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT deleted_at IS NOT NULL AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
	})
	if got := guests(t, dir); len(got) != 0 {
		t.Errorf("guests %+v, want none", got)
	}
	c.gone(t, service, networkID, id)
	c.silent(t)
}
