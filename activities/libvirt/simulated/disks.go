package simulated

// Disks that go from host to host: the empty files that stand for them.

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

// Disks says which files a guest is kept in.
func (d *Driver) Disks(ctx context.Context, serverID string) (hostlink.GuestDisks, error) {
	if _, err := d.Observe(ctx, serverID); err != nil {
		return hostlink.GuestDisks{}, err
	}
	f, err := d.folder(serverID)
	if err != nil {
		return hostlink.GuestDisks{}, err
	}
	paths, err := filepath.Glob(f.file("disk.*"))
	if err != nil {
		return hostlink.GuestDisks{}, broken(err)
	}
	disks := hostlink.GuestDisks{Folder: string(f)}
	for _, path := range paths {
		disks.Names = append(disks.Names, filepath.Base(path))
	}
	slices.Sort(disks.Names)
	return disks, nil
}

// Receive makes the folder and has it filled.
func (d *Driver) Receive(ctx context.Context, spec steps.ServerSpec, fill func(context.Context, string) error) error {
	run, err := d.run(spec.ServerID, spec.ExtraSpecs)
	if err != nil {
		return err
	}
	return run.steps(ctx,
		subStep{"receive.folder", func() error { return broken(os.MkdirAll(string(run.folder), 0o700)) }},
		subStep{"receive.disks", func() error { return fill(ctx, string(run.folder)) }},
		subStep{"receive.done", nil},
	)
}
