package baremetal_test

// Nodes, their conductors and what is asked to be done to them.

import (
	"fmt"
	"strings"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// conductor has one that is alive and knows every driver.
func (c *cloud) conductor(name, group string) {
	c.t.Helper()
	err := baremetal.BeatConductor(c.t.Context(), c.db.Pool, baremetal.Conductor{Hostname: name, Group: group,
		Drivers:     []string{"fake-hardware", "ipmi", "manual-management", "redfish"},
		LinkAddress: "127.0.0.1:1"})
	if err != nil {
		c.t.Fatal(err)
	}
}

// set writes a column of a node, as only operations do.
func (c *cloud) set(node, column string, value any) {
	c.t.Helper()
	if _, err := c.db.Pool.Exec(c.t.Context(), `UPDATE baremetal.nodes SET `+column+` = $2 WHERE uuid = $1`, node, value); err != nil {
		c.t.Fatal(err)
	}
}

// refusal is what is asked of a node's states, and why that is refused; without a
// fault the status alone counts.
type refusal struct {
	node, version, token, body string
	status                     int
	fault                      string
}

// refuses asks for a change of one of a node's states, power or provision.
func (c *cloud) refuses(state string, all ...refusal) {
	c.t.Helper()
	for _, r := range all {
		got := c.ask(r.token, r.version, "PUT", "/v1/nodes/"+r.node+"/states/"+state, r.body)
		if got.status != r.status || r.fault != "" && got.fault != r.fault {
			c.t.Errorf("%s %s at %s: %d %q", r.node, r.body, r.version, got.status, got.fault)
		}
	}
}

// operations is the engine that has the nodes' operations.
func (c *cloud) operations() *engine.Engine { return engine.New(c.db, baremetal.Locks()) }

// holder is the operation that has a node.
func (c *cloud) holder(node string) string {
	c.t.Helper()
	holder, err := c.operations().Holder(c.t.Context(), c.db.Pool, operations.Node, node)
	if err != nil || holder == "" {
		c.t.Fatalf("%q, %v", holder, err)
	}
	return holder
}

// finish ends a node's operation as its workflow does.
func (c *cloud) finish(node string, result operations.Result, o steps.NodeOutcome, f *steps.Fault, moves ...steps.NodeMove) {
	c.t.Helper()
	e, holder := c.operations(), c.holder(node)
	computetest.InTx(c.t, c.db, func(tx store.Tx) error {
		begun, err := e.Begin(c.t.Context(), tx, steps.BeginIn{OperationID: holder, RunID: "run"})
		if err != nil {
			return err
		}
		for _, m := range moves {
			if err := baremetal.Move(c.t.Context(), tx, node, m); err != nil {
				return err
			}
		}
		if err := baremetal.Publish(c.t.Context(), tx, node, o, f); err != nil {
			return err
		}
		fence := steps.Fence{OperationID: holder, RunID: "run", Generation: begun.Generation}
		_, err = e.Finish(c.t.Context(), tx, steps.FinishIn{Fence: fence, Result: result, Fault: f})
		return err
	})
}

// audit fails the test if an operation has left something behind.
func (c *cloud) audit() {
	c.t.Helper()
	report, err := c.operations().Audit(c.t.Context(), baremetal.Probes...)
	if err != nil || len(report.Findings) > 0 {
		c.t.Errorf("%+v, %v", report, err)
	}
}

// drive is the config drive that a node has.
func (c *cloud) drive(node string) string {
	c.t.Helper()
	n, err := baremetal.Nodes.Find(c.t.Context(), c.db.Pool, node, false)
	if err != nil {
		c.t.Fatal(err)
	}
	info, err := nodes.InstanceInfo(c.box, n)
	if err != nil {
		c.t.Fatal(err)
	}
	text, _ := info.ConfigDrive().(string)
	return text
}

// opens says whether the sealed secrets of a volume target have a text in them.
func (c *cloud) opens(target, text string) error {
	c.t.Helper()
	row, err := baremetal.VolumeTargets.Find(c.t.Context(), c.db.Pool, target, false)
	if err != nil {
		return err
	}
	plain, err := c.box.Open(row.Secrets, "baremetal.volume_targets/"+target)
	if err == nil && !strings.Contains(string(plain), text) {
		err = fmt.Errorf("it has %s", plain)
	}
	return err
}
