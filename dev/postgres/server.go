// The server: its folder, its process, its ends.

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"holdfast.dev/dev/ports"
	"holdfast.dev/dev/supervise"
)

// releaseTimeout is how long the children of a killed postmaster may take to
// notice and let go of the shared memory.
const releaseTimeout = 20 * time.Second

// Options says where a server lives.
type Options struct {
	// Dir gets everything: data/, socket/, the log and the passwords. It
	// belongs to the account the server runs under.
	Dir string
	// Port on loopback; 0 picks a free one.
	Port int
	// User is the account to run under if this process is root's; "" is
	// postgres if there is such an account, otherwise nobody.
	User string
	// Revive says how the server is started again when it has died of itself;
	// nil: not at all.
	Revive *supervise.Restart
	// Settings are added to, or replace, the server's settings:
	// {"shared_buffers": "512MB"}.
	Settings map[string]string
}

// Server is a PostgreSQL that Start has started.
type Server struct {
	Admin

	dir      string
	account  *account
	process  *supervise.Process
	programs programs
}

// Start makes the server's folder if it is empty, starts the server, and
// returns when it answers.
func Start(ctx context.Context, o Options) (*Server, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	account, err := findAccount(o.User)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL's folder: %w", err)
	}
	port := o.Port
	if port == 0 {
		if port, err = ports.Free(); err != nil {
			return nil, err
		}
	}
	s := &Server{dir: dir, account: account, programs: programs}
	if err := s.makeFolders(); err != nil {
		return nil, err
	}
	password, err := secret(s.dir, superuser)
	if err != nil {
		return nil, err
	}
	s.Admin = Admin{Host: "127.0.0.1", Port: port, Password: password, Secrets: dir}
	if err := s.initialize(ctx); err != nil {
		return nil, err
	}
	s.process = &supervise.Process{
		Name:         "postgres",
		Args:         s.arguments(o.Settings),
		Env:          []string{"LC_ALL=C", "TZ=UTC"},
		Dir:          s.data(),
		LogFile:      filepath.Join(dir, "log"),
		Ready:        s.Ping,
		StopSignal:   syscall.SIGINT,  // "fast": sessions are ended, data is flushed
		DeathSignal:  syscall.SIGQUIT, // "immediate": its children end too
		Credential:   account.credential(),
		ReadyTimeout: 2 * time.Minute, // recovery after a crash takes its time
		Restart:      o.Revive,
	}
	return s, s.Restart(ctx)
}

// Restart starts the server again after Kill or Stop, on the same port.
func (s *Server) Restart(ctx context.Context) error {
	if s.process.State().Running {
		return errors.New("start postgres: it already runs")
	}
	if err := s.awaitRelease(ctx); err != nil {
		return err
	}
	// Nothing runs here, so the file is stale; its process id may meanwhile be
	// another process's, for whose sake PostgreSQL would refuse to start.
	err := os.Remove(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a stale lock: %w", err)
	}
	return s.process.Start(ctx)
}

// Kill ends the server with SIGKILL, as a crash would, and returns when all
// its processes are gone.
func (s *Server) Kill() error {
	if err := s.process.Kill(); err != nil {
		return err
	}
	return s.awaitRelease(context.Background())
}

// Stop ends the server cleanly: sessions are ended, data is flushed.
func (s *Server) Stop() error { return s.process.Stop(30 * time.Second) }

// Pid returns the process id of the server.
func (s *Server) Pid() int { return s.process.State().Pid }

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// makeFolders makes what is missing and gives it to the server's account.
func (s *Server) makeFolders() error {
	for _, dir := range []string{s.dir, filepath.Join(s.dir, "socket"), s.data()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("PostgreSQL's folder: %w", err)
		}
		if err := s.account.own(dir); err != nil {
			return fmt.Errorf("PostgreSQL's folder: %w", err)
		}
	}
	return s.account.checkReach(filepath.Dir(s.dir))
}

// initialize makes the database cluster if there is none. A cluster that was
// begun and not finished is made anew.
func (s *Server) initialize(ctx context.Context) error {
	done := filepath.Join(s.dir, "initialized")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := s.awaitRelease(ctx); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.data())
	if err != nil {
		return fmt.Errorf("PostgreSQL's folder: %w", err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(s.data(), e.Name())); err != nil {
			return fmt.Errorf("clear a cluster that was not finished: %w", err)
		}
	}
	// initdb reads the password from a file that its account may read.
	file := filepath.Join(s.dir, "initial-password")
	if err := os.WriteFile(file, []byte(s.Password), 0o600); err != nil {
		return fmt.Errorf("write the first password: %w", err)
	}
	defer os.Remove(file)
	if err := s.account.own(file); err != nil {
		return fmt.Errorf("write the first password: %w", err)
	}
	cmd := exec.CommandContext(ctx, s.programs["initdb"],
		"--pgdata", s.data(), "--username", superuser, "--pwfile", file,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C")
	cmd.Dir = s.data()
	cmd.Env = append(os.Environ(), "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account.credential()}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		return fmt.Errorf("finish the cluster: %w", err)
	}
	return nil
}

func (s *Server) arguments(extra map[string]string) []string {
	settings := map[string]string{
		"listen_addresses": s.Host,
		"port":             strconv.Itoa(s.Port),
		// Relative to the data folder: a socket's path is at most 107 bytes,
		// and a test's folder is often longer.
		"unix_socket_directories": "../socket",
		"unix_socket_permissions": "0700",
		"max_connections":         "300",
		"shared_buffers":          "64MB",
		"fsync":                   "on",
		"synchronous_commit":      "on",
		// Nothing replicates, but with "minimal" a sequence that was made and asked
		// in one transaction forgets in a crash what it gave out since.
		"wal_level":       "replica",
		"max_wal_senders": "0",
		"min_wal_size":    "64MB",
		"max_wal_size":    "512MB",
		// What a killed server leaves lies in its folder, not in the machine's shared memory.
		"dynamic_shared_memory_type": "mmap",
		"jit":                        "off",
		"log_line_prefix":            "%m [%p] %d ",
	}
	for name, value := range extra {
		settings[name] = value
	}
	args := []string{s.programs["postgres"], "-D", s.data()}
	for name, value := range settings {
		args = append(args, "-c", name+"="+value)
	}
	return args
}

// awaitRelease returns when no process works in the data folder. Every process
// of a PostgreSQL does, so this finds the children that a killed postmaster
// left, each in a session of its own.
func (s *Server) awaitRelease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	for {
		pids, err := processesIn(s.data())
		if err != nil || len(pids) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is in use by another PostgreSQL, process %s", s.data(), pids[0])
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func processesIn(dir string) ([]string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL's folder: %w", err)
	}
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return nil, fmt.Errorf("look for processes: %w", err)
	}
	var pids []string
	for _, link := range links {
		// Unreadable is a process that has ended or is another account's.
		if cwd, err := os.Readlink(link); err == nil && cwd == dir {
			pids = append(pids, filepath.Base(filepath.Dir(link)))
		}
	}
	return pids, nil
}
