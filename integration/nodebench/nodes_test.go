package nodebench

// What is measured, and what is told of it.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

func TestMain(m *testing.M) { cloud.Main(m) }

// nodes are how many there are, of which each eleventh is active, so that those fit on
// one page; readTime is how long each question is asked.
const (
	nodes    = 10_000
	active   = nodes / 11
	readTime = 10 * time.Second
)

// read is a question: how many rows a list has, over all of its pages, or of no list
// that one is told of.
type read struct {
	what, path string
	list       string
	want       int
}

var reads = []read{
	{"1,000 nodes a page", "nodes?limit=1000", "nodes", nodes},
	{"1,000 nodes a page, in full", "nodes/detail?limit=1000", "nodes", nodes},
	{"1,000 nodes a page, four fields of each", "nodes?fields=uuid,name,power_state,provision_state&limit=1000", "nodes", nodes},
	{"1,000 nodes a page, by name", "nodes?sort_key=name&limit=1000", "nodes", nodes},
	{"the 909 nodes of 10,000 that are active", "nodes?provision_state=active&limit=1000", "nodes", active},
	{"the same, in full", "nodes/detail?provision_state=active&limit=1000", "nodes", active},
	{"the node of an instance", "nodes?instance_uuid=00000000-0000-4000-8000-000000005005", "nodes", 1},
	{"a node by its id", "nodes/{uuid}", "", 1},
	{"a node by its name", "nodes/node-5000", "", 1},
	{"the ports of a node", "nodes/{uuid}/ports", "ports", 1},
	{"1,000 ports a page", "ports?limit=1000", "ports", nodes},
	{"1,000 ports a page, in full", "ports/detail?limit=1000", "ports", nodes},
	{"a port by its address", "ports?address=52:54:00:00:13:88", "ports", 1},
}

// description is what the first node is made of, and address its port's.
var (
	description = map[string]any{
		"name": "node-0", "driver": "redfish", "resource_class": "baremetal",
		"properties":  map[string]any{"cpus": 64, "memory_mb": 262144, "local_gb": 1000, "cpu_arch": "x86_64"},
		"driver_info": map[string]any{"redfish_address": "https://192.0.2.1", "redfish_username": "admin"},

		"bios_interface": "redfish", "boot_interface": "redfish-virtual-media", "console_interface": "no-console", "deploy_interface": "direct",
		"firmware_interface": "no-firmware", "inspect_interface": "redfish", "management_interface": "redfish", "network_interface": "noop",
		"power_interface": "redfish", "raid_interface": "redfish", "rescue_interface": "no-rescue", "storage_interface": "noop", "vendor_interface": "redfish",
	}
	address = "52:54:00:00:00:00"
)

// copies are the statements that make nodes 1 to n of the first one, each with a port
// of an address of its own; the first goes.
func copies(schema, node, portsNode string) []string {
	const (
		changes = `jsonb_build_object('id', nextval(pg_get_serial_sequence('%[1]s%[2]s', 'id')), 'uuid', gen_random_uuid()) || jsonb_build_object(%[3]s)`
		copied  = `INSERT INTO %[1]s%[2]s OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(t, ` + changes + `)).* FROM %[1]s%[2]s t, %[4]s`
	)
	return []string{
		fmt.Sprintf(copied, schema, "nodes", `'name', 'node-' || i, 'power_state', 'power off',
			'provision_state', CASE i % 11 WHEN 0 THEN 'active' ELSE 'available' END,
			'instance_uuid', CASE i % 11 WHEN 0 THEN '00000000-0000-4000-8000-' || lpad(i::text, 12, '0') END`, `generate_series(1, $n) i`),
		fmt.Sprintf(copied, schema, "ports", `'`+portsNode+`', n.`+node+`,
			'address', '52:54:00:00:' || lpad(to_hex(substr(n.name, 6)::int / 256), 2, '0') || ':' || lpad(to_hex(substr(n.name, 6)::int % 256), 2, '0')`,
			schema+`nodes n WHERE n.name <> 'node-0'`),
		fmt.Sprintf(`DELETE FROM %sports WHERE address = '%s'`, schema, address),
		fmt.Sprintf(`DELETE FROM %snodes WHERE name = 'node-0'`, schema),
		fmt.Sprintf(`ANALYZE %snodes`, schema),
		fmt.Sprintf(`ANALYZE %sports`, schema),
	}
}

// measured is Holdfast, of which everything was measured.
func measured(b *testing.B) (*cloud.Cloud, *side) {
	b.Helper()
	c := cloud.Start(b, cloud.Options{Hosts: 1, Machines: 1, Config: map[string]any{"log.level": "warn", "dev.hold_dir": "", "conductor.sync_power_state_interval": "0s"}})
	made := func(path string, body map[string]any) (uuid string) {
		text, err := json.Marshal(body)
		var answer *http.Response
		if err == nil {
			header := http.Header{"Content-Type": {"application/json"}, "X-Openstack-Ironic-Api-Version": {"1.115"}}
			answer, text, err = c.Ask(context.WithoutCancel(b.Context()), cloud.AdminToken, http.MethodPost, "/baremetal/v1/"+path, header, text)
		}
		var row struct{ UUID string }
		if err == nil && answer.StatusCode == http.StatusCreated {
			err = json.Unmarshal(text, &row)
		}
		if err != nil || row.UUID == "" {
			b.Fatalf("POST %s: %v: %s", path, err, text)
		}
		return row.UUID
	}
	made("ports", map[string]any{"address": address, "node_uuid": made("nodes", description)})
	s := &side{TB: b, name: "Holdfast", base: c.URL() + "/baremetal/v1", pool: c.DB.Pool, fill: copies("baremetal.", "uuid", "node_uuid")}
	return c, s.measured()
}

// BenchmarkNodes measures Holdfast alone.
func BenchmarkNodes(b *testing.B) {
	_, s := measured(b)
	report(b, s)
}

// report tells what was measured of the sides, and how often as long as the first one
// the others took.
func report(b *testing.B, sides ...*side) {
	b.Helper()
	var out strings.Builder
	line := func(cells ...string) { fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | ")) }
	var head []string
	for i, s := range sides {
		head = append(head, s.name+", p50", "p99")
		if i > 0 {
			head = append(head, "times")
		}
	}
	line(append([]string{""}, head...)...)
	line(slices.Repeat([]string{"---"}, len(head)+1)...)
	round := func(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
	for i, r := range reads {
		cells := []string{r.what}
		for _, s := range sides {
			f := s.figures[i]
			if f.err != nil {
				cells = append(cells, f.err.Error(), "-")
			} else {
				cells = append(cells, "**"+round(f.quantile(0.5))+"**", round(f.quantile(0.99)))
			}
			if s != sides[0] {
				cells = append(cells, sides[0].figures[i].times(f))
			}
		}
		line(cells...)
	}
	path := os.Getenv("HOLDFAST_TEST_REPORT")
	if path == "" {
		b.Log("\n" + out.String())
		return
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		b.Fatal(err)
	}
}

// times is how often as long another takes, at the median.
func (f figure) times(another figure) string {
	if f.err != nil || another.err != nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(another.quantile(0.5))/float64(f.quantile(0.5)))
}
