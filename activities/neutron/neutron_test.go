package neutron_test

// Every step: done twice, cut off at each of its calls and done again, refused.

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/neutron"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// world is a server that is being built, with the steps and their Neutron.
type world struct {
	*testing.T
	*fake
	db     *store.DB
	engine *engine.Engine
	a      *neutron.Activities
	client *gophercloud.ServiceClient
	server string
	host   string
	fence  steps.Fence
}

func newWorld(t *testing.T, host string, ports ...compute.ServerPort) *world {
	t.Helper()
	return newWorldOf(t, "p", host, ports...)
}

func newWorldOf(t *testing.T, project, host string, ports ...compute.ServerPort) *world {
	t.Helper()
	f, client := newFake(t)
	w := &world{T: t, fake: f, client: client, db: computetest.Open(t)}
	e := engine.New(w.db, compute.Resource())
	w.engine = e
	w.a = neutron.New(w.db, e, neutron.Options{
		Client:       func(context.Context) (*gophercloud.ServiceClient, error) { return w.client, nil },
		PlugPatience: time.Minute, PlugFatal: true, RefreshAfter: time.Minute, Heartbeat: func(context.Context) {},
	})
	w.host = computetest.AddHost(t, w.db, host, computetest.Room)
	s := computetest.AddServer(t, w.db, project)
	w.server = s.ID
	computetest.InTx(t, w.db, func(tx store.Tx) error {
		if err := compute.InsertServerPorts(t.Context(), tx, s.ID, ports); err != nil {
			return err
		}
		accepted, err := e.Accept(t.Context(), tx, engine.Request{Kind: operations.ServerBuild, ResourceID: s.ID, ProjectID: project})
		if err != nil {
			return err
		}
		run := uuid.NewString()
		out, err := e.Begin(t.Context(), tx, steps.BeginIn{OperationID: accepted.OperationID, RunID: run})
		w.fence = steps.Fence{OperationID: accepted.OperationID, Generation: out.Generation, RunID: run}
		return err
	})
	return w
}

// three are two interfaces of ours and a port that the user has made.
func three(t *testing.T) *world {
	w := newWorld(t, "h1",
		compute.ServerPort{Ours: true, NetworkID: "net-1", SecurityGroups: []string{"sg-1"}},
		compute.ServerPort{PortID: "own-1"},
		compute.ServerPort{Ours: true, NetworkID: "net-1", FixedIP: "10.0.0.50"})
	w.own("own-1", "p")
	// Somebody has given a port of his own the server's id.
	w.own("stranger", "p")["device_id"] = w.server
	return w
}

func (w *world) allocate() (steps.AllocateOut, error) {
	return w.a.Allocate(w.Context(), steps.AllocateIn{Fence: w.fence, HostID: w.host})
}

func (w *world) deallocate() error {
	_, err := w.a.Deallocate(w.Context(), steps.DeallocateIn{Fence: w.fence})
	return err
}

func (w *world) rows() []compute.ServerPort {
	w.Helper()
	rows, err := compute.ServerPorts(w.Context(), w.db.Pool, w.server)
	if err != nil {
		w.Fatal(err)
	}
	var all []compute.ServerPort
	for _, r := range rows {
		all = append(all, *r)
	}
	return all
}

