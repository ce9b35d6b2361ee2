package companions_test

// Every call that the contract lists is asked of the running companions:
// contracts/client/companions.json, what the clients send.

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// call is a request as the contract has it.
type call struct {
	Service, Method, Path, Microversion string
	Query                               json.RawMessage // names, or values by name
	Body                                json.RawMessage
	StubAnswer                          int `json:"stub_answer"`
}

func (c call) String() string {
	text := c.line()
	for _, part := range []json.RawMessage{c.Query, c.Body} {
		var compact bytes.Buffer
		if json.Compact(&compact, part) == nil {
			text += " " + compact.String()
		}
	}
	return text
}

func (c call) line() string { return c.Service + " " + c.Method + " " + c.Path }

type contract struct {
	ClientSide struct {
		Focus map[string][]struct {
			Calls []string `json:"companion_calls"`
		} `json:"focus_commands"`
		All   []call `json:"all_companion_calls_of_compute_baremetal_orchestration_and_common_commands"`
		SetUp map[string][]struct {
			Calls []call
		} `json:"setup_commands_of_the_companion_services"`
	} `json:"client_side"`
	Fields     map[string]map[string]json.RawMessage
	ServerSide map[string]json.RawMessage `json:"server_side"`
}

func readContract(t *testing.T) contract {
	t.Helper()
	var c contract
	contracttest.Read(t, "client/companions.json", &c)
	return c
}

// distinct are the client's calls, each once, by what is sent.
func (c contract) distinct(t *testing.T) map[string]call {
	t.Helper()
	calls := map[string]call{}
	add := func(one call) { calls[one.String()] = one }
	for _, one := range c.ClientSide.All {
		// Their bodies are names of members; the set-up commands have whole ones.
		one.Body = nil
		add(one)
	}
	for _, variants := range c.ClientSide.SetUp {
		for _, variant := range variants {
			for _, one := range variant.Calls {
				add(one)
			}
		}
	}
	for _, variants := range c.ClientSide.Focus {
		for _, variant := range variants {
			for _, text := range variant.Calls {
				add(parseCall(t, text))
			}
		}
	}
	// A call that another place lists with its body is asked with it.
	whole := map[string]bool{}
	for _, one := range calls {
		whole[one.line()] = whole[one.line()] || len(one.Body) > 0
	}
	maps.DeleteFunc(calls, func(_ string, one call) bool {
		return len(one.Body) == 0 && whole[one.line()]
	})
	return calls
}

var written = regexp.MustCompile(`^(\S+) (\S+) (\S+)(?: \?(\w+)=(\S+))?( -> 404)?$`)

// parseCall reads "network GET /ports ?name={name}".
func parseCall(t *testing.T, text string) call {
	t.Helper()
	parts := written.FindStringSubmatch(text)
	if parts == nil {
		t.Fatalf("a call that can't be read: %q", text)
	}
	c := call{Service: parts[1], Method: parts[2], Path: parts[3]}
	if parts[4] != "" {
		c.Query = json.RawMessage(`{` + quoted(parts[4]) + `:` + quoted(parts[5]) + `}`)
	}
	return c
}

// start runs the companions with a token of each user.
func start(t *testing.T) (*companiontest.Cloud, map[string]string) {
	t.Helper()
	cloud := companiontest.Start(t)
	tokens := map[string]string{}
	for _, user := range []string{"admin", "demo", "other", "reader", "holdfast"} {
		tokens[user], _, _ = cloud.Login(t, user)
	}
	w := newWorld(t, cloud, tokens)
	answer := w.ask("admin", "block-storage", "", "PUT", w.fill("/os-quota-sets/{admin_project}"), `{"quota_set":{"volumes":-1,"snapshots":-1,"gigabytes":-1}}`, nil)
	if answer.Status != http.StatusOK {
		t.Fatalf("quota: %d %s", answer.Status, answer.Text)
	}
	return cloud, tokens
}

