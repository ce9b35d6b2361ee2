package ironic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/libvirt/ironic"
	"holdfast.dev/internal/hostlink"
)

const (
	nodeID = "1be26c0b-03f2-4d2e-ae87-c02d7f33c781"
	server = "8a94ea4e-6d6c-4d21-b0d8-2f2f0e9ee4c1"
)

// fake is a bare metal service with one node, which takes two looks for everything.
type fake struct {
	mu    sync.Mutex
	node  map[string]any
	vifs  []string
	drive string
	// nics and bonds are the node's ports and port groups.
	nics, bonds []map[string]any
	// next is where the node is on its way to, by the looks that it still takes.
	next  map[string]any
	looks int
	// did is what it was asked to do, and refuses what it answers: a verb's text, 400.
	did     []string
	refuses map[string]string
	// fails says of its nth request whether it is answered, and done.
	n     int
	fails func(n int) (done, answered bool)
	moves int
}

func newFake(t *testing.T) (*fake, *ironic.Driver, *ironic.Service) {
	t.Helper()
	f := &fake{refuses: map[string]string{}, nics: []map[string]any{}, bonds: []map[string]any{}, node: map[string]any{
		"uuid": nodeID, "power_state": "power off", "target_power_state": nil, "provision_state": "available", "target_provision_state": nil,
		"provision_updated_at": "2026-01-01T00:00:00+00:00", "last_error": nil, "maintenance": false, "instance_uuid": nil, "instance_info": map[string]any{},
		"traits": []string{"CUSTOM_FAST", "HW_CPU_X86_VMX"}, "resource_class": "gold-1",
		"properties": map[string]any{"cpu_arch": "x86_64", "local_gb": 100, "capabilities": "boot_mode:uefi,bad,raid_level:1"}}}
	listener := httptest.NewServer(f)
	t.Cleanup(listener.Close)
	service := ironic.New(ironic.Options{Look: time.Millisecond, Client: func(context.Context) (*gophercloud.ServiceClient, error) {
		return &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{HTTPClient: *listener.Client()}, Type: "baremetal",
			Endpoint: listener.URL + "/", ResourceBase: listener.URL + "/v1/"}, nil
	}})
	return f, service.Driver(nodeID, drives{}), service
}

// drives are the servers' config drives.
type drives struct{}

func (drives) ConfigDrive(_ context.Context, serverID string) (hostlink.ConfigDrive, error) {
	return hostlink.ConfigDrive{Files: map[string][]byte{
		"openstack/latest/meta_data.json":    fmt.Appendf(nil, `{"uuid":%q,"admin_pass":"s3cret"}`, serverID),
		"openstack/latest/network_data.json": []byte(networkData)}}, nil
}

// networkData is what is said of its links to a server that isn't a whole machine.
const networkData = `{"links": [{"id": "tap1", "vif_id": "vif-1", "type": "other", "mtu": 1500, "ethernet_mac_address": "fa:16:3e:00:00:01"},
	{"id": "tap2", "vif_id": "vif-2", "type": "other", "mtu": 9000, "ethernet_mac_address": "fa:16:3e:00:00:02"},
	{"id": "tap3", "vif_id": "vif-3", "type": "other", "mtu": 1500, "ethernet_mac_address": "fa:16:3e:00:00:03"}], "networks": [], "services": []}`

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	done, answered := true, true
	if f.fails != nil {
		done, answered = f.fails(f.n)
	}
	var body any
	status := http.StatusServiceUnavailable
	if done {
		status, body = f.serve(r)
	}
	if !answered {
		panic(http.ErrAbortHandler)
	}
	if r.Header.Get("X-OpenStack-Ironic-API-Version") != ironic.Microversion {
		status, body = http.StatusNotAcceptable, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body)
	}
}

func refusal(status int, text string) (int, any) {
	inner, _ := json.Marshal(map[string]string{"faultstring": text})
	return status, map[string]string{"error_message": string(inner)}
}

