package network

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/activitytest"
	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/dev/companions/companiontest"
	neutron "holdfast.dev/dev/companions/network"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// The node's ports: one that boots, and one that doesn't.
const (
	nic, nicMAC     = "11111111-1111-4111-8111-111111111101", "52:54:00:00:00:01"
	other, otherMAC = "11111111-1111-4111-8111-111111111102", "52:54:00:00:00:02"
)

// works are those that a ramdisk has a network for.
var works = []steps.NodeNetwork{steps.NetworkCleaning, steps.NetworkProvisioning, steps.NetworkRescuing, steps.NetworkInspection, steps.NetworkServicing}

// world is a node with an operation on it, a Neutron, and a port there that is to be the
// node's instance's.
type world struct {
	*bmctest.World
	neutron *companiontest.Client
	names   map[string]string // of Neutron's networks, by their ids
	vif     string
	usual   nodes.Networks
	first   *nodes.FirstStage
	// lose has the answer of that call to Neutron be lost, from 0; -1 none.
	lose, calls int
}

func newWorld(t *testing.T, kind string, change ...func(*baremetal.Node)) *world {
	t.Helper()
	w := &world{names: map[string]string{}, lose: -1, usual: nodes.Networks{Usual: map[steps.NodeNetwork]string{}, MustBind: true}}
	service := neutron.New(neutron.Config{Pool: companiontest.Pool(t, "network", neutron.Migrations()), Auth: companiontest.Callers{}, Log: companiontest.Log(t)})
	w.neutron = companiontest.Serve(t, service)
	w.World = bmctest.New(t, sim.Options{Pace: time.Millisecond}, func(b *bmctest.World, _ map[string]any) {
		b.Kind = operations.NodeDeploy
		media := nodes.BootVirtualMedia
		b.Node.NetworkInterface, b.Node.BootInterface = &kind, &media
		for _, f := range change {
			f(b.Node)
		}
	})
	for i, name := range append(slices.Clone(works), "tenant") {
		physical := ""
		if name == "tenant" {
			physical = `, "provider:network_type": "flat", "provider:physical_network": "physnet1"`
		}
		id := w.network(string(name), physical)
		w.neutron.Want(201, "admin", "POST", "/v2.0/subnets", fmt.Sprintf(`{"subnet": {"network_id": %q, "ip_version": 4, "cidr": "10.%d.0.0/24"}}`, id, i))
		w.usual.Usual[name] = string(name)
		if name == "tenant" {
			w.vif = w.neutron.Want(201, "demo", "POST", "/v2.0/ports", fmt.Sprintf(`{"port": {"network_id": %q}}`, id)).TextAt("port", "id")
		}
	}
	w.port(nic, nicMAC, func(p *baremetal.Port) { p.PXEEnabled = true })
	return w
}

// network makes one that is everybody's.
func (w *world) network(name, more string) string {
	w.Helper()
	id := w.neutron.Want(201, "admin", "POST", "/v2.0/networks", fmt.Sprintf(`{"network": {"name": %q, "shared": true%s}}`, name, more)).TextAt("network", "id")
	w.names[id] = name
	return id
}

// port gives the node one.
func (w *world) port(id, address string, change func(*baremetal.Port)) {
	w.Helper()
	p := &baremetal.Port{UUID: id, NodeUUID: bmctest.Node, Address: address, LocalLinkConnection: json.RawMessage(`{"switch_id": "s", "port_id": "p"}`),
		Extra: json.RawMessage(`{}`), InternalInfo: json.RawMessage(`{}`)}
	change(p)
	computetest.InTx(w.T, w.DB, func(tx store.Tx) error { return baremetal.Ports.Create(w.Context(), tx, p) })
}

// bears has the node's port bear the VIF already.
func (w *world) bears() *world {
	w.exec(`UPDATE baremetal.ports SET internal_info = jsonb_build_object('tenant_vif_port_id', $1::text) WHERE uuid = '`+nic+`'`, w.vif)
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.DB.Pool.Exec(w.Context(), sql, args...); err != nil {
		w.Fatal(err)
	}
}

// RoundTrip is a connection to Neutron, on which an answer may be lost.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if w.calls++; err == nil && w.calls-1 == w.lose {
		_ = answer.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return answer, err
}

