package resources_test

// Servers, on a fake of the compute service that has their states.

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// compute has servers, which are what they are asked to be one look later, and
// attachments of volumes.
type compute struct {
	mu       sync.Mutex
	servers  map[string]map[string]any
	attached map[string]map[string]any
	made     int
	// busy is how many actions are refused because of another.
	busy int
	// turned are the times that a server was put to sleep and woken; one that is stuck
	// stays what it was.
	turned []string
	stuck  bool
}

// ServeHTTP implements http.Handler.
func (f *compute) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var body map[string]map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body) // some requests have another body, or none
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // a client that is gone needs none
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	const id = "00000001-0000-4000-8000-000000000000"
	if parts[0] == "flavors" {
		answer(200, map[string]any{"flavor": map[string]any{"name": "name of " + parts[1]}, "flavors": []any{map[string]any{"id": "1", "name": "small"}, map[string]any{"id": "2", "name": "big"}}})
		return
	}
	s := f.servers[id]
	if len(parts) > 1 && strings.HasPrefix(parts[1], "0") && parts[1] != id {
		s = nil
	}
	switch what := parts[len(parts)-1]; {
	case r.Method == "POST" && len(parts) == 1:
		s = body["server"]
		f.made++
		s["id"], s["status"], s["flavor"], s["image"] = id, "BUILD", map[string]any{"original_name": "name of " + s["flavorRef"].(string)}, map[string]any{"id": s["imageRef"]}
		s["addresses"] = map[string]any{"net": []any{map[string]any{"addr": "10.0.0.3"}}}
		f.servers[id] = s
		answer(202, map[string]any{"server": s})
	case len(parts) == 2 && what == "detail":
		list := []any{}
		if tags, _ := s["tags"].([]any); slices.Contains(tags, any(r.URL.Query().Get("tags"))) || len(f.servers) > 0 && r.URL.RawQuery == "" {
			list = append(list, s)
		}
		answer(200, map[string]any{"servers": list})
	case s == nil && len(parts) > 1:
		answer(404, map[string]any{})
	case r.Method == "GET" && len(parts) == 1:
		answer(200, map[string]any{"servers": []any{s}[:len(f.servers)]})
	case len(parts) > 2 && parts[2] == "os-volume_attachments":
		f.attach(r.Method, parts, body["volumeAttachment"], answer)
	case what == "tags":
		s["tags"] = []any{}
		answer(200, map[string]any{})
	case what == "metadata":
		s["metadata"] = body["metadata"]
		answer(200, map[string]any{})
	case what == "action" && f.busy > 0:
		f.busy--
		answer(409, map[string]any{"conflictingRequest": map[string]any{"code": 409, "message": "it is locked"}})
	case what == "action" && s[taskState] != nil:
		answer(409, map[string]any{"conflictingRequest": map[string]any{"code": 409, "message": "it is at work"}})
	case what == "action":
		f.act(s, body)
		answer(202, nil)
	case r.Method == "DELETE":
		delete(f.servers, id)
		answer(204, nil)
	case r.Method == "PUT":
		s["name"] = body["server"]["name"]
		answer(200, map[string]any{"server": s})
	default:
		answer(200, map[string]any{"server": s})
		if become := map[any]string{"BUILD": "ACTIVE", "RESIZE": "VERIFY_RESIZE", "REBUILD": "ACTIVE"}[s["status"]]; become != "" {
			s["status"] = become
		}
		if task := s[taskState]; task != nil {
			s["status"], s[taskState] = map[any]string{"suspending": "SUSPENDED", "resuming": "ACTIVE"}[task], nil
			if f.stuck {
				s["status"] = map[any]string{"suspending": "ACTIVE", "resuming": "SUSPENDED"}[task]
			}
		}
	}
}

const taskState = "OS-EXT-STS:task_state"

func (f *compute) act(s map[string]any, body map[string]map[string]any) {
	for action, task := range map[string]string{"suspend": "suspending", "resume": "resuming"} {
		if _, ok := body[action]; ok {
			s[taskState] = task
			f.turned = append(f.turned, action)
		}
	}
	if resize, ok := body["resize"]; ok {
		s["status"], s["flavor"] = "RESIZE", map[string]any{"original_name": "name of " + resize["flavorRef"].(string)}
	}
	if _, ok := body["confirmResize"]; ok {
		s["status"] = "ACTIVE"
	}
	if rebuild, ok := body["rebuild"]; ok {
		s["status"], s["image"] = "REBUILD", map[string]any{"id": rebuild["imageRef"]}
	}
}

