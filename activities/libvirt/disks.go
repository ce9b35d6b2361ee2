package libvirt

// Disks that go from host to host: served where a guest stands still, fetched
// where it is to be.

import (
	"context"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

// DiskDriver is what of a Driver is about the disks of moves.
type DiskDriver interface {
	// Disks says which files a guest is kept in, in their order. Errors: NotFound.
	Disks(ctx context.Context, serverID string) (hostlink.GuestDisks, error)
	// Receive has fill bring the guest's disks into its folder, and makes them fit
	// for a Build of the spec: as large as that says, never smaller. Nothing runs.
	Receive(ctx context.Context, spec steps.ServerSpec, fill func(ctx context.Context, folder string) error) error
}

// Disks gives what other hosts may copy of a guest: only while it stands still.
// Errors: NotFound; Conflict, it doesn't.
func (a *Activities) Disks(ctx context.Context, serverID string) (hostlink.GuestDisks, error) {
	guest, err := a.driver.Observe(ctx, serverID)
	if err != nil {
		return hostlink.GuestDisks{}, err
	}
	if guest.PowerState != Shutdown && guest.PowerState != NoState {
		return hostlink.GuestDisks{}, faults.New(faults.Conflict, "GuestRuns", "the guest of server %s is in power state %d", serverID, guest.PowerState)
	}
	return a.driver.Disks(ctx, serverID)
}

// Fetch is idempotent by what has come: a disk that has its name is whole, one
// that is on its way goes on where it was.
func (a *Activities) Fetch(ctx context.Context, in steps.FetchIn) (out steps.FetchOut, err error) {
	if a.puller == nil {
		return out, faults.New(faults.Internal, "NoHostLink", "this host can't fetch from others")
	}
	data, err := weigh(in.Token, in.Spec)
	if err != nil {
		return out, err
	}
	_, err = a.guest(ctx, in.Token, actBuild, func(ctx context.Context, confirm Confirm) (Guest, error) {
		if err := a.specs.keep(data, in.Spec.ServerID); err != nil {
			return Guest{}, err
		}
		return Guest{}, a.driver.Receive(ctx, in.Spec, func(ctx context.Context, folder string) error {
			if err := confirm(); err != nil {
				return err
			}
			from := hostlink.PullSource{HostID: in.Source, Address: in.Address}
			pulled, err := a.puller.Pull(ctx, from, in.Spec.ServerID, folder, func() {})
			out.Shared, out.Bytes = pulled.Shared, pulled.Bytes
			return err
		})
	})
	return out, err
}
