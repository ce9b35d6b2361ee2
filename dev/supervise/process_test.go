// Tests of a process: ready, killed, stopped, started again, orphaned.

package supervise_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/dev/supervise"
)

func shell(t *testing.T, script string) *supervise.Process {
	t.Helper()
	p := &supervise.Process{
		Name:    "shell",
		Args:    []string{"sh", "-c", script},
		LogFile: filepath.Join(t.TempDir(), "log"),
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func start(t *testing.T, p *supervise.Process) {
	t.Helper()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for what the kernel or a restart does in its own time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

func alive(pid int) bool {
	state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(state), ") Z ")
}

func TestReadyByLineAndProbe(t *testing.T) {
	p := shell(t, "echo not ready; sleep 0.2; echo ready; sleep 60")
	p.ReadyLine = "ready"
	asked := 0
	p.Ready = func(context.Context) error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	}
	began := time.Now()
	start(t, p)
	if took := time.Since(began); took < 200*time.Millisecond {
		t.Errorf("ready after %s, before its line", took)
	}
	if asked != 3 {
		t.Errorf("probed %d times, want 3", asked)
	}
	log, err := os.ReadFile(p.LogFile)
	if err != nil || string(log) != "not ready\nready\n" {
		t.Errorf("log %q, %v", log, err)
	}
	if err := p.Start(t.Context()); err == nil || err.Error() != "start shell: it already runs" {
		t.Errorf("a second start: %v", err)
	}
}

func TestStartFailsWithLog(t *testing.T) {
	p := shell(t, "echo no disk >&2; exit 3")
	p.ReadyLine = "ready"
	err := p.Start(t.Context())
	want := "start shell: it ended with status 3; its log " + p.LogFile + " ends:\n\tno disk"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if s := p.State(); s.Running || s.ExitCode != 3 {
		t.Errorf("state %+v", s)
	}
}

func TestStartGivesUp(t *testing.T) {
	p := shell(t, "sleep 60")
	p.ReadyLine, p.ReadyTimeout = "ready", 100*time.Millisecond
	if err := p.Start(t.Context()); err == nil || err.Error() != "start shell: not ready within 100ms" {
		t.Errorf("got %v", err)
	}
	if s := p.State(); s.Running || s.Signal != syscall.SIGKILL {
		t.Errorf("state %+v", s)
	}
}

func TestKillTakesTheGroupAlong(t *testing.T) {
	p := shell(t, "sleep 60 & echo $!; echo ready; wait")
	p.ReadyLine = "ready"
	start(t, p)
	log, err := os.ReadFile(p.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.Fields(string(log))[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if s := p.State(); s.Running || s.Signal != syscall.SIGKILL || s.ExitCode != -1 {
		t.Errorf("state %+v", s)
	}
	eventually(t, "the grandchild is gone", func() bool { return !alive(child) })
	start(t, p)
	if s := p.State(); !s.Running {
		t.Errorf("after another start: %+v", s)
	}
}

func TestStop(t *testing.T) {
	clean := shell(t, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done`)
	clean.ReadyLine = "ready"
	start(t, clean)
	if err := clean.Stop(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if s := clean.State(); s.Running || s.ExitCode != 7 {
		t.Errorf("state %+v", s)
	}

	stubborn := shell(t, `trap '' TERM; echo ready; while :; do sleep 0.05; done`)
	stubborn.ReadyLine = "ready"
	start(t, stubborn)
	err := stubborn.Stop(100 * time.Millisecond)
	if err == nil || err.Error() != "stop shell: it did not end within 100ms and was killed" {
		t.Errorf("got %v", err)
	}
	if s := stubborn.State(); s.Running || s.Signal != syscall.SIGKILL {
		t.Errorf("state %+v", s)
	}
}

func TestRestart(t *testing.T) {
	p := shell(t, "sleep 60")
	told := make(chan string, 9)
	p.Restart = &supervise.Restart{Delay: 10 * time.Millisecond, MaxDelay: 50 * time.Millisecond, Told: func(p *supervise.Process, how string) { told <- p.Name + " " + how }}
	start(t, p)
	first := p.State().Pid
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs again", func() bool {
		s := p.State()
		return s.Running && s.Pid != first && s.Restarts == 1
	})
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	if s := p.State(); s.Running || s.Restarts != 1 {
		t.Errorf("after Kill: %+v", s)
	}
	if len(told) != 1 || <-told != "shell ended by signal killed" {
		t.Error("what was told isn't that it ended by a signal, once: its end by Kill is nobody's news")
	}
}

// TestChildDiesWithParent runs this test binary as the parent and kills it.
func TestChildDiesWithParent(t *testing.T) {
	if os.Getenv("SUPERVISE_TEST_PARENT") != "" {
		p := &supervise.Process{Name: "child", Args: []string{"sh", "-c", "echo $$; exec sleep 60"}, LogFile: os.Getenv("SUPERVISE_TEST_PARENT")}
		if err := p.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	file := filepath.Join(t.TempDir(), "pid")
	parent := exec.Command(os.Args[0], "-test.run=^TestChildDiesWithParent$")
	parent.Env = append(os.Environ(), "SUPERVISE_TEST_PARENT="+file)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	eventually(t, "the child has said its pid", func() bool {
		text, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		child, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("the parent ended well, it should have been killed")
	}
	eventually(t, "the child is gone", func() bool { return !alive(child) })
}
