package libvirt

// What each guest was built from, kept beside its fence for as long as anything
// of it is left: a control plane that has lost the server's row, to a restore
// of its database, is told (`holdfast audit --adopt`).

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/steps"
)

// maxSpec is the most that a server's spec may weigh.
const maxSpec = 64 << 10

// specs are those of one host, a file per server.
type specs struct{ dir string }

func openSpecs(stateDir string) (specs, error) {
	s := specs{filepath.Join(stateDir, "specs")}
	err := os.MkdirAll(s.dir, 0o700)
	if err == nil {
		err = statedir.Sweep(s.dir)
	}
	if err != nil {
		return s, fmt.Errorf("specs: %w", err)
	}
	return s, nil
}

func (s specs) path(serverID string) string { return filepath.Join(s.dir, serverID+".json") }

func (s specs) keep(spec []byte, serverID string) error {
	if !validID(serverID) {
		return faults.New(faults.Invalid, "InvalidServer", "%q is no server id", serverID)
	}
	return unwritable(statedir.Write(s.path(serverID), spec))
}

func (s specs) forget(serverID string) error { return unwritable(statedir.Remove(s.path(serverID))) }

func unwritable(err error) error {
	if err == nil {
		return nil
	}
	return faults.Wrap(err, faults.Unavailable, "HostStorage", "the host's storage failed")
}

// Describe gives what a guest was built from, as JSON of steps.ServerSpec. It
// has no secret. Errors: NotFound, the host has no such guest.
func (a *Activities) Describe(_ context.Context, serverID string) (json.RawMessage, error) {
	missing := faults.New(faults.NotFound, "GuestNotFound", "the host has no guest of server %s", serverID)
	if !validID(serverID) {
		return nil, missing
	}
	data, err := os.ReadFile(a.specs.path(serverID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	return data, unwritable(err)
}

// Console gives the end of a guest's console log, as the driver does.
func (a *Activities) Console(ctx context.Context, serverID string, length int) ([]byte, error) {
	return a.driver.Console(ctx, serverID, length)
}

// Diagnostics says how a guest does, as JSON of servers.Diagnostics. Errors:
// NotFound, the host has no such guest.
func (a *Activities) Diagnostics(ctx context.Context, serverID string) (json.RawMessage, error) {
	said, err := a.driver.Diagnostics(ctx, serverID)
	if err != nil {
		return nil, err
	}
	return json.Marshal(said)
}

// Generation is the highest under which the host has let anything be done to a
// server; 0 if it never has, or can't say.
func (a *Activities) Generation(serverID string) int64 {
	stood, _, err := a.fences.condemned(serverID)
	if err != nil {
		a.log.Warn("a fence can't be read", "server", serverID, "error", err)
		return 0
	}
	return stood.Generation
}

// weigh gives a spec as JSON, if it is the token's and no larger than it may be.
func weigh(t steps.Token, spec steps.ServerSpec) ([]byte, error) {
	if spec.ServerID != t.ServerID {
		return nil, faults.New(faults.Invalid, "InvalidServer", "spec of server %q under the token of %q", spec.ServerID, t.ServerID)
	}
	data, err := json.Marshal(spec)
	if err != nil || len(data) > maxSpec {
		return nil, faults.New(faults.Invalid, "SpecTooLarge", "the spec of server %s is larger than %d bytes", spec.ServerID, maxSpec)
	}
	return data, nil
}
