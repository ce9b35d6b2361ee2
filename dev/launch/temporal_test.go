// Tests of the Temporal server as a process: the UI, a clean end, its
// databases dropped under it, and what is said when its program isn't there.

package launch_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/ports"
	"holdfast.dev/dev/postgres"
	"holdfast.dev/dev/supervise"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts a PostgreSQL and, on it, a Temporal server with its UI.
func start(t *testing.T, restart *supervise.Restart) (admin postgres.Admin, temporal *supervise.Process, ui string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-launch-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o711))
	server, err := postgres.Start(t.Context(), postgres.Options{Dir: filepath.Join(dir, "postgres")})
	must(t, err)
	t.Cleanup(func() { must(t, server.Kill()) })
	must(t, server.Prepare(t.Context()))

	port, err := ports.Free()
	must(t, err)
	uiPort, err := ports.Free()
	must(t, err)
	temporal, err = launch.Temporal(launch.TemporalOptions{
		Admin:   server.Admin,
		Port:    port,
		UIPort:  uiPort,
		LogFile: filepath.Join(dir, "temporal.log"),
	})
	must(t, err)
	temporal.Restart = restart
	t.Cleanup(func() { must(t, temporal.Kill()) })
	must(t, temporal.Start(t.Context()))
	return server.Admin, temporal, "http://127.0.0.1:" + strconv.Itoa(uiPort)
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	answer, err := http.Get(url)
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, string(text)
}

func TestUIAndCleanEnd(t *testing.T) {
	_, temporal, ui := start(t, nil)
	if status, body := get(t, ui+"/"); status != http.StatusOK || !strings.Contains(body, "<html") {
		t.Errorf("the UI's page: %d, %.80s", status, body)
	}
	status, body := get(t, ui+"/api/v1/namespaces/holdfast")
	body = strings.Join(strings.Fields(body), "")
	for _, want := range []string{`"name":"holdfast"`, `"workflowExecutionRetentionTtl":"604800s"`, `"Keyword01":"Kind"`} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("the namespace in the UI: %d, %s, want %s", status, body, want)
		}
	}
	began := time.Now()
	must(t, temporal.Stop(30*time.Second))
	if s := temporal.State(); s.Running || s.ExitCode != 0 || s.Signal != 0 {
		t.Errorf("after SIGTERM: %+v, want exit code 0", s)
	}
	t.Logf("stopped in %.1f s", time.Since(began).Seconds())
}

// TestDatabasesDroppedUnderIt: the server ends when its tables are gone, and
// its supervisor's restart serves on new ones.
func TestDatabasesDroppedUnderIt(t *testing.T) {
	admin, temporal, _ := start(t, &supervise.Restart{Delay: 100 * time.Millisecond, MaxDelay: time.Second})
	must(t, admin.RecreateDatabase(t.Context(), postgres.TemporalDatabase, postgres.TemporalRole)) // empty
	must(t, admin.DropDatabase(t.Context(), postgres.VisibilityDatabase))                          // missing

	began := time.Now()
	for {
		log, err := os.ReadFile(temporal.LogFile)
		must(t, err)
		if strings.Count(string(log), "\nready\n") == 2 {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("not ready again within a minute: %+v", temporal.State())
		}
		time.Sleep(50 * time.Millisecond)
	}
	if s := temporal.State(); !s.Running || s.Restarts != 1 {
		t.Errorf("%+v, want one restart", s)
	}
	t.Logf("ready again after %.1f s", time.Since(began).Seconds())
}

func TestMissingProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", "")
	t.Setenv(launch.TemporalVariable, "")
	_, err := launch.Temporal(launch.TemporalOptions{})
	want := `there is no holdfast-temporal: build it with "make build", or say where it is in HOLDFAST_TEMPORAL`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
