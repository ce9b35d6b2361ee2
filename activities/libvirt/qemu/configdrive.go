package qemu

// The config drive: an ISO 9660 image with Rock Ridge names, labelled config-2.

import (
	"context"
	"os"
	"path/filepath"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/iso"
	"holdfast.dev/internal/steps"
)

// makeConfigDrive asks for the files and writes them. It is made once: what a
// guest saw at its first boot it sees at every one.
func (g *guest) makeConfigDrive(ctx context.Context, spec steps.ServerSpec) error {
	if !spec.ConfigDrive {
		return nil
	}
	return g.writeConfigDrive(ctx, configFile)
}

// writeConfigDrive makes one of what the guest is told now.
func (g *guest) writeConfigDrive(ctx context.Context, name string) error {
	return g.make(name, func(path string) (err error) {
		content, err := g.driver.servers.ConfigDrive(ctx, g.id)
		if err != nil {
			return err
		}
		// They hold secrets: only root may look, and they go with the call.
		dir := path + ".files"
		if err := os.RemoveAll(dir); err != nil {
			return broken(err)
		}
		defer func() {
			if removed := os.RemoveAll(dir); err == nil {
				err = broken(removed)
			}
		}()
		if err := writeTree(dir, content.Files); err != nil {
			return err
		}
		if err := run(ctx, "genisoimage", "-quiet", "-o", path, "-J", "-r", "-l", "-ldots", "-allow-lowercase",
			"-allow-multidot", "-V", iso.ConfigDrive, dir); err != nil {
			return err
		}
		return broken(os.Chmod(path, 0o600))
	})
}

// writeTree writes files below a folder, none outside it.
func writeTree(dir string, files map[string][]byte) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return broken(err)
	}
	for name, content := range files {
		if !filepath.IsLocal(name) {
			return faults.New(faults.Invalid, "InvalidConfigDrive", "the config drive has no place for a file %q", name)
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return broken(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return broken(err)
		}
	}
	return nil
}