// wantAllocated checks Neutron and the rows after Allocate.
func (w *world) wantAllocated() {
	w.Helper()
	if len(w.ports) != 4 || w.made != 2 {
		w.Errorf("%d ports, %d made, want 4 and 2", len(w.ports), w.made)
	}
	first := w.ports["made-1"]
	want := object{
		"id": "made-1", "name": "holdfast-" + w.server + "-0", "network_id": "net-1", "admin_state_up": true, "tenant_id": "p",
		"device_id": w.server, "device_owner": "compute:nova", "binding:host_id": "h1", "security_groups": []any{"sg-1"},
		"mac_address": "fa:16:3e:00:00:01", "fixed_ips": []any{object{"subnet_id": "sub-1", "ip_address": "10.0.0.1"}},
		"binding:vif_type": "bridge", "binding:vif_details": object{"bridge_name": "brqnet-1"}, "status": "DOWN",
	}
	if fmt.Sprint(first) != fmt.Sprint(want) {
		w.Errorf("the port\n%v\nwant\n%v", first, want)
	}
	own := w.ports["own-1"]
	if own["device_id"] != w.server || own["device_owner"] != "compute:nova" || own["binding:host_id"] != "h1" || own["name"] != "mine" {
		w.Errorf("the user's own port is %v", own)
	}
	rows := w.rows()
	for i, want := range []struct{ id, mac, ip string }{
		{"made-1", "fa:16:3e:00:00:01", "10.0.0.1"},
		{"own-1", "fa:16:3e:ff:00:01", "10.0.0.99"},
		{"made-2", "fa:16:3e:00:00:02", "10.0.0.50"},
	} {
		r := rows[i]
		if r.PortID != want.id || r.MAC != want.mac || r.FixedIPs[0].Address != want.ip || !r.Bound || r.Active ||
			r.NetworkID != "net-1" || r.NetworkName != "private" || r.MTU != 1450 || r.VIFType != "bridge" ||
			string(r.VIFDetails) != `{"bridge_name": "brqnet-1"}` {
			w.Errorf("row %d is %+v", i, r)
		}
	}
	if got, want := rows[0].FixedIPs, []compute.FixedIP{{SubnetID: "sub-1", Address: "10.0.0.1"}}; !reflect.DeepEqual(got, want) {
		w.Errorf("addresses %+v, want %+v", got, want)
	}
	if got, want := rows[1].FloatingIPs, []compute.FloatingIP{{FixedAddress: "10.0.0.99", Address: "203.0.113.9"}}; !reflect.DeepEqual(got, want) {
		w.Errorf("floating addresses of the user's own port %+v, want %+v", got, want)
	}
}

// wantDeallocated checks that only users' own ports are left, and free.
func (w *world) wantDeallocated() {
	w.Helper()
	own := w.ports["own-1"]
	if len(w.ports) != 2 || own["device_id"] != "" || own["device_owner"] != "" || own["binding:host_id"] == "h1" {
		w.Errorf("ports %v", w.ports)
	}
	if w.ports["stranger"]["device_id"] != w.server {
		w.Errorf("a stranger's port was touched: %v", w.ports["stranger"])
	}
	for i, r := range w.rows() {
		if r.Bound || r.MAC != "" || len(r.FixedIPs) > 0 || len(r.FloatingIPs) > 0 || r.VIFType != "" || (r.PortID != "") == r.Ours {
			w.Errorf("row %d is %+v", i, r)
		}
	}
}

// acts are the steps, what must be so before, and what is so after.
var acts = map[string]struct {
	proves      string
	setUp, step func(*world) error
	want        func(*world)
}{
	"allocate":                            {"neutron.Allocate", nil, allocated, (*world).wantAllocated},
	"allocate where there was no network": {"neutron.Allocate", networkless, allocated, (*world).wantAllocated},
	"deallocate":                          {"neutron.Deallocate", allocated, (*world).deallocate, (*world).wantDeallocated},
	"unbind":                              {"neutron.Unbind", allocated, unbind, wantUnbound},
	"follow":                              {"neutron.Follow", elsewhere, follow, (*world).wantAllocated},
	"refresh":                             {"neutron.Refresh", moved, refresh, (*world).wantRefreshed},
}

// networkless is a server whose networks are made with its ports.
func networkless(w *world) error {
	_, err := w.db.Pool.Exec(w.Context(), `UPDATE compute.server_ports SET network_id = '' WHERE server_id = $1 AND ours`, w.server)
	return err
}

// moved is a server whose ports have got other addresses, of which no event came.
func moved(w *world) error {
	if err := allocated(w); err != nil {
		return err
	}
	if _, err := w.db.Pool.Exec(w.Context(), `UPDATE compute.servers SET vm_state = 'active', task_state = NULL WHERE id = $1`, w.server); err != nil {
		return err
	}
	w.ports["made-1"]["fixed_ips"] = []any{object{"subnet_id": "sub-1", "ip_address": "10.0.0.200"}}
	w.ports["made-1"]["mac_address"] = "52:54:00:00:00:01"
	w.floating["made-1"] = []object{{"fixed_ip_address": "10.0.0.200", "floating_ip_address": "203.0.113.10", "port_id": "made-1"}}
	delete(w.ports, "made-2")
	return nil
}

