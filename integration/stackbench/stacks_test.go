package stackbench

// What is measured.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

func TestMain(m *testing.M) { cloud.Main(m) }

// bench is one run.
type bench struct {
	testing.TB
	*cloud.Cloud
	base string // the stacks of the users' project
	rows []string
}

// note notes how long something took.
func (s *bench) note(what string, d time.Duration) {
	s.rows = append(s.rows, fmt.Sprintf("| %s | %s |", what, d.Round(time.Millisecond)))
	s.Logf("%s: %s", what, d.Round(time.Millisecond))
}

func (s *bench) measure(what string, do func()) {
	began := time.Now()
	do()
	s.note(what, time.Since(began))
}

// ask sends a request to the service and decodes the answer.
func (s *bench) ask(method, url string, body any, want int, out any) {
	s.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			s.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(s.Context(), method, url, strings.NewReader(string(text)))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", cloud.UserToken)
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: 10 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		s.Fatalf("%s %s: %v", method, url, err)
	}
	defer answer.Body.Close()
	var document json.RawMessage
	if want != http.StatusNoContent {
		if err := json.NewDecoder(answer.Body).Decode(&document); err != nil {
			s.Fatalf("%s %s: status %d: %v", method, url, answer.StatusCode, err)
		}
	}
	if answer.StatusCode != want {
		s.Fatalf("%s %s: status %d, want %d: %.1000s", method, url, answer.StatusCode, want, document)
	}
	if out != nil {
		if err := json.Unmarshal(document, out); err != nil {
			s.Fatal(err)
		}
	}
}

// long is how long one stack may take.
const long = 10 * time.Minute

// create makes a stack and waits for it; first is when the first resource was done, if
// that is asked.
func (s *bench) create(name string, body map[string]any, first bool) (path string) {
	s.Helper()
	var made struct{ Stack struct{ ID string } }
	body["stack_name"] = name
	began := time.Now()
	s.ask(http.MethodPost, s.base+"/stacks", body, http.StatusCreated, &made)
	path = s.base + "/stacks/" + name + "/" + made.Stack.ID
	for first {
		var shown struct{ Events []any }
		s.ask(http.MethodGet, path+"/events?limit=3&resource_status=COMPLETE", nil, http.StatusOK, &shown)
		if len(shown.Events) > 0 {
			s.note("the first of them", time.Since(began))
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.await(path, "CREATE_COMPLETE")
	return path
}

// await waits until a stack is in a state, or is gone.
func (s *bench) await(path, state string) {
	s.Helper()
	began := time.Now()
	for {
		var shown struct {
			Stack struct {
				Status string `json:"stack_status"`
				Reason string `json:"stack_status_reason"`
			}
		}
		s.ask(http.MethodGet, path+"?resolve_outputs=false", nil, http.StatusOK, &shown)
		switch now := shown.Stack; {
		case now.Status == state:
			return
		case strings.HasSuffix(now.Status, "_FAILED"), time.Since(began) > long:
			s.Fatalf("%s is %s: %s", path, now.Status, now.Reason)
		}
		time.Sleep(min(max(20*time.Millisecond, time.Since(began)/100), time.Second))
	}
}

func (s *bench) remove(path string) {
	s.Helper()
	s.ask(http.MethodDelete, path, nil, http.StatusNoContent, nil)
	s.await(path, "DELETE_COMPLETE")
}

// flat is a template of resources that do nothing, each after the one before where it
// is a chain.
func flat(n int, chain bool) string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2021-04-16\nresources:\n")
	for i := range n {
		after := ""
		if chain && i > 0 {
			after = fmt.Sprintf(", depends_on: r%d", i-1)
		}
		fmt.Fprintf(&b, "  r%d: {type: OS::Heat::None%s}\n", i, after)
	}
	return b.String()
}

// nested has stacks in a stack.
func nested(n, each int) map[string]any {
	var b strings.Builder
	b.WriteString("heat_template_version: 2021-04-16\nresources:\n")
	for i := range n {
		fmt.Fprintf(&b, "  r%d: {type: leaf.yaml}\n", i)
	}
	return map[string]any{"template": b.String(), "files": map[string]string{"leaf.yaml": flat(each, false)}}
}

// huge is a template of 500 kB.
func huge() string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2021-04-16\nresources:\n")
	for i := 0; b.Len() < 500_000; i++ {
		fmt.Fprintf(&b, "  r%d: {type: OS::Heat::Value, properties: {value: {str_replace: {template: 'name-%d', params: {name: {get_attr: [r%d, value]}}}}}}\n", i, i, max(0, i-1))
	}
	return strings.Replace(b.String(), "{get_attr: [r0, value]}", "first", 1)
}

