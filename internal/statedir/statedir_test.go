package statedir

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAcquire(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	first, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("second: %v, want locked", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := Acquire(dir)
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

// A child that has the open file, as every child has until its program begins, keeps
// nobody from the folder.
func TestReleaseDespiteChildren(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{first.file}
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second, err := Acquire(dir)
	if err != nil {
		t.Errorf("beside a child: %v", err)
	} else if err := second.Release(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(input.Close(), child.Wait()); err != nil {
		t.Error(err)
	}
}

func TestWriteReplacesWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		write func(string, []byte) error
		text  string
	}{{Write, "a long first text"}, {Replace, "short"}, {Write, ""}} {
		if err := c.write(path, []byte(c.text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.text {
			t.Errorf("got %q, %v, want %q", got, err, c.text)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left over: %v, %v", entries, err)
	}
	if err := Write(filepath.Join(path, "below a file"), nil); err == nil {
		t.Error("a file in a file was written")
	}
}

func TestSweepAndRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"kept", tempPrefix + "kept-123"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "kept" {
		t.Errorf("after the sweep: %v, %v", entries, err)
	}
	for range 2 {
		if err := Remove(filepath.Join(dir, "kept")); err != nil {
			t.Fatal(err)
		}
	}
}

// Of many that create a file at once one does, and all read what it wrote.
func TestCreate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	read := make(chan string)
	const many = 16
	for i := range many {
		go func() {
			text, err := []byte(nil), Create(path, fmt.Appendf(nil, "the key of %d", i))
			if err == nil {
				text, err = os.ReadFile(path)
			}
			if err != nil {
				text = []byte(err.Error())
			}
			read <- string(text)
		}()
	}
	first := <-read
	for range many - 1 {
		if text := <-read; text != first || !strings.HasPrefix(text, "the key of") {
			t.Errorf("read %q and %q", first, text)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("in the folder are %v, %v", entries, err)
	}
}