// activities are those of a new process.
func (w *world) activities(db *store.DB) *Activities {
	client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{TokenID: "admin", HTTPClient: http.Client{Transport: w}},
		Endpoint: w.neutron.Base + "/", ResourceBase: w.neutron.Base + "/v2.0/"}
	return New(db, bmctest.Engine(db), w.Box, Options{Client: func(context.Context) (*gophercloud.ServiceClient, error) { return client, nil },
		Networks: w.usual, FirstStage: w.first, Poll: 10 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
}

func (w *world) switches(to steps.NodeNetwork) func(*Activities) error {
	return func(a *Activities) error {
		_, err := a.Switch(w.Context(), steps.NetworkIn{Fence: w.Fence, To: to})
		return err
	}
}

func (w *world) attaches(ask steps.NodeCommandInput) func(*Activities) error {
	ask.Command = steps.AttachVIF
	return func(a *Activities) error {
		_, err := a.Attach(w.Context(), steps.NetworkVIFIn{Fence: w.Fence, Ask: ask})
		return err
	}
}

func (w *world) detaches() func(*Activities) error {
	return func(a *Activities) error {
		_, err := a.Detach(w.Context(), steps.NetworkVIFIn{Fence: w.Fence, Ask: steps.NodeCommandInput{Command: steps.DetachVIF, VIF: w.vif}})
		return err
	}
}

// has says what Neutron has: each port by its network, whether it was made for the node or
// is bound to it, whether it is told where the node is wired to, and says how the node boots.
func (w *world) has() []string {
	w.Helper()
	all := []string{}
	for _, one := range w.neutron.Want(200, "admin", "GET", "/v2.0/ports", "").At("ports").([]any) {
		p := one.(map[string]any)
		said := w.names[p["network_id"].(string)]
		mac := p["mac_address"] == nicMAC || p["mac_address"] == otherMAC
		switch host := p["binding:host_id"]; {
		case host == "" && !mac && len(p["binding:profile"].(map[string]any)) == 0:
		case host == bmctest.Node && mac && p["binding:vnic_type"] == "baremetal" && p["status"] == "ACTIVE":
			said += " bound"
		default:
			w.Errorf("a port that is neither bound nor free: %v", p)
		}
		if p["device_owner"] == "baremetal:none" && p["device_id"] == bmctest.Node {
			said += " made"
		}
		if p["binding:profile"].(map[string]any)["local_link_information"] != nil {
			said += " told"
		}
		if ips := p["fixed_ips"].([]any); len(ips) == 0 {
			said += " mute"
		}
		if len(p["extra_dhcp_opts"].([]any)) > 0 {
			said += " boots"
		}
		all = append(all, said)
	}
	slices.Sort(all)
	return all
}

func (w *world) wants(what string, want ...string) {
	w.Helper()
	if got := w.has(); !slices.Equal(got, want) {
		w.Errorf("%s: Neutron has %q, not %q", what, got, want)
	}
}

// noted is what the row of the node's port knows of ports of Neutron.
func (w *world) noted() map[string]any {
	w.Helper()
	p, err := baremetal.Ports.Find(w.Context(), w.DB.Pool, nic, false)
	known := map[string]any{}
	if err == nil {
		err = json.Unmarshal(p.InternalInfo, &known)
	}
	if err != nil {
		w.Fatal(err)
	}
	return known
}

// at is what Neutron has when a node is in a place, by its network interface.
func at(kind string, place steps.NodeNetwork) []string {
	ramdisk := slices.Contains(works, place) && (kind == "neutron" || place == steps.NetworkCleaning || place == steps.NetworkInspection)
	switch {
	case ramdisk:
		all := []string{string(place) + " bound made told", "tenant"}
		slices.Sort(all)
		return all
	case place == steps.NetworkNone:
		return []string{"tenant"}
	case kind == "neutron":
		return []string{"tenant bound told"}
	}
	return []string{"tenant bound"}
}

// A node comes from each place to each other, and is nowhere else.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"flat", "neutron"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind).bears()
			places := append(slices.Clone(works), steps.NetworkTenant, steps.NetworkNone)
			for _, from := range places {
				for _, to := range places {
					for _, place := range []steps.NodeNetwork{from, to} {
						if err := w.switches(place)(w.activities(w.DB)); err != nil {
							t.Fatalf("from %s to %s: %v", from, to, err)
						}
					}
					w.wants(fmt.Sprintf("from %s to %s", from, to), at(kind, to)...)
					noted := w.noted()
					made := len(at(kind, to)) == 2
					if _, is := noted[string(to)+"_vif_port_id"]; noted["tenant_vif_port_id"] != w.vif || is != (made || to == steps.NetworkTenant) || len(noted) > 1 != made {
						t.Errorf("at %s the row knows %v", to, noted)
					}
				}
			}
		})
	}
}