func refresh(w *world) error {
	_, err := w.a.Refresh(w.Context(), struct{}{})
	return err
}

// wantRefreshed checks that the rows say what Neutron does, that a port of which
// it says nothing stays, and that nobody is asked again so soon.
func (w *world) wantRefreshed() {
	w.Helper()
	rows := w.rows()
	if got, want := rows[0].FixedIPs, []compute.FixedIP{{SubnetID: "sub-1", Address: "10.0.0.200"}}; !reflect.DeepEqual(got, want) {
		w.Errorf("addresses %+v, want %+v", got, want)
	}
	if got, want := rows[0].FloatingIPs, []compute.FloatingIP{{FixedAddress: "10.0.0.200", Address: "203.0.113.10"}}; !reflect.DeepEqual(got, want) {
		w.Errorf("floating addresses %+v, want %+v", got, want)
	}
	if got := rows[0].MAC; got != "52:54:00:00:00:01" {
		w.Errorf("hardware address %s", got)
	}
	if got := rows[2].FixedIPs; len(got) != 1 || got[0].Address != "10.0.0.50" {
		w.Errorf("a port that Neutron has forgotten has the addresses %+v", got)
	}
	calls := len(w.calls)
	if out, err := w.a.Refresh(w.Context(), struct{}{}); err != nil || out != (steps.MaintenanceOut{}) || len(w.calls) != calls {
		w.Errorf("asked again: %+v, %v, calls %v", out, err, w.calls[calls:])
	}
}

// What is being built or deleted is left to its operation.
func TestRefreshLeavesAlone(t *testing.T) {
	t.Parallel()
	for _, but := range []string{`vm_state = 'building'`, `task_state = 'deleting'`, `deleted_at = now()`} {
		w := ready(t, moved)
		if _, err := w.db.Pool.Exec(t.Context(), `UPDATE compute.servers SET `+but+` WHERE id = $1`, w.server); err != nil {
			t.Fatal(err)
		}
		calls := len(w.calls)
		if err := refresh(w); err != nil || len(w.calls) != calls {
			t.Errorf("%s: %v, calls %v", but, err, w.calls[calls:])
		}
	}
}

func TestEveryStepHasAnAct(t *testing.T) {
	t.Parallel()
	var proven []string
	for _, c := range acts {
		proven = append(proven, c.proves)
	}
	activitytest.Covers(t, "neutron", proven...)
}

func ready(t *testing.T, setUp func(*world) error) *world {
	t.Helper()
	w := three(t)
	if setUp != nil {
		if err := setUp(w); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestTwice(t *testing.T) {
	t.Parallel()
	for name, c := range acts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ready(t, c.setUp)
			for range 2 {
				if err := c.step(w); err != nil {
					t.Fatal(err)
				}
				c.want(w)
			}
		})
	}
}

// Each call's answer is lost in turn, and the step is done again; what an
// allocation leaves half-done can be undone as well.
func TestAnswersAreLost(t *testing.T) {
	t.Parallel()
	for name, c := range acts {
		for _, undone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, undone %t", name, undone), func(t *testing.T) {
				t.Parallel()
				for at := 0; ; at++ {
					w := ready(t, c.setUp)
					w.loseAt = len(w.calls) + at
					err := c.step(w)
					if err == nil && w.loseAt >= len(w.calls) {
						if at < 2 {
							t.Errorf("only %d calls", at)
						}
						return
					}
					w.loseAt = -1
					step, want := c.step, c.want
					if undone {
						step, want = (*world).deallocate, (*world).wantDeallocated
					}
					if err := step(w); err != nil {
						t.Fatalf("after the answer to call %d was lost: %v", at, err)
					}
					want(w)
				}
			})
		}
	}
}

// allocated gives the server its ports, and checks the answer.
func allocated(w *world) error {
	out, err := w.allocate()
	if want := (steps.AllocateOut{Ports: 3, PlugPatience: time.Minute, PlugFatal: true}); err == nil && out != want {
		w.Errorf("allocated: %+v, want %+v", out, want)
	}
	return err
}

