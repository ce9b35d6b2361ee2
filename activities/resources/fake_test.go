package resources_test

// A service that has collections of things and nothing more, for types whose
// services the development cloud lacks.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// collections is a service: POST to a path adds to it what is in the envelope,
// and the path of one reads, changes and removes it.
type collections struct {
	mu   sync.Mutex
	next int
	at   map[string]map[string]map[string]any // by collection and id
	// said is what things were told to do: the last of the path and the body, each once.
	said []string
}

// ServeHTTP implements http.Handler.
func (f *collections) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := strings.TrimSuffix(strings.Trim(r.URL.Path, "/"), "/detail")
	var body map[string]map[string]any
	text, _ := io.ReadAll(r.Body)   // a client that is gone asks again
	_ = json.Unmarshal(text, &body) // some requests have another body, or none
	var key string
	var sent map[string]any
	for key, sent = range body {
	}
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // a client that is gone needs none
	}
	last := path[strings.LastIndex(path, "/")+1:]
	in, one := f.at[strings.TrimSuffix(path, "/"+last)], map[string]any(nil)
	if in != nil {
		one = in[last]
	}
	switch {
	case r.Method != http.MethodGet && (last == "action" || strings.HasPrefix(last, "add_") || strings.HasPrefix(last, "remove_")):
		if one := last + " " + string(text); !slices.Contains(f.said, one) {
			f.said = append(f.said, one)
		}
		answer(http.StatusOK, map[string]any{})
	case r.Method == http.MethodPost:
		if f.at[path] == nil {
			f.at[path] = map[string]map[string]any{}
		}
		f.next++
		id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", f.next)
		sent["id"], sent["status"] = id, "ACTIVE"
		f.at[path][id] = sent
		answer(http.StatusCreated, body)
	case r.Method == http.MethodGet && one == nil && strings.HasPrefix(last, "0000"):
		answer(http.StatusNotFound, map[string]any{})
	case r.Method == http.MethodGet && one == nil:
		list := []any{}
		for _, item := range f.at[path] {
			if name := r.URL.Query().Get("name"); name == "" || item["name"] == name {
				list = append(list, item)
			}
		}
		answer(http.StatusOK, map[string]any{plural(last): list})
	case one == nil && (r.Method == http.MethodDelete || last != "tags"):
		answer(http.StatusNotFound, map[string]any{})
	case r.Method == http.MethodGet:
		answer(http.StatusOK, map[string]any{singular(path): one})
	case r.Method == http.MethodDelete:
		delete(in, last)
		w.WriteHeader(http.StatusNoContent)
	default:
		for field, v := range sent {
			one[field] = v
		}
		answer(http.StatusOK, map[string]any{key: one})
	}
}

// plural is the key of a list, singular that of one in it.
func plural(last string) string { return strings.ReplaceAll(strings.TrimPrefix(last, "os-"), "-", "_") }

func singular(path string) string {
	parts := strings.Split(path, "/")
	name := plural(parts[len(parts)-2])
	if stem, ok := strings.CutSuffix(name, "policies"); ok {
		return stem + "policy"
	}
	return strings.TrimSuffix(name, "s")
}

// faked is a cloud that is one fake.
type faked struct {
	*cut
	address string
}

func (f faked) Client(context.Context, string, string, string) (*gophercloud.ServiceClient, error) {
	provider := &gophercloud.ProviderClient{TokenID: "t"}
	provider.HTTPClient.Transport = cutting{f.cut, nil}
	return &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: f.address + "/"}, nil
}

// benchOf is a bench whose services are one fake.
func benchOf(t *testing.T, service http.Handler) *bench {
	t.Helper()
	registry, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	cloud := faked{&cut{left: -1}, server.URL}
	return &bench{t, cloud.cut, cloud, resources.FromFiles(registry, cloud), registry, "p", map[string]string{}, map[string]*value.Map{}, nil}
}

// The types of things that the development cloud doesn't have.
func TestFakedTypes(t *testing.T) {
	t.Parallel()
	// Another of the name is somebody else's, and stays.
	service := &collections{at: map[string]map[string]map[string]any{"os-server-groups": {
		"00000000-2222-4222-8222-222222222222": {"id": "00000000-2222-4222-8222-222222222222", "name": "close", "policies": []string{"anti-affinity"}}}}}
	b := benchOf(t, service)
	const network = "00000000-1111-4111-8111-111111111111"
	group := thing{"group", "OS::Nova::ServerGroup", `{"name": "close"}`, "", "show"}
	never := b.call(group, group.made)
	never.Action = "DELETE" // before anything was made
	if _, err := b.types[group.typ].Delete(t.Context(), never); err != nil || len(service.at["os-server-groups"]) != 1 {
		t.Errorf("%v, and there are %v", err, service.at)
	}
	b.all([]thing{
		group, {"unnamed", "OS::Nova::ServerGroup", `{"policies": ["affinity"]}`, "", "show"},
		{"scope", "OS::Neutron::AddressScope", `{"name": "s"}`, `{"name": "t", "shared": true}`, "show"},
		{"pool", "OS::Neutron::SubnetPool", `{"prefixes": ["10.0.0.0/8"], "address_scope": "scope."}`, `{"name": "p", "prefixes": ["10.0.0.0/8", "192.168.0.0/16"], "address_scope": "scope."}`, "show"},
		{"policy", "OS::Neutron::QoSPolicy", `{"name": "gold"}`, `{"name": "gold", "description": "the best"}`, "show"},
		{"limit", "OS::Neutron::QoSBandwidthLimitRule", `{"policy": "policy.", "max_kbps": 100}`, `{"policy": "policy.", "max_kbps": 200}`, "show"},
		{"mark", "OS::Neutron::QoSDscpMarkingRule", `{"policy": "policy.", "dscp_mark": 8}`, `{"policy": "policy.", "dscp_mark": 10}`, "show"},
		{"least", "OS::Neutron::QoSMinimumBandwidthRule", `{"policy": "policy.", "min_kbps": 100}`, `{"policy": "policy.", "min_kbps": 200}`, "show"},
		{"packets", "OS::Neutron::QoSMinimumPacketRateRule", `{"policy": "policy.", "min_kpps": 100}`, `{"policy": "policy.", "min_kpps": 200}`, "show"},
		{"segment", "OS::Neutron::Segment", `{"network": "` + network + `", "network_type": "vlan"}`, `{"name": "n", "network": "` + network + `", "network_type": "vlan", "description": "d"}`, "show"},
	})
}

