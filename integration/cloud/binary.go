package cloud

// The binary under test, built once per test process.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"holdfast.dev/internal/testenv"
)

// BinaryVariable names the environment variable that says which binary is
// tested; without it the source is built.
const BinaryVariable = "HOLDFAST_TEST_BINARY"

var binaryDir string

// Main runs a package's tests and removes what they have built and started. It
// is the whole of a package's TestMain.
func Main(m *testing.M) { os.Exit(Tests{m}.Run()) }

// Tests are a package's, for a TestMain with something more to do.
type Tests struct{ *testing.M }

// Run does what Main does, and gives the exit code.
func (t Tests) Run() int {
	code := testenv.Run(t.M)
	if binaryDir != "" {
		if err := os.RemoveAll(binaryDir); err != nil {
			fmt.Fprintln(os.Stderr, "cloud: remove the binary:", err)
			code = max(code, 1)
		}
	}
	return code
}

// Binary is the path of the binary under test.
func Binary() (string, error) { return binary() }

var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(BinaryVariable); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "holdfast-binary-")
	if err != nil {
		return "", err
	}
	binaryDir = dir
	path := filepath.Join(dir, "holdfast")
	if out, err := exec.Command("go", "build", "-o", path, "holdfast.dev").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build holdfast: %w\n%s", err, out)
	}
	return path, nil
})
