package qemu

// The tests' own libvirtd, and the helper process that kills itself.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"holdfast.dev/activities/libvirt/libvirttest"
	"holdfast.dev/dev/image"
	"holdfast.dev/internal/steps"
)

// helperKey holds the order of a helper process.
const helperKey = "QEMU_TEST_ORDER"

// order is an act that a helper process carries out until a sub-step, at which
// it ends by SIGKILL.
type order struct {
	Dir  string
	Act  string // build, destroy, or a power action
	Spec steps.ServerSpec
	At   string
}

func (o order) run(ctx context.Context, d *Driver) error {
	var err error
	switch o.Act {
	case "build":
		_, err = d.Build(ctx, o.Spec, confirmed)
	case "snapshot":
		_, err = d.Snapshot(ctx, o.Spec.ServerID, "mark", confirmed)
	case "destroy":
		err = d.Destroy(ctx, o.Spec.ServerID, confirmed)
	default:
		_, err = d.Power(ctx, o.Spec.ServerID, steps.PowerAction(o.Act), "mark", confirmed)
	}
	return err
}

// killedAt carries the order out in a process of its own.
func (o order) killedAt(t *testing.T, at string) {
	t.Helper()
	o.At = at
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helperKey+"="+string(text))
	said, err := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the helper was not killed at %s: %v: %s", at, err, said)
	}
}

// imageKey holds the path of the bootable test image.
const imageKey = "QEMU_TEST_IMAGE"

// buildImage makes it while there is a network.
func buildImage() error {
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", ".dev", "image"))
	if err != nil {
		return err
	}
	path, err := image.Build(context.Background(), dir)
	if err != nil {
		return err
	}
	return os.Setenv(imageKey, path)
}

func TestMain(m *testing.M) {
	text := os.Getenv(helperKey)
	if text == "" {
		libvirttest.Main(m, buildImage)
	}
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		var d *Driver
		from := full()
		d, err = New(Options{StateDir: o.Dir, Images: from, Servers: from, OnStep: func(_, step string) {
			if step == o.At {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}})
		if err == nil {
			err = o.run(context.Background(), d)
		}
	}
	fmt.Fprintln(os.Stderr, "not killed:", err)
	os.Exit(1)
}