func (f *compute) attach(method string, parts []string, body map[string]any, answer func(int, any)) {
	volume := parts[len(parts)-1]
	switch {
	case method == "POST":
		f.made++
		f.attached[body["volumeId"].(string)] = body
		answer(200, map[string]any{"volumeAttachment": body})
	case method == "GET" && len(parts) == 3:
		list := []any{}
		for _, one := range f.attached {
			list = append(list, one)
		}
		answer(200, map[string]any{"volumeAttachments": list})
	case f.attached[volume] == nil:
		answer(404, map[string]any{})
	case method == "DELETE":
		delete(f.attached, volume)
		answer(202, nil)
	default:
		answer(200, map[string]any{"volumeAttachment": f.attached[volume]})
	}
}

// A server is made once, changed, resized, rebuilt and deleted, and a volume is
// put into it, whatever is lost on the way.
func TestServerTypes(t *testing.T) {
	t.Parallel()
	service := &compute{servers: map[string]map[string]any{}, attached: map[string]map[string]any{}}
	b := benchOf(t, service)
	const image, other, volume = "00000000-1111-4111-8111-111111111111", "00000000-2222-4222-8222-222222222222", "00000000-3333-4333-8333-333333333333"
	b.all([]thing{
		{"server", "OS::Nova::Server", `{"flavor": "small", "image": "` + image + `", "name": "web", "user_data": "#!/bin/sh", "networks": [{"port": "` + volume + `"}]}`,
			`{"flavor": "big", "image": "` + other + `", "name": "www", "user_data": "#!/bin/sh", "networks": [{"port": "` + volume + `"}], "metadata": {"a": "b"}}`, "first_address"},
		{"attachment", "OS::Cinder::VolumeAttachment", `{"instance_uuid": "server.", "volume_id": "` + volume + `"}`, "", ""},
	})
	if service.made != 2 {
		t.Errorf("%d things were made", service.made)
	}
}

// A server that can't be resized because of something else is asked again, and if
// that goes on for long the update tells of it.
func TestServerIsBusy(t *testing.T) {
	t.Parallel()
	service := &compute{servers: map[string]map[string]any{}, attached: map[string]map[string]any{}}
	b := benchOf(t, service)
	th := thing{name: "server", typ: "OS::Nova::Server"}
	made := b.killed("create", b.call(th, `{"flavor": "small", "image": "00000000-1111-4111-8111-111111111111"}`), b.types[th.typ].Create)

	update := func(busy int, step time.Duration) (refused int, err error) {
		service.servers[made.PhysicalID]["flavor"], service.busy = map[string]any{"original_name": "name of 1"}, busy
		c := b.call(th, `{"flavor": "big", "image": "00000000-1111-4111-8111-111111111111"}`)
		c.Action, c.PhysicalID = "UPDATE", made.PhysicalID
		for range 20 {
			wait, err := b.types[th.typ].Update(t.Context(), c, []string{"flavor"})
			if wait == 0 || err != nil {
				return busy - service.busy, err
			}
			c.Now = c.Now.Add(step)
		}
		return busy - service.busy, errors.New("it has no end")
	}
	if refused, err := update(2, time.Second); err != nil || refused != 2 {
		t.Errorf("refused %d times: %v", refused, err)
	}
	if now := service.servers[made.PhysicalID]["flavor"].(map[string]any); now["original_name"] != "name of 2" {
		t.Errorf("its flavor is %v", now)
	}
	if refused, err := update(20, 20*time.Second); !faults.Is(err, faults.Conflict) || !strings.HasPrefix(err.Error(), "it is locked") || refused < 2 || refused > 4 {
		t.Errorf("refused %d times: %v", refused, err)
	}
}

