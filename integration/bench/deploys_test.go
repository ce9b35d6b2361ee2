package bench

// Many nodes being deployed at once.

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/integration/cloud"
)

const (
	// deploys are how many nodes are deployed, each with a BMC of its own.
	deploys = 500
	// deployedWithin bounds that.
	deployedWithin = 20 * time.Minute
)

// BenchmarkNodeDeploys measures nodes that are deployed all at once: each is started with
// its ramdisk, which asks, calls back and is told by a conductor worker to write an image,
// and is started from that. Each deployment must succeed, with no more changes of power
// than it takes. Machines and ramdisks are those of dev/bmc, in the process of the clients:
// whose changes of power take a fifth of a second, and whose own waits a twentieth of what
// they take for real.
func BenchmarkNodeDeploys(b *testing.B) {
	c := cloud.Start(b, cloud.Options{Hosts: 1, Machines: deploys, MachinesApart: true, Config: map[string]any{"log.level": "error", "dev.hold_dir": "",
		"conductor.heartbeat_interval": "10s", "conductor.sync_power_state_interval": "0s"}})
	at, sum := cloud.Files(b)
	nodes := make([]string, deploys)
	byClients(deploys, func(i int) {
		node, err := c.Enroll(b.Context(), i-1, at)
		if err == nil {
			err = c.SetImage(b.Context(), node, at, "image", sum("image"))
		}
		if err != nil {
			b.Error(err)
		}
		nodes[i-1] = node
	})
	if b.Failed() {
		return
	}
	// They have been looked at, and were cleaned.
	if _, err := c.DB.Pool.Exec(b.Context(), `UPDATE baremetal.nodes SET provision_state = 'available', power_state = 'power off'`); err != nil {
		b.Fatal(err)
	}
	var out report
	out.memory("idle", c)
	out.processor("a deployment", c, deploys, func() { deployAll(b, c, nodes, &out) })
	out.memory("after them", c)
	for i, m := range c.BMC.Machines {
		if turns := m.Turns(); m.Content().SHA256 != sum("image") || !slices.Equal(turns, []bmc.Power{bmc.On, bmc.Off, bmc.On}) {
			b.Errorf("the machine of node %s holds %+v, and was turned %v", nodes[i], m.Content(), turns)
		}
	}
	out.save(b)
}

// deployAll has all of them be deployed, and waits until they are.
func deployAll(b *testing.B, c *cloud.Cloud, nodes []string, out *report) {
	b.Helper()
	began := time.Now()
	byClients(len(nodes), func(i int) {
		drive := map[string]any{"meta_data": map[string]string{"hostname": nodes[i-1]}}
		if err := c.SetState(b.Context(), nodes[i-1], "active", map[string]any{"configdrive": drive}); err != nil {
			b.Error(err)
		}
	})
	accepted := time.Since(began)
	flying := count(b, c, `SELECT count(*) FROM engine.operations WHERE kind = 'node.deploy' AND finished_at IS NULL`)
	out.memory(fmt.Sprintf("with %d deployments in flight", flying), c)
	c.Eventually("every deployment has ended", deployedWithin, func(context.Context) error {
		if n := count(b, c, `SELECT count(*) FROM engine.operations WHERE finished_at IS NULL`); n > 0 {
			return fmt.Errorf("%d have not", n)
		}
		return nil
	})
	took := time.Since(began)
	if active := count(b, c, `SELECT count(*) FROM baremetal.nodes WHERE provision_state = 'active' AND last_error IS NULL`); active != len(nodes) {
		b.Errorf("%d nodes of %d are active", active, len(nodes))
	}
	out.line("%d nodes deployed at once, each with a BMC of its own, by one conductor worker: accepted within %s, **%d** of them in flight when the last was; all active after **%s**, **%.1f a second**",
		len(nodes), accepted.Round(100*time.Millisecond), flying, took.Round(100*time.Millisecond), float64(len(nodes))/took.Seconds())
}