// act is a step that is about to be done, how what it does is taken back, and what Neutron
// has once it is done.
type act struct {
	*world
	do, back func(*Activities) error
	want     []string
}

// acts are those of each step.
func acts() map[string]func(*testing.T) act {
	all := map[string]func(*testing.T) act{}
	for _, kind := range []string{"flat", "neutron"} {
		for name, way := range map[string][2]steps.NodeNetwork{"a ramdisk": {steps.NetworkTenant, steps.NetworkCleaning}, "an instance": {steps.NetworkCleaning, steps.NetworkTenant},
			"nobody": {steps.NetworkTenant, steps.NetworkNone}} {
			all["network.Switch of "+kind+" for "+name] = func(t *testing.T) act {
				w := newWorld(t, kind).bears()
				return act{w, w.switches(way[1]), w.switches(way[0]), at(kind, way[1])}
			}
		}
	}
	for kind, boots := range map[string][]string{"flat": {"tenant bound boots"}, "neutron": {"provisioning bound made told boots", "tenant"}} {
		for name, way := range map[string]struct {
			from, to steps.NodeNetwork
			want     []string
		}{"a ramdisk": {steps.NetworkTenant, steps.NetworkProvisioning, boots}, "an instance": {steps.NetworkProvisioning, steps.NetworkTenant, at(kind, steps.NetworkTenant)},
			"nobody": {steps.NetworkProvisioning, steps.NetworkNone, []string{"tenant"}}} {
			all["network.Switch of "+kind+" that boots for "+name] = func(t *testing.T) act {
				w := newWorld(t, kind, startsBy("ipxe", "uefi")).bears()
				w.first = &firstStage
				return act{w, w.switches(way.to), w.switches(way.from), way.want}
			}
		}
	}
	attach := func(t *testing.T, state provision.State, want string) act {
		w := newWorld(t, "neutron", func(n *baremetal.Node) { n.ProvisionState = state })
		return act{w, w.attaches(steps.NodeCommandInput{VIF: w.vif}), w.detaches(), []string{want}}
	}
	all["network.Attach"] = func(t *testing.T) act { return attach(t, provision.Available, "tenant bound") }
	all["network.Attach to what runs"] = func(t *testing.T) act { return attach(t, provision.Active, "tenant bound told") }
	all["network.Detach"] = func(t *testing.T) act {
		a := attach(t, provision.Active, "tenant")
		a.do, a.back = a.back, a.do
		return a
	}
	return all
}

// Acts: each step is done twice, killed before each of its round trips to the database and
// done again, and done again when Neutron has done what it was asked, and nobody knows.
func TestActs(t *testing.T) {
	t.Parallel()
	activitytest.Covers(t, "network", "network.Switch", "network.Attach", "network.Detach")
	for name, ready := range acts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := ready(t)
			again := func(what string, do func(*Activities) error) {
				t.Helper()
				if err := do(a.activities(a.DB)); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			again("before", a.back)
			a.Kill(func(db *store.DB) error { return a.do(a.activities(db)) })
			a.wants("killed", a.want...)
			again("twice", a.do)
			a.wants("twice", a.want...)
			for at := 0; ; at++ {
				again("back", a.back)
				a.calls, a.lose = 0, at
				err := a.do(a.activities(a.DB))
				unheard := a.calls > at
				a.lose = -1
				if unheard != faults.Is(err, faults.Unavailable) {
					t.Errorf("call %d: %v", at, err)
				}
				if !unheard {
					break
				}
				again("unheard", a.do)
				a.wants(fmt.Sprintf("call %d", at), a.want...)
			}
		})
	}
}