// Neutron's errors become the original's.
func TestRefusals(t *testing.T) {
	t.Parallel()
	ours := compute.ServerPort{Ours: true, NetworkID: "net-1", FixedIP: "10.0.0.5"}
	for name, c := range map[string]struct {
		host   string
		port   compute.ServerPort
		setUp  func(*world)
		refuse map[string]refusal
		want   faults.Error
	}{
		"quota": {port: ours, refuse: map[string]refusal{"POST ports": {http.StatusConflict, "OverQuota"}},
			want: faults.Error{Kind: faults.OverLimit, Code: "PortLimitExceeded", Message: "Maximum number of ports exceeded"}},
		"no addresses": {port: ours, refuse: map[string]refusal{"POST ports": {http.StatusConflict, "IpAddressGenerationFailure"}},
			want: faults.Error{Kind: faults.Conflict, Code: "NoMoreFixedIps", Message: "No fixed IP addresses available for network: net-1"}},
		"address in use": {port: ours, refuse: map[string]refusal{"POST ports": {http.StatusConflict, "IpAddressAlreadyAllocated"}},
			want: faults.Error{Kind: faults.Conflict, Code: "FixedIpAlreadyInUse", Message: "Fixed IP 10.0.0.5 is already in use."}},
		"no such network": {port: ours, refuse: map[string]refusal{"POST ports": {http.StatusNotFound, "NetworkNotFound"}},
			want: faults.Error{Kind: faults.NotFound, Code: "NetworkNotFound", Message: "Network net-1 could not be found."}},
		"no network for the project": {port: compute.ServerPort{Ours: true}, refuse: map[string]refusal{"GET auto-allocated-topology": {http.StatusConflict, "AutoAllocationFailure"}},
			want: faults.Error{Kind: faults.Invalid, Code: "UnableToAutoAllocateNetwork", Message: "Unable to automatically allocate a network for project p"}},
		"a network service that makes none": {port: compute.ServerPort{Ours: true}, refuse: map[string]refusal{"GET auto-allocated-topology": {http.StatusNotFound, "NotFound"}},
			want: faults.Error{Kind: faults.Invalid, Code: "UnableToAutoAllocateNetwork", Message: "Unable to automatically allocate a network for project p"}},
		"a network service that fails at it": {port: compute.ServerPort{Ours: true}, refuse: map[string]refusal{"GET auto-allocated-topology": {http.StatusInternalServerError, "Oops"}},
			want: faults.Error{Kind: faults.Unavailable, Code: "ServiceUnavailable", Message: "a service that the request needs can't be reached"}},
		"bad request": {port: ours, refuse: map[string]refusal{"POST ports": {http.StatusBadRequest, "Odd"}},
			want: faults.Error{Kind: faults.Invalid, Code: "NeutronError", Message: "said Odd"}},
		"refused login": {port: ours, refuse: map[string]refusal{"GET ports": {http.StatusForbidden, "Policy"}},
			want: faults.Error{Kind: faults.Unavailable, Code: "NeutronAdminCredentialConfigurationInvalid", Message: "Networking client is experiencing an unauthorized exception."}},
		"broken": {port: ours, refuse: map[string]refusal{"GET ports": {http.StatusInternalServerError, "Oops"}},
			want: faults.Error{Kind: faults.Unavailable, Code: "NetworkServiceUnavailable", Message: "the network service failed"}},
		"no such port": {port: compute.ServerPort{PortID: "gone"},
			want: faults.Error{Kind: faults.NotFound, Code: "PortNotFound", Message: "Port id gone could not be found."}},
		"port in use": {port: compute.ServerPort{PortID: "own-1"}, setUp: func(w *world) { w.own("own-1", "p")["device_id"] = "another" },
			want: faults.Error{Kind: faults.Conflict, Code: "PortInUse", Message: "Port own-1 is still in use."}},
		"port of another project": {port: compute.ServerPort{PortID: "own-1"}, setUp: func(w *world) { w.own("own-1", "other") },
			want: faults.Error{Kind: faults.Invalid, Code: "PortNotUsable", Message: "Port own-1 not usable for instance %s."}},
		"port without address": {port: compute.ServerPort{PortID: "own-1"}, setUp: func(w *world) { delete(w.own("own-1", "p"), "fixed_ips") },
			want: faults.Error{Kind: faults.Invalid, Code: "PortRequiresFixedIP", Message: "Port own-1 requires a FixedIP in order to be used."}},
		"host that can't be bound to": {host: "unbindable", port: ours,
			want: faults.Error{Kind: faults.NoCapacity, Code: "PortBindingFailed", Message: "Binding failed for port made-1, please check neutron logs for more information."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.host == "" {
				c.host = "h1"
			}
			w := newWorld(t, c.host, c.port)
			if c.setUp != nil {
				c.setUp(w)
			}
			w.refuse = c.refuse
			_, err := w.allocate()
			got := faults.As(err)
			if c.want.Code == "PortNotUsable" {
				c.want.Message = fmt.Sprintf(c.want.Message, w.server)
			}
			if err == nil || got.Kind != c.want.Kind || got.Code != c.want.Code || got.Message != c.want.Message {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if w.rows()[0].Bound {
				t.Error("the row says that it is bound")
			}
		})
	}
}

// Who has lost the server calls nobody.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	w := three(t)
	w.fence.Generation--
	if _, err := w.allocate(); !faults.Is(err, faults.Superseded) {
		t.Errorf("allocate: %v", err)
	}
	if err := w.deallocate(); !faults.Is(err, faults.Superseded) {
		t.Errorf("deallocate: %v", err)
	}
	if len(w.calls) > 0 {
		t.Errorf("calls %v", w.calls)
	}
}

