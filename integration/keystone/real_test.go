//go:build real

package keystone

// The table against Keystone from PyPI.

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"holdfast.dev/dev/ports"
	"holdfast.dev/integration/venv"
)

func TestRealKeystone(t *testing.T) {
	keystone := start(t)
	// The cases run in parallel; the server outlives them.
	t.Run("cases", keystone.run)
}

// start runs serve.sh until the test's end. HOLDFAST_TEST_KEYSTONE_URL and
// _PASSWORD name another server that is asked instead.
func start(t *testing.T) server {
	t.Helper()
	if url := os.Getenv("HOLDFAST_TEST_KEYSTONE_URL"); url != "" {
		return server{url: url, password: os.Getenv("HOLDFAST_TEST_KEYSTONE_PASSWORD")}
	}
	venv.Program(t, "keystone", "python") // pip may need long; what follows doesn't
	port, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	s := server{url: fmt.Sprintf("http://127.0.0.1:%d/v3", port), password: rand.Text()}
	var output bytes.Buffer
	command := exec.Command("./serve.sh", t.TempDir(), fmt.Sprint(port))
	command.Env = append(os.Environ(), "KEYSTONE_ADMIN_PASSWORD="+s.password)
	command.Stdout, command.Stderr = &output, &output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // it may have ended
	})
	deadline := time.Now().Add(5 * time.Minute)
	for {
		select {
		case err := <-ended:
			t.Fatalf("Keystone has ended: %v\n%s", err, &output)
		case <-time.After(300 * time.Millisecond):
		}
		answer, err := http.Get(s.url)
		if err == nil {
			answer.Body.Close()
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("Keystone doesn't answer: %v", err)
		}
	}
}