// What can't be is refused in the original's words, and leaves nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const gone = "5f0c8b9e-6a3d-4f43-9a51-0c2b7f0e1d99"
	for name, c := range map[string]struct {
		kind  string
		ready func(*world)
		do    func(*world) func(*Activities) error
		fault faults.Kind
		text  string
	}{
		"a network that is named nowhere": {"neutron", func(w *world) { delete(w.usual.Usual, steps.NetworkServicing) }, func(w *world) func(*Activities) error { return w.switches(steps.NetworkServicing) },
			faults.Invalid, "UUID or name of servicing network is not set in configuration or in node driver_info."},
		"a network that isn't there": {"flat", func(w *world) { w.usual.Usual[steps.NetworkCleaning] = "nowhere" }, func(w *world) func(*Activities) error { return w.switches(steps.NetworkCleaning) },
			faults.Invalid, "cleaning_network with name or UUID nowhere was not found"},
		"a name of several": {"flat", func(w *world) { w.network("cleaning", "") }, func(w *world) func(*Activities) error { return w.switches(steps.NetworkCleaning) },
			faults.Invalid, "More than one cleaning_network was found for name cleaning: "},
		"a group that isn't there": {"neutron", func(w *world) { w.usual.SecurityGroups = map[steps.NodeNetwork][]string{steps.NetworkRescuing: {gone}} },
			func(w *world) func(*Activities) error { return w.switches(steps.NetworkRescuing) }, faults.Invalid,
			"Could not find these security groups (specified via ironic config) in neutron: ['" + gone + "']"},
		"a node without ports": {"neutron", func(w *world) { w.exec(`DELETE FROM baremetal.ports`) }, func(w *world) func(*Activities) error { return w.switches(steps.NetworkProvisioning) },
			faults.Conflict, "No available ports on node " + bmctest.Node + "."},
		"a node without ports for an instance": {"neutron", func(w *world) { w.exec(`DELETE FROM baremetal.ports`) }, func(w *world) func(*Activities) error { return w.switches(steps.NetworkTenant) },
			faults.Conflict, "No ports are associated with node " + bmctest.Node},
		"a port that is wired to nothing": {"neutron", func(w *world) { w.exec(`UPDATE baremetal.ports SET local_link_connection = '{}'`) },
			func(w *world) func(*Activities) error { return w.switches(steps.NetworkProvisioning) }, faults.Conflict, "Failed to create neutron ports for node's " + bmctest.Node + " ports [" + nic + "]."},
		"an instance without VIFs": {"neutron", func(*world) {}, func(w *world) func(*Activities) error { return w.switches(steps.NetworkTenant) },
			faults.Conflict, "No neutron ports or portgroups are associated with node " + bmctest.Node},
		"an instance without VIFs on a flat network": {"flat", func(*world) {}, func(w *world) func(*Activities) error { return w.switches(steps.NetworkProvisioning) },
			faults.Conflict, "Failed to bind any flat network ports for node " + bmctest.Node},
		"a VIF that is gone": {"flat", func(w *world) { w.vif = gone; w.bears() }, func(w *world) func(*Activities) error { return w.switches(steps.NetworkTenant) },
			faults.Conflict, "Unable to set binding:host_id for neutron port " + gone + ". Error: "},
		"a VIF that isn't there": {"flat", func(*world) {}, func(w *world) func(*Activities) error { return w.attaches(steps.NodeCommandInput{VIF: gone}) },
			faults.Invalid, "Neutron port " + gone + " was not found"},
		"a VIF that is no id": {"flat", func(*world) {}, func(w *world) func(*Activities) error { return w.attaches(steps.NodeCommandInput{VIF: "../networks"}) },
			faults.Invalid, "Neutron port ../networks was not found"},
		"a VIF of another physical network": {"flat", func(w *world) { w.exec(`UPDATE baremetal.ports SET physical_network = 'physnet2'`) },
			func(w *world) func(*Activities) error { return w.attaches(steps.NodeCommandInput{VIF: w.vif}) }, faults.Invalid, "not enough free physical ports."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.kind)
			c.ready(w)
			err := c.do(w)(w.activities(w.DB))
			if !faults.Is(err, c.fault) || !strings.Contains(faults.As(err).Message, c.text) {
				t.Errorf("%v", err)
			}
			w.wants(name, "tenant")
		})
	}
}

// A node that isn't booted by its ports has one of Neutron for each, those that don't boot
// without an address; one that is, only for those that boot, unless all are asked for.
func TestWhichPorts(t *testing.T) {
	t.Parallel()
	one, both := []string{"cleaning bound made told", "tenant"}, []string{"cleaning bound made told", "cleaning bound made told mute", "tenant"}
	for name, c := range map[string]struct {
		boot string
		all  bool
		want []string
	}{
		"by media": {nodes.BootVirtualMedia, false, both}, "by PXE": {"ipxe", false, one}, "by PXE, and all": {"ipxe", true, both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "flat", func(n *baremetal.Node) { n.BootInterface = &c.boot })
			w.port(other, otherMAC, func(*baremetal.Port) {})
			w.usual.AllPorts = c.all
			if err := w.switches(steps.NetworkCleaning)(w.activities(w.DB)); err != nil {
				t.Fatal(err)
			}
			w.wants(name, c.want...)
		})
	}
}

// A node's driver_info names its own networks, and a network by its id.
func TestNamedByTheNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "neutron")
	w.exec(`UPDATE baremetal.nodes SET driver_info = driver_info || jsonb_build_object('cleaning_network', $1::text)`, w.network("mine", ""))
	if err := w.switches(steps.NetworkCleaning)(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	w.wants("its own", "mine bound made told mute", "tenant")
}

