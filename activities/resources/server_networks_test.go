package resources_test

// Networks of servers, on a fake that has ports beside servers.

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast.dev/internal/hot/value"
)

// wired has servers, and ports that are theirs while they are in them. A subnet is in
// the network of the same number.
type wired struct {
	*compute
	mu       sync.Mutex
	ports    map[string]map[string]any
	floating map[string]any
	next     int
	sent     map[string]any
}

func netID(n int) string    { return fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", n) }
func subnetID(n int) string { return fmt.Sprintf("00000000-0000-4000-9000-00000000000%d", n) }

const serverID = "00000001-0000-4000-8000-000000000000"

func newWired() *wired {
	return &wired{compute: &compute{servers: map[string]map[string]any{}, attached: map[string]map[string]any{}}, ports: map[string]map[string]any{}, floating: map[string]any{}}
}

// plug makes a port, in a server or not.
func (f *wired) plug(body map[string]any, device string) map[string]any {
	f.next++
	id := fmt.Sprintf("00000000-0000-4000-a000-0000000000%02d", f.next)
	port := map[string]any{"id": id, "device_id": device, "description": "", "mac_address": "fa:16:3e:00:00:01"}
	maps.Copy(port, body)
	network := fmt.Sprint(port["network_id"])
	port["fixed_ips"] = []any{map[string]any{"ip_address": fmt.Sprintf("10.0.%s.%d", network[len(network)-1:], f.next), "subnet_id": strings.Replace(network, "-8000-", "-9000-", 1)}}
	f.ports[id] = port
	return port
}

// ServeHTTP implements http.Handler.
func (f *wired) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // a client that is gone needs none
	}
	last := parts[len(parts)-1]
	isServer := parts[0] == "servers" && !(len(parts) > 2 && parts[2] == "os-interface")
	if parts[0] == "flavors" || isServer && r.Method != http.MethodPost {
		f.compute.ServeHTTP(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var body map[string]map[string]any
	var text strings.Builder
	if r.Body != nil {
		buffer := make([]byte, 1<<20)
		for n, err := r.Body.Read(buffer); n > 0 || err == nil; n, err = r.Body.Read(buffer) {
			text.Write(buffer[:n])
		}
	}
	_ = json.Unmarshal([]byte(text.String()), &body) // some requests have none
	switch port := f.ports[last]; {
	case isServer:
		r.Body = http.NoBody
		again := r.Clone(r.Context())
		again.Body = nopCloser{strings.NewReader(text.String())}
		f.compute.ServeHTTP(w, again)
		if f.sent = body["server"]; len(parts) > 1 || f.sent == nil {
			return
		}
		list, _ := f.sent["networks"].([]any)
		for _, one := range list {
			m := one.(map[string]any)
			if id, ok := m["port"].(string); ok {
				f.ports[id]["device_id"] = serverID
			} else {
				f.plug(map[string]any{"network_id": m["uuid"]}, serverID)
			}
		}
	case parts[0] == "networks" && len(parts) == 1:
		answer(200, map[string]any{"networks": []any{map[string]any{"id": netID(3), "name": "net3"}}[:max(0, 1-strings.Count(r.URL.RawQuery, "shared=true"))]})
	case parts[0] == "networks":
		answer(200, map[string]any{"network": map[string]any{"id": last, "name": "net" + last[len(last)-1:]}})
	case parts[0] == "security-groups":
		answer(200, map[string]any{"security_groups": []any{map[string]any{"id": "id of " + r.URL.Query().Get("name")}}})
	case parts[0] == "subnets":
		answer(200, map[string]any{"subnet": map[string]any{"id": last, "network_id": strings.Replace(last, "-9000-", "-8000-", 1)}})
	case parts[0] == "floatingips" && r.Method == http.MethodPut:
		f.floating[last] = body["floatingip"]["port_id"]
		answer(200, map[string]any{})
	case parts[0] == "floatingips":
		list := []any{}
		for _, port := range f.floating {
			if port == r.URL.Query().Get("port_id") {
				ip := f.ports[port.(string)]["fixed_ips"].([]any)[0].(map[string]any)["ip_address"]
				list = append(list, map[string]any{"floating_ip_address": "203.0.113.5", "fixed_ip_address": ip})
			}
		}
		answer(200, map[string]any{"floatingips": list})
	case last == "ports" && r.Method == http.MethodPost:
		answer(201, map[string]any{"port": f.plug(body["port"], "")})
	case last == "ports":
		list := []any{}
		for _, id := range slices.Sorted(maps.Keys(f.ports)) {
			port, q := f.ports[id], r.URL.Query()
			if (!q.Has("description") || port["description"] == q.Get("description")) && (!q.Has("device_id") || port["device_id"] == q.Get("device_id")) {
				list = append(list, port)
			}
		}
		answer(200, map[string]any{"ports": list})
	case last == "os-interface":
		asked := body["interfaceAttachment"]
		if id, ok := asked["port_id"].(string); ok {
			f.ports[id]["device_id"] = serverID
		} else {
			network, _ := asked["net_id"].(string)
			if network == "" {
				network = netID(9)
			}
			f.plug(map[string]any{"network_id": network}, serverID)
		}
		answer(200, map[string]any{})
	case port == nil:
		answer(404, map[string]any{})
	case parts[0] == "servers": // one of its interfaces goes
		if port["device_id"] = ""; port["name"] == nil {
			delete(f.ports, last)
		}
		answer(202, nil)
	case r.Method == http.MethodDelete:
		delete(f.ports, last)
		answer(204, nil)
	default:
		maps.Copy(port, body["port"])
		answer(200, map[string]any{"port": port})
	}
}

type nopCloser struct{ *strings.Reader }

func (nopCloser) Close() error { return nil }

// plugged are the networks of the ports that the server has.
func (f *wired) plugged() (all []string) {
	for _, id := range slices.Sorted(maps.Keys(f.ports)) {
		if port := f.ports[id]; port["device_id"] == serverID {
			all = append(all, fmt.Sprint(port["network_id"])[35:])
		}
	}
	slices.Sort(all)
	return all
}

// A server is made with ports of every kind, which are put in and out when its networks
// change, whatever is lost on the way, and none of its own is left behind.
func TestServerNetworks(t *testing.T) {
	t.Parallel()
	const image = "00000000-1111-4111-8111-111111111111"
	server := func(networks string) string {
		return `{"flavor": "small", "image": "` + image + `", "networks": [` + networks + `]}`
	}
	plain, own := func(n int) string { return `{"network": "` + netID(n) + `"}` }, func(n int, more string) string { return `{"subnet": "` + subnetID(n) + `"` + more + `}` }
	extra := func(text string) string { return `, "port_extra_properties": {` + text + `}` }
	for name, c := range map[string]struct {
		made, changed string
		was, is       string
		after         func(*testing.T, *wired)
	}{
		"one more":           {plain(1), plain(1) + "," + plain(2), "1", "1 2", nil},
		"one less":           {plain(1) + "," + plain(2), plain(2), "1 2", "2", nil},
		"another":            {plain(1), plain(2), "1", "2", nil},
		"none said any more": {plain(1), "", "1", "1", nil},
		"an own port more":   {plain(1), plain(1) + "," + own(2, ""), "1", "1 2", nil},
		"own ports change":   {own(1, "") + "," + own(2, ""), own(2, "") + "," + own(3, "") + "," + own(4, ""), "1 2", "2 3 4", nil},
		"two of a network":   {own(1, ""), own(1, "") + "," + own(1, ""), "1", "1 1", nil},
		"in place": {own(1, extra(`"port_security_enabled": false`)), own(1, extra(`"port_security_enabled": true, "allowed_address_pairs": [{"ip_address": "10.1.0.0/24"}]`)), "1", "1",
			func(t *testing.T, f *wired) {
				for _, port := range f.ports {
					if port["port_security_enabled"] != true || port["allowed_address_pairs"] == nil || f.next != 1 {
						t.Errorf("%v of %d", port, f.next)
					}
				}
			}},
		"by another port": {own(1, extra(`"mac_address": "fa:16:3e:00:00:07"`)), own(1, extra(`"mac_address": "fa:16:3e:00:00:08"`)), "1", "1",
			func(t *testing.T, f *wired) {
				if f.next != 2 || len(f.ports) != 1 {
					t.Errorf("%d ports were made, and there are %v", f.next, f.ports)
				}
			}},
		"floating": {own(1, "") + "," + own(2, `, "floating_ip": "f"`), own(1, `, "floating_ip": "f"`) + "," + own(2, ""), "1 2", "1 2",
			func(t *testing.T, f *wired) {
				if port, _ := f.floating["f"].(string); f.ports[port] == nil || f.ports[port]["network_id"] != netID(1) {
					t.Errorf("it leads to %v of %v", f.floating, f.ports)
				}
			}},
		"auto": {plain(1), `{"allocate_network": "auto"}`, "1", "3", nil},
		"none": {plain(1) + "," + own(2, ""), `{"allocate_network": "none"}`, "1 2", "", nil},
		"from none": {`{"allocate_network": "none"}`, plain(1), "", "1",
			func(t *testing.T, f *wired) {
				if f.sent["networks"] != "none" {
					t.Errorf("sent %v", f.sent)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newWired()
			b := benchOf(t, service)
			b.after = func(done string) {
				want := map[string]string{"create server": c.was, "update server": c.is}
				if is, asked := want[done]; asked && strings.Join(service.plugged(), " ") != is {
					t.Errorf("after %s: %v, want %s: %v", done, service.plugged(), is, service.ports)
				}
				if done == "update server" && c.after != nil {
					c.after(t, service)
				}
			}
			b.all([]thing{{"server", "OS::Nova::Server", server(c.made), server(c.changed), ""}})
			for _, port := range service.ports {
				if port["description"] != "" {
					t.Errorf("%v is left", port)
				}
			}
		})
	}
}

// What templates read of a server's addresses is under the names of networks and their
// ids, with the floating ones.
func TestServerAddresses(t *testing.T) {
	t.Parallel()
	service := newWired()
	b := benchOf(t, service)
	made := b.killed("create", b.call(thing{name: "server", typ: "OS::Nova::Server"}, `{"flavor": "small", "image": "00000000-1111-4111-8111-111111111111",
		"networks": [{"subnet": "`+subnetID(2)+`", "floating_ip": "f", "fixed_ip": "10.0.2.1"}], "security_groups": ["web"]}`), b.types["OS::Nova::Server"].Create)
	for _, port := range service.ports {
		if groups, _ := port["security_groups"].([]any); len(groups) != 1 || groups[0] != "id of web" || port["name"] != "server-port-0" {
			t.Errorf("%v", port)
		}
	}
	v, _ := made.Attributes.Get("addresses")
	for _, key := range []string{"net2", netID(2)} {
		got, _ := v.(*value.Map).Get(key)
		list, _ := got.([]any)
		if len(list) != 2 {
			t.Fatalf("%s: %s", key, value.JSON(v, false))
		}
		first, second := list[0].(*value.Map), list[1].(*value.Map)
		for name, want := range map[string]any{"addr": "203.0.113.5", "OS-EXT-IPS:type": "floating", "port": nil} {
			if got, _ := first.Get(name); got != want {
				t.Errorf("%s is %v", name, got)
			}
		}
		subnets, _ := second.Get("subnets")
		network, _ := second.Get("network")
		if addr, _ := second.Get("addr"); addr != "10.0.2.1" || len(subnets.([]any)) != 1 || network == nil {
			t.Errorf("%s", value.JSON(second, false))
		}
	}
}
