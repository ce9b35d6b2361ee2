// A process: what it is, and what can be done with it.

package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a program to be run. Its exported fields are read by Start and
// must not change while it runs; its methods may be called by many goroutines.
type Process struct {
	Name string
	Args []string // Args[0] is the program, looked up in PATH if it has no slash
	Env  []string // "KEY=value", added to this process's environment
	Dir  string   // working folder; "" is this process's

	// LogFile gets standard output and error, appended; "" throws them away.
	LogFile string

	// The process is ready when it has printed ReadyLine, if there is one, and
	// Ready, if there is one, returns nil. It has ReadyTimeout for both, a
	// minute if zero.
	ReadyLine    string
	Ready        func(ctx context.Context) error
	ReadyTimeout time.Duration

	// StopSignal asks for a clean end, SIGTERM if zero.
	StopSignal syscall.Signal
	// DeathSignal is what the kernel sends the child when this process is gone,
	// SIGKILL if zero.
	DeathSignal syscall.Signal
	// Credential is the account to run under; nil is this process's.
	Credential *syscall.Credential

	// Restart says what follows an exit that nobody asked for; nil: nothing.
	Restart *Restart

	mu       sync.Mutex
	run      *run // the current or the last run, nil before the first
	restarts int
}

// Restart starts a process again after an unexpected exit, as soon as Delay
// has passed; the delay doubles with each exit up to MaxDelay and is Delay
// again after a run that lasted longer than MaxDelay. A failed attempt counts
// as an exit. It goes on until Kill or Stop.
type Restart struct {
	Delay    time.Duration
	MaxDelay time.Duration
	// Told, if there is one, hears how the process has ended each time that it is
	// to be started again.
	Told func(p *Process, how string)
}

// State is what is known of a process.
type State struct {
	Running  bool
	Pid      int            // of the current or the last run, 0 before the first
	ExitCode int            // of the last run; -1 if it runs or a signal ended it
	Signal   syscall.Signal // that ended the last run, 0 if none did
	Restarts int            // how often Restart has started it again
}

// run is one life of a process.
type run struct {
	pid      int
	began    time.Time
	line     chan struct{} // closed when ReadyLine has been printed
	done     chan struct{} // closed when it has ended
	status   syscall.WaitStatus
	expected bool // Kill or Stop was called
}

const (
	defaultReadyTimeout = time.Minute
	readyInterval       = 50 * time.Millisecond
)

// Start starts the process and returns when it is ready. If it ends before
// that, or is not ready in time, Start kills it and returns an error with the
// end of its log. Starting a running process is an error.
func (p *Process) Start(ctx context.Context) error {
	p.mu.Lock()
	r, err := p.launch()
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	if err := p.awaitReady(ctx, r); err != nil {
		err = fmt.Errorf("start %s: %w%s", p.Name, err, p.logTail())
		return errors.Join(err, p.end(r, syscall.SIGKILL, 0))
	}
	if p.Restart != nil {
		go p.keep(r)
	}
	return nil
}

// Kill ends the process and its group with SIGKILL and returns when it is
// gone. Killing one that doesn't run does nothing.
func (p *Process) Kill() error {
	return p.end(p.current(), syscall.SIGKILL, 0)
}

// Stop asks the process to end, kills it and its group after the timeout, and
// returns when it is gone; that it had to be killed is an error.
func (p *Process) Stop(timeout time.Duration) error {
	return p.end(p.current(), p.stopSignal(), timeout)
}

// Wait returns when the process doesn't run, or ctx ends.
func (p *Process) Wait(ctx context.Context) (State, error) {
	if r := p.current(); r != nil {
		select {
		case <-r.done:
		case <-ctx.Done():
			return p.State(), ctx.Err()
		}
	}
	return p.State(), nil
}

// State returns what is known of the process now.
func (p *Process) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{ExitCode: -1, Restarts: p.restarts}
	if p.run == nil {
		return s
	}
	s.Pid = p.run.pid
	select {
	case <-p.run.done:
		s.ExitCode = p.run.status.ExitStatus()
		if p.run.status.Signaled() {
			s.Signal = p.run.status.Signal()
		}
	default:
		s.Running = true
	}
	return s
}

func (p *Process) current() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

func (p *Process) stopSignal() syscall.Signal {
	if p.StopSignal == 0 {
		return syscall.SIGTERM
	}
	return p.StopSignal
}

