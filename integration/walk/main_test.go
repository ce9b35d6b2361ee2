package walk

// What the tests stand on: namespaces, the binary, the image, the client.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/activities/libvirt/libvirttest"
	"holdfast.dev/dev/image"
)

// What is made while there is a network, by environment variable.
const (
	binaryKey = "WALK_TEST_BINARY"
	imageKey  = "WALK_TEST_IMAGE"
	clientKey = "WALK_TEST_CLIENT" // the virtual environment
)

// full says that the long way is to be walked.
var full = os.Getenv("HOLDFAST_TEST_FULL") != ""

func TestMain(m *testing.M) {
	libvirttest.Isolated(m, func() error { return nil }, makeBinary, makeImage, makeClient)
}

func makeBinary() error {
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", "holdfast-walk"))
	if err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-o", path, "holdfast.dev").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return os.Setenv(binaryKey, path)
}

func makeImage() error {
	dir, err := filepath.Abs(filepath.Join("..", "..", ".dev", "image"))
	if err != nil {
		return err
	}
	path, err := image.Build(context.Background(), dir)
	if err != nil {
		return err
	}
	return os.Setenv(imageKey, path)
}

func makeClient() error {
	cmd := exec.Command("../venv/venv.sh", "clients")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("make .venv/clients: %w", err)
	}
	return os.Setenv(clientKey, strings.TrimSpace(string(out)))
}