// A debt is paid once nobody has the server and Neutron answers: a build that was
// undone leaves nothing of ours, and ports that leave their host, or have left it,
// are on the one that the server is on, if any.
func TestPay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   operations.EffectKind
		setUp  func(*world) error
		pay    func(*neutron.Activities, context.Context, engine.Debt) error
		onHost bool
		want   func(*world)
	}{
		{operations.EffectPorts, allocated, (*neutron.Activities).Pay, false, (*world).wantDeallocated},
		{operations.EffectBindings, allocated, (*neutron.Activities).PayBindings, false, wantUnbound},
		{operations.EffectOldBindings, elsewhere, (*neutron.Activities).PayFollow, true, (*world).wantAllocated},
		{operations.EffectMovedPorts, elsewhere, (*neutron.Activities).PayFollow, true, (*world).wantAllocated},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			w := three(t)
			if err := c.setUp(w); err != nil {
				t.Fatal(err)
			}
			computetest.InTx(t, w.db, func(tx store.Tx) error {
				_, err := w.engine.Advance(t.Context(), tx, steps.AdvanceIn{Fence: w.fence, Step: operations.StepUndo,
					Intend: []operations.Effect{{Kind: c.kind, Ref: w.server}}})
				if err != nil {
					return err
				}
				_, err = w.engine.Advance(t.Context(), tx, steps.AdvanceIn{Fence: w.fence, Step: operations.StepUndo,
					Settle: []steps.Settlement{{Seq: 1, State: operations.Owed}}})
				if err == nil && c.onHost {
					_, err = tx.Exec(t.Context(), `UPDATE compute.servers SET host_id = $2 WHERE id = $1`, w.server, w.host)
				}
				return err
			})
			owed := func() []engine.Debt {
				t.Helper()
				debts, err := w.engine.Debts(t.Context(), w.db.Pool, "")
				if err != nil {
					t.Fatal(err)
				}
				return debts
			}
			debts := owed()
			if len(debts) != 1 {
				t.Fatalf("owed are %+v", debts)
			}
			if err := c.pay(w.a, t.Context(), debts[0]); !faults.Is(err, faults.Unavailable) || len(w.ports) != 4 {
				t.Errorf("while its operation runs: %v, %d ports", err, len(w.ports))
			}
			computetest.InTx(t, w.db, func(tx store.Tx) error {
				_, err := w.engine.Finish(t.Context(), tx, steps.FinishIn{Fence: w.fence, Result: operations.ResultFailed, Fault: &steps.Fault{Code: "x"}})
				return err
			})
			w.refuse = map[string]refusal{"GET ports": {http.StatusServiceUnavailable, "down"}}
			if err := c.pay(w.a, t.Context(), debts[0]); !faults.Is(err, faults.Unavailable) || len(owed()) != 1 {
				t.Errorf("while Neutron is down: %v", err)
			}
			w.refuse = nil
			for range 2 {
				if err := c.pay(w.a, t.Context(), debts[0]); err != nil || len(owed()) != 0 {
					t.Errorf("%v, owed are %+v", err, owed())
				}
				c.want(w)
			}
		})
	}
}
