package cloud

// Simulated machines, and the conductor that works on them.

import (
	"context"
	"fmt"
	"time"

	"holdfast.dev/dev/bmc"
)

// Who enters the machines' BMC.
const (
	BMCUser     = "admin"
	BMCPassword = "password-of-the-bmc"
)

// simulate starts the BMCs of so many machines and describes their conductor.
func (c *Cloud) simulate(machines int, apart bool) {
	c.t.Helper()
	if machines == 0 {
		return
	}
	service, err := bmc.Start(bmc.Options{Machines: machines, Apart: apart, Dir: c.dir, User: BMCUser, Password: BMCPassword, Delay: 200 * time.Millisecond, Pace: 50 * time.Millisecond})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := service.Close(); err != nil {
			c.t.Error(err)
		}
	})
	c.BMC = service
	c.processes[Conductor] = c.process(Conductor, c.telemetry, "worker", "--role", "conductor")
}

// awaitConductor waits until requests about machines have somebody to go to.
func (c *Cloud) awaitConductor() {
	c.t.Helper()
	if c.BMC == nil {
		return
	}
	c.Eventually("a conductor is there", Patience, func(ctx context.Context) error {
		var there int
		err := c.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM baremetal.conductors`).Scan(&there)
		if err == nil && there == 0 {
			err = fmt.Errorf("none is")
		}
		return err
	})
}