// What the policies say is replaced, by those of before where nothing is said of it now.
func TestServerReplaces(t *testing.T) {
	t.Parallel()
	for property, policy := range map[string]string{"flavor": "flavor_update_policy", "image": "image_update_policy", "user_data": "user_data_update_policy"} {
		for said, want := range map[string]bool{"REPLACE": true, "OTHER": false} {
			for name, of := range map[string][2]*value.Map{"now": {nil, value.NewMap(policy, said)}, "before": {value.NewMap(policy, said), {}}} {
				if got := (resources.Server{}).Replaces(of[0], of[1], []string{property}); got != want {
					t.Errorf("%s with %s %s is replaced: %v", property, said, name, got)
				}
			}
		}
	}
	if (resources.Server{}).Replaces(nil, &value.Map{}, []string{"networks"}) {
		t.Error("a server with other networks is replaced")
	}
}

// A server sleeps and wakes with its stack, is asked for that once, whatever is lost on
// the way, and says so when it doesn't.
func TestServerSleeps(t *testing.T) {
	t.Parallel()
	service := &compute{servers: map[string]map[string]any{}, attached: map[string]map[string]any{}}
	b := benchOf(t, service)
	th := thing{name: "server", typ: "OS::Nova::Server"}
	const properties = `{"flavor": "small", "image": "00000000-1111-4111-8111-111111111111", "name": "web"}`
	server := b.types[th.typ].(resources.Sleeper)
	made := b.killed("create", b.call(th, properties), b.types[th.typ].Create)
	of := func(action string) *resources.Call {
		c := b.call(th, properties)
		c.Action, c.PhysicalID = action, made.PhysicalID
		return c
	}
	for _, turn := range []struct {
		action, status string
		do             func(context.Context, *resources.Call) (time.Duration, error)
	}{{"SUSPEND", "SUSPENDED", server.Suspend}, {"RESUME", "ACTIVE", server.Resume}} {
		service.busy = 1
		b.killed(turn.action, of(turn.action), turn.do)
		if now := service.servers[made.PhysicalID]["status"]; now != turn.status {
			t.Errorf("after %s it is %v", turn.action, now)
		}
	}
	if want := []string{"suspend", "resume"}; !slices.Equal(service.turned, want) {
		t.Errorf("it was asked to %v, want %v", service.turned, want)
	}
	service.stuck = true
	c := of("SUSPEND")
	var failure error
	for range 20 {
		if _, failure = server.Suspend(t.Context(), c); failure != nil {
			break
		}
	}
	if want := `Suspend of server web failed - Unknown status ACTIVE due to "Unknown"`; failure == nil || failure.Error() != want {
		t.Errorf("one that stays awake says %v, want %s", failure, want)
	}
	service.servers[made.PhysicalID]["status"] = "PAUSED"
	if _, err := b.types[th.typ].(resources.Checker).Check(t.Context(), of("CHECK")); err == nil || err.Error() != "'status': expected 'ACTIVE', got 'PAUSED'" {
		t.Errorf("a check of one that is paused says %v", err)
	}
	delete(service.servers, made.PhysicalID)
	if _, err := server.Resume(t.Context(), of("RESUME")); !faults.Is(err, faults.NotFound) || err.Error() != "Failed to find server "+made.PhysicalID {
		t.Errorf("one that is gone says %v", err)
	}
}

// asked keeps what it was asked for, as a server does, and what it knew of that.
type asked struct {
	outside
	fails bool
	knew  []any
}

func (o *asked) Suspend(_ context.Context, c *resources.Call) (time.Duration, error) {
	const key = "asked_for"
	before, _ := c.Data.Get(key)
	o.knew = append(o.knew, before)
	c.Data.Set(key, "suspend")
	if o.fails {
		return 0, faults.New(faults.Invalid, "Error", "it won't")
	}
	return 0, nil
}

func (o *asked) Resume(context.Context, *resources.Call) (time.Duration, error) { return 0, nil }

// What was asked for in an action that has failed, or was cut short, is asked for anew by
// the next one.
func TestServerIsAskedAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "heat_template_version: 2021-04-16\nresources: {server: {type: OS::Heat::TestResource}}")
	o := &asked{outside: outside{there: map[string]bool{}}}
	w.types["OS::Heat::TestResource"] = o
	w.made()
	for _, fails := range []bool{true, false, false} {
		o.fails = fails
		w.visited(operations.StackSuspend, steps.Suspend)
		w.end("SUSPEND", map[bool]string{true: "FAILED", false: "COMPLETE"}[fails])
	}
	if want := []any{nil, nil, nil}; !slices.Equal(o.knew, want) {
		t.Errorf("it was known to have been asked for %v", o.knew)
	}
}
