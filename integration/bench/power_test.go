package bench

// Power of many nodes, brought into step by one conductor worker.

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/steps"
)

const (
	// bmcs are how many there are to ask, each at an address of its own; slowBMCs of
	// them take slowBMC to say anything, which is longer than they are given.
	bmcs     = 5000
	slowBMCs = 250
	slowBMC  = 15 * time.Second
)

// BenchmarkNodePower measures rounds of nodes' power: one that writes every row, one
// that finds all of them right, and two in which some BMCs have become too slow.
func BenchmarkNodePower(b *testing.B) {
	c := cloud.Start(b, cloud.Options{Machines: bmcs, MachinesApart: true, Config: map[string]any{"log.level": "error", "dev.hold_dir": "",
		"conductor.heartbeat_interval": "10s", "conductor.sync_power_state_interval": "0s", "conductor.power_state_sync_max_retries": 10}})
	for i, m := range c.BMC.Machines {
		info, err := json.Marshal(map[string]any{"redfish_address": c.BMC.URLOf(i), "redfish_system_id": "/redfish/v1/Systems/" + m.ID,
			"redfish_username": cloud.BMCUser, "redfish_password": cloud.BMCPassword, "redfish_verify_ca": c.BMC.CAFile})
		if err == nil {
			_, err = c.DB.Pool.Exec(b.Context(), `INSERT INTO baremetal.nodes (uuid, name, driver, power_interface, management_interface, provision_state, driver_info)
				VALUES (gen_random_uuid(), $1, 'redfish', 'redfish', 'redfish', 'available', $2)`, fmt.Sprintf("bench-%d", i), info)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	var out report
	_, idle := c.Memory(cloud.Conductor)
	round := func(name string) time.Duration {
		began := time.Now()
		run, err := c.Temporal.ExecuteWorkflow(b.Context(), client.StartWorkflowOptions{ID: name, TaskQueue: steps.ControlQueue}, "maintenance.node-power")
		if err == nil {
			ctx, end := context.WithTimeout(b.Context(), settleWithin)
			defer end()
			err = run.Get(ctx, nil)
		}
		if err != nil {
			b.Fatal(err)
		}
		return time.Since(began).Round(100 * time.Millisecond)
	}
	known := func() (n int) {
		if err := c.DB.Pool.QueryRow(b.Context(), `SELECT count(*) FROM baremetal.nodes WHERE power_state = 'power off'`).Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	before := c.Processor(cloud.Conductor)
	first := round("first")
	if n := known(); n != bmcs {
		b.Fatalf("the power of %d nodes of %d is known", n, bmcs)
	}
	each := (c.Processor(cloud.Conductor) - before) / bmcs
	all, own := c.Memory(cloud.Conductor)
	out.line("power of %d nodes, each with a BMC of its own, by one conductor worker: **%s** when every row is written, %.1f ms of its processor time for each; "+
		"its resident memory afterwards, and what of it is its own: **%d MB** (%d; idle %d)", bmcs, first, each.Seconds()*1000, all>>20, own>>20, idle>>20)
	out.line("the same when all are in step: **%s**", round("second"))
	for i := range slowBMCs {
		c.BMC.Machines[i*(bmcs/slowBMCs)].Tells = slowBMC
	}
	out.line("the same when %d of the BMCs take %s for an answer: **%s** the first time, **%s** when they are known", slowBMCs, slowBMC, round("third"), round("fourth"))
	all, own = c.Memory(cloud.Conductor)
	out.line("its resident memory after all of it, and what of it is its own: **%d MB** (%d)", all>>20, own>>20)
	out.save(b)
}