func TestCallsOfTheClients(t *testing.T) {
	t.Parallel()
	c := readContract(t)
	cloud, tokens := start(t)
	fields := c.fields(t)
	calls := c.distinct(t)
	if len(calls) < 70 {
		t.Errorf("only %d calls were found in the contract", len(calls))
	}
	t.Run("calls", func(t *testing.T) {
		for name, one := range calls {
			if one.Service == "compute" {
				continue // asked of the compute API, not of a companion
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				newWorld(t, cloud, tokens).try(one, fields)
			})
		}
	})
}

// collections say what "{id}" stands for in a path, and how one is named.
var collections = map[string]struct{ thing, one string }{
	"identity/projects": {"project", "project"}, "identity/users": {"user", "user"}, "image/images": {"image", ""}, "image/members": {"member", ""},
	"network/networks": {"network", "network"}, "network/subnets": {"subnet", "subnet"}, "network/ports": {"port", "port"},
	"network/security-groups": {"security_group", "security_group"}, "network/floatingips": {"floatingip", "floatingip"}, "network/routers": {"router", "router"},
	"network/quotas": {"demo_project", "quota"}, "block-storage/os-quota-sets": {"demo_project", "quota_set"},
	"block-storage/volumes": {"volume", "volume"}, "block-storage/snapshots": {"snapshot", "snapshot"},
}

// bodyIDs say what "{id}" stands for as a member of a body.
var bodyIDs = map[string]string{"network_id": "network", "subnet_id": "subnet", "port_id": "routed_port", "security_group_id": "security_group",
	"floating_network_id": "external", "imageRef": "image", "member": "demo_project"}

// statuses are those that aren't usual for the method.
var statuses = map[string]int{
	"image PUT /images/{id}/file": 204, "image POST /images/{id}/members": 200,
	"block-storage POST /volumes": 202, "block-storage DELETE /volumes/{id}": 202, "block-storage DELETE /os-quota-sets/{id}": 200,
	"block-storage POST /volumes/{id}/action os-volume_upload_image": 202, "block-storage POST /volumes/{id}/action os-set_bootable": 200,
	// By address or name there is nothing, and the client looks on by a list.
	"network GET /floatingips/192.0.2.5": 404, "network GET /extensions/Availability%20Zone": 404, "image GET /images/n": 404,
}

var usual = map[string]int{"GET": 200, "POST": 201, "PUT": 200, "PATCH": 200, "DELETE": 204}

func (c call) status() int {
	key := c.line()
	for word := range object(c.Body) {
		if strings.HasSuffix(c.Path, "/action") {
			key += " " + word
		}
	}
	switch {
	case c.StubAnswer != 0:
		return c.StubAnswer
	case strings.Contains(c.Path, "{name}"):
		return http.StatusNotFound
	case statuses[key] != 0:
		return statuses[key]
	}
	return usual[c.Method]
}

// try sends the call, and checks the answer's status and fields.
func (w *world) try(c call, fields map[string][]field) {
	w.t.Helper()
	segments := strings.Split(strings.Trim(c.Path, "/"), "/")
	if kind, known := collections[c.Service+"/"+segments[0]]; known && c.Method == http.MethodGet {
		w.thing(kind.thing) // so that a list has one
	}
	path := w.path(c)
	if c.Query != nil {
		path += "?" + w.query(c).Encode()
	}
	body, header := w.body(c)
	if c.Microversion == "" {
		c.Microversion = "3.71" // as the clients would, of a service that has it
	}
	answer := w.ask("admin", c.Service, c.Microversion, c.Method, path, body, header)
	if want := c.status(); answer.Status != want {
		w.t.Fatalf("%s %s: status %d, want %d: %s", c.Method, path, answer.Status, want, answer.Text)
	}
	if answer.Status >= 300 {
		return
	}
	wanted := fields[c.Service+"/"+segments[0]]
	if strings.Contains(string(c.Query), "fields") {
		wanted = nil // the client asks for a few
	}
	if c.Service == "block-storage" && c.Method != http.MethodGet {
		// Cinder's extensions add to what is looked at alone.
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(f field) bool { return strings.HasPrefix(f.name, "os-vol-") })
	}
	switch {
	case c.Method == http.MethodDelete || c.Method == http.MethodPut && strings.HasSuffix(c.Path, "/file") || strings.HasSuffix(c.Path, "/action"):
	case strings.HasSuffix(c.Path, "/file"):
		if answer.Text != "data of an image" {
			w.t.Errorf("the file: %q", answer.Text)
		}
	case c.Method == http.MethodGet && len(segments) == 1, strings.HasSuffix(c.Path, "/detail"):
		w.checkList(answer, c, segments[0], wanted)
	case len(segments) <= 2:
		w.checkOne(answer, c.Service+"/"+segments[0], wanted)
	}
}

