package leftovers_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/leftovers"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// world is a cloud with the audit over it.
type world struct {
	*testing.T
	cloud         *companiontest.Cloud
	db            *store.DB
	engine        *engine.Engine
	token         string
	network       string
	probes        []engine.Probe
	ports, volume *companiontest.Client
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, cloud: companiontest.Start(t), db: computetest.Open(t)}
	w.engine = engine.New(w.db, compute.Resource())
	w.token, _, _ = w.cloud.Login(t, "demo")
	w.ports, w.volume = w.cloud.At(t, w.cloud.Network), w.cloud.At(t, w.cloud.Volume)
	w.network = w.ports.Want(201, w.token, "POST", "/v2.0/networks", `{"network":{"name":"n"}}`).TextAt("network", "id")
	w.probes = leftovers.Probes(w.db, openstack.NewSession(openstack.Options{AuthURL: w.cloud.Identity, Username: "holdfast", UserDomain: "Default",
		Password: w.cloud.Password("holdfast"), Project: "service", ProjectDomain: "Default", Region: companiontest.Region}))
	return w
}

// port makes one of a name, volume does too.
func (w *world) port(name string) string {
	w.Helper()
	return w.ports.Want(201, w.token, "POST", "/v2.0/ports", `{"port":{"network_id":"`+w.network+`","name":"`+name+`"}}`).TextAt("port", "id")
}

func (w *world) disk(name string) string {
	w.Helper()
	id := w.volume.Want(202, w.token, "POST", "/v3/volumes", `{"volume":{"size":1,"name":"`+name+`"}}`).TextAt("volume", "id")
	for w.volume.Want(200, w.token, "GET", "/v3/volumes/"+id, "").TextAt("volume", "status") != "available" {
		time.Sleep(20 * time.Millisecond)
	}
	return id
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.db.Pool.Exec(w.Context(), sql, args...); err != nil {
		w.Fatal(err)
	}
}

// server is one that is settled, with a row for a port and one for a volume.
func (w *world) server() string {
	w.Helper()
	id := computetest.AddServer(w.T, w.db, "p").ID
	computetest.InTx(w, w.db, func(tx store.Tx) error {
		if err := compute.InsertServerPorts(w.Context(), tx, id, []compute.ServerPort{{Ours: true, NetworkID: w.network}}); err != nil {
			return err
		}
		return compute.InsertBlockDevices(w.Context(), tx, id, []compute.BlockDevice{{SourceType: "blank", DestinationType: "volume", VolumeSizeGB: 1, DeleteOnTermination: true}})
	})
	return id
}

// operation is one of a server, as finished as it says, with a line in its ledger.
func (w *world) operation(server string, finished bool, effect operations.EffectKind, state operations.EffectState) {
	w.Helper()
	id := operations.NewID(operations.ServerDelete, server, time.Now())
	w.exec(`INSERT INTO engine.operations (id, kind, resource_type, resource_id, deadline, finished_at, result)
		VALUES ($1, 'server.delete', 'server', $2, now(), CASE WHEN $3 THEN now() END, CASE WHEN $3 THEN 'done' END)`,
		id, server, finished)
	w.exec(`INSERT INTO engine.operation_effects (operation_id, seq, kind, ref, generation, state) VALUES ($1, 1, $2, $3, 1, $4)`, id, effect, server, state)
}

func (w *world) found() map[string]string {
	w.Helper()
	found := map[string]string{}
	for _, p := range w.probes {
		all, err := p.Run(w.Context(), w.db.Pool)
		if err != nil {
			w.Fatal(err)
		}
		for _, f := range all {
			found[f.Subject] = p.Name + ": " + f.Detail
		}
	}
	return found
}

// What bears a mark is accounted for by the server's rows, by an operation or by
// a debt; anything else is left over, and stays where it is.
func TestLeftOvers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := map[string]string{}
	left := func(id, probe, server, why string) {
		want[id] = probe + ": made for server " + server + ", which " + why
	}

	w.port("mine")
	w.port("holdfast-1")
	w.disk("holdfast-" + uuid.NewString())

	nobody := uuid.NewString()
	left(w.port(openstack.Mark(nobody, 0)), "port-left-over", nobody, "is not there")
	w.disk(openstack.Mark(nobody, 0)) // a user's, whose server was purged

	has := w.server()
	w.exec(`UPDATE compute.server_ports SET port_id = $2, bound = true WHERE server_id = $1`, has, w.port(openstack.Mark(has, 0)))
	w.exec(`UPDATE compute.block_devices SET volume_id = $2, ours = true WHERE server_id = $1`, has, w.disk(openstack.Mark(has, 0)))
	left(w.port(openstack.Mark(has, 1)), "port-left-over", has, "does not have it")
	left(w.disk(openstack.Mark(has, 0)), "volume-left-over", has, "does not have it")

	gone := w.server()
	w.exec(`UPDATE compute.servers SET deleted_at = now() WHERE id = $1`, gone)
	left(w.port(openstack.Mark(gone, 0)), "port-left-over", gone, "is deleted")
	left(w.disk(openstack.Mark(gone, 0)), "volume-left-over", gone, "is deleted")
	kept := w.server()
	w.exec(`UPDATE compute.servers SET deleted_at = now() WHERE id = $1`, kept)
	w.exec(`UPDATE compute.block_devices SET delete_on_termination = false WHERE server_id = $1`, kept)
	w.disk(openstack.Mark(kept, 0))

	busy := w.server()
	w.operation(busy, false, operations.EffectGuest, operations.Intended)
	w.port(openstack.Mark(busy, 0))
	w.disk(openstack.Mark(busy, 0))
	for effect, make := range map[operations.EffectKind]func(string) string{operations.EffectPorts: w.port, operations.EffectVolumes: w.disk} {
		owing, paid := w.server(), w.server()
		w.operation(owing, true, effect, operations.Owed)
		make(openstack.Mark(owing, 0))
		w.operation(paid, true, effect, operations.Undone)
		probe := map[operations.EffectKind]string{operations.EffectPorts: "port-left-over", operations.EffectVolumes: "volume-left-over"}[effect]
		left(make(openstack.Mark(paid, 0)), probe, paid, "does not have it")
	}

	for range 2 {
		if got := w.found(); !maps.Equal(got, want) {
			t.Errorf("found\n%v\nwant\n%v", got, want)
		}
	}
}

