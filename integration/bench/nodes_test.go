package bench

// Lists of many nodes.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

// nodes are how many there are to list.
const nodes = 10000

// nodePages measures pages of nodes, one after the other, through all of them and
// again from the start: short ones and those that tell everything.
func nodePages(b *testing.B, c *cloud.Cloud, out *report) {
	b.Helper()
	_, err := c.DB.Pool.Exec(b.Context(), `INSERT INTO baremetal.nodes (uuid, name, driver, provision_state, power_state, resource_class, owner, properties, driver_info)
		SELECT gen_random_uuid(), 'bench-' || i, 'redfish', 'available', 'power off', 'baremetal', 'demo', '{"cpus": 64, "memory_mb": 262144, "cpu_arch": "x86_64"}',
			'{"redfish_address": "https://192.0.2.1", "redfish_username": "admin"}' FROM generate_series(1, $1) i`, nodes)
	if err == nil {
		_, err = c.DB.Pool.Exec(b.Context(), `ANALYZE baremetal.nodes`)
	}
	if err != nil {
		b.Fatal(err)
	}
	for _, list := range []string{"nodes", "nodes/detail"} {
		out.latencies(fmt.Sprintf("GET /v1/%s, %d a page of %d nodes", list, pageSize, nodes), pages(b, c, list))
	}
}

func pages(b *testing.B, c *cloud.Cloud, list string) *sample {
	b.Helper()
	var s sample
	header := http.Header{"X-Openstack-Ironic-Api-Version": {"1.115"}}
	marker := ""
	for end := time.Now().Add(readTime); time.Now().Before(end); {
		began := time.Now()
		answer, text, err := c.Ask(b.Context(), cloud.UserToken, http.MethodGet, fmt.Sprintf("/baremetal/v1/%s?limit=%d%s", list, pageSize, marker), header, nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			b.Fatalf("%v: %s", err, text)
		}
		s.add(time.Since(began))
		marker = after(b, text)
	}
	return &s
}

// after is the parameter of the page that follows one; none begins anew.
func after(b *testing.B, text []byte) string {
	b.Helper()
	var page struct{ Next string }
	if err := json.Unmarshal(text, &page); err != nil {
		b.Fatal(err)
	}
	if _, marker, more := strings.Cut(page.Next, "&marker="); more {
		return "&marker=" + marker
	}
	return ""
}
