package libvirt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// moved are the steps that TestMigrate runs.
var moved = []string{"libvirt.Depart", "libvirt.Land", "libvirt.Migrate", "libvirt.ForceComplete", "libvirt.Landed"}

// twoHosts are the folders of a host with a guest that runs, and of one without.
func twoHosts(t *testing.T) (source, dest string) {
	t.Helper()
	source, dest = t.TempDir(), t.TempDir()
	actNamed("build").must(t, host(t, source, simulated.Options{}))
	return source, dest
}

// landing prepares the other host, each step twice.
func landing(t *testing.T, source, dest string) steps.MigrateIn {
	t.Helper()
	in := steps.MigrateIn{Token: token(2, 1), Mark: "move"}
	for range 2 {
		from, err := host(t, source, simulated.Options{}).Depart(t.Context(), steps.DepartIn{Token: in.Token})
		if err != nil {
			t.Fatal(err)
		}
		if in.To, err = host(t, dest, simulated.Options{}).Land(t.Context(), steps.LandIn{Token: in.Token, Spec: spec(), From: from}); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

// runsOn says that the guest runs on one of two hosts and nowhere else.
func runsOn(t *testing.T, here, other string) {
	t.Helper()
	act{name: "here", after: one(libvirt.Running)}.check(t, here)
	if out, err := host(t, other, simulated.Options{}).Landed(t.Context(), steps.LandedIn{Token: token(3, 1)}); err != nil || out.Here {
		t.Errorf("the other host has the guest too: %+v, %v", out, err)
	}
}

// A guest moves once, whatever cuts the step short, and leaves what is removed.
func TestMigrate(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"", "migrate.begin", "migrate.copying", "migrate.move", "migrate.done"} {
		t.Run("cut short at "+cut, func(t *testing.T) {
			t.Parallel()
			source, dest := twoHosts(t)
			in := landing(t, source, dest)
			if cut != "" {
				lost := errors.New("lost")
				_, err := host(t, source, simulated.Options{Hold: func(_ context.Context, _, step string) error {
					if step == cut {
						return lost
					}
					return nil
				}}).Migrate(t.Context(), in)
				if !errors.Is(err, lost) {
					t.Fatalf("cut short: %v", err)
				}
			}
			for range 2 {
				if _, err := host(t, source, simulated.Options{}).Migrate(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				out, err := host(t, dest, simulated.Options{}).Landed(t.Context(), steps.LandedIn{Token: in.Token})
				if err != nil || !out.Here || out.PowerState != libvirt.Running {
					t.Errorf("landed: %+v, %v", out, err)
				}
			}
			runsOn(t, dest, source)
			if _, err := host(t, source, simulated.Options{}).Destroy(t.Context(), steps.DestroyIn{Token: token(4, 1)}); err != nil {
				t.Fatal(err)
			}
			act{name: "source", after: []libvirt.Guest{}}.check(t, source)
		})
	}
}

// A guest that takes for ever stays when that is cancelled, leaves when it is
// forced to, and says how far it has come.
func TestMigrateForEver(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*libvirt.Activities, context.CancelFunc) error{
		"cancelled": func(_ *libvirt.Activities, cancel context.CancelFunc) error { cancel(); return nil },
		"forced": func(a *libvirt.Activities, _ context.CancelFunc) error {
			for range 2 {
				if _, err := a.ForceComplete(context.Background(), steps.ForceCompleteIn{Token: token(2, 1)}); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, dest := twoHosts(t)
			in := landing(t, source, dest)
			a := host(t, source, simulated.Options{Delay: "migrate.copy=hang"})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			over := make(chan error, 1)
			go func() {
				_, err := a.Migrate(ctx, in)
				over <- err
			}()
			for _, err := a.Progress(ctx, serverID); err != nil; _, err = a.Progress(ctx, serverID) {
				time.Sleep(time.Millisecond)
			}
			if err := end(a, cancel); err != nil {
				t.Fatal(err)
			}
			err := <-over
			if name == "cancelled" {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled: %v", err)
				}
				runsOn(t, source, dest)
			} else {
				if err != nil {
					t.Error(err)
				}
				runsOn(t, dest, source)
			}
			if _, err := a.Progress(t.Context(), serverID); !faults.Is(err, faults.NotFound) {
				t.Errorf("progress of a move that is over: %v", err)
			}
		})
	}
}