// path puts the ids of things into the call's path.
func (w *world) path(c call) string {
	segments := strings.Split(c.Path, "/")
	for i, segment := range segments {
		switch {
		case segment == "{name}":
			segments[i] = w.name("none")
		case segment == "{id}" && segments[i-1] == "extensions":
			segments[i] = "router"
		case segment == "{id}" && strings.HasSuffix(c.Path, "/file") && c.Method == http.MethodPut:
			segments[i] = w.thing("queued_image")
		case segment == "{id}" || segment == "{project_id}":
			segments[i] = w.thing(collections[c.Service+"/"+segments[i-1]].thing)
		}
	}
	return strings.Join(segments, "/")
}

// query gives each parameter the value of the contract; a name alone is that of
// a thing that is there.
func (w *world) query(c call) url.Values {
	collection := strings.Split(strings.Trim(c.Path, "/"), "/")[0]
	values := url.Values{}
	var names []string
	var given map[string]any
	if json.Unmarshal(c.Query, &names) == nil {
		given = map[string]any{}
		for _, name := range names {
			given[name] = map[string]string{"id": "in:{id}", "name": "{name}", "device_id": "{id}", "scope.project.id": "{id}", "usage": "True"}[name]
		}
	} else if err := json.Unmarshal(c.Query, &given); err != nil {
		w.t.Fatal(err)
	}
	for name, value := range given {
		list, several := value.([]any)
		if !several {
			list = []any{value}
		}
		for _, one := range list {
			text, _ := one.(string)
			switch {
			case name == "name":
				text = w.nameOf(c.Service, collection)
			case strings.Contains(text, "{id}") && name == "device_id":
				w.thing("port")
				text = w.thing("device")
			case strings.Contains(text, "{id}") && name == "scope.project.id":
				text = w.thing("demo_project")
			case strings.Contains(text, "{id}"):
				text = strings.ReplaceAll(text, "{id}", w.thing(collections[c.Service+"/"+collection].thing))
			}
			values.Add(name, text)
		}
	}
	return values
}

// nameOf makes a thing and gives its name, as it is shown.
func (w *world) nameOf(service, collection string) string {
	kind := collections[service+"/"+collection]
	id := w.thing(kind.thing)
	answer := w.ask("admin", service, "3.71", http.MethodGet, "/"+collection+"/"+id, "", nil)
	if kind.one == "" {
		return answer.TextAt("name")
	}
	return answer.TextAt(kind.one, "name")
}

func (w *world) body(c call) (string, http.Header) {
	if strings.HasSuffix(c.Path, "/file") {
		return "data of an image", octets
	}
	if c.Method == http.MethodPatch && c.Service == "image" {
		return string(c.Body), http.Header{"Content-Type": {"application/openstack-images-v2.1-json-patch"}}
	}
	if len(c.Body) == 0 {
		return "", nil
	}
	var body any
	if err := json.Unmarshal(c.Body, &body); err != nil {
		w.t.Fatal(err)
	}
	if floating, ok := object(c.Body)["floatingip"].(map[string]any); ok && floating["floating_network_id"] != nil {
		w.thing("outside")
	}
	text, err := json.Marshal(w.filled(body, ""))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text), nil
}

// filled puts ids in the place of "{id}", by the member that holds it.
func (w *world) filled(value any, member string) any {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			value[name] = w.filled(inner, name)
		}
	case []any:
		for i, inner := range value {
			value[i] = w.filled(inner, member)
		}
	case string:
		if value == "{id}" {
			return w.thing(bodyIDs[member])
		}
	}
	return value
}

