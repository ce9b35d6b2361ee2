package cloud

// What an empty cloud is filled with.

import (
	"context"
	"slices"
	"time"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// flavors are small: guests share a developer's machine.
var flavors = []compute.Flavor{
	{ID: "42", Name: "m1.nano", VCPUs: 1, MemoryMB: 128, RootGB: 1},
	{ID: "84", Name: "m1.micro", VCPUs: 1, MemoryMB: 192, RootGB: 1},
	{ID: "1", Name: "m1.tiny", VCPUs: 1, MemoryMB: 512, RootGB: 1},
	{ID: "2", Name: "m1.small", VCPUs: 1, MemoryMB: 2048, RootGB: 20},
	{ID: "3", Name: "m1.medium", VCPUs: 2, MemoryMB: 4096, RootGB: 40},
}

// metal is of servers that are a whole machine: all that they ask for is one of its
// resource class.
var metal = compute.Flavor{ID: "100", Name: "baremetal", VCPUs: 4, MemoryMB: 8192, RootGB: 10, ExtraSpecs: map[string]string{
	"resources:CUSTOM_BAREMETAL": "1", "resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0"}}

// seed fills the cloud. What there is already stays as it is.
func (c *cloud) seed(ctx context.Context) error {
	began := time.Now()
	for _, seed := range []func(context.Context) error{c.seedFlavors, c.seedNetwork, c.seedImage} {
		if err := seed(ctx); err != nil {
			return err
		}
	}
	c.done("seed", began)
	return nil
}

// database is Holdfast's, for what the cloud reads and writes itself.
func (c *cloud) database(ctx context.Context) (*store.DB, error) {
	dsn, err := c.dsn()
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, dsn, 1)
}

// seedFlavors makes the flavors of a cloud that has none at all, so that a later
// start brings none back that its user has deleted.
func (c *cloud) seedFlavors(ctx context.Context) error {
	db, err := c.database(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	there, err := compute.ListFlavors(ctx, db.Pool, compute.FlavorFilter{})
	if err != nil || len(there) > 0 {
		return err
	}
	all := flavors
	if c.Machines > 0 {
		all = append(slices.Clip(all), metal)
	}
	return db.InTx(ctx, func(tx store.Tx) error {
		for _, f := range all {
			f.RXTXFactor, f.Public = 1, true
			if err := compute.UpsertFlavor(ctx, tx, &f); err != nil {
				return err
			}
		}
		return nil
	})
}
