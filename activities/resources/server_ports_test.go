package resources_test

// Ports of servers of which one takes the place of another.

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast.dev/activities/resources"
)

// plugs is a compute and a network service: servers by their ids, with the tags that
// they were made with, and what ports are plugged into.
type plugs struct {
	mu      sync.Mutex
	tags    map[string][]any
	status  string // of the first server
	devices map[string]string
	// busy is how many ports are refused to come or go.
	busy int
}

const (
	firstServer  = "00000001-0000-4000-8000-000000000000"
	secondServer = "00000002-0000-4000-8000-000000000000"
	firstPort    = "00000001-1111-4111-8111-111111111111"
	secondPort   = "00000002-1111-4111-8111-111111111111"
)

// ServeHTTP implements http.Handler.
func (f *plugs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // a client that is gone needs none
	}
	var body struct {
		Server struct {
			Tags     []any
			Networks []struct{ Port string }
		}
		InterfaceAttachment struct {
			Port string `json:"port_id"`
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // some requests have another body, or none
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	what := parts[len(parts)-1]
	switch {
	case parts[0] == "ports":
		answer(200, map[string]any{"port": map[string]any{"id": what, "device_id": f.devices[what]}})
	case r.Method == "POST" && what == "servers":
		for _, n := range body.Server.Networks {
			if f.devices[n.Port] != "" {
				answer(409, map[string]any{"conflictingRequest": map[string]any{"code": 409, "message": "Port " + n.Port + " is still in use."}})
				return
			}
		}
		for _, n := range body.Server.Networks {
			f.devices[n.Port] = secondServer
		}
		f.tags[secondServer] = body.Server.Tags
		answer(202, map[string]any{"server": map[string]any{"id": secondServer}})
	case what == "detail":
		list := []any{}
		for id, tags := range f.tags {
			if slices.Contains(tags, any(r.URL.Query().Get("tags"))) {
				list = append(list, map[string]any{"id": id})
			}
		}
		answer(200, map[string]any{"servers": list})
	case f.tags[parts[1]] == nil:
		answer(404, map[string]any{})
	case len(parts) > 2 && parts[2] == "os-interface" && f.busy > 0:
		f.busy--
		answer(409, map[string]any{"conflictingRequest": map[string]any{"code": 409, "message": "it is locked"}})
	case r.Method == "DELETE" && f.devices[what] != parts[1]:
		answer(404, map[string]any{})
	case r.Method == "DELETE":
		f.devices[what] = ""
		answer(202, nil)
	case r.Method == "POST" && f.devices[body.InterfaceAttachment.Port] != "":
		answer(409, map[string]any{"conflictingRequest": map[string]any{"code": 409, "message": "it is in use"}})
	case r.Method == "POST":
		f.devices[body.InterfaceAttachment.Port] = parts[1]
		answer(200, map[string]any{})
	case r.Method == "PUT":
		answer(200, map[string]any{})
	case parts[1] == firstServer && f.status != "":
		answer(200, map[string]any{"server": map[string]any{"id": parts[1], "status": f.status}})
	default:
		answer(200, map[string]any{"server": map[string]any{"id": parts[1], "status": "ACTIVE"}})
	}
}

// A server that takes the place of another gets the ports that both are given, whatever
// is lost on the way, and when that takes its place back it gets them again, known or not.
func TestPortsOfReplacedServers(t *testing.T) {
	t.Parallel()
	service := &plugs{tags: map[string][]any{firstServer: {}}, devices: map[string]string{firstPort: firstServer}, busy: 1}
	b := benchOf(t, service)
	typ := b.types["OS::Nova::Server"]
	first := thing{"server", "OS::Nova::Server", `{"flavor": "00000000-2222-4222-8222-222222222222", "image": "` + firstPort + `", "networks": [{"port": "` + firstPort + `"}]}`, "", ""}
	second := thing{"server", first.typ, strings.Replace(first.made, `[{`, `[{"port": "`+secondPort+`"}, {`, 1), "", ""}

	c := b.call(second, second.made)
	c.Before = &resources.Before{PhysicalID: firstServer}
	made := b.killed("replace", c, typ.Create)
	if want := map[string]string{firstPort: secondServer, secondPort: secondServer}; !maps.Equal(service.devices, want) {
		t.Errorf("ports are plugged into %v, want %v", service.devices, want)
	}

	for what, heir := range map[string]*resources.Before{"known": {PhysicalID: secondServer}, "unknown": {Mark: made.Mark}} {
		service.devices, service.tags[secondServer], service.busy = map[string]string{firstPort: secondServer, secondPort: secondServer}, []any{"holdfast-" + made.Mark[len(made.Mark)-12:]}, 2
		c := b.call(first, first.made)
		c.Action, c.PhysicalID, c.Before = "UPDATE", firstServer, heir
		b.killed("return from one that is "+what, c, typ.(resources.Returner).Return)
		if want := map[string]string{firstPort: firstServer, secondPort: secondServer}; !maps.Equal(service.devices, want) {
			t.Errorf("%s: ports are plugged into %v, want %v", what, service.devices, want)
		}
	}

	// Of one that went wrong nothing is taken, which is told.
	service.status = "ERROR"
	delete(service.tags, secondServer)
	c = b.call(second, second.made)
	c.Before, service.devices[secondPort] = &resources.Before{PhysicalID: firstServer}, ""
	if _, err := typ.Create(t.Context(), c); err == nil || !strings.Contains(err.Error(), "is still in use") {
		t.Errorf("a server in ERROR: %v", err)
	}
}
