package placement_test

import (
	"fmt"
	"testing"

	"holdfast.dev/activities/placement"
	"holdfast.dev/internal/scheduler"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// A host that failed a build is tried last by the next one, though it has most room;
// one that was left for another reason is not.
func TestAHostThatFailsIsTriedLast(t *testing.T) {
	t.Parallel()
	for name, failed := range map[string]bool{"failed": true, "left": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			big := computetest.Room
			big.MemoryMB *= 4
			best := computetest.AddHost(t, w.db, "best", big)
			other := computetest.AddHost(t, w.db, "other", computetest.Room)
			_, f := w.building()
			if out := w.mustClaim(f, 1); out.HostID != best {
				t.Fatalf("claimed on %s first", out.HostName)
			}
			for range 2 {
				if _, err := w.placement.Release(t.Context(), steps.ReleaseIn{Fence: f, Seq: 1, Failed: failed}); err != nil {
					t.Fatal(err)
				}
			}
			w.placement = placement.New(w.db, w.engine, scheduler.Default())
			_, f = w.building()
			want := map[bool]string{true: other, false: best}[failed]
			if out := w.mustClaim(f, 1); out.HostID != want {
				t.Errorf("then claimed on %s", out.HostName)
			}
		})
	}
}

// Servers of one image come together, or apart, where a multiplier says so, of the
// configuration or of an aggregate; those of other images don't count.
func TestServersOfAnImage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		multiplier, aggregate string
		together              bool
	}{{"1000", "", true}, {"-1000", "", false}, {"0", "1000", true}, {"1000", "-1000", false}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			chooser, err := scheduler.New([]string{"image_props_weight_multiplier=" + c.multiplier}, nil)
			if err != nil {
				t.Fatal(err)
			}
			image := func(distro string) func(*compute.Server) {
				return func(s *compute.Server) { s.ImageProperties = map[string]string{"os_distro": distro, "owner": "me"} }
			}
			var hosts []string
			for i, distro := range []string{"debian", "fedora"} {
				hosts = append(hosts, computetest.AddHost(t, w.db, distro, computetest.Room))
				s := computetest.AddServer(t, w.db, "p", image(distro))
				computetest.InTx(t, w.db, func(tx store.Tx) error {
					if ok, err := compute.ClaimOnHost(t.Context(), tx, s.ID, hosts[i], "o", compute.Claim{Room: s.Size()}); !ok || err != nil {
						return fmt.Errorf("no claim: %w", err)
					}
					return nil
				})
			}
			if c.aggregate != "" {
				computetest.InTx(t, w.db, func(tx store.Tx) error {
					a, err := compute.CreateAggregate(t.Context(), tx, "a", "")
					for _, id := range hosts {
						if err == nil {
							err = compute.AddToAggregate(t.Context(), tx, a, &compute.Host{ID: id})
						}
					}
					if err != nil {
						return err
					}
					return compute.SetAggregateMetadata(t.Context(), tx, a, map[string]*string{"image_props_weight_multiplier": &c.aggregate}, "")
				})
			}
			w.placement = placement.New(w.db, w.engine, chooser)
			_, f := w.building(image("fedora"))
			want := map[bool]string{true: hosts[1], false: hosts[0]}[c.together]
			if out := w.mustClaim(f, 1); out.HostID != want {
				t.Errorf("claimed on %s", out.HostName)
			}
		})
	}
}
