//go:build real

package heat

// A stack of a scenario, as one of the two has it.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// side is one of the two, asked as a user.
type side struct {
	base, token string // the URL of the user's project
	client      *http.Client
}

// answer is what a request has led to.
type answer struct {
	status int
	body   map[string]any
}

func (s side) ask(ctx context.Context, method, path string, in any) (answer, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return answer{}, err
		}
		body = bytes.NewReader(text)
	}
	if !strings.HasPrefix(path, "http") {
		path = s.base + path
	}
	r, err := http.NewRequestWithContext(ctx, method, path, body)
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("X-Auth-Token", s.token)
	r.Header.Set("Content-Type", "application/json")
	got, err := s.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: got.StatusCode}
	if len(text) == 0 || text[0] != '{' {
		return a, nil
	}
	return a, json.Unmarshal(text, &a.body)
}

// record is what was seen, in order.
type record struct {
	keys   []string
	values map[string]string
}

func (r *record) set(key, value string) {
	if _, known := r.values[key]; !known {
		r.keys = append(r.keys, key)
	}
	r.values[key] = value
}

// stack is the one that a scenario is about.
type stack struct {
	side
	scenario *scenario
	record   *record
	number   int // of the step
	id       string
	needs    map[[2]string]bool // pairs of resources: one, and another that needs it
	left     map[string]any     // what an abandoned one has left
	taken    map[string]string  // snapshots by name
}

// patience is for what a stack does in a step; most take a second or two.
const patience = 90 * time.Second

// run does what the scenario says and gives what was seen.
func (s side) run(ctx context.Context, of *scenario) (*record, error) {
	k := &stack{side: s, scenario: of, record: &record{values: map[string]string{}}, needs: map[[2]string]bool{}, taken: map[string]string{}}
	for i, step := range of.Steps {
		k.number = i + 1
		if err := k.step(ctx, step); err != nil {
			return nil, fmt.Errorf("step %d, %s: %w", k.number, step.do, err)
		}
	}
	k.number++
	if err := k.events(ctx, "/events?sort_dir=asc", false); err != nil {
		return nil, err
	}
	_, err := k.ask(ctx, http.MethodDelete, k.path(), nil)
	return k.record, err
}

// path is the stack's.
func (k *stack) path() string { return "/stacks/" + k.scenario.name + "/" + k.id }

// resource is the path of one of its resources; "a/b" is b of the stack in a.
func (k *stack) resource(ctx context.Context, name string) (string, error) {
	at := k.path()
	for {
		outer, inner, nested := strings.Cut(name, "/")
		path := at + "/resources/" + url.PathEscape(outer)
		if !nested {
			return path, nil
		}
		got, err := k.ask(ctx, http.MethodGet, path, nil)
		if err != nil {
			return "", err
		}
		if at, name = link(got.body, "nested"), inner; at == "" {
			return "", fmt.Errorf("%s has no nested stack", outer)
		}
	}
}

// link is the link of a relation of what a resource shows, or "".
func link(body map[string]any, relation string) string {
	if inner, ok := body["resource"].(map[string]any); ok {
		body = inner
	}
	links, _ := body["links"].([]any)
	for _, l := range links {
		if l := l.(map[string]any); l["rel"] == relation {
			return fmt.Sprint(l["href"])
		}
	}
	return ""
}

// step does one, and records what is answered.
func (k *stack) step(ctx context.Context, s step) error {
	method, path, body := http.MethodPost, k.path(), any(nil)
	switch with := s.with; s.do {
	case "until":
		return k.until(ctx, with.States)
	case "told":
		return k.told(ctx, with.Text)
	case "pause": // for what the original is still at, and doesn't show
		pause, err := time.ParseDuration(with.Text)
		if err == nil {
			time.Sleep(pause)
		}
		return err
	case "await":
		return k.await(ctx, with.Text)
	case "create", "preview", "update", "patch":
		b, err := k.scenario.body(with)
		if err != nil {
			return err
		}
		switch s.do {
		case "create":
			path, b["stack_name"] = "/stacks", k.scenario.name
		case "preview":
			path, b["stack_name"] = "/stacks/preview", k.scenario.name
		case "update":
			method = http.MethodPut
		case "patch":
			method = http.MethodPatch
		}
		body = b
	case "adopt":
		text, err := json.Marshal(k.left)
		if err != nil {
			return err
		}
		path, body = "/stacks", map[string]any{"stack_name": k.scenario.name, "adopt_stack_data": string(text)}
	case "action":
		path, body = path+"/actions", map[string]any{with.Text: nil}
	case "snapshot":
		path, body = path+"/snapshots", map[string]any{"name": with.Text}
	case "restore":
		path += "/snapshots/" + k.taken[with.Text] + "/restore"
	case "forget":
		method, path = http.MethodDelete, path+"/snapshots/"+k.taken[with.Text]
	case "delete":
		method = http.MethodDelete
	case "abandon":
		method, path = http.MethodDelete, path+"/abandon"
	case "export":
		method, path = http.MethodGet, path+"/export"
	case "signal", "health":
		at, err := k.resource(ctx, with.Resource)
		if err != nil {
			return err
		}
		path, body = at+"/signal", with.Details
		if s.do == "health" {
			method, path, body = http.MethodPatch, at, map[string]any{"mark_unhealthy": !with.Healthy, "resource_status_reason": with.Reason}
		}
	}
	got, err := k.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	k.answered(s, got)
	if s.do == "forget" { // it may take a moment
		return patiently(ctx, func() (bool, error) {
			got, err := k.ask(ctx, http.MethodGet, path, nil)
			return got.status == http.StatusNotFound, err
		})
	}
	return nil
}

