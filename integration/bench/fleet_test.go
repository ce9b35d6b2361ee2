package bench

// Nodes that are hosts, all of them served by one worker.

import (
	"fmt"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

const (
	// fleet is how many nodes are hosts, and fleetTime how long they are looked at.
	fleet     = 500
	fleetTime = time.Minute
)

// BenchmarkFleet measures what nodes take of their worker that nobody builds on: its memory,
// and its processor time for their heartbeats.
func BenchmarkFleet(b *testing.B) {
	c := cloud.Start(b, cloud.Options{Hosts: 1, Machines: 1, Fleet: true, Services: true, Config: map[string]any{"log.level": "error", "dev.hold_dir": "",
		"host.report_interval": "10s", "compute.host_down_after": "60s", "conductor.sync_power_state_interval": "0s"}})
	_, idle := c.Memory(cloud.Fleet)
	for i := range fleet {
		_, err := c.DB.Pool.Exec(b.Context(), `INSERT INTO baremetal.nodes (uuid, name, driver, power_interface, management_interface, provision_state, power_state, resource_class)
			VALUES (gen_random_uuid(), $1, 'redfish', 'redfish', 'redfish', 'available', 'power off', $2)`, fmt.Sprintf("bench-%d", i), cloud.MetalClass)
		if err != nil {
			b.Fatal(err)
		}
	}
	began := time.Now()
	c.AwaitFleet(fleet)
	var out report
	out.line("%d nodes became hosts of one worker within **%s**", fleet, time.Since(began).Round(100*time.Millisecond))
	for range 2 {
		before := c.Processor(cloud.Fleet)
		time.Sleep(fleetTime)
		each := (c.Processor(cloud.Fleet) - before) / fleet
		all, own := c.Memory(cloud.Fleet)
		out.line("%s later its resident memory, and what of it is its own: **%d MB** (%d; without nodes %d); its processor time for each of them %.1f ms", fleetTime, all>>20, own>>20, idle>>20, each.Seconds()*1000)
	}
	out.save(b)
}