func (f *fake) serve(r *http.Request) (int, any) {
	var in map[string]any
	var patch []map[string]any
	if r.Method == "PATCH" {
		_ = json.NewDecoder(r.Body).Decode(&patch)
	} else if r.ContentLength > 0 {
		_ = json.NewDecoder(r.Body).Decode(&in)
	}
	switch r.Method + " " + r.URL.Path + "?" + r.URL.RawQuery {
	case "GET /v1/ports/detail?node=" + nodeID:
		return 200, map[string]any{"ports": f.nics}
	case "GET /v1/portgroups?detail=true&node=" + nodeID:
		return 200, map[string]any{"portgroups": f.bonds}
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1/nodes")
	if path == "" {
		return 200, map[string]any{"nodes": []any{f.node}}
	}
	path = strings.TrimPrefix(path, "/"+nodeID)
	what := r.Method + " " + path
	switch {
	case what == "GET ":
		f.look()
		return 200, f.node
	case what == "GET /validate":
		answer := map[string]any{}
		for _, part := range []string{"deploy", "power", "storage"} {
			answer[part] = map[string]any{"result": f.refuses[part] == "", "reason": f.refuses[part]}
		}
		return 200, answer
	case what == "GET /vifs":
		list := []map[string]string{}
		for _, v := range f.vifs {
			list = append(list, map[string]string{"id": v})
		}
		return 200, map[string]any{"vifs": list}
	case what == "POST /vifs":
		id := in["id"].(string)
		if text := f.refuses["vif"]; text != "" {
			return refusal(400, text)
		}
		if slices.Contains(f.vifs, id) {
			return refusal(409, "already attached")
		}
		f.vifs = append(f.vifs, id)
		return 204, nil
	case strings.HasPrefix(what, "DELETE /vifs/"):
		id := strings.TrimPrefix(path, "/vifs/")
		if !slices.Contains(f.vifs, id) {
			return refusal(400, "not attached")
		}
		f.vifs = slices.DeleteFunc(f.vifs, func(v string) bool { return v == id })
		return 204, nil
	case r.Method == "PATCH":
		return f.patch(patch)
	case what == "PUT /management/inject_nmi":
		f.did = append(f.did, "nmi")
		return 204, nil
	case what == "PUT /states/provision", what == "PUT /states/power":
		return f.change(in)
	}
	return refusal(404, "no "+what)
}

func (f *fake) patch(all []map[string]any) (int, any) {
	for _, c := range all {
		path := strings.Split(strings.TrimPrefix(c["path"].(string), "/"), "/")
		if path[0] == "instance_uuid" && c["op"] == "add" && f.node["instance_uuid"] != nil && f.node["instance_uuid"] != c["value"] {
			return refusal(409, "Node is associated with another instance")
		}
		switch {
		case c["op"] == "remove" && len(path) > 1:
			delete(f.node[path[0]].(map[string]any), path[1])
		case c["op"] == "remove":
			f.node[path[0]] = nil
		case len(path) == 1:
			f.node[path[0]] = c["value"]
		default:
			f.node[path[0]].(map[string]any)[path[1]] = c["value"]
		}
	}
	return 200, f.node
}

// ways are what verbs lead to: on the way, and at the end.
var ways = map[string][2]string{"active": {"deploying", "active"}, "rebuild": {"deploying", "active"}, "deleted": {"deleting", "cleaning"},
	"rescue": {"rescuing", "rescue"}, "unrescue": {"unrescuing", "active"}}

var from = map[string][]string{"active": {"available", "deploy failed"}, "rebuild": {"active", "deploy failed"}, "deleted": {"active", "deploy failed", "rescue", "rescue failed"},
	"rescue": {"active"}, "unrescue": {"rescue", "rescue failed"}}

func (f *fake) change(in map[string]any) (int, any) {
	target := in["target"].(string)
	if text := f.refuses[target]; text != "" {
		return refusal(400, text)
	}
	if f.looks > 0 && f.next != nil {
		return refusal(409, "Node is locked")
	}
	f.looks = 2
	way, ok := ways[target]
	if !ok {
		f.did = append(f.did, target)
		f.node["target_power_state"], f.node["last_error"] = target, nil
		to := map[string]string{"soft power off": "power off", "soft rebooting": "power on", "rebooting": "power on"}[target]
		if to == "" {
			to = target
		}
		f.next = map[string]any{"target_power_state": nil, "power_state": to}
		if why := f.refuses["heed "+target]; why != "" {
			delete(f.next, "power_state")
			f.next["last_error"] = why
		}
		return 202, nil
	}
	if !slices.Contains(from[target], f.node["provision_state"].(string)) {
		f.looks = 0
		return refusal(400, fmt.Sprintf("The requested action \"%s\" can not be performed in state %s", target, f.node["provision_state"]))
	}
	f.did = append(f.did, target)
	f.drive, _ = in["configdrive"].(string)
	f.moved(way[0])
	f.next = map[string]any{"provision_state": way[1]}
	if text := f.refuses["end "+target]; text != "" {
		f.next = map[string]any{"provision_state": map[string]string{"active": "deploy failed", "rebuild": "deploy failed", "rescue": "rescue failed"}[target], "last_error": text}
	}
	switch target {
	case "active", "rebuild", "unrescue", "rescue":
		f.next["power_state"] = "power on"
	case "deleted":
		f.next["instance_uuid"], f.next["instance_info"] = nil, map[string]any{}
	}
	return 202, nil
}

func (f *fake) moved(state string) {
	f.moves++
	f.node["provision_state"] = state
	f.node["provision_updated_at"] = fmt.Sprintf("2026-01-01T00:00:%02d+00:00", f.moves)
}

// look is one look at the node, which goes on by it.
func (f *fake) look() {
	if f.next == nil {
		return
	}
	if f.looks--; f.looks > 0 {
		return
	}
	for name, value := range f.next {
		if name == "provision_state" {
			f.moved(value.(string))
			continue
		}
		f.node[name] = value
	}
	if f.next["instance_uuid"] == nil && f.node["instance_uuid"] == nil {
		f.vifs = nil
	}
	f.next = nil
}
