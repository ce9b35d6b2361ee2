package neutron_test

// A Neutron with what the steps use of it, in memory.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
)

// object is a port or a network as it goes over the wire.
type object map[string]any

// fake is the service. Its fields are read by tests while nothing calls it.
type fake struct {
	mu       sync.Mutex
	ports    map[string]object
	networks map[string]object
	floating map[string][]object // by port
	made     int
	calls    []string

	// loseAt closes the connection of that call (from 0) once it is done; -1 never.
	loseAt int
	// refuse answers a method and path with an error.
	refuse map[string]refusal
}

type refusal struct {
	status int
	kind   string
}

func newFake(t *testing.T) (*fake, *gophercloud.ServiceClient) {
	t.Helper()
	f := &fake{ports: map[string]object{}, loseAt: -1, refuse: map[string]refusal{},
		networks: map[string]object{"net-1": {"id": "net-1", "name": "private", "mtu": 1450}},
		floating: map[string][]object{"own-1": {{"fixed_ip_address": "10.0.0.99", "floating_ip_address": "203.0.113.9", "port_id": "own-1"}}}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{HTTPClient: *server.Client()},
		Endpoint:       server.URL + "/", ResourceBase: server.URL + "/v2.0/",
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := len(f.calls)
	f.calls = append(f.calls, r.Method+" "+r.URL.Path)
	status, body := f.answer(r)
	if call == f.loseAt {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body)
	}
}

func (f *fake) answer(r *http.Request) (int, any) {
	what, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2.0/"), "/")
	if no, ok := f.refuse[r.Method+" "+what]; ok {
		return neutronError(no.status, no.kind)
	}
	if what == "floatingips" {
		found := []object{}
		for _, port := range r.URL.Query()["port_id"] {
			found = append(found, f.floating[port]...)
		}
		return http.StatusOK, object{"floatingips": found}
	}
	if what == "auto-allocated-topology" {
		return http.StatusOK, object{"auto_allocated_topology": object{"id": "net-1", "tenant_id": id}}
	}
	if what == "networks" {
		if n, ok := f.networks[id]; ok {
			return http.StatusOK, object{"network": n}
		}
		return neutronError(http.StatusNotFound, "NetworkNotFound")
	}
	p, there := f.ports[id]
	if id != "" && !there {
		return neutronError(http.StatusNotFound, "PortNotFound")
	}
	var body struct{ Port object }
	if r.Body != nil && (r.Method == http.MethodPost || r.Method == http.MethodPut) {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	switch {
	case r.Method == http.MethodDelete:
		delete(f.ports, id)
		return http.StatusNoContent, nil
	case r.Method == http.MethodPost:
		return http.StatusCreated, object{"port": f.create(body.Port)}
	case r.Method == http.MethodPut:
		for k, v := range body.Port {
			p[k] = v
		}
		f.plug(p)
		return http.StatusOK, object{"port": p}
	case id != "":
		return http.StatusOK, object{"port": p}
	}
	found := []object{}
	for _, p := range f.ports {
		if p["device_id"] == r.URL.Query().Get("device_id") {
			found = append(found, p)
		}
	}
	return http.StatusOK, object{"ports": found}
}

func (f *fake) create(p object) object {
	f.made++
	p["id"] = fmt.Sprintf("made-%d", f.made)
	p["mac_address"] = fmt.Sprintf("fa:16:3e:00:00:%02x", f.made)
	if _, asked := p["fixed_ips"]; !asked {
		p["fixed_ips"] = []any{object{"subnet_id": "sub-1", "ip_address": fmt.Sprintf("10.0.0.%d", f.made)}}
	}
	f.plug(p)
	f.ports[p["id"].(string)] = p
	return p
}

// plug binds the port as the mechanism driver of a Linux bridge would.
func (f *fake) plug(p object) {
	p["binding:vif_type"], p["binding:vif_details"], p["status"] = "unbound", object{}, "DOWN"
	switch p["binding:host_id"] {
	case "", nil:
	case "unbindable":
		p["binding:vif_type"] = "binding_failed"
	default:
		p["binding:vif_type"], p["binding:vif_details"] = "bridge", object{"bridge_name": "brqnet-1"}
	}
}

// own is a port that a user has made.
func (f *fake) own(id, project string) object {
	p := object{"id": id, "name": "mine", "network_id": "net-1", "tenant_id": project, "device_id": "", "device_owner": "",
		"status": "DOWN", "mac_address": "fa:16:3e:ff:00:01", "fixed_ips": []any{object{"subnet_id": "sub-1", "ip_address": "10.0.0.99"}}}
	f.ports[id] = p
	return p
}

func neutronError(status int, kind string) (int, any) {
	return status, object{"NeutronError": object{"type": kind, "message": "said " + kind, "detail": ""}}
}