// A VIF goes where it can be: to a group rather than a port, with the wiring of all its
// ports, and not to a port of which nobody asked.
func TestAGroup(t *testing.T) {
	t.Parallel()
	const group = "22222222-2222-4222-8222-222222222201"
	w := newWorld(t, "neutron", func(n *baremetal.Node) { n.ProvisionState = provision.Active })
	w.exec(`INSERT INTO baremetal.portgroups (uuid, node_uuid, address, mode, properties) VALUES ('` + group + `', '` + bmctest.Node + `', '` + otherMAC + `', '802.3ad', '{"miimon": 100}')`)
	w.port(other, "52:54:00:00:00:03", func(p *baremetal.Port) { p.PortgroupUUID, p.PhysicalNetwork = new(group), new("physnet1") })
	if err := w.attaches(steps.NodeCommandInput{VIF: w.vif})(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	w.wants("borne by the group", "tenant bound told")
	profile := w.neutron.Want(200, "admin", "GET", "/v2.0/ports/"+w.vif, "").At("port", "binding:profile").(map[string]any)
	if about, _ := profile["local_group_information"].(map[string]any); about["id"] != group || about["bond_mode"] != "802.3ad" || fmt.Sprint(about["bond_properties"]) != "map[bond_miimon:100]" {
		t.Errorf("%v", profile)
	}
	if err := w.detaches()(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	w.wants("given up", "tenant")
}

// One whose operation has lost its node changes nothing.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "flat")
	w.Fence.Generation--
	for _, do := range []func(*Activities) error{w.switches(steps.NetworkCleaning), w.attaches(steps.NodeCommandInput{VIF: w.vif}), w.detaches()} {
		if err := do(w.activities(w.DB)); !faults.Is(err, faults.Superseded) {
			t.Errorf("%v", err)
		}
	}
	w.wants("untouched", "tenant")
}

// A node without networks has none changed.
func TestNoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "noop")
	if err := w.switches(steps.NetworkCleaning)(w.activities(w.DB)); err != nil || w.calls > 0 {
		t.Errorf("%d calls, %v", w.calls, err)
	}
}

// What is owed is paid once Neutron lets that be done: nothing is left of a ramdisk's
// network, and a node whose instance runs is on the networks of that.
func TestADebt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change string
		want   []string
	}{
		"a node that failed":      {`UPDATE baremetal.nodes SET provision_state = 'deploy failed'`, []string{"tenant"}},
		"a node that runs":        {`UPDATE baremetal.nodes SET provision_state = 'active'`, []string{"tenant bound told"}},
		"a node that is gone":     {`DELETE FROM baremetal.nodes`, []string{"tenant"}},
		"one of another network":  {`UPDATE baremetal.nodes SET network_interface = 'noop'`, []string{"tenant"}},
		"one that bears no VIF":   {`UPDATE baremetal.ports SET internal_info = '{}'`, []string{"tenant"}},
		"an instance without VIF": {`WITH p AS (UPDATE baremetal.ports SET internal_info = '{}') UPDATE baremetal.nodes SET provision_state = 'active'`, []string{"tenant"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "neutron").bears()
			if err := w.switches(steps.NetworkCleaning)(w.activities(w.DB)); err != nil {
				t.Fatal(err)
			}
			d := w.Owes(operations.EffectNetwork)
			w.exec(c.change)
			w.calls, w.lose = 0, 1
			if err := w.activities(w.DB).Pay(t.Context(), d); !faults.Is(err, faults.Unavailable) {
				t.Errorf("%v", err)
			}
			w.lose = -1
			w.Kill(func(db *store.DB) error { return w.activities(db).Pay(t.Context(), d) })
			if err := w.activities(w.DB).Pay(t.Context(), d); err != nil {
				t.Errorf("paid again: %v", err)
			}
			w.wants(name, c.want...)
			w.Paid(d)
		})
	}
}

// A node that an operation has is left to it.
func TestADebtOfANodeThatIsHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "neutron").bears()
	if err := w.switches(steps.NetworkCleaning)(w.activities(w.DB)); err != nil {
		t.Fatal(err)
	}
	d := w.Owes(operations.EffectNetwork)
	w.Begin()
	if err := w.activities(w.DB).Pay(t.Context(), d); !faults.Is(err, faults.Unavailable) {
		t.Errorf("%v", err)
	}
	w.wants("held", at("neutron", steps.NetworkCleaning)...)
}
