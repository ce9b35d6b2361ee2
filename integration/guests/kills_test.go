// Package guests kills what real guests stand on, libvirt's daemons too, and
// asks for the four promises afterwards (DESIGN section 1). Its tests run in
// namespaces with a libvirtd of their own (activities/libvirt/libvirttest).
package guests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"holdfast.dev/activities/libvirt/libvirttest"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/hold"
)

func TestMain(m *testing.M) { libvirttest.Main(cloud.Tests{M: m}, cloud.BuildImage) }

// points are where builds stand while things are killed: when the request has
// been answered, when the workflow has been started, around every step, and
// around the last transaction.
var points = []string{
	"build:records.Begin", "build:records.Begin.done",
	"build:placement.Claim", "build:placement.Claim.done", "build:records.ServerSpec",
	"build.folder", "build.image", "build.root", "build.define", "build.start", "build.done",
	"build:records.Finish", "build:records.Finish.done",
}

// Twenty servers are asked for, and their builds stand at all points, while each
// process is killed by SIGKILL and started again, libvirt's daemons too; after
// each of them some go on. All twenty end ACTIVE, none twice, and nothing is left
// over when they are deleted.
func TestKills(t *testing.T) {
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			c := cloud.Start(t, cloud.Options{BootImage: os.Getenv(cloud.ImageVariable)})
			r := rand.New(rand.NewPCG(seed, 0))
			for _, point := range points {
				must(t, c.Points.Order(hold.Any, point))
			}
			const n = 20
			ids := make([]string, n)
			errs := make([]error, n)
			var asked sync.WaitGroup
			for i := range ids {
				pause := time.Duration(r.Int64N(int64(3 * time.Second)))
				asked.Go(func() {
					time.Sleep(pause)
					ids[i], errs[i] = c.CreateSurely(t.Context(), cloud.Flavor, fmt.Sprintf("kill-%d", i))
				})
			}
			// Each kill finds operations at a point that they all come to, and
			// others anywhere before it.
			victims := append(slices.Clone(cloud.Names), cloud.Libvirtd, cloud.Virtlogd)
			r.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
			kills := len(points)
			for i := range kills {
				victim := victims[i%len(victims)]
				time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
				c.Kill(victim)
				t.Logf("%s is killed with builds at %s", victim, points[i])
				must(t, c.Points.ReleaseAt(hold.Any, points[i]))
				time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
				c.Restart(victim)
			}
			must(t, c.Points.Release(hold.Any))
			asked.Wait()
			must(t, errors.Join(errs...))

			c.Eventually("all are ACTIVE", cloud.Patience, func(ctx context.Context) error {
				for _, id := range ids {
					if err := c.Is(ctx, id, "ACTIVE"); err != nil {
						return err
					}
				}
				return nil
			})
			c.Audit()
			domains := c.LibvirtDomains()
			slices.Sort(ids)
			if got := slices.Sorted(maps.Keys(domains)); !slices.Equal(got, ids) {
				t.Errorf("libvirt has the domains %v, want those of the servers %v", got, ids)
			}
			for id, runs := range domains {
				if !runs {
					t.Errorf("the guest of server %s does not run", id)
				}
			}
			for i := range n {
				name := fmt.Sprintf("kill-%d", i)
				if made, err := c.Named(t.Context(), name); err != nil || len(made) != 1 {
					t.Errorf("%d servers are called %s, want 1: %v", len(made), name, err)
				}
			}
			for _, id := range ids {
				must(t, c.Delete(t.Context(), id))
			}
			c.Eventually("all are gone", cloud.Patience, func(ctx context.Context) error {
				for _, id := range ids {
					if err := c.Is(ctx, id, ""); err != nil {
						return err
					}
				}
				return nil
			})
			c.Audit()
			if left, folders := c.LibvirtDomains(), c.LibvirtFolders(); len(left)+len(folders) > 0 {
				t.Errorf("after the deletes there are still the domains %v and the folders %v", left, folders)
			}
		})
	}
}

// seeds are those of this run: one by itself, more by HOLDFAST_TEST_SEEDS.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	n := 1
	if text := os.Getenv("HOLDFAST_TEST_SEEDS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("HOLDFAST_TEST_SEEDS is %q, not a number of seeds", text)
		}
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i + 1)
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
