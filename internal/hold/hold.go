// Package hold lets a test stop an operation at a named point and go on when
// the test says so, or fail there, in processes that it can't reach otherwise.
//
// The orders are files in a folder that the configuration names (dev.hold_dir):
//
//	<folder>/<resource id>/<point>        stops the operations of one resource
//	<folder>/any/<point>                  stops all
//	<folder>/<resource id>/<point>.here   written when one has been stopped
//	<folder>/<resource id>/<point>.fail   fails the next one of one resource
//
// A point is the kind of the operation and a step of a control or conductor worker,
// "build:placement.Claim", for the moment before it; with ".done" for the moment after
// it, when its answer has not been heard yet; or a sub-step of a driver, "build.disk".
// A stopped step goes on when the file is gone, or ends with its context. One that
// fails is not tried again.
//
// The package reads and writes that folder and nothing else.
package hold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast.dev/internal/faults"
)

// Any is the folder of orders for every resource.
const Any = "any"

const look = 50 * time.Millisecond

// Points is the folder of orders; empty is none at all.
type Points string

// At stops the caller for as long as an order for the point of the resource
// lies there. Errors: Invalid, it is to fail; ctx's, or the folder can't be used.
func (p Points) At(ctx context.Context, resource, point string) error {
	if p == "" {
		return nil
	}
	switch err := os.Remove(p.failure(resource, point)); {
	case err == nil:
		return faults.New(faults.Invalid, "OrderedToFail", "it was ordered to fail at %s", point)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	for said := false; ; {
		stop, err := p.ordered(resource, point)
		if err != nil || !stop {
			return err
		}
		if !said {
			if err := p.say(resource, point); err != nil {
				return err
			}
			said = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(look):
		}
	}
}

func (p Points) ordered(resource, point string) (bool, error) {
	for _, of := range []string{resource, Any} {
		_, err := os.Stat(p.file(of, point))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}

func (p Points) say(resource, point string) error {
	if err := p.put(p.file(resource, point) + ".here"); err != nil {
		return fmt.Errorf("hold %s at %s: %w", resource, point, err)
	}
	return nil
}

// Order stops what comes to the point from now on.
func (p Points) Order(resource, point string) error {
	if err := p.put(p.file(resource, point)); err != nil {
		return fmt.Errorf("order %s to stop at %s: %w", resource, point, err)
	}
	return nil
}

// Fail has the next of the resource that comes to the point fail there.
func (p Points) Fail(resource, point string) error {
	if err := p.put(p.failure(resource, point)); err != nil {
		return fmt.Errorf("order %s to fail at %s: %w", resource, point, err)
	}
	return nil
}

// Failed says whether the order to fail has been followed.
func (p Points) Failed(resource, point string) (bool, error) {
	_, err := os.Stat(p.failure(resource, point))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// Release lets everything of the resource, or of Any, go on.
func (p Points) Release(resource string) error {
	return os.RemoveAll(filepath.Join(string(p), resource))
}

// ReleaseAt lets what is held at one point of the resource, or of Any, go on.
func (p Points) ReleaseAt(resource, point string) error {
	err := os.Remove(p.file(resource, point))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Here says whether something of the resource has been stopped at the point.
func (p Points) Here(resource, point string) (bool, error) {
	_, err := os.Stat(p.file(resource, point) + ".here")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (p Points) file(resource, point string) string {
	return filepath.Join(string(p), resource, point)
}

func (p Points) failure(resource, point string) string { return p.file(resource, point) + ".fail" }

func (p Points) put(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}
