package bmctest

// World: a node over a simulated machine, for those who test what conductors do.

import (
	"cmp"
	"encoding/json"
	"net"
	"path/filepath"
	"testing"

	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/ipmitest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// World is a node over the first of two simulated machines, with an operation on it.
type World struct {
	*testing.T
	DB      *store.DB
	Engine  *engine.Engine
	Box     *secrets.Box
	Service *sim.Service
	Machine *sim.Machine
	Node    *baremetal.Node
	// Kind is what the operation is for; empty is a change of power.
	Kind operations.Kind
	// Fence is the operation's.
	Fence steps.Fence
}

// New makes one whose node, and the driver_info of that, ready changes before it is
// entered. The node's secrets are the password of its BMC and Token.
func New(t *testing.T, o sim.Options, ready func(w *World, info map[string]any)) *World {
	t.Helper()
	o.Machines, o.Dir, o.User, o.Password = 2, t.TempDir(), "admin", "s3cret"
	service, err := sim.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	w := &World{T: t, DB: computetest.Open(t), Box: box, Service: service, Machine: service.Machines[0]}
	w.Engine = Engine(w.DB)
	n := &baremetal.Node{UUID: Node, Driver: "redfish", ProvisionState: provision.Cleaning}
	w.Node = n
	info := map[string]any{"redfish_address": service.URL(), "redfish_system_id": "/redfish/v1/Systems/1", "redfish_username": o.User, "redfish_password": "******",
		"redfish_verify_ca": service.CAFile}
	ready(w, info)
	if n.DriverInfo, err = json.Marshal(info); err != nil {
		t.Fatal(err)
	}
	if n.PowerInterface == nil {
		n.PowerInterface, n.ManagementInterface = &n.Driver, &n.Driver
	}
	for _, object := range []*json.RawMessage{&n.InstanceInfo, &n.DriverInternalInfo, &n.Properties, &n.Extra, &n.NetworkData,
		&n.RAIDConfig, &n.TargetRAIDConfig, &n.CleanStep, &n.DeployStep, &n.ServiceStep} {
		if *object == nil {
			*object = json.RawMessage(`{}`)
		}
	}
	n.Secrets = box.Seal([]byte(`{"driver_info": {"/redfish_password": "`+o.Password+`", "/ipmi_password": "`+o.Password+`"}, "driver_internal_info": {"/agent_secret_token": "`+Token+`"}}`), nodes.Place(n))
	computetest.InTx(t, w.DB, func(tx store.Tx) error { return baremetal.Nodes.Create(t.Context(), tx, n) })
	w.Begin()
	return w
}

// ByIPMI has the node's BMC speak IPMI, as its driver_info says then, and gives it.
func (w *World) ByIPMI(o ipmitest.Options, info map[string]any) *ipmitest.BMC {
	w.Helper()
	o.Username, o.Password = "admin", "s3cret"
	b := ipmitest.Serve(w.T, w.Machine, o)
	host, port, err := net.SplitHostPort(b.Address)
	if err != nil {
		w.Fatal(err)
	}
	name := "ipmitool"
	w.Node.Driver, w.Node.PowerInterface, w.Node.ManagementInterface = "ipmi", &name, &name
	info["ipmi_address"], info["ipmi_port"], info["ipmi_username"], info["ipmi_password"] = host, port, o.Username, "******"
	return b
}

// Engine is a new process's.
func Engine(db *store.DB) *engine.Engine { return engine.New(db, baremetal.Locks()) }

// Begin has an operation on the node begun by a run.
func (w *World) Begin() {
	w.Helper()
	computetest.InTx(w.T, w.DB, func(tx store.Tx) error {
		accepted, err := w.Engine.Accept(w.Context(), tx, engine.Request{Kind: cmp.Or(w.Kind, operations.NodePower), ResourceID: w.Node.UUID})
		if err == nil {
			err = baremetal.Reserve(w.Context(), tx, w.Node.UUID, "conductor-1")
		}
		w.Fence = steps.Fence{OperationID: accepted.OperationID, RunID: "run"}
		return err
	})
	computetest.InTx(w.T, w.DB, func(tx store.Tx) error {
		begun, err := w.Engine.Begin(w.Context(), tx, steps.BeginIn{OperationID: w.Fence.OperationID, RunID: "run"})
		w.Fence.Generation = begun.Generation
		return err
	})
}

// Owes ends the operation, which could not take an effect on the node away, and gives what
// is owed.
func (w *World) Owes(kind operations.EffectKind) engine.Debt {
	w.Helper()
	queue := steps.ConductorQueue("")
	computetest.InTx(w.T, w.DB, func(tx store.Tx) error {
		_, err := w.Engine.Advance(w.Context(), tx, steps.AdvanceIn{Fence: w.Fence, Step: operations.StepUndo,
			Intend: []operations.Effect{{Kind: kind, Ref: w.Node.UUID, Host: queue}}})
		if err != nil {
			return err
		}
		_, err = w.Engine.Finish(w.Context(), tx, steps.FinishIn{Fence: w.Fence, Result: operations.ResultFailed, Settle: []steps.Settlement{{Seq: 1, State: operations.Owed}}})
		return err
	})
	debts, err := w.Engine.Debts(w.Context(), w.DB.Pool, queue)
	if err != nil || len(debts) != 1 {
		w.Fatalf("%+v, %v", debts, err)
	}
	return debts[0]
}

// Paid fails the test if something is owed still.
func (w *World) Paid(d engine.Debt) {
	w.Helper()
	if left, err := w.Engine.Debts(w.Context(), w.DB.Pool, d.Host); err != nil || len(left) > 0 {
		w.Errorf("%+v, %v", left, err)
	}
}

// Row is the node as its row is now.
func (w *World) Row() *baremetal.Node {
	w.Helper()
	n, err := baremetal.Nodes.Find(w.Context(), w.DB.Pool, w.Node.UUID, false)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// Kill has an act done by processes that are killed before each of its round trips to
// the database in turn, until one comes through. The lease of each has ended when the
// next one begins.
func (w *World) Kill(do func(*store.DB) error) {
	w.Helper()
	var knife computetest.Knife
	db := knife.Hold(w.T, w.DB)
	for at := 0; ; at++ {
		knife.After(at)
		err := do(db)
		if _, err := w.DB.Pool.Exec(w.Context(), `DELETE FROM baremetal.leases`); err != nil {
			w.Fatal(err)
		}
		if !knife.HasCut() {
			if err != nil {
				w.Error(err)
			}
			return
		}
	}
}
