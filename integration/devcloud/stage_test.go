package devcloud

// What the client's calls are about, made anew for each of them.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

// stage is a cloud, an administrator who asks, and what is there from the start:
// a host, the administrator's project and another one.
type stage struct {
	*testing.T
	*session
	host, project, other, user string
	shown                      string // a server that is only looked at
	down                       string // the service of a host that counts as down
	number                     int
}

// subject is what a call's path is about: a thing, and a part of it.
type subject struct{ id, part string }

// flavor and publicKey are ones that the cloud takes; the contract's are words.
const (
	flavor    = "42"
	publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2f6DWZ9pjpXZ5n8jGvJ4RrSx1dBT8tV3xJ4s5i7n0E x"
)

// newStage starts a cloud that keeps deleted servers for a while, so that there
// is something to restore.
func newStage(t *testing.T) *stage {
	t.Helper()
	binary, dir := place(t)
	s := &stage{T: t, session: start(t, binary, dir, "HOLDFAST_COMPUTE_RECLAIM_INSTANCE_INTERVAL=1h")}
	s.host = s.make("compute", "GET", "/os-services?binary=nova-compute", "", "services", "host")
	s.project = s.make("identity", "GET", "/projects?name=admin", "", "projects", "id")
	s.other = s.make("identity", "GET", "/projects?name=demo", "", "projects", "id")
	s.user = s.make("identity", "GET", "/users?name=admin", "", "users", "id")
	s.make("compute", "PUT", "/os-quota-sets/"+s.project, `{"quota_set": {"instances": -1, "cores": -1, "ram": -1, "server_groups": -1, "key_pairs": -1}}`)
	s.network = s.make("network", "POST", "/v2.0/networks", `{"network": {"name": "stage"}}`, "network", "id")
	s.make("network", "POST", "/v2.0/subnets", fmt.Sprintf(`{"subnet": {"network_id": %q, "ip_version": 4, "cidr": "10.7.0.0/16"}}`, s.network))
	return s
}

func (s *stage) name() string {
	s.number++
	return fmt.Sprintf("thing-%d", s.number)
}

// request asks the compute service, as the client does at a version, "" for
// none.
func (s *stage) request(version, method, path, body string) (int, string) {
	s.Helper()
	h := http.Header{}
	if version != "" {
		h.Set("OpenStack-API-Version", "compute "+version)
		h.Set("X-OpenStack-Nova-API-Version", version)
	}
	status, text := s.send("admin", method, s.at["compute"]+path, body, h)
	return status, string(text)
}

// make asks a service for something, which succeeds, and gives what is at a
// place in the answer, of lists in their last entry.
func (s *stage) make(service, method, path, body string, at ...string) string {
	s.Helper()
	status, text := s.send("admin", method, s.at[service]+path, body, http.Header{"Openstack-Api-Version": {"compute 2.90"}})
	if status >= 300 {
		s.Fatalf("%s %s %s: %d %s", method, path, body, status, text)
	}
	if len(at) == 0 {
		return ""
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		s.Fatal(err)
	}
	for _, key := range at {
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[len(list)-1]
		}
		object, _ := value.(map[string]any)
		value = object[key]
	}
	if value == nil {
		s.Fatalf("%s %s: there is no %v in %s", method, path, at, text)
	}
	return fmt.Sprint(value)
}

// becomes waits until a thing of a service has a status, and nothing to do.
func (s *stage) becomes(service, path, kind, status string) {
	s.Helper()
	for deadline := time.Now().Add(cloud.Patience); ; time.Sleep(50 * time.Millisecond) {
		_, text := s.send("admin", "GET", s.at[service]+path, "", nil)
		var shown map[string]struct {
			Status string
			Task   *string `json:"OS-EXT-STS:task_state"`
		}
		if json.Unmarshal(text, &shown) == nil && shown[kind].Status == status && shown[kind].Task == nil {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s does not become %s: %s", path, status, text)
		}
	}
}

// clear deletes all servers, those too that are kept for a while.
func (s *stage) clear() {
	s.Helper()
	s.shown = ""
	s.up()
	asked := map[string]bool{}
	for deadline := time.Now().Add(cloud.Patience); ; time.Sleep(200 * time.Millisecond) {
		_, text := s.request("2.1", "GET", "/servers?all_tenants=1&soft_deleted=1", "")
		var left struct{ Servers []struct{ ID string } }
		if err := json.Unmarshal([]byte(text), &left); err != nil {
			s.Fatalf("%v: %s", err, text)
		}
		if len(left.Servers) == 0 {
			return
		}
		for _, one := range left.Servers {
			if !asked[one.ID] {
				status, _ := s.request("2.1", "POST", "/servers/"+one.ID+"/action", `{"forceDelete": null}`)
				asked[one.ID] = status == http.StatusAccepted
			}
		}
		if time.Now().After(deadline) {
			s.Fatalf("%d servers are left", len(left.Servers))
		}
	}
}

