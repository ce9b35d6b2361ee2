package ramdisk

// Build: from packages to what a conductor makes a disc of.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast.dev/dev/debian"
)

// Version is the agent's.
const Version = "13.0.0"

// Ramdisk is one that was built.
type Ramdisk struct {
	// Kernel, Initial and Loader are the paths of the kernel, of its initial file system
	// and of the image of an EFI system partition.
	Kernel, Initial, Loader string
	// Took is how long that has taken, now or long ago.
	Took time.Duration
}

// The names of the files of one.
const (
	kernelFile  = "vmlinuz"
	initialFile = "initrd"
	loaderFile  = "esp.img"
	tookFile    = "took"
)

// loaderSize is that of the EFI system partition.
const loaderSize = 16 << 20

// Build makes the ramdisk in a folder of dir. One that was made there by the same recipe
// is used again; dir also keeps packages that were fetched.
func Build(ctx context.Context, dir string) (*Ramdisk, error) {
	r, err := build(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("ramdisk: %w", err)
	}
	return r, nil
}

func build(ctx context.Context, dir string) (r *Ramdisk, err error) {
	name, err := fingerprint()
	if err != nil {
		return nil, err
	}
	at := filepath.Join(dir, name)
	r = &Ramdisk{Kernel: filepath.Join(at, kernelFile), Initial: filepath.Join(at, initialFile), Loader: filepath.Join(at, loaderFile)}
	took, err := os.ReadFile(filepath.Join(at, tookFile))
	if err == nil {
		r.Took, err = time.ParseDuration(string(took))
		return r, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	began := time.Now()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	done := filepath.Join(work, "done")
	if err := buildIn(ctx, dir, work, done); err != nil {
		return nil, err
	}
	r.Took = time.Since(began).Round(time.Second)
	if err := debian.Write(done, map[string]string{tookFile: r.Took.String()}, 0o644); err != nil {
		return nil, err
	}
	// Renamed when complete, so that a build that was cut short leaves no ramdisk.
	return r, os.Rename(done, at)
}

// buildIn makes it in the folder done; cache keeps packages, and work is thrown away.
func buildIn(ctx context.Context, cache, work, done string) error {
	if err := os.Mkdir(done, 0o755); err != nil {
		return err
	}
	kernel, err := debian.FetchKernel(ctx, cache, filepath.Join(work, "kernel"), kernelPackage)
	if err == nil {
		err = debian.Copy(kernel.Image, filepath.Join(done, kernelFile), 0o644)
	}
	root := filepath.Join(work, "root")
	if err == nil {
		err = assemble(ctx, root, kernel)
	}
	if err == nil {
		err = debian.Pack(ctx, root, filepath.Join(done, initialFile), "zstd -q -9 -T0")
	}
	if err == nil {
		err = debian.SystemPartition(ctx, cache, filepath.Join(done, loaderFile), loaderSize, nil)
	}
	return err
}

// fingerprint names what the ramdisk is made from, packages aside.
func fingerprint() (string, error) {
	small, err := allTexts()
	if err != nil {
		return "", err
	}
	agent, err := sources.ReadFile("agent.txt")
	if err != nil {
		return "", err
	}
	recipe, err := json.Marshal([]any{kernelPackage, packages, without, modules, unread, small, string(agent)})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(recipe)
	return hex.EncodeToString(sum[:6]), nil
}