// checkList checks a list, whose key is the collection's, and one of its items.
func (w *world) checkList(answer companiontest.Answer, c call, collection string, wanted []field) {
	w.t.Helper()
	key := map[string]string{"types": "volume_types", "os-availability-zone": "availabilityZoneInfo", "limits": "limits"}[collection]
	if key == "" {
		key = strings.ReplaceAll(collection, "-", "_")
	}
	value, ok := answer.Body[key]
	if !ok {
		w.t.Fatalf("%s lacks %q", answer.Text, key)
	}
	list, _ := value.([]any)
	if strings.Contains(string(c.Query), "{name}") && len(list) == 0 {
		w.t.Errorf("the list by %s is empty", c.Query)
	}
	if len(list) > 0 {
		item, _ := list[0].(map[string]any)
		checkFields(w.t, item, wanted)
	}
}

func (w *world) checkOne(answer companiontest.Answer, collection string, wanted []field) {
	w.t.Helper()
	shown := answer.Body
	if one := collections[collection].one; one != "" {
		shown, _ = answer.Body[one].(map[string]any)
		if shown == nil {
			w.t.Fatalf("%s lacks %q", answer.Text, one)
		}
	}
	checkFields(w.t, shown, wanted)
}

// field is a member that a client reads; of is what each of a list of objects,
// or an object, has.
type field struct {
	name string
	of   []string
}

// onlyIfConfigured are members that the originals show only if their operator
// says so, or of things that the field isn't there for.
var onlyIfConfigured = []string{"direct_url", "locations", "volume_image_metadata", "any extra property at top level"}

var listed = regexp.MustCompile(`^([^\[{( ]+)(?:\[?\{([^}]*)\})?`)

// fields are the members to check by service and collection.
func (c contract) fields(t *testing.T) map[string][]field {
	t.Helper()
	all := map[string][]field{
		"identity/projects": {{name: "id"}, {name: "name"}, {name: "enabled"}, {name: "domain_id"}, {name: "description"}, {name: "parent_id"}, {name: "is_domain"}, {name: "links"}},
		"identity/users":    {{name: "id"}, {name: "name"}, {name: "domain_id"}, {name: "enabled"}, {name: "default_project_id"}, {name: "email"}},
	}
	for _, kind := range []struct{ service, one, collection string }{
		{"image", "image", "image/images"}, {"network", "network", "network/networks"}, {"network", "subnet", "network/subnets"},
		{"network", "port", "network/ports"}, {"network", "floatingip", "network/floatingips"}, {"network", "security_group", "network/security-groups"},
		{"block-storage", "volume", "block-storage/volumes"},
	} {
		var texts []string
		if err := json.Unmarshal(c.Fields[kind.service][kind.one], &texts); err != nil {
			t.Fatalf("the fields of %s: %v", kind.one, err)
		}
		for _, text := range texts {
			if slices.ContainsFunc(onlyIfConfigured, func(name string) bool { return strings.HasPrefix(text, name) }) {
				continue
			}
			parts := listed.FindStringSubmatch(text)
			one := field{name: parts[1]}
			if parts[2] != "" {
				one.of = strings.Split(parts[2], ",")
			}
			all[kind.collection] = append(all[kind.collection], one)
		}
	}
	return all
}

func checkFields(t *testing.T, shown map[string]any, wanted []field) {
	t.Helper()
	for _, f := range wanted {
		value, ok := shown[f.name]
		if prefix, all := strings.CutSuffix(f.name, "*"); all {
			for name := range shown {
				ok = ok || strings.HasPrefix(name, prefix)
			}
		}
		if !ok {
			t.Errorf("%q is missing", f.name)
			continue
		}
		items, isList := value.([]any)
		if !isList {
			items = []any{value}
		}
		for _, item := range items {
			inner, _ := item.(map[string]any)
			for _, name := range f.of {
				if _, ok := inner[name]; !ok {
					t.Errorf("%q of %q is missing", name, f.name)
				}
			}
		}
	}
}
