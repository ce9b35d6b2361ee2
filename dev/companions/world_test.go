package companions_test

// Things to ask about: made when a call first names them.

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/internal/testenv"
)

// addresses are the services by their names in the contract; the version is
// before each path.
func addresses(c *companiontest.Cloud) map[string]string {
	return map[string]string{"identity": c.Identity, "image": c.Image + "/v2", "network": c.Network + "/v2.0", "block-storage": c.Volume + "/v3"}
}

// world is what one call has to itself: the services, a caller, and the things
// that it has named, by kind.
type world struct {
	t      *testing.T
	cloud  *companiontest.Cloud
	tokens map[string]string
	made   map[string]string
	unique string
}

func newWorld(t *testing.T, cloud *companiontest.Cloud, tokens map[string]string) *world {
	return &world{t: t, cloud: cloud, tokens: tokens, made: map[string]string{}, unique: rand.Text()}
}

// ask sends a request as a user and gives the answer.
func (w *world) ask(user, service, microversion, method, path, body string, header http.Header) companiontest.Answer {
	w.t.Helper()
	base, ok := addresses(w.cloud)[service]
	if !ok {
		w.t.Fatalf("there is no service %q", service)
	}
	client := w.cloud.At(w.t, base)
	client.Header = header.Clone()
	if client.Header == nil {
		client.Header = http.Header{}
	}
	if microversion != "" {
		client.Header.Set("OpenStack-API-Version", "volume "+microversion)
	}
	if body != "" && client.Header.Get("Content-Type") == "" {
		client.Header.Set("Content-Type", "application/json")
	}
	return client.Do(w.tokens[user], method, path, body)
}

// make posts as the administrator, and gives the id of what was made.
func (w *world) make(service, path, one, body string) string {
	w.t.Helper()
	answer := w.ask("admin", service, "3.71", http.MethodPost, path, w.fill(body), nil)
	id := answer.TextAt("id")
	if one != "" {
		id = answer.TextAt(one, "id")
	}
	if id == "" {
		w.t.Fatalf("POST %s: %d %s", path, answer.Status, answer.Text)
	}
	return id
}

// name is one that nothing else has.
func (w *world) name(kind string) string { return kind + "-" + w.unique }

var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// fill puts the ids of things in the place of "{port}" and the like.
func (w *world) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(one string) string { return w.thing(strings.Trim(one, "{}")) })
}

// thing is the id of the world's one thing of a kind.
func (w *world) thing(kind string) string {
	w.t.Helper()
	if id, ok := w.made[kind]; ok {
		return id
	}
	make, ok := things()[kind]
	if !ok {
		w.t.Fatalf("nothing makes a %q", kind)
	}
	id := make(w)
	w.made[kind] = id
	return id
}

// post makes a thing by a request.
func post(service, path, one, body string) func(*world) string {
	return func(w *world) string {
		return w.make(service, path, one, strings.ReplaceAll(body, "NAME", w.name(one)))
	}
}