func (s *bench) run() {
	for _, n := range []int{100, 1000, 5000} {
		var path string
		s.measure(fmt.Sprintf("%d resources that do nothing, made", n), func() {
			path = s.create(fmt.Sprintf("flat-%d", n), map[string]any{"template": flat(n, false)}, n == 1000)
		})
		s.measure(fmt.Sprintf("%d resources that do nothing, deleted", n), func() { s.remove(path) })
	}
	var path string
	s.measure("a chain of 500, made", func() { path = s.create("chain", map[string]any{"template": flat(500, true)}, false) })
	s.measure("a chain of 500, deleted", func() { s.remove(path) })
	s.measure("200 nested stacks of 10, made", func() { path = s.create("nested", nested(200, 10), false) })
	s.measure("200 nested stacks of 10, deleted", func() { s.remove(path) })
	text := huge()
	s.measure("a template of 500 kB, validated", func() {
		s.ask(http.MethodPost, s.base+"/validate", map[string]any{"template": text}, http.StatusOK, nil)
	})
	s.create("one", map[string]any{"template": flat(1, false)}, false)
	s.fill(10_000)
	s.measure("10,000 stacks, listed by pages of 1,000", s.list)
}

// list reads all stacks by pages.
func (s *bench) list() {
	s.Helper()
	all, marker := 0, ""
	for {
		var page struct{ Stacks []struct{ ID string } }
		s.ask(http.MethodGet, s.base+"/stacks?limit=1000&marker="+url.QueryEscape(marker), nil, http.StatusOK, &page)
		if len(page.Stacks) == 0 {
			break
		}
		all += len(page.Stacks)
		marker = page.Stacks[len(page.Stacks)-1].ID
	}
	if all < 10_000 {
		s.Errorf("%d stacks are listed", all)
	}
}

// fill has so many stacks be there, as copies of one.
func (s *bench) fill(n int) {
	s.Helper()
	_, err := s.DB.Pool.Exec(s.Context(), `INSERT INTO orchestration.stacks SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'name', 'copy-' || i))).*
		FROM orchestration.stacks s, generate_series(1, $1) i WHERE s.name = 'one'`, n)
	if err != nil {
		s.Fatal(err)
	}
}

// BenchmarkStacks is one run of everything, of one after the other.
func BenchmarkStacks(b *testing.B) {
	c := cloud.Start(b, cloud.Options{Hosts: 1, Services: true, Config: map[string]any{"log.level": "warn", "dev.hold_dir": "",
		"orchestration.max_resources_per_stack": -1, "orchestration.max_stacks_per_tenant": -1}})
	s := &bench{TB: b, Cloud: c, base: c.URL() + "/orchestration/v1/" + c.Project()}
	idle, _ := c.Memory(cloud.Control)
	most, stop := watch(c)
	s.run()
	stop()
	out := fmt.Sprintf("| | time |\n| --- | --- |\n%s\n\nThe control worker's resident memory: %d MB idle, %d MB at most.\n", strings.Join(s.rows, "\n"), idle>>20, *most>>20)
	report := os.Getenv("HOLDFAST_TEST_REPORT")
	if report == "" {
		b.Log("\n" + out)
		return
	}
	if err := os.WriteFile(report, []byte(out), 0o644); err != nil {
		b.Fatal(err)
	}
}

// watch looks how much memory the control worker takes at most, until it is stopped.
func watch(c *cloud.Cloud) (most *int64, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	most = new(int64)
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			now, _ := c.Memory(cloud.Control)
			*most = max(*most, now)
			time.Sleep(200 * time.Millisecond)
		}
	}()
	return most, func() { cancel(); <-done }
}
