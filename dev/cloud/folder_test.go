package cloud

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/statedir"
	"holdfast.dev/internal/testenv"
)

// opened makes a cloud in dir, below a folder that every account may enter, and
// opens it.
func opened(t *testing.T, o Options) (*cloud, error) {
	t.Helper()
	if o.Driver == "" {
		o.Driver = DriverSimulated
	}
	o.Progress = io.Discard
	c := &cloud{Options: o, machineFolder: filepath.Join(testenv.Folder(t), "holdfast")}
	release, err := c.open(t.Context())
	if err == nil {
		t.Cleanup(func() {
			if err := release(); err != nil {
				t.Error(err)
			}
		})
	}
	return c, err
}

func TestFolderOfSomethingElse(t *testing.T) {
	dir := testenv.Folder(t)
	if err := os.WriteFile(filepath.Join(dir, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, ""} {
		if _, err := opened(t, Options{Dir: dir, FreePorts: true}); !faults.Is(err, faults.Invalid) {
			t.Errorf("a cloud in %q: %v, want it refused", dir, err)
		}
	}
	about, err := os.Stat(dir)
	if err != nil || about.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", about.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("in the folder are %v, %v", entries, err)
	}
}

// A start that is killed as soon as it has made something in a new folder has
// made the lock, so the next one knows the folder for its own.
func TestFolderIsMarkedFirst(t *testing.T) {
	dir := testenv.Folder(t)
	lock, err := statedir.Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened(t, Options{Dir: dir, FreePorts: true}); !faults.Is(err, faults.Conflict) {
		t.Errorf("a cloud in another's folder: %v, want it refused", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("without the lock were made: %v, %v", entries, err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := opened(t, Options{Dir: dir, FreePorts: true}); err != nil {
		t.Errorf("a cloud in a folder that has only a lock: %v", err)
	}
}

// A cloud works in a clone below a folder that is closed to other accounts, as
// /root is, and in one whose path is too long for libvirt's sockets.
func TestFolderThatDoesNotDo(t *testing.T) {
	closed := filepath.Join(testenv.Folder(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"closed": {Dir: filepath.Join(closed, "clone", ".dev")},
		"long":   {Dir: filepath.Join(testenv.Folder(t), strings.Repeat("long", 25)), Driver: DriverLibvirt},
		// One libvirtd's would do.
		"long for two": {Dir: (testenv.Folder(t) + "/" + strings.Repeat("long", 25))[:81], Driver: DriverLibvirt, Hosts: 2},
	} {
		t.Run(name, func(t *testing.T) {
			o.FreePorts = true
			c, err := opened(t, o)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Dir(c.Dir) != c.machineFolder {
				t.Errorf("the cloud is in %s", c.Dir)
			}
			if to, err := os.Readlink(o.Dir); err != nil || to != c.Dir {
				t.Errorf("the folder is a link to %s, %v; want %s", to, err, c.Dir)
			}
			later := &cloud{Options: o}
			if dir, err := later.locate(); err != nil || dir != c.Dir {
				t.Errorf("a later start finds %s, %v; want %s", dir, err, c.Dir)
			}
		})
	}
}

func TestPorts(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	dir := filepath.Join(testenv.Folder(t), "cloud")

	t.Run("one twice", func(t *testing.T) {
		_, err := opened(t, Options{Dir: dir, FreePorts: true, Ports: map[string]int{"compute": 1234, "volume": 1234}})
		if !faults.Is(err, faults.Invalid) {
			t.Errorf("%v, want it refused", err)
		}
	})
	t.Run("taken", func(t *testing.T) {
		_, err := opened(t, Options{Dir: dir, FreePorts: true, Ports: map[string]int{"compute": port}})
		if !faults.Is(err, faults.Conflict) {
			t.Errorf("%v, want it refused", err)
		}
		if kept, err := os.ReadFile(filepath.Join(dir, portsFile)); err == nil {
			t.Errorf("a refused start has kept %s", kept)
		}
	})
	t.Run("taken since the last start", func(t *testing.T) {
		var first addresses
		t.Run("first", func(t *testing.T) {
			c, err := opened(t, Options{Dir: dir, FreePorts: true})
			if err != nil {
				t.Fatal(err)
			}
			first = c.at
		})
		other, err := net.Listen("tcp", first.host("compute"))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := opened(t, Options{Dir: dir}); !faults.Is(err, faults.Conflict) || !strings.Contains(err.Error(), "--free-ports") {
			t.Errorf("%v, want it refused with advice", err)
		}
		c, err := opened(t, Options{Dir: dir, FreePorts: true})
		if err != nil {
			t.Fatalf("the advice was followed: %v", err)
		}
		for name, port := range c.at {
			if (port == first[name]) != (name != "compute") {
				t.Errorf("%s is at %d, was at %d", name, port, first[name])
			}
		}
	})
}

// A cloud that waits for the ports of one that was killed is interrupted at once.
func TestInterruptedWhileItWaits(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := testenv.Folder(t)
	for _, name := range []string{lockFile, "running"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := Options{Dir: dir, Driver: DriverSimulated, FreePorts: true, Ports: map[string]int{"compute": taken.Addr().(*net.TCPAddr).Port}, Progress: io.Discard}
	if err := Run(ctx, o, nil); err != nil {
		t.Errorf("%v, want a clean end", err)
	}
}
