// The shared servers: started, written down for other processes, stopped.

package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/ports"
	"holdfast.dev/dev/postgres"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/internal/statedir"
)

// Variable names the environment variable that holds the path of a file in
// which Services are written down.
const Variable = "HOLDFAST_TEST_SERVICES"

// Services are a PostgreSQL and a Temporal server that run.
type Services struct {
	Postgres postgres.Admin `json:"postgres"`
	Temporal string         `json:"temporal"` // host:port

	dir      string
	lock     *statedir.Lock // of the folder
	server   *postgres.Server
	temporal *supervise.Process
}

// StartServices starts both in a temporary folder. Stop must follow, also
// after an error if Services are returned with it.
func StartServices(ctx context.Context) (*Services, error) {
	dir, lock, err := scratch()
	if err != nil {
		return nil, fmt.Errorf("a folder for the test services: %w", err)
	}
	s := &Services{dir: dir, lock: lock}
	// PostgreSQL's account has to pass through; what is below is closed.
	if err := os.Chmod(dir, 0o711); err != nil {
		return s, fmt.Errorf("a folder for the test services: %w", err)
	}
	return s, s.start(ctx)
}

func (s *Services) start(ctx context.Context) error {
	var err error
	if s.server, err = postgres.Start(ctx, postgres.Options{Dir: filepath.Join(s.dir, "postgres")}); err != nil {
		return err
	}
	s.Postgres = s.server.Admin
	if err := s.Postgres.Prepare(ctx); err != nil {
		return err
	}
	port, err := ports.Free()
	if err != nil {
		return err
	}
	s.temporal, err = launch.Temporal(launch.TemporalOptions{
		Admin:   s.Postgres,
		Port:    port,
		LogFile: filepath.Join(s.dir, "temporal.log"),
	})
	if err != nil {
		return err
	}
	s.Temporal = fmt.Sprintf("127.0.0.1:%d", port)
	return s.temporal.Start(ctx)
}

// Write writes them down in their folder and returns the file's path, the
// value of Variable for a process that is to use them. It holds a password and
// is readable for this account only.
func (s *Services) Write() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("write the test services down: %w", err)
	}
	file := filepath.Join(s.dir, "services.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", fmt.Errorf("write the test services down: %w", err)
	}
	return file, nil
}

// Stop stops both and removes their data. The Temporal server is killed: what
// it would save by a clean stop is about to be removed.
func (s *Services) Stop() error {
	var errs []error
	if s.temporal != nil {
		errs = append(errs, s.temporal.Kill())
	}
	if s.server != nil {
		errs = append(errs, s.server.Kill())
	}
	return errors.Join(append(errs, discard(s.dir, s.lock))...)
}

func readServices(file string) (*Services, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the test services that %s names: %w", Variable, err)
	}
	s := &Services{dir: filepath.Dir(file)}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("the test services that %s names: %w", Variable, err)
	}
	return s, nil
}

// startTimeout is generous: a cold machine runs other tests meanwhile.
const startTimeout = 3 * time.Minute