// answered records what a step was answered with, and keeps what later ones need.
func (k *stack) answered(s step, got answer) {
	text := fmt.Sprint(got.status)
	if e, ok := got.body["error"].(map[string]any); ok {
		text += fmt.Sprintf(" %v: %v", e["type"], e["message"])
	}
	k.note("answer", text)
	if got.status >= http.StatusBadRequest {
		return
	}
	switch s.do {
	case "create", "adopt":
		k.id, _ = got.body["stack"].(map[string]any)["id"].(string)
	case "snapshot":
		k.taken[s.with.Text], _ = got.body["id"].(string)
	case "abandon":
		k.left = got.body
	}
	if s.do == "abandon" || s.do == "export" {
		for name, r := range got.body["resources"].(map[string]any) {
			r := r.(map[string]any)
			k.note("left "+name, fmt.Sprintf("%v %v %v %v", r["type"], r["action"], r["status"], r["resource_id"]))
		}
	}
}

// until waits until resources are in states.
func (k *stack) until(ctx context.Context, states map[string]string) error {
	for name, want := range states {
		if err := patiently(ctx, func() (bool, error) {
			path, err := k.resource(ctx, name)
			if err != nil {
				return false, nil //nolint:nilerr // the nested stack isn't there yet
			}
			got, err := k.ask(ctx, http.MethodGet, path, nil)
			if err != nil {
				return false, err
			}
			shown, _ := got.body["resource"].(map[string]any)
			return shown["resource_status"] == want || want == "" && got.status == http.StatusNotFound, nil
		}); err != nil {
			return fmt.Errorf("%s is not %s: %w", name, want, err)
		}
	}
	return nil
}

// told waits until the last event of any resource says something.
func (k *stack) told(ctx context.Context, what string) error {
	return patiently(ctx, func() (bool, error) {
		events, err := k.listed(ctx, "/events?nested_depth=5&sort_dir=asc", "events")
		last := map[string]any{}
		for _, e := range events {
			last[k.of(e)+fmt.Sprint(e["resource_name"])] = e["resource_status_reason"]
		}
		for _, reason := range last {
			if reason == what {
				return true, err
			}
		}
		return false, err
	})
}