// launch forks the child; p.mu is held. The thread that forks is kept until the
// child has ended, because the kernel takes the end of that thread for the
// parent's.
func (p *Process) launch() (*run, error) {
	if p.run != nil && !isClosed(p.run.done) {
		return nil, errors.New("it already runs")
	}
	r := &run{began: time.Now(), line: make(chan struct{}), done: make(chan struct{})}
	cmd, log, err := p.command(r)
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			r.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			// How it ended is in ProcessState; there is nothing else to learn.
			_ = cmd.Wait()
			r.status, _ = cmd.ProcessState.Sys().(syscall.WaitStatus)
			close(r.done)
		}
		if log != nil {
			_ = log.Close()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.run = r
	return r, nil
}

func (p *Process) command(r *run) (*exec.Cmd, *os.File, error) {
	death := p.DeathSignal
	if death == 0 {
		death = syscall.SIGKILL
	}
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Dir = p.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: death, Credential: p.Credential}
	// A grandchild may hold the pipe of standard output open for ever.
	cmd.WaitDelay = time.Second
	var log *os.File
	if p.LogFile != "" {
		var err error
		if log, err = os.OpenFile(p.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, nil, err
		}
		cmd.Stdout, cmd.Stderr = log, log
	}
	if p.ReadyLine == "" {
		close(r.line)
	} else {
		cmd.Stdout = &lineWatch{line: p.ReadyLine, seen: r.line, log: log}
	}
	return cmd, log, nil
}

func (p *Process) awaitReady(ctx context.Context, r *run) error {
	timeout := p.ReadyTimeout
	if timeout == 0 {
		timeout = defaultReadyTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not ready within %s", timeout))
	defer cancel()
	select {
	case <-r.line:
	case <-r.done:
		return p.exitError(r)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for p.Ready != nil {
		err := p.Ready(ctx)
		if err == nil {
			break
		}
		select {
		case <-r.done:
			return p.exitError(r)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(readyInterval):
		}
	}
	// What answered the probe may have been another process on the same port.
	if isClosed(r.done) {
		return p.exitError(r)
	}
	return nil
}

func (p *Process) exitError(r *run) error { return errors.New("it " + ended(r)) }

// ended says how a run has ended.
func ended(r *run) string {
	if r.status.Signaled() {
		return fmt.Sprintf("ended by signal %s", r.status.Signal())
	}
	return fmt.Sprintf("ended with status %d", r.status.ExitStatus())
}

// died tells a run that ended by itself from one that somebody has ended.
func (p *Process) died(r *run) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !r.expected && p.run == r
}

// end sends the signal, SIGKILL after the timeout, and waits.
func (p *Process) end(r *run, signal syscall.Signal, timeout time.Duration) error {
	if r == nil {
		return nil
	}
	p.mu.Lock()
	r.expected = true
	p.mu.Unlock()
	if isClosed(r.done) {
		return nil
	}
	if signal != syscall.SIGKILL {
		if err := syscall.Kill(r.pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop %s: %w", p.Name, err)
		}
		select {
		case <-r.done:
			return nil
		case <-time.After(timeout):
		}
	}
	if err := syscall.Kill(-r.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s: %w", p.Name, err)
	}
	<-r.done
	if signal != syscall.SIGKILL {
		return fmt.Errorf("stop %s: it did not end within %s and was killed", p.Name, timeout)
	}
	return nil
}

// keep starts the process again after every exit that nobody asked for.
func (p *Process) keep(r *run) {
	delay := p.Restart.Delay
	for {
		<-r.done
		if p.Restart.Told != nil && p.died(r) {
			p.Restart.Told(p, ended(r))
		}
		if time.Since(r.began) > p.Restart.MaxDelay {
			delay = p.Restart.Delay
		}
		time.Sleep(delay)
		delay = min(2*delay, p.Restart.MaxDelay)
		next, over := p.relaunch(r)
		if over {
			return
		}
		r = next
	}
}

// relaunch starts the process again after the run r, unless somebody has ended
// it or started another meanwhile. If it can't be started, its program being
// replaced say, r stays the last run and is followed by the next attempt.
func (p *Process) relaunch(r *run) (next *run, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.expected || p.run != r {
		return nil, true
	}
	next, err := p.launch()
	if err != nil {
		return r, false
	}
	p.restarts++
	return next, false
}

// logTail returns the last lines of the log, to be put after an error.
func (p *Process) logTail() string {
	if p.LogFile == "" {
		return ""
	}
	data, err := os.ReadFile(p.LogFile)
	if err != nil || len(data) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return "; its log " + p.LogFile + " ends:\n\t" + strings.Join(lines[max(0, len(lines)-8):], "\n\t")
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