// things say how each kind is made.
func things() map[string]func(*world) string {
	return map[string]func(*world) string{
		"project": post("identity", "/projects", "project", `{"project":{"name":"NAME"}}`),
		"user":    post("identity", "/users", "user", `{"user":{"name":"NAME","password":"s3cret"}}`),
		"domain":  post("identity", "/domains", "domain", `{"domain":{"name":"NAME"}}`),
		"region":  func(*world) string { return companiontest.Region },
		"member_role": func(w *world) string {
			return w.ask("admin", "identity", "", "GET", "/roles?name=member", "", nil).TextAt("roles", 0, "id")
		},
		"demo_user":    func(w *world) string { _, id, _ := w.cloud.Login(w.t, "demo"); return id },
		"demo_project": func(w *world) string { _, _, id := w.cloud.Login(w.t, "demo"); return id },
		"admin_user":   func(w *world) string { _, id, _ := w.cloud.Login(w.t, "admin"); return id },
		"admin_project": func(w *world) string {
			_, _, id := w.cloud.Login(w.t, "admin")
			return id
		},
		"name": func(w *world) string { return w.name("none") },

		"queued_image": post("image", "/images", "", `{"name":"queued","disk_format":"raw","container_format":"bare","os_distro":"debian"}`),
		"image": func(w *world) string {
			id := w.thing("queued_image")
			answer := w.ask("admin", "image", "", "PUT", "/images/"+id+"/file", "data of an image", octets)
			if answer.Status != http.StatusNoContent {
				w.t.Fatalf("upload: %d %s", answer.Status, answer.Text)
			}
			return id
		},
		"member": func(w *world) string {
			project := w.thing("demo_project")
			w.ask("admin", "image", "", "POST", w.fill("/images/{image}/members"), `{"member":"`+project+`"}`, nil)
			return project
		},

		"network":        post("network", "/networks", "network", `{"network":{"name":"NAME"}}`),
		"subnet":         post("network", "/subnets", "subnet", `{"subnet":{"name":"NAME","network_id":"{network}","cidr":"10.9.0.0/24","ip_version":4}}`),
		"external":       post("network", "/networks", "network", `{"network":{"name":"NAME","router:external":true}}`),
		"outside":        post("network", "/subnets", "subnet", `{"subnet":{"name":"NAME","network_id":"{external}","cidr":"192.0.2.0/24","ip_version":4,"enable_dhcp":false}}`),
		"security_group": post("network", "/security-groups", "security_group", `{"security_group":{"name":"NAME"}}`),
		"security_group_rule": post("network", "/security-group-rules", "security_group_rule",
			`{"security_group_rule":{"security_group_id":"{security_group}","direction":"ingress","protocol":"tcp","port_range_min":80,"port_range_max":80}}`),
		"device": func(*world) string { return "2f9f2f2e-0000-4000-8000-00000000abcd" },
		"port": func(w *world) string {
			w.thing("subnet")
			return w.make("network", "/ports", "port", `{"port":{"name":"`+w.name("port")+`","network_id":"{network}","device_id":"{device}","device_owner":"compute:nova"}}`)
		},
		"router": func(w *world) string {
			w.thing("outside")
			return w.make("network", "/routers", "router", `{"router":{"name":"`+w.name("router")+`","external_gateway_info":{"network_id":"{external}"}}}`)
		},
		"routed_port": func(w *world) string {
			answer := w.ask("admin", "network", "", "PUT", w.fill("/routers/{router}/add_router_interface"), w.fill(`{"subnet_id":"{subnet}"}`), nil)
			if answer.Status != http.StatusOK {
				w.t.Fatalf("add_router_interface: %d %s", answer.Status, answer.Text)
			}
			return w.thing("port")
		},
		"floatingip": func(w *world) string {
			w.thing("routed_port")
			return w.make("network", "/floatingips", "floatingip", `{"floatingip":{"floating_network_id":"{external}"}}`)
		},
		"binding": func(w *world) string {
			w.ask("admin", "network", "", "PUT", w.fill("/ports/{port}"), `{"port":{"binding:host_id":"one"}}`, nil)
			answer := w.ask("admin", "network", "", "POST", w.fill("/ports/{port}/bindings"), `{"binding":{"host":"two"}}`, nil)
			if answer.Status != http.StatusCreated {
				w.t.Fatalf("binding: %d %s", answer.Status, answer.Text)
			}
			return "two"
		},

		"volume": func(w *world) string {
			w.thing("image")
			id := w.make("block-storage", "/volumes", "volume", `{"volume":{"name":"`+w.name("volume")+`","size":1,"imageRef":"{image}"}}`)
			w.available("/volumes/"+id, "volume")
			return id
		},
		"new_volume": func(w *world) string {
			id := w.make("block-storage", "/volumes", "volume", `{"volume":{"size":1}}`)
			w.available("/volumes/"+id, "volume")
			return id
		},
		"snapshot": func(w *world) string {
			id := w.make("block-storage", "/snapshots", "snapshot", `{"snapshot":{"name":"`+w.name("snapshot")+`","volume_id":"{volume}"}}`)
			w.available("/snapshots/"+id, "snapshot")
			return id
		},
		"attachment": post("block-storage", "/attachments", "attachment", `{"attachment":{"volume_uuid":"{volume}","instance_uuid":"{device}"}}`),
		"connected": func(w *world) string {
			id := w.thing("attachment")
			answer := w.ask("admin", "block-storage", "3.44", "PUT", "/attachments/"+id, `{"attachment":{"connector":{"host":"one","mountpoint":"vdb"}}}`, nil)
			if answer.Status != http.StatusOK {
				w.t.Fatalf("connect: %d %s", answer.Status, answer.Text)
			}
			return id
		},
		"backup": func(w *world) string {
			id := w.make("block-storage", "/backups", "backup", `{"backup":{"volume_id":"{volume}"}}`)
			w.available("/backups/"+id, "backup")
			return id
		},
		"type": post("block-storage", "/types", "volume_type", `{"volume_type":{"name":"NAME"}}`),
	}
}

var octets = http.Header{"Content-Type": {"application/octet-stream"}}

// available waits for a volume or the like.
func (w *world) available(path, one string) {
	w.t.Helper()
	w.until(path, one, func(status string) bool { return status == "available" })
}

// until waits for a state.
func (w *world) until(path, one string, is func(status string) bool) {
	w.t.Helper()
	for deadline := time.Now().Add(testenv.Patience); ; time.Sleep(20 * time.Millisecond) {
		answer := w.ask("admin", "block-storage", "3.71", "GET", path, "", nil)
		switch status := answer.TextAt(one, "status"); {
		case is(status):
			return
		case status == "error" || time.Now().After(deadline):
			w.t.Fatalf("%s is %q: %s", path, status, answer.Text)
		}
	}
}

// object is the part of a JSON text as an object.
func object(text []byte) map[string]any {
	var all map[string]any
	_ = json.Unmarshal(text, &all) // what is no object has no fields
	return all
}

func quoted(value any) string { return fmt.Sprintf("%q", value) }
