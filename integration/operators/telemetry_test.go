package operators

// What a cloud shows of itself: metrics, health, one trace from the request to
// the host.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	collect "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"holdfast.dev/integration/cloud"
)

func TestTelemetry(t *testing.T) {
	t.Parallel()
	spans := newCollector(t)
	c := cloud.Start(t, cloud.Options{Hosts: 1, Config: map[string]any{"telemetry.otlp_endpoint": spans.url}})
	id := c.MustCreate("seen")
	is(t, c, "ACTIVE", id)

	t.Run("trace", func(t *testing.T) {
		c.Eventually("one trace from the request to the host", cloud.Patience, func(context.Context) error {
			return spans.connected("libvirt.Build", "holdfast-host", "holdfast-api")
		})
	})
	t.Run("metrics", func(t *testing.T) { metricsAreDocumented(t, c) })
	t.Run("health", func(t *testing.T) { healthSaysWhatIsDown(t, c) })
}

// metricsAreDocumented compares what the processes export with the table in
// docs/telemetry.md, by name and process.
func metricsAreDocumented(t *testing.T, c *cloud.Cloud) {
	doc, err := os.ReadFile("../../docs/telemetry.md")
	must(t, err)
	documented := map[cloud.Name][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(holdfast_[a-z_]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(string(doc), -1) {
		for of := range strings.SplitSeq(row[2], ", ") {
			name := cloud.Name(strings.ToLower(strings.TrimSpace(of)))
			documented[name] = append(documented[name], row[1])
		}
	}
	// A debt, so that there is one to count.
	_, err = c.DB.Pool.Exec(t.Context(), `UPDATE engine.operation_effects SET state = 'owed', host = 'nobody' WHERE kind = 'claim'`)
	must(t, err)
	for _, name := range []cloud.Name{cloud.API, cloud.Control, cloud.Host} {
		c.Eventually("the metrics of "+string(name), cloud.Patience, func(ctx context.Context) error {
			_, text, err := get(ctx, "http://"+c.Telemetry(name)+"/metrics")
			if err != nil {
				return err
			}
			exported := []string{}
			for _, found := range regexp.MustCompile(`(?m)^# TYPE (holdfast_[a-z_]+) `).FindAllStringSubmatch(text, -1) {
				exported = append(exported, found[1])
			}
			want := slices.Clone(documented[name])
			if name == cloud.Control {
				// Nothing is open in a cloud at rest.
				want = slices.DeleteFunc(want, func(m string) bool { return m == "holdfast_operations_open" })
			}
			slices.Sort(want)
			if slices.Sort(exported); !slices.Equal(exported, want) {
				return fmt.Errorf("exports %v, documented are %v", exported, want)
			}
			return nil
		})
	}
	_, text, err := get(t.Context(), "http://"+c.Telemetry(cloud.Control)+"/metrics")
	must(t, err)
	for _, line := range []string{
		`holdfast_host_up{host="sim"} 1`, `holdfast_host_servers{host="sim"} 1`, `holdfast_loops_leading 1`, `holdfast_lost_workflows_alarm 0`,
		`holdfast_debts{kind="claim"} 1`, `holdfast_operation_seconds_count{kind="server.build",result="done"} 1`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the control worker doesn't say %s", line)
		}
	}
	_, text, err = get(t.Context(), "http://"+c.Telemetry(cloud.Host)+"/metrics")
	must(t, err)
	if line := `holdfast_step_seconds_count{result="done",step="libvirt.Build"} 1`; !strings.Contains(text, line) {
		t.Errorf("the host doesn't say %s", line)
	}
}

// healthSaysWhatIsDown kills Temporal, then the database.
func healthSaysWhatIsDown(t *testing.T, c *cloud.Cloud) {
	says := func(name cloud.Name, code int, words ...string) {
		t.Helper()
		c.Eventually(fmt.Sprintf("health of %s: %v", name, words), cloud.Patience, func(ctx context.Context) error {
			got, text, err := get(ctx, "http://"+c.Telemetry(name)+"/healthcheck")
			if err != nil {
				return err
			}
			for _, word := range words {
				if got != code || !strings.Contains(text, word) {
					return fmt.Errorf("%d %s", got, text)
				}
			}
			return nil
		})
	}
	says(cloud.API, 200, `"status":"ok"`)
	says(cloud.Control, 200, `"status":"ok"`)
	c.Kill(cloud.Temporal)
	says(cloud.API, 200, `"status":"degraded"`, `"name":"temporal","ok":false`)
	says(cloud.Host, 200, `"status":"degraded"`, `"name":"temporal","ok":false`)
	c.MustCreate("accepted without Temporal")
	says(cloud.Control, 200, `"name":"dispatcher","ok":false`)
	c.Kill(cloud.Postgres)
	says(cloud.API, 503, `"status":"down"`, `"name":"database","ok":false`)
	says(cloud.Control, 503, `"status":"down"`, `"name":"database","ok":false`)
}

func get(ctx context.Context, url string) (code int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// collector is an OTLP collector that remembers.
type collector struct {
	url string

	mu    sync.Mutex
	spans map[string]span // by id
}

type span struct{ trace, parent, name, service string }

func newCollector(t *testing.T) *collector {
	c := &collector{spans: map[string]span{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collect.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &sent) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range sent.GetResourceSpans() {
			service := ""
			for _, a := range resource.GetResource().GetAttributes() {
				if a.GetKey() == "service.name" {
					service = a.GetValue().GetStringValue()
				}
			}
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					c.spans[string(s.GetSpanId())] = span{string(s.GetTraceId()), string(s.GetParentSpanId()), s.GetName(), service}
				}
			}
		}
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// connected finds a span whose name ends with a step's, of one service, and
// follows its parents to a root of another.
func (c *collector) connected(step, service, rootService string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	way := []string{}
	for _, s := range c.spans {
		if !strings.HasSuffix(s.name, step) || s.service != service {
			continue
		}
		way = append(way, s.service+" "+s.name)
		for at := s; ; {
			parent, ok := c.spans[at.parent]
			if !ok {
				if at.parent == "" && at.service == rootService && at.trace == s.trace {
					return nil
				}
				break
			}
			way, at = append(way, parent.service+" "+parent.name), parent
		}
	}
	return fmt.Errorf("%d spans, the way from %s: %s", len(c.spans), step, strings.Join(way, " < "))
}