// server is one that is ACTIVE, with a port.
func (s *stage) server() string {
	s.Helper()
	s.up()
	id := s.make("compute", "POST", "/servers", fmt.Sprintf(
		`{"server": {"name": %q, "imageRef": %q, "flavorRef": %q, "networks": [{"uuid": %q}], "metadata": {"a": "b"}, "tags": ["t"]}}`,
		s.name(), s.image, flavor, s.network), "server", "id")
	s.becomes("compute", "/servers/"+id, "server", "ACTIVE")
	return id
}

// leave has the host of a server count as down, until the next server is made.
func (s *stage) leave(server string) {
	s.Helper()
	home := s.make("compute", "GET", "/servers/"+server, "", "server", "OS-EXT-SRV-ATTR:host")
	s.down = s.make("compute", "GET", "/os-services?binary=nova-compute&host="+home, "", "services", "id")
	s.make("compute", "PUT", "/os-services/"+s.down, `{"forced_down": true}`)
}

// up ends that.
func (s *stage) up() {
	s.Helper()
	if s.down != "" {
		s.make("compute", "PUT", "/os-services/"+s.down, `{"forced_down": false}`)
		s.down = ""
	}
}

// elsewhere is a host that a server is not on.
func (s *stage) elsewhere(server string) string {
	s.Helper()
	home := s.make("compute", "GET", "/servers/"+server, "", "server", "OS-EXT-SRV-ATTR:host")
	_, text := s.request("2.1", "GET", "/os-services?binary=nova-compute", "")
	var all struct{ Services []struct{ Host string } }
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		s.Fatalf("%v: %s", err, text)
	}
	for _, one := range all.Services {
		if one.Host != home {
			return one.Host
		}
	}
	s.Fatalf("there is no host but %s", home)
	return ""
}

func (s *stage) volume() string {
	s.Helper()
	id := s.make("volume", "POST", "/volumes", fmt.Sprintf(`{"volume": {"size": 1, "imageRef": %q}}`, s.image), "volume", "id")
	s.becomes("volume", "/volumes/"+id, "volume", "available")
	return id
}

func (s *stage) snapshot() string {
	s.Helper()
	id := s.make("volume", "POST", "/snapshots", fmt.Sprintf(`{"snapshot": {"volume_id": %q}}`, s.volume()), "snapshot", "id")
	s.becomes("volume", "/snapshots/"+id, "snapshot", "available")
	return id
}

func (s *stage) port() string {
	s.Helper()
	return s.make("network", "POST", "/v2.0/ports", fmt.Sprintf(`{"port": {"network_id": %q}}`, s.network), "port", "id")
}

// before is what must have been done to a server before an action, and the
// status that it has then.
var before = map[string]struct{ method, path, body, status string }{
	"os-start":      {"POST", "/action", `{"os-stop": null}`, "SHUTOFF"},
	"unpause":       {"POST", "/action", `{"pause": null}`, "PAUSED"},
	"resume":        {"POST", "/action", `{"suspend": null}`, "SUSPENDED"},
	"unlock":        {"POST", "/action", `{"lock": null}`, "ACTIVE"},
	"unrescue":      {"POST", "/action", `{"rescue": {}}`, "RESCUE"},
	"restore":       {"DELETE", "", "", "SOFT_DELETED"},
	"confirmResize": {"POST", "/action", `{"migrate": null}`, "VERIFY_RESIZE"},
	"revertResize":  {"POST", "/action", `{"migrate": null}`, "VERIFY_RESIZE"},
}

// things are what a path may begin with, by its collection.
var things = map[string]func(*stage, call) string{
	"servers": func(s *stage, c call) string {
		if c.Method == http.MethodGet {
			if s.shown == "" {
				s.shown = s.server()
			}
			return s.shown
		}
		id := s.server()
		if b, ok := before[c.action()]; ok && notServed["POST /servers/{id}/action "+c.action()] == "" {
			s.make("compute", b.method, "/servers/"+id+b.path, b.body)
			s.becomes("compute", "/servers/"+id, "server", b.status)
		}
		if c.action() == "evacuate" {
			s.leave(id)
		}
		return id
	},
	"flavors": func(s *stage, c call) string {
		id := s.make("compute", "POST", "/flavors", fmt.Sprintf(`{"flavor": {"name": %q, "ram": 64, "vcpus": 1, "disk": 1, "os-flavor-access:is_public": %t}}`, s.name(), c.action() == "resize"), "flavor", "id")
		s.make("compute", "POST", "/flavors/"+id+"/os-extra_specs", `{"extra_specs": {"a": "b"}}`)
		if c.action() == "removeTenantAccess" {
			s.make("compute", "POST", "/flavors/"+id+"/action", fmt.Sprintf(`{"addTenantAccess": {"tenant": %q}}`, s.other))
		}
		return id
	},
	"os-aggregates": func(s *stage, c call) string {
		id := s.make("compute", "POST", "/os-aggregates", fmt.Sprintf(`{"aggregate": {"name": %q}}`, s.name()), "aggregate", "id")
		if c.action() == "remove_host" {
			s.make("compute", "POST", "/os-aggregates/"+id+"/action", fmt.Sprintf(`{"add_host": {"host": %q}}`, s.host))
		}
		return id
	},
	"os-keypairs": func(s *stage, _ call) string {
		return s.make("compute", "POST", "/os-keypairs", fmt.Sprintf(`{"keypair": {"name": %q, "public_key": %q}}`, s.name(), publicKey), "keypair", "name")
	},
	"os-server-groups": func(s *stage, _ call) string {
		return s.make("compute", "POST", "/os-server-groups", fmt.Sprintf(`{"server_group": {"name": %q, "policy": "affinity"}}`, s.name()), "server_group", "id")
	},
	"os-services": func(s *stage, _ call) string {
		return s.make("compute", "GET", "/os-services?binary=nova-compute", "", "services", "id")
	},
	"os-hypervisors": func(s *stage, _ call) string {
		return s.make("compute", "GET", "/os-hypervisors", "", "hypervisors", "id")
	},
	"os-hosts": func(s *stage, _ call) string { return s.host },
}