// A port that was made for a node's ramdisk is accounted for by the node's operation or a
// debt, one that is bound to a node by what bears it. Nodes of others are others'.
func TestPortsOfNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, _, _ := w.cloud.Login(t, "admin")
	port := func(more string) string {
		return w.ports.Want(201, admin, "POST", "/v2.0/ports", `{"port":{"network_id":"`+w.network+`",`+more+`}}`).TextAt("port", "id")
	}
	made := func(node string) string { return port(`"device_owner":"baremetal:none","device_id":"` + node + `"`) }
	bound := func(node string) string {
		return port(`"binding:vnic_type":"baremetal","binding:host_id":"` + node + `"`)
	}
	node := func(operation bool) string {
		id := uuid.NewString()
		w.exec(`INSERT INTO baremetal.nodes (uuid, driver, provision_state) VALUES ($1, 'redfish', 'available')`, id)
		if operation {
			w.operation(id, false, operations.EffectNetwork, operations.Intended)
			w.exec(`UPDATE baremetal.nodes SET operation_id = (SELECT id FROM engine.operations WHERE resource_id = $1) WHERE uuid = $1`, id)
		}
		return id
	}
	want := map[string]string{}
	idle, busy, owing, foreign := node(false), node(true), node(false), uuid.NewString()
	want[made(idle)] = "node-port-left-over: made for a ramdisk of node " + idle
	want[bound(idle)] = "node-port-left-over: bound to node " + idle + ", which doesn't bear it"
	w.exec(`INSERT INTO baremetal.ports (uuid, node_uuid, address, internal_info) VALUES (gen_random_uuid(), $1, '52:54:00:00:00:01', jsonb_build_object('tenant_vif_port_id', $2::text))`, idle, bound(idle))
	w.exec(`INSERT INTO baremetal.portgroups (uuid, node_uuid, internal_info) VALUES (gen_random_uuid(), $1, jsonb_build_object('tenant_vif_port_id', $2::text))`, idle, bound(idle))
	w.exec(`UPDATE compute.server_ports SET port_id = $2 WHERE server_id = $1`, w.server(), bound(idle))
	made(busy)
	bound(busy)
	w.operation(owing, true, operations.EffectNetwork, operations.Owed)
	made(owing)
	made(foreign)
	bound(foreign)
	for range 2 {
		if got := w.found(); !maps.Equal(got, want) {
			t.Errorf("found\n%v\nwant\n%v", got, want)
		}
	}
}

// What is made or goes while the audit looks is no finding.
func TestWhatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	made := compute.Made{ID: "p", ServerID: uuid.NewString()}
	probe := leftovers.Probes(db, &answers{[]compute.Made{made, {ID: "q", ServerID: made.ServerID}}, []compute.Made{{ID: "q", ServerID: made.ServerID}}})[0]
	found, err := probe.Run(t.Context(), db.Pool)
	if err != nil || len(found) != 1 || found[0].Subject != "q" {
		t.Errorf("%+v, %v", found, err)
	}
}

// answers are what a service lists, one after the other.
type answers [][]compute.Made

func (a *answers) MarkedPorts(context.Context) ([]compute.Made, error) {
	first := (*a)[0]
	*a = slices.Delete(*a, 0, 1)
	return first, nil
}
func (a *answers) NodePorts(context.Context) ([]baremetal.NetworkPort, error) { return nil, nil }
func (a *answers) MarkedVolumes(ctx context.Context) ([]compute.Made, error) {
	return a.MarkedPorts(ctx)
}

// A service that can't be asked is said, and a cloud without services has
// nothing left over.
func TestServicesThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	down := openstack.NewSession(openstack.Options{AuthURL: "http://127.0.0.1:1/v3", Username: "u", UserDomain: "Default", Password: "p", Project: "p", ProjectDomain: "Default"})
	for _, p := range leftovers.Probes(db, down) {
		if found, err := p.Run(t.Context(), db.Pool); err != nil || len(found) != 1 || found[0].Detail != "it can't be asked: the service user can't log in" {
			t.Errorf("%s: %+v, %v", p.Name, found, err)
		}
	}
	for _, p := range leftovers.Probes(db, nil) {
		if found, err := p.Run(t.Context(), db.Pool); err != nil || len(found) != 0 {
			t.Errorf("%s: %+v, %v", p.Name, found, err)
		}
	}
}
