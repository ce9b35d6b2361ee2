package simulated

// Live migration between simulated hosts of one machine: the guest's domain goes
// from folder to folder by one rename, after the time that its memory takes.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// leaving is what leaving.json holds, for as long as anything of the guest is left.
type leaving struct {
	Mark  string    `json:"mark"`
	Began time.Time `json:"began"`
	// Folder is where it goes.
	Folder string `json:"folder"`
	// Forced says that it is not to take any longer.
	Forced bool `json:"forced,omitempty"`
}

const (
	leavingFile = "leaving.json"
	// copyStep is the delay's name that says how long a guest is on its way.
	copyStep = "migrate.copy"
	// copyTime is how long without one.
	copyTime = 200 * time.Millisecond
	copyPoll = 20 * time.Millisecond
)

// Depart says where the guest is.
func (d *Driver) Depart(ctx context.Context, serverID string) (steps.Departure, error) {
	run, err := d.run(serverID, nil)
	if err != nil {
		return steps.Departure{}, err
	}
	var out steps.Departure
	err = run.steps(ctx, subStep{"depart", func() error {
		have, err := run.folder.domain()
		if err != nil {
			return err
		}
		if have == nil || have.PowerState != libvirt.Running && have.PowerState != libvirt.Paused {
			return notRunning(serverID)
		}
		if len(have.Spec.Devices) > 0 {
			return faults.New(faults.Conflict, "MigrationPreCheckError", "Migration pre-check error: This request does not explicitly request live-migratable devices.")
		}
		out = steps.Departure{Folder: string(run.folder), Machine: "simulated"}
		return nil
	}})
	return out, err
}

func notRunning(serverID string) error {
	return faults.New(faults.Conflict, "InstanceNotRunning", "Instance %s is not running.", serverID)
}

// Land makes the folder and the disks.
func (d *Driver) Land(ctx context.Context, spec steps.ServerSpec, from steps.Departure) (steps.Landing, error) {
	run, err := d.run(spec.ServerID, spec.ExtraSpecs)
	if err != nil {
		return steps.Landing{}, err
	}
	err = run.steps(ctx,
		subStep{"land.cpu", func() error {
			if from.Machine != "simulated" {
				return faults.New(faults.Conflict, "MigrationPreCheckError", "Migration pre-check error: a simulated host has no %s", from.Machine)
			}
			return nil
		}},
		subStep{"land.folder", func() error { return broken(os.MkdirAll(string(run.folder), 0o700)) }},
		subStep{"land.disk", func() error { return run.makeDisks(spec) }},
		subStep{"land.done", nil},
	)
	return steps.Landing{URI: "simulated", Folder: string(run.folder), NUMA: spec.NUMA}, err
}

// Migrate waits for as long as the guest is on its way, and moves its domain.
func (d *Driver) Migrate(ctx context.Context, m libvirt.Move, confirm libvirt.Confirm) error {
	run, err := d.run(m.ServerID, nil)
	if err != nil {
		return err
	}
	var way leaving
	if _, err := run.folder.read(leavingFile, &way); err != nil {
		return err
	}
	have, err := run.folder.domain()
	switch {
	case err != nil:
		return err
	case have == nil && way.Mark == m.Mark:
		return nil // it has left
	case have == nil:
		return notRunning(m.ServerID)
	case m.Abort, m.Only && way.Mark != m.Mark:
		if err := run.folder.remove(leavingFile); err != nil {
			return err
		}
		return faults.New(faults.Conflict, "MigrationError", "Migration error: the migration was given up")
	}
	return run.steps(ctx,
		subStep{"migrate.begin", func() error {
			if way.Mark == m.Mark {
				return nil
			}
			if err := confirm(); err != nil {
				return err
			}
			way = leaving{Mark: m.Mark, Began: time.Now(), Folder: m.To.Folder}
			return run.folder.write(leavingFile, way)
		}},
		subStep{"migrate.copying", func() error { return run.copying(ctx, m, have) }},
		subStep{"migrate.move", func() error {
			err := os.Rename(run.folder.file("guest.json"), filepath.Join(way.Folder, "guest.json"))
			if errors.Is(err, fs.ErrNotExist) {
				return faults.Wrap(err, faults.Conflict, "MigrationError", "Migration error: the other host is not ready")
			}
			if err != nil {
				return broken(err)
			}
			have.Spec.NUMA = m.To.NUMA
			return folder(way.Folder).define(have)
		}},
		subStep{"migrate.done", nil},
	)
}

// copying lasts until the guest's memory has been copied, or that is cut short.
func (r *run) copying(ctx context.Context, m libvirt.Move, have *domain) error {
	fromFile, err := readRules(r.driver.rulesFile)
	if err != nil {
		return faults.Wrap(err, faults.Internal, "InvalidSimulation", "the host's simulated faults: %v", err)
	}
	lasts := r.own.over(fromFile.over(r.driver.rules)).delay[copyStep]
	if lasts == 0 {
		lasts = copyTime
	}
	tick := time.NewTicker(copyPoll)
	defer tick.Stop()
	for {
		var way leaving
		if _, err := r.folder.read(leavingFile, &way); err != nil {
			return err
		}
		total, gone := int64(have.Spec.MemoryMB)<<20, time.Since(way.Began)
		done := total
		if !way.Forced && lasts == hang {
			done = total / 2
		} else if !way.Forced && gone < lasts {
			done = total * int64(gone) / int64(lasts)
		}
		m.Seen(steps.MoveProgress{MemoryTotal: total, MemoryProcessed: done, MemoryRemaining: total - done})
		if done == total {
			return nil
		}
		select {
		case <-ctx.Done():
			if err := r.folder.remove(leavingFile); err != nil {
				return err
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Complete has the guest take no longer.
func (d *Driver) Complete(ctx context.Context, serverID string) error {
	run, err := d.run(serverID, nil)
	if err != nil {
		return err
	}
	return run.steps(ctx, subStep{"complete", func() error {
		var way leaving
		if found, err := run.folder.read(leavingFile, &way); err != nil || !found {
			return err
		}
		way.Forced = true
		return run.folder.write(leavingFile, way)
	}})
}

// Landed looks whether the domain is here.
func (d *Driver) Landed(ctx context.Context, serverID string) (out steps.LandedOut, err error) {
	run, err := d.run(serverID, nil)
	if err != nil {
		return out, err
	}
	err = run.steps(ctx, subStep{"landed", func() error {
		have, err := run.folder.domain()
		if have != nil {
			out = steps.LandedOut{Here: true, PowerState: have.PowerState}
		}
		return err
	}})
	return out, err
}