// A move that the host has said to be given up is not begun by an attempt that comes
// late, not even after other steps and on a worker that was started anew.
func TestMigrateGivenUp(t *testing.T) {
	t.Parallel()
	source, dest := twoHosts(t)
	in := landing(t, source, dest)
	look := in
	look.Only = true
	if _, err := host(t, source, simulated.Options{}).Migrate(t.Context(), look); !faults.Is(err, faults.Conflict) {
		t.Fatalf("a move that nobody has begun: %v", err)
	}
	if _, err := host(t, source, simulated.Options{}).Depart(t.Context(), steps.DepartIn{Token: in.Token}); err != nil {
		t.Fatal(err)
	}
	if _, err := host(t, source, simulated.Options{}).Migrate(t.Context(), in); !faults.Is(err, faults.Conflict) {
		t.Errorf("the attempt that comes late: %v", err)
	}
	runsOn(t, source, dest)
	in.Mark = "another move"
	if _, err := host(t, source, simulated.Options{}).Migrate(t.Context(), in); err != nil {
		t.Errorf("another move: %v", err)
	}
	runsOn(t, dest, source)
}

// What can't move, or mustn't, is refused.
func TestMigrateRefusals(t *testing.T) {
	t.Parallel()
	source, dest := twoHosts(t)
	in := landing(t, source, dest)
	yes := true
	shared := steps.LandIn{Token: in.Token, Spec: spec(), From: steps.Departure{Machine: "simulated"}, Block: new(bool)}
	shared.Spec.Disks = []steps.Disk{{Kind: steps.DiskRoot, SizeMB: 1}}
	if _, err := host(t, dest, simulated.Options{}).Land(t.Context(), shared); !faults.Is(err, faults.Conflict) {
		t.Errorf("disks that are not shared: %v", err)
	}
	diskless := shared
	diskless.Spec.Disks = []steps.Disk{}
	if _, err := host(t, t.TempDir(), simulated.Options{}).Land(t.Context(), diskless); err != nil {
		t.Errorf("a server without disks on its host: %v", err)
	}
	diskless.Block = &yes
	if _, err := host(t, t.TempDir(), simulated.Options{}).Land(t.Context(), diskless); faults.As(err).Code != "InvalidLocalStorage" {
		t.Errorf("disks to be copied of a server that has none on its host: %v", err)
	}
	foreign := steps.LandIn{Token: in.Token, Spec: spec(), From: steps.Departure{Machine: "q35"}, Block: &yes}
	if _, err := host(t, dest, simulated.Options{}).Land(t.Context(), foreign); !faults.Is(err, faults.Conflict) {
		t.Errorf("a guest of another kind of host: %v", err)
	}
	only := in
	only.Only = true
	if _, err := host(t, source, simulated.Options{}).Migrate(t.Context(), only); !faults.Is(err, faults.Conflict) {
		t.Errorf("one that nobody has begun: %v", err)
	}
	older := in
	older.Token = token(1, 1)
	if _, err := host(t, source, simulated.Options{}).Migrate(t.Context(), older); !faults.Is(err, faults.Superseded) {
		t.Errorf("of an earlier owner: %v", err)
	}
	runsOn(t, source, dest)
	actNamed("stop after").must(t, host(t, source, simulated.Options{}))
	if _, err := host(t, source, simulated.Options{}).Depart(t.Context(), steps.DepartIn{Token: token(6, 1)}); !faults.Is(err, faults.Conflict) {
		t.Errorf("one that is off: %v", err)
	}
}
