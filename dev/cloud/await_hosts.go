package cloud

// Waiting for the hosts: a cloud is up when servers can be built in it.

import (
	"context"
	"fmt"
	"time"

	"holdfast.dev/internal/store/compute"
)

// hostPatience is for hosts to register. A libvirtd that has just been installed
// tries every emulator first, which a busy machine takes its time for.
const hostPatience = 5 * time.Minute

// awaitHosts returns once all hosts have reported since this start.
func (c *cloud) awaitHosts(ctx context.Context) error {
	began := time.Now()
	db, err := c.database(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		hosts, err := compute.ListHosts(ctx, db.Pool, compute.HostFilter{})
		if err != nil {
			return err
		}
		reported := 0
		for _, h := range hosts {
			if h.LastSeen != nil && h.LastSeen.After(c.began) {
				reported++
			}
		}
		if reported >= c.Hosts {
			c.done("hosts", began)
			return nil
		}
		if time.Since(began) > hostPatience {
			return fmt.Errorf("%d of %d hosts have reported within %s: see %s", reported, c.Hosts, hostPatience, c.log("host*"))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