// parts are what a path about a server may end with.
var parts = map[string]func(s *stage, server string) string{
	"os-interface": func(s *stage, server string) string {
		return s.make("compute", "GET", "/servers/"+server+"/os-interface", "", "interfaceAttachments", "port_id")
	},
	"os-volume_attachments": func(s *stage, server string) string {
		return s.make("compute", "POST", "/servers/"+server+"/os-volume_attachments",
			fmt.Sprintf(`{"volumeAttachment": {"volumeId": %q}}`, s.volume()), "volumeAttachment", "volumeId")
	},
	"os-instance-actions": func(s *stage, server string) string {
		return s.make("compute", "GET", "/servers/"+server+"/os-instance-actions", "", "instanceActions", "request_id")
	},
}

// place makes what a call's path is about, and puts it there.
func (s *stage) place(c call) (path string, about subject) {
	s.Helper()
	segments := strings.Split(c.Path, "/")
	if maker := things[segments[1]]; maker != nil && len(segments) > 2 && !slices.Contains([]string{"detail", "statistics"}, segments[2]) {
		about.id = maker(s, c)
		segments[2] = about.id
	}
	if len(segments) > 4 && strings.Contains(segments[4], "{id}") && parts[segments[3]] != nil {
		about.part = parts[segments[3]](s, about.id)
		segments[4] = about.part
	}
	return strings.NewReplacer("{id}", s.image, "{project_id}", s.project).Replace(strings.Join(segments, "/")), about
}

// fill puts things into a body. within is the key above a value, and for a block
// device the kind of its source.
func (s *stage) fill(c call, about subject, within string, value any) any {
	s.Helper()
	switch v := value.(type) {
	case map[string]any:
		if source, ok := v["source_type"].(string); ok {
			within = source
		}
		amend(v)
		for key, member := range v {
			if text, ok := member.(string); ok {
				v[key] = s.word(c, about, within, key, text)
			} else {
				v[key] = s.fill(c, about, key, member)
			}
		}
	case []any:
		for i := range v {
			v[i] = s.fill(c, about, within, v[i])
		}
	}
	return value
}

// amend makes of what the client may send, and the original refuses as well,
// something that it takes: only anti-affinity has rules, and of several servers
// none gets a hostname.
func amend(object map[string]any) {
	if object["rules"] != nil {
		object["policy"] = "anti-affinity"
	}
	if object["max_count"] != nil && object["hostname"] != nil {
		object["max_count"] = 1
	}
}

// word is what stands for a text in a body or a query.
func (s *stage) word(c call, about subject, within, key, text string) string {
	s.Helper()
	switch key {
	case "":
	case "name":
		if slices.Contains([]string{"security_groups", "addSecurityGroup", "removeSecurityGroup"}, within) {
			return "default"
		}
		if !strings.Contains(c.Path, "{name}") {
			return s.name()
		}
	case "uuid":
		switch within {
		case "networks":
			return s.network
		case "volume":
			return s.volume()
		case "snapshot":
			return s.snapshot()
		}
		return s.image
	case "port", "port_id":
		return s.port()
	case "net_id":
		return s.network
	case "volumeId":
		if about.part != "" {
			return about.part
		}
		return s.volume()
	case "imageRef", "image", "rescue_image_ref":
		if text != "" {
			return s.image
		}
	case "flavorRef", "flavor":
		if c.action() == "resize" {
			return things["flavors"](s, c)
		}
		return flavor
	case "group":
		return things["os-server-groups"](s, call{})
	case "id":
		if within == "cache" {
			return s.image
		}
	case "key_name":
		return things["os-keypairs"](s, call{})
	case "host", "hypervisor_hostname_pattern":
		if slices.Contains([]string{"migrate", "os-migrateLive", "evacuate"}, c.action()) {
			return s.elsewhere(about.id)
		}
		return s.host
	case "project_id":
		return s.project
	case "tenant":
		return s.other
	case "user_id":
		return s.user
	case "public_key":
		return publicKey
	case "user_data":
		return "aGVsbG8="
	case "marker":
		return things[c.collection()](s, call{})
	}
	return text
}