// Things that are told one by one what they are to have, and what no more.
func TestFakedTypesWithMembers(t *testing.T) {
	t.Parallel()
	service := &collections{at: map[string]map[string]map[string]any{}}
	b := benchOf(t, service)
	const object, port, sub = "00000000-1111-4111-8111-111111111111", "00000000-2222-4222-8222-222222222222", "00000000-3333-4333-8333-333333333333"
	const project, other = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
	b.all([]thing{
		{"flavor", "OS::Nova::Flavor", `{"name": "big", "ram": 512, "vcpus": 1, "disk": 2, "is_public": false, "tenants": ["` + project + `"], "extra_specs": {"hw:a": "1"}}`,
			`{"name": "big", "ram": 512, "vcpus": 1, "disk": 2, "is_public": false, "tenants": ["` + other + `"], "extra_specs": {"hw:b": "2"}}`, "extra_specs"},
		{"own", "OS::Nova::Flavor", `{"ram": 512, "vcpus": 1, "is_public": false}`, "", "show"},
		{"aggregate", "OS::Nova::HostAggregate", `{"name": "fast", "hosts": ["one", "two"], "metadata": {"ssd": "true"}}`, `{"name": "quick", "hosts": ["two", "three"]}`, "show"},
		{"share", "OS::Neutron::RBACPolicy", `{"object_type": "network", "object_id": "` + object + `", "action": "access_as_shared", "target_tenant": "` + project + `"}`,
			`{"object_type": "network", "object_id": "` + object + `", "action": "access_as_shared", "target_tenant": "` + other + `"}`, "show"},
		{"route", "OS::Neutron::ExtraRoute", `{"router_id": "` + object + `", "destination": "10.0.0.0/8", "nexthop": "192.0.2.1"}`, "", ""},
		{"trunk", "OS::Neutron::Trunk", `{"port": "` + port + `", "sub_ports": [{"port": "` + sub + `", "segmentation_type": "vlan", "segmentation_id": 7}]}`,
			`{"port": "` + port + `", "name": "t", "sub_ports": [{"port": "` + object + `", "segmentation_type": "vlan", "segmentation_id": 8}]}`, "port_id"},
	})
	want := []string{
		`action {"addTenantAccess": {"tenant": "` + project + `"}}`,
		`action {"addTenantAccess": {"tenant": "p"}}`,
		`action {"set_metadata": {"metadata": {"ssd": "true"}}}`, `action {"add_host": {"host": "one"}}`, `action {"add_host": {"host": "two"}}`,
		`add_extraroutes {"router": {"routes": [{"destination": "10.0.0.0/8", "nexthop": "192.0.2.1"}]}}`,
		`action {"addTenantAccess": {"tenant": "` + other + `"}}`, `action {"removeTenantAccess": {"tenant": "` + project + `"}}`,
		`action {"add_host": {"host": "three"}}`, `action {"remove_host": {"host": "one"}}`,
		`remove_subports {"sub_ports": [{"port_id": "` + sub + `"}]}`,
		`add_subports {"sub_ports": [{"port_id": "` + object + `", "segmentation_type": "vlan", "segmentation_id": 8}]}`,
		`remove_extraroutes {"router": {"routes": [{"destination": "10.0.0.0/8", "nexthop": "192.0.2.1"}]}}`,
		`action {"remove_host": {"host": "two"}}`, `action {"remove_host": {"host": "three"}}`,
	}
	if !slices.Equal(service.said, want) {
		t.Errorf("they were told\n%s\nwant\n%s", strings.Join(service.said, "\n"), strings.Join(want, "\n"))
	}
}

// An answer that can't be read to its end is no list without the thing: nothing is
// made a second time because of one.
func TestAnswersThatCantBeRead(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answer string
		kind   faults.Kind
	}{
		"long": {`{"networks": [` + strings.Repeat(" ", 17<<20) + `]}`, faults.Invalid},
		"torn": {`{"networks": [{"id":`, faults.Unavailable},
	} {
		made := 0
		b := benchOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				made++
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, row.answer) // a client that is gone needs none
		}))
		th := thing{name: "net", typ: "OS::Neutron::Net"}
		if _, err := b.types[th.typ].Create(t.Context(), b.call(th, `{}`)); !faults.Is(err, row.kind) || made != 0 {
			t.Errorf("%s: %d were made, and it says %v", name, made, err)
		}
	}
}
