package resources_test

// Servers, on a fake of the compute service that has their states.

import (
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
		s["status"] = map[any]string{"BUILD": "ACTIVE", "RESIZE": "VERIFY_RESIZE", "REBUILD": "ACTIVE", "ACTIVE": "ACTIVE", "VERIFY_RESIZE": "VERIFY_RESIZE"}[s["status"]]
	}
}

func (f *compute) act(s map[string]any, body map[string]map[string]any) {
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
