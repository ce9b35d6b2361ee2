// The Temporal server and its UI, run by bin/holdfast-temporal.

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"holdfast.dev/dev/postgres"
	"holdfast.dev/dev/supervise"
)

// TemporalVariable names the environment variable that says where
// holdfast-temporal is, if it isn't beside this program, in bin/ of the source
// or in PATH.
const TemporalVariable = "HOLDFAST_TEMPORAL"

// TemporalOptions says how the server is run.
type TemporalOptions struct {
	// Admin is the PostgreSQL that holds its databases, prepared.
	Admin postgres.Admin
	// Port on 127.0.0.1 and UIPort, 0 for no UI.
	Port, UIPort int
	// Namespaces are made if missing; none stands for "holdfast".
	Namespaces []string
	LogFile    string
	// LogLevel is debug, info, warn or error; "" is warn.
	LogLevel string
}

// Temporal returns the server's process. It is ready when its namespaces can
// be used.
func Temporal(o TemporalOptions) (*supervise.Process, error) {
	program, err := findTemporal()
	if err != nil {
		return nil, err
	}
	password, err := o.Admin.RolePassword(postgres.TemporalRole)
	if err != nil {
		return nil, err
	}
	if o.LogLevel == "" {
		o.LogLevel = "warn"
	}
	args := []string{
		program,
		"--postgres-host", o.Admin.Host,
		"--postgres-port", strconv.Itoa(o.Admin.Port),
		"--user", postgres.TemporalRole,
		"--database", postgres.TemporalDatabase,
		"--visibility-database", postgres.VisibilityDatabase,
		"--port", strconv.Itoa(o.Port),
		"--ui-port", strconv.Itoa(o.UIPort),
		"--log-level", o.LogLevel,
	}
	for _, namespace := range o.Namespaces {
		args = append(args, "--namespace", namespace)
	}
	return &supervise.Process{
		Name:      "temporal",
		Args:      args,
		Env:       []string{"HOLDFAST_TEMPORAL_PASSWORD=" + password},
		LogFile:   o.LogFile,
		ReadyLine: "ready",
		// It makes its tables first, on a machine that may have much else to do.
		ReadyTimeout: 3 * time.Minute,
	}, nil
}

// findTemporal looks for the program where it may have been put.
func findTemporal() (string, error) {
	const program = "holdfast-temporal"
	candidates := []string{os.Getenv(TemporalVariable)}
	if self, err := os.Executable(); err == nil {
		candidates = append(candidates, filepath.Join(filepath.Dir(self), program))
	}
	// A test runs in its package's folder, somewhere below the module's.
	if dir, err := os.Getwd(); err == nil {
		for ; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "dev", "temporal", "go.mod")); err == nil {
				candidates = append(candidates, filepath.Join(dir, "bin", program))
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("there is no %s: build it with \"make build\", or say where it is in %s", program, TemporalVariable)
}
