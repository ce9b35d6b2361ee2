package compute_test

import (
	"fmt"
	"testing"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// What a request for a server does to the database, from many clients at once,
// each in a project of its own.
func BenchmarkACreate(b *testing.B) {
	db := computetest.Open(b)
	e := engine.New(db, compute.Resource())
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			s := computetest.NewServer(fmt.Sprintf("%p-%d", pb, n/10))
			err := db.InTx(b.Context(), func(tx store.Tx) error {
				if err := compute.ChargeQuota(b.Context(), tx, s.ProjectID, s.Delta()); err != nil {
					return err
				}
				if err := compute.InsertServer(b.Context(), tx, s); err != nil {
					return err
				}
				_, err := e.Accept(b.Context(), tx, engine.Request{Kind: operations.ServerBuild, ResourceID: s.ID, ProjectID: s.ProjectID})
				return err
			})
			if err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkListing1000Hosts(b *testing.B) {
	db := computetest.Open(b)
	computetest.AddHost(b, db, "model", computetest.Room)
	if _, err := db.Pool.Exec(b.Context(), `INSERT INTO compute.hosts (id, name, vcpus, memory_mb, disk_gb, last_seen)
		SELECT gen_random_uuid(), 'host-' || i, vcpus, memory_mb, disk_gb, now() FROM compute.hosts, generate_series(1, 999) i`); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		hosts, err := compute.ListHosts(b.Context(), db.Pool, compute.HostFilter{})
		if err != nil || len(hosts) != 1000 {
			b.Fatal(len(hosts), err)
		}
	}
}
