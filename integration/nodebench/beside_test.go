//go:build real

package nodebench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast.dev/dev/launch"
	"holdfast.dev/dev/ports"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/venv"
	"holdfast.dev/internal/store"
)

// configuration is the original's: in order its folder, its database and its port. What
// isn't there is as it is by default.
const configuration = `[DEFAULT]
auth_strategy = noauth
transport_url = fake://
enabled_hardware_types = redfish
enabled_network_interfaces = noop
log_dir = %[1]s
[oslo_concurrency]
lock_path = %[1]s
[database]
connection = postgresql+psycopg2://%[2]s
[api]
host_ip = 127.0.0.1
port = %[3]d
api_workers = 1
`

// BenchmarkBeside measures Holdfast, and then the original on the same machine, with
// its tables in the same PostgreSQL, while nothing of Holdfast runs.
func BenchmarkBeside(b *testing.B) {
	c, own := measured(b)
	for _, name := range []cloud.Name{cloud.API, cloud.Control, cloud.Host, cloud.Conductor, cloud.Temporal} {
		c.Kill(name)
	}
	report(b, own, original(b, c).measured())
}

// original runs ironic-api until the test's end.
func original(b *testing.B, c *cloud.Cloud) *side {
	b.Helper()
	folder, dsn := b.TempDir(), c.Database("ironic")
	port, err := ports.Free()
	if err != nil {
		b.Fatal(err)
	}
	db, err := store.Open(b.Context(), dsn, 4)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	_, place, _ := strings.Cut(dsn, "://")
	conf := filepath.Join(folder, "ironic.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, configuration, folder, place, port), 0o600); err != nil {
		b.Fatal(err)
	}
	first, err := json.Marshal(map[string]any{"node": description, "port": map[string]any{"address": address}})
	if err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{
		{venv.Program(b, "ironic", "ironic-dbsync"), "--config-file", conf, "create_schema"},
		{venv.Program(b, "ironic", "python"), "prepare.py", conf, string(first)},
	} {
		if out, err := exec.CommandContext(b.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	api := &supervise.Process{Name: "ironic-api", Args: []string{venv.Program(b, "ironic", "ironic-api"), "--config-file", conf},
		LogFile: filepath.Join(folder, "api.log"), Ready: launch.Answers(url),
		DeathSignal: syscall.SIGTERM} // or its worker lives on
	b.Cleanup(func() {
		if err := api.Kill(); err != nil {
			b.Error(err)
		}
	})
	if err := api.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	return &side{TB: b, name: "ironic-api", base: url + "/v1", pool: db.Pool, fill: copies("", "id", "node_id")}
}
