package qemu

// Which folder is a guest's. Hosts may keep theirs on storage that they share:
// each has a folder of its own of a server, and sees the others'. A guest that
// goes to another host without its disks takes its folder with it.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// folders are those that any host has of a server: <server>, and <server>.<host>
// of those that found another host's there.
func (d *Driver) folders(serverID string) ([]string, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, broken(err)
	}
	var paths []string
	for _, entry := range entries {
		if id, _, _ := strings.Cut(entry.Name(), "."); id == serverID {
			paths = append(paths, filepath.Join(d.dir, entry.Name()))
		}
	}
	return paths, nil
}

// folder gives this host's of a server, which may not be there yet.
func (d *Driver) folder(serverID string) (string, error) {
	first := filepath.Join(d.dir, serverID)
	if r, err := readRecord(first); err != nil && !faults.Is(err, faults.NotFound) || err == nil && !d.others(r) {
		return first, err
	}
	paths, err := d.folders(serverID)
	if err != nil {
		return "", err
	}
	var taken []string
	for _, path := range paths {
		switch r, err := readRecord(path); {
		case faults.Is(err, faults.NotFound):
		case err != nil:
			return "", err
		case !d.others(r):
			return path, nil
		default:
			taken = append(taken, path)
		}
	}
	free := first
	for n := 1; slices.Contains(taken, free); n++ {
		free = fmt.Sprintf("%s.%s.%d", first, d.hostID, n)
	}
	return free, nil
}

// others says that a folder is that of a guest on another host.
func (d *Driver) others(r record) bool { return r.Host != "" && r.Host != d.hostID }

// recall reads the record of the guest or, where this host has none, that of a
// guest of the server that another has. Errors: NotFound, there is none.
func (g *guest) recall() (record, error) {
	have, err := g.read()
	if !faults.Is(err, faults.NotFound) {
		return have, err
	}
	paths, err := g.driver.folders(g.id)
	if err != nil {
		return have, err
	}
	for _, path := range paths {
		if have, err := readRecord(path); !faults.Is(err, faults.NotFound) {
			return have, err
		}
	}
	return have, notFound(g.id)
}

// shares says whether this host sees the folder that the guest has on the other
// host, which is the guest's for the rest of the call then.
func (g *guest) shares(from steps.Departure) (bool, error) {
	paths, err := g.driver.folders(g.id)
	if err != nil {
		return false, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(path, markerFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || string(text) == from.Marker {
			g.dir = path
			return err == nil, broken(err)
		}
	}
	return false, nil
}

// arrive makes the folder this host's that the guest has come with.
func (g *guest) arrive() error {
	paths, err := g.driver.folders(g.id)
	if err != nil {
		return err
	}
	for _, path := range paths {
		have, err := readRecord(path)
		if err != nil && !faults.Is(err, faults.NotFound) {
			return err
		}
		if err == nil && have.Heir == g.driver.hostID {
			g.dir = path
			return g.inherited(have)
		}
	}
	return nil
}

// inherited makes the folder its heir's.
func (g *guest) inherited(have record) error {
	have.Host, have.Heir = have.Heir, ""
	return g.write(have)
}

// Inherit gives the guest the disks that it has in a folder of another host, if
// this one sees that: both have them from then on, until either is destroyed.
func (d *Driver) Inherit(ctx context.Context, spec steps.ServerSpec, hostID string) (bool, error) {
	g, err := d.guest(spec.ServerID)
	if err != nil {
		return false, err
	}
	paths, err := d.folders(g.id)
	if err != nil {
		return false, err
	}
	for _, path := range paths {
		switch have, err := readRecord(path); {
		case faults.Is(err, faults.NotFound):
		case err != nil:
			return false, err
		case have.Host == hostID && path != g.dir:
			if now, err := g.settled(ctx); err != nil || now.active {
				return true, err // an earlier call has made it
			}
			return true, g.steps(ctx,
				subStep{"inherit.folder", func(context.Context) error { return g.open(spec) }},
				subStep{"inherit.disks", func(context.Context) error { return g.linkDisks(path) }},
				subStep{"inherit.base", g.rebase},
				subStep{"inherit.done", nil},
			)
		}
	}
	return false, nil
}

// linkDisks gives the disks in a folder names in the guest's own. What the guest
// is told is not among them: it is told anew.
func (g *guest) linkDisks(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return broken(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !isDisk(name) || name == configFile {
			continue
		}
		if err := os.Link(filepath.Join(folder, name), g.file(name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return broken(err)
		}
	}
	return nil
}