// patiently waits until something holds.
func patiently(ctx context.Context, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// await waits until the stack is in a state and nothing happens in it any more, and
// records what is seen of it then.
func (k *stack) await(ctx context.Context, state string) error {
	last := ""
	err := patiently(ctx, func() (bool, error) {
		got, err := k.ask(ctx, http.MethodGet, k.path(), nil)
		if err != nil {
			return false, err
		}
		shown, _ := got.body["stack"].(map[string]any)
		last = fmt.Sprintf("%v: %v", shown["stack_status"], shown["stack_status_reason"])
		return shown["stack_status"] == state, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("it is %s", last)
	}
	if err := k.quiet(ctx); err != nil {
		return err
	}
	if state == "DELETE_COMPLETE" { // its name is free a little later
		if err := patiently(ctx, func() (bool, error) {
			got, err := k.ask(ctx, http.MethodGet, "/stacks/"+k.scenario.name, nil)
			return got.status == http.StatusNotFound, err
		}); err != nil {
			return err
		}
	}
	return k.look(ctx)
}

// quiet waits until no resource is at work and the events are the same for a second.
func (k *stack) quiet(ctx context.Context) error {
	before, since := -1, time.Now()
	return patiently(ctx, func() (bool, error) {
		events, err := k.listed(ctx, "/events?nested_depth=5", "events")
		if err != nil {
			return false, err
		}
		if len(events) != before {
			before, since = len(events), time.Now()
		}
		return time.Since(since) > time.Second, nil
	})
}

// listed asks for a list of the stack's.
func (k *stack) listed(ctx context.Context, path, of string) (all []map[string]any, err error) {
	got, err := k.ask(ctx, http.MethodGet, k.path()+path, nil)
	if err != nil {
		return nil, err
	}
	list, _ := got.body[of].([]any)
	for _, one := range list {
		all = append(all, one.(map[string]any))
	}
	return all, nil
}

// look records what is seen of the stack.
func (k *stack) look(ctx context.Context) error {
	got, err := k.ask(ctx, http.MethodGet, k.path(), nil)
	if err != nil {
		return err
	}
	shown, _ := got.body["stack"].(map[string]any)
	k.note("state", fmt.Sprintf("%v: %v", shown["stack_status"], shown["stack_status_reason"]))
	for _, field := range []string{"parameters", "tags", "disable_rollback", "timeout_mins", "description"} {
		k.note(field, plain(shown[field]))
	}
	outputs, _ := shown["outputs"].([]any)
	for _, o := range outputs {
		o := o.(map[string]any)
		text := plain(o["output_value"])
		if o["output_error"] != nil {
			text += " " + plain(o["output_error"])
		}
		k.note("output "+fmt.Sprint(o["output_key"]), text)
	}
	resources, err := k.listed(ctx, "/resources?nested_depth=5", "resources")
	if err != nil {
		return err
	}
	seen := map[string][]string{}
	for _, r := range resources {
		required, _ := r["required_by"].([]any)
		slices.SortFunc(required, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		own := k.of(r) + fmt.Sprint(r["resource_name"])
		for _, other := range required {
			k.needs[[2]string{own, k.of(r) + fmt.Sprint(other)}] = true
		}
		name := "resource " + own
		seen[name] = append(seen[name], fmt.Sprintf("%v %v: %v; %v, required by %v", r["resource_type"], r["resource_status"], r["resource_status_reason"], r["physical_resource_id"], required))
	}
	for name, values := range seen {
		slices.Sort(values)
		k.note(name, strings.Join(values, "\n"))
	}
	if len(resources) == 0 {
		return nil
	}
	return k.events(ctx, "/events?nested_depth=5&sort_dir=asc", true)
}

// of is the name of the nested stack that a resource or event is of, with a slash;
// "" is the stack itself.
func (k *stack) of(r map[string]any) string {
	_, path, _ := strings.Cut(link(r, "stack"), "/stacks/")
	name, _, _ := strings.Cut(path, "/")
	if name == k.scenario.name {
		return ""
	}
	return name + "/"
}

// events records those of each resource in their order, and those of one that another
// needs among those of that: of the stack's own, or of those that are nested in it. Of
// the latter the original knows nothing any more once there is no resource.
func (k *stack) events(ctx context.Context, path string, nested bool) error {
	events, err := k.listed(ctx, path, "events")
	if err != nil {
		return err
	}
	all := map[string][]string{}
	order := map[string][]string{}
	for _, e := range events {
		of := k.of(e)
		if (of != "") != nested {
			continue
		}
		name := of + fmt.Sprint(e["resource_name"])
		all[name] = append(all[name], fmt.Sprintf("%v: %v; %v", e["resource_status"], e["resource_status_reason"], e["physical_resource_id"]))
		for pair := range k.needs {
			if slices.Contains(pair[:], name) {
				key := orderOf(fmt.Sprint(e["resource_status"]), pair)
				order[key] = append(order[key], fmt.Sprintf("%s %v", name, e["resource_status"]))
			}
		}
	}
	for key, of := range order {
		k.note(key, strings.Join(of, "\n"))
	}
	for name, of := range all {
		k.note("events "+name, strings.Join(of, "\n"))
	}
	return nil
}

// orderOf is what the order of the events of two resources is recorded as, of which the
// second needs the first. What is made and what is taken away are apart: in an update
// the original does both at the same time.
func orderOf(state string, pair [2]string) string {
	what := "made"
	if strings.HasPrefix(state, "DELETE_") {
		what = "deleted"
	}
	return "order " + what + " " + pair[0] + " before " + pair[1]
}

// note records something of a step.
func (k *stack) note(what, value string) {
	key := same(fmt.Sprintf("%d %s", k.number, what))
	if old, known := k.record.values[key]; known {
		values := append(strings.Split(old, "\n"), same(value))
		slices.Sort(values)
		k.record.set(key, strings.Join(values, "\n"))
		return
	}
	k.record.set(key, same(value))
}

// plain is a value as JSON, with the keys of maps in order.
func plain(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// unlike are texts that nobody can expect to be the same twice, or at two places.
var unlike = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+(/orchestration)?/v1`), "<heat>"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uuid>"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "<id>"},
	{regexp.MustCompile(`([-/])[a-z0-9]{12}\b`), "$1<id>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+]00:00)?`), "<time>"},
}

func same(text string) string {
	for _, u := range unlike {
		text = u.pattern.ReplaceAllString(text, u.name)
	}
	return text
}
