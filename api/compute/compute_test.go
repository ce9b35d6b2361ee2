package compute_test

// The Compute API over a real database, with no Temporal at all: what it
// accepts is committed with its operation, and that is the whole promise.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	compute "holdfast.dev/api/compute"
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	computestore "holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// offers remembers what the starter was offered; nothing is ever started.
type offers struct {
	sync.Mutex
	ids []string
}

func (o *offers) Knock(id string) { o.Offer("knock " + id) }

func (o *offers) Offer(id string) {
	o.Lock()
	defer o.Unlock()
	o.ids = append(o.ids, id)
}

func box(t *testing.T) *secrets.Box {
	t.Helper()
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// console is what every guest has written.
type console struct{ power servers.PowerState }

func (console) Console(context.Context, string, string, string, int) ([]byte, error) {
	return []byte("one\x1b\ntwo\nthree\n"), nil
}

func (console) Progress(context.Context, string, string, string) (steps.MoveProgress, error) {
	return steps.MoveProgress{MemoryTotal: 123456, MemoryProcessed: 12345, MemoryRemaining: 111111,
		DiskTotal: 234567, DiskProcessed: 23456, DiskRemaining: 211111}, nil
}

func (c console) Diagnostics(context.Context, string, string, string) (servers.Diagnostics, error) {
	return servers.Diagnostics{PowerState: c.power, Hypervisor: "kvm", MemoryKB: 524288, UsedKB: 262144,
		CPUs:  []servers.CPUDiagnostics{{ID: 0, Time: 17300000000}},
		Disks: []servers.DiskDiagnostics{{Name: "vda", ReadRequests: 112, ReadBytes: 262144, WriteRequests: 488, WriteBytes: 5778432, Errors: 1}},
		NICs: []servers.NICDiagnostics{{Name: "vnet1", MACAddress: "01:23:45:67:89:ab", Received: servers.Traffic{Octets: 2070139, Packets: 26701, Errors: 100, Drops: 200},
			Sent: servers.Traffic{Octets: 140208, Packets: 662, Errors: 400, Drops: 500}}}}, nil
}

type cloud struct {
	t      *testing.T
	db     *store.DB
	offers *offers
	box    *secrets.Box
	http.Handler
}

func newCloud(t *testing.T, change ...func(*compute.API)) *cloud {
	t.Helper()
	db, err := store.Open(t.Context(), testenv.Database(t), 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	err = db.InTx(t.Context(), func(tx store.Tx) error {
		return computestore.UpsertFlavor(t.Context(), tx, &computestore.Flavor{ID: "1", Name: "m1.tiny", VCPUs: 1, MemoryMB: 512, RootGB: 1, RXTXFactor: 1, Public: true})
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{t: t, db: db, offers: &offers{}, box: box(t)}
	api := &compute.API{DB: db, Engine: engine.New(db, computestore.Resource()), Starter: c.offers, Policy: rules(t), Consoles: console{servers.PowerRunning}, Secrets: c.box, Neighbours: neighbour{}, HostDownAfter: time.Minute, MaxPageSize: 1000, WaitsFor: time.Millisecond}
	for _, f := range change {
		f(api)
	}
	c.Handler, err = rest.New(rest.Options{
		Authenticator: catalogued{rest.NewStaticTokens(map[string]policy.Credentials{
			"alice":  {UserID: "alice", ProjectID: "a11ce", Roles: []string{"member"}},
			"reader": {UserID: "reader", ProjectID: "a11ce", Roles: []string{"reader"}},
			"bob":    {UserID: "bob", ProjectID: "b0b", Roles: []string{"member"}},
			"root":   {UserID: "root", ProjectID: "admin", Roles: []string{"admin"}},
		})},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), MaxBody: 114688, Timeout: time.Minute, PublicURL: "http://cloud",
	}, api.Service())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends a request at a microversion ("" is none) and reads a JSON answer.
func (c *cloud) ask(token, version, method, path, body string) (int, map[string]any, http.Header) {
	c.t.Helper()
	request := httptest.NewRequest(method, "http://cloud/v2.1"+path, strings.NewReader(body))
	request.Header.Set("X-Auth-Token", token)
	if version != "" {
		request.Header.Set("OpenStack-API-Version", "compute "+version)
	}
	answer := httptest.NewRecorder()
	c.ServeHTTP(answer, request)
	var document map[string]any
	if answer.Body.Len() > 0 {
		if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
			c.t.Fatalf("%s %s: %s: %v", method, path, answer.Body, err)
		}
	}
	if answer.Code < 300 && document != nil {
		bare, _, _ := strings.Cut(path, "?")
		checkAnswer(c.t, method, bare, actionOf(bare, body), version, any(document))
	}
	return answer.Code, document, answer.Header()
}

const image = "70a599e0-31e7-49b7-b260-868f441e862b"

func (c *cloud) create(token, name string) string {
	c.t.Helper()
	status, body, _ := c.ask(token, "", "POST", "/servers", fmt.Sprintf(`{"server": {"name": %q, "flavorRef": "1", "imageRef": %q}}`, name, image))
	if status != 202 {
		c.t.Fatalf("create: %d %v", status, body)
	}
	return body["server"].(map[string]any)["id"].(string)
}

func (c *cloud) query(sql string, args ...any) string {
	c.t.Helper()
	var text string
	if err := c.db.Pool.QueryRow(context.Background(), sql, args...).Scan(&text); err != nil {
		c.t.Fatalf("%s: %v", sql, err)
	}
	return text
}

func TestCreateCommitsRowAndOperation(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	status, body, header := c.ask("alice", "", "POST", "/servers",
		`{"server": {"name": "web 1", "flavorRef": "http://cloud/flavors/1", "imageRef": "`+image+`", "metadata": {"role": "web"}}}`)
	if status != 202 {
		t.Fatalf("%d %v", status, body)
	}
	server := body["server"].(map[string]any)
	id := server["id"].(string)
	if password, _ := server["adminPass"].(string); !regexp.MustCompile(`^[2-9A-Za-z]{12}$`).MatchString(password) {
		t.Errorf("adminPass %q", password)
	}
	delete(server, "adminPass")
	want := map[string]any{
		"id":                id,
		"OS-DCF:diskConfig": "MANUAL",
		"security_groups":   []any{map[string]any{"name": "default"}},
		"links": []any{
			map[string]any{"rel": "self", "href": "http://cloud/v2.1/servers/" + id},
			map[string]any{"rel": "bookmark", "href": "http://cloud/servers/" + id},
		},
	}
	if !reflect.DeepEqual(server, want) {
		t.Errorf("body %v\nwant %v", server, want)
	}
	if got := header.Get("Location"); got != "http://cloud/v2.1/servers/"+id {
		t.Errorf("Location %q", got)
	}
	operation := c.query(`SELECT operation_id FROM compute.servers WHERE id = $1`, id)
	if want := []string{operation}; !reflect.DeepEqual(c.offers.ids, want) {
		t.Errorf("offered %v, want %v", c.offers.ids, want)
	}
	got := c.query(`SELECT kind || ' ' || project_id || ' ' || user_id || ' ' || request_id FROM engine.operations WHERE id = $1 AND finished_at IS NULL`, operation)
	if want := "server.build a11ce alice " + header.Get("X-Openstack-Request-Id"); got != want {
		t.Errorf("operation %q, want %q", got, want)
	}
	if got := c.query(`SELECT instances || ' ' || cores || ' ' || ram_mb FROM compute.quota_usages WHERE project_id = 'a11ce'`); got != "1 1 512" {
		t.Errorf("quota %q", got)
	}
}

// Bad input is a 4xx that says what and where, and changes nothing.
func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	good := `"name": "x", "flavorRef": "1", "imageRef": "` + image + `"`
	for _, k := range []struct{ version, body, want string }{
		{"", `{`, "Malformed request body"},
		{"", `{}`, "'server' is a required property"},
		{"", `{"server": {` + good + `}, "sever": 1}`, "Additional properties are not allowed ('sever' was unexpected)"},
		{"", `{"server": 1}`, "Invalid input for field/attribute server. Value: 1. 1 is not of type 'object'"},
		{"", `{"server": {"flavorRef": "1"}}`, "Invalid input for field/attribute server. Value: {'flavorRef': '1'}. 'name' is a required property"},
		{"", `{"server": {"name": "x"}}`, "Invalid input for field/attribute server. Value: {'name': 'x'}. 'flavorRef' is a required property"},
		{"", `{"server": {"name": "x", "flavorRef": "1"}}`, "Missing imageRef attribute"},
		{"", `{"server": {"name": "x", "flavorRef": "1", "imageRef": ""}}`, "Missing imageRef attribute"},
		{"", `{"server": {"name": "x", "flavorRef": "1", "imageRef": "cirros"}}`, "Invalid input for field/attribute imageRef. Value: cirros. 'cirros' is not valid under any of the given schemas"},
		{"", `{"server": {"name": "x", "flavorRef": "9", "imageRef": "` + image + `"}}`, "Flavor 9 could not be found."},
		{"", `{"server": {"name": "x", "flavorRef": "a\u0000", "imageRef": "` + image + `"}}`, "Flavor a\u0000 could not be found."},
		{"", `{"server": {"name": 7, "flavorRef": "1"}}`, "Invalid input for field/attribute name. Value: 7. 7 is not of type 'string'"},
		{"", `{"server": {"name": "", "flavorRef": "1"}}`, "Invalid input for field/attribute name. Value: . '' should be non-empty"},
		{"", `{"server": {"name": " x", "flavorRef": "1"}}`, "An invalid 'name' value was provided. The name must be: printable characters. Can not start or end with whitespace."},
		{"", `{"server": {` + good + `, "metadata": {"a": 1}}}`, "Invalid input for field/attribute a. Value: 1. 1 is not of type 'string'"},
		{"", `{"server": {` + good + `, "metadata": {"a": "\u0000"}}}`, "A text holds a character that can't be stored."},
		{"2.18", `{"server": {` + good + `, "description": "d"}}`, "Invalid input for field/attribute server. Value: {'name': 'x', 'flavorRef': '1', 'imageRef': '" + image + "', 'description': 'd'}. Additional properties are not allowed ('description' was unexpected)"},
		{"2.37", `{"server": {` + good + `}}`, "Invalid input for field/attribute server. Value: {'name': 'x', 'flavorRef': '1', 'imageRef': '" + image + "'}. 'networks' is a required property"},
	} {
		status, body, _ := c.ask("alice", k.version, "POST", "/servers", k.body)
		want := map[string]any{"badRequest": map[string]any{"code": 400.0, "message": k.want}}
		if status != 400 || !reflect.DeepEqual(body, want) {
			t.Errorf("%s\n got %d %v\nwant 400 %v", k.body, status, body, want)
		}
	}
	if got := c.query(`SELECT (SELECT count(*) FROM compute.servers) || ' ' || (SELECT count(*) FROM engine.operations)`); got != "0 0" {
		t.Errorf("%s rows were left", got)
	}
}

func TestQuotaRefuses(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	err := c.db.InTx(t.Context(), func(tx store.Tx) error { return computestore.SetLimit(t.Context(), tx, "a11ce", "instances", 1) })
	if err != nil {
		t.Fatal(err)
	}
	c.create("alice", "one")
	status, body, _ := c.ask("alice", "", "POST", "/servers", `{"server": {"name": "two", "flavorRef": "1", "imageRef": "`+image+`"}}`)
	want := map[string]any{"forbidden": map[string]any{"code": 403.0, "message": "Quota exceeded for instances: Requested 1, but already used 1 of 1 instances"}}
	if status != 403 || !reflect.DeepEqual(body, want) {
		t.Errorf("%d %v", status, body)
	}
}

// However many a request asks for, no more is made in memory than there is room for.
func TestCountsBeyondAllMeasure(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const ask = `{"server": {"name": "many", "flavorRef": "1", "imageRef": "` + image + `", %s}}`
	status, body, _ := c.ask("alice", "", "POST", "/servers", fmt.Sprintf(ask, `"min_count": 4000000000000000000`))
	message := body["forbidden"].(map[string]any)["message"].(string)
	if status != 403 || !strings.HasPrefix(message, "Quota exceeded for cores, instances, ram: Requested ") {
		t.Errorf("%d %v", status, body)
	}
	status, body, _ = c.ask("alice", "", "POST", "/servers", fmt.Sprintf(ask, `"max_count": 4000000000000000000`))
	if status != 202 {
		t.Errorf("%d %v", status, body)
	}
	_, body, _ = c.ask("alice", "", "GET", "/servers", "")
	if made := len(body["servers"].([]any)); made != 10 {
		t.Errorf("%d servers were made, want the 10 of the quota", made)
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("alice", "web")
	for _, k := range []struct {
		token, version string
		has, hasNot    []string
	}{
		{"alice", "2.1", nil, []string{"locked", "description", "tags", "OS-EXT-SRV-ATTR:host", "OS-EXT-SRV-ATTR:hostname", "fault"}},
		{"alice", "2.104", []string{"locked", "description", "tags", "server_groups", "locked_reason", "pinned_availability_zone", "scheduler_hints", "OS-EXT-SRV-ATTR:hostname"}, []string{"OS-EXT-SRV-ATTR:host", "host_status"}},
		{"root", "2.1", []string{"OS-EXT-SRV-ATTR:host"}, []string{"OS-EXT-SRV-ATTR:hostname", "host_status"}},
		{"root", "2.16", []string{"OS-EXT-SRV-ATTR:hostname", "host_status"}, []string{"description"}},
	} {
		status, body, _ := c.ask(k.token, k.version, "GET", "/servers/"+id, "")
		if status != 200 {
			t.Fatalf("%d %v", status, body)
		}
		server := body["server"].(map[string]any)
		for name, want := range map[string]any{"id": id, "name": "web", "status": "BUILD", "tenant_id": "a11ce", "user_id": "alice",
			"OS-EXT-STS:vm_state": "building", "OS-EXT-STS:task_state": "scheduling", "OS-EXT-STS:power_state": 0.0, "hostId": "", "progress": 0.0} {
			if server[name] != want {
				t.Errorf("%s at %s: %v, want %v", name, k.version, server[name], want)
			}
		}
		for _, name := range k.has {
			if _, ok := server[name]; !ok {
				t.Errorf("%s at %s lacks %s", k.token, k.version, name)
			}
		}
		for _, name := range k.hasNot {
			if _, ok := server[name]; ok {
				t.Errorf("%s at %s is shown %s", k.token, k.version, name)
			}
		}
	}
}

// The fields of every microversion are the ones that the contract names.
func TestShowFieldsMatchContract(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("alice", "web")
	for _, version := range []string{"2.1", "2.2", "2.3", "2.8", "2.9", "2.16", "2.19", "2.26", "2.47", "2.63", "2.69", "2.71", "2.73", "2.90", "2.96", "2.98", "2.100", "2.104"} {
		known, required := contractFields(t, version)
		_, body, _ := c.ask("root", version, "GET", "/servers/"+id, "")
		server := body["server"].(map[string]any)
		for name := range server {
			if !known[name] {
				t.Errorf("%s shows %s, which the contract doesn't know", version, name)
			}
		}
		for name := range required {
			if _, ok := server[name]; !ok {
				t.Errorf("%s lacks %s", version, name)
			}
		}
	}
}

// contractFields reads the properties of a shown server at a microversion.
func contractFields(t *testing.T, version string) (known, required map[string]bool) {
	t.Helper()
	var contract struct {
		Operations []struct {
			Method, Path string
			Schemas      []struct {
				Min, Max string
				Schema   map[string]string
			}
		}
		Schemas map[string]map[string]any
	}
	contracttest.Read(t, "compute/response-schemas.json", &contract)
	asked := minor(version)
	for _, o := range contract.Operations {
		if o.Method != "GET" || o.Path != "/servers/{id}" {
			continue
		}
		for _, binding := range o.Schemas {
			if minor(binding.Min) <= asked && (binding.Max == "" || asked <= minor(binding.Max)) {
				schema := contract.Schemas[strings.TrimPrefix(binding.Schema["$ref"], "#/schemas/")]
				return serverFields(contract.Schemas, schema)
			}
		}
	}
	t.Fatalf("the contract has no schema for %s", version)
	return nil, nil
}

func minor(version string) (n int) {
	_, _ = fmt.Sscanf(version, "2.%d", &n) // an empty end of a range is 0
	return n
}

// serverFields collects properties and required names of "server", whatever
// the schema composes it of.
func serverFields(schemas map[string]map[string]any, schema map[string]any) (known, required map[string]bool) {
	known, required = map[string]bool{}, map[string]bool{}
	var collect func(node map[string]any)
	collect = func(node map[string]any) {
		if ref, ok := node["$ref"].(string); ok {
			collect(schemas[strings.TrimPrefix(ref, "#/schemas/")])
		}
		for _, composed := range []string{"allOf", "oneOf", "anyOf"} {
			parts, _ := node[composed].([]any)
			for _, part := range parts {
				collect(part.(map[string]any))
			}
		}
		properties, _ := node["properties"].(map[string]any)
		for name, property := range properties {
			if name == "server" {
				collect(property.(map[string]any))
				continue
			}
			known[name] = true
		}
		names, _ := node["required"].([]any)
		for _, name := range names {
			if name != "server" {
				required[name.(string)] = true
			}
		}
	}
	collect(schema)
	return known, required
}

func TestStrangersSeeNothing(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("alice", "web")
	notFound := map[string]any{"itemNotFound": map[string]any{"code": 404.0, "message": "Instance " + id + " could not be found."}}
	for _, method := range []string{"GET", "DELETE"} {
		status, body, _ := c.ask("bob", "", method, "/servers/"+id, "")
		if status != 404 || !reflect.DeepEqual(body, notFound) {
			t.Errorf("%s: %d %v", method, status, body)
		}
	}
	if _, body, _ := c.ask("bob", "", "GET", "/servers", ""); len(body["servers"].([]any)) != 0 {
		t.Errorf("bob lists %v", body)
	}
	status, body, _ := c.ask("alice", "", "GET", "/servers/nonsense", "")
	want := map[string]any{"itemNotFound": map[string]any{"code": 404.0, "message": "Instance nonsense could not be found."}}
	if status != 404 || !reflect.DeepEqual(body, want) {
		t.Errorf("%d %v", status, body)
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	var ids []string
	for _, name := range []string{"a", "b", "c"} {
		ids = append(ids, c.create("alice", name))
	}
	var seen []string
	path := "/servers?limit=2&status=BUILD"
	for path != "" {
		status, body, _ := c.ask("alice", "", "GET", path, "")
		if status != 200 {
			t.Fatalf("%d %v", status, body)
		}
		for _, server := range body["servers"].([]any) {
			seen = append(seen, server.(map[string]any)["id"].(string))
		}
		path = ""
		if links, ok := body["servers_links"].([]any); ok {
			path = strings.TrimPrefix(links[0].(map[string]any)["href"].(string), "http://cloud/v2.1")
			if want := "/servers?limit=2&marker=" + ids[1] + "&status=BUILD"; path != want {
				t.Errorf("next page %s, want %s", path, want)
			}
		}
	}
	if want := []string{ids[2], ids[1], ids[0]}; !reflect.DeepEqual(seen, want) {
		t.Errorf("listed %v, want %v", seen, want)
	}
	for _, k := range []struct {
		token, path string
		status      int
		want        any
	}{
		{"alice", "/servers/detail?limit=0", 200, map[string]any{"servers": []any{}}},
		{"alice", "/servers?status=ACTIVE", 200, map[string]any{"servers": []any{}}},
		{"alice", "/servers?status=nonsense", 200, map[string]any{"servers": []any{}}},
		{"alice", "/servers?limit=-1", 400, map[string]any{"badRequest": map[string]any{"code": 400.0, "message": "Invalid input for query parameters limit. Value: -1. '-1' does not match '^[0-9]*$'"}}},
		{"alice", "/servers?marker=" + image, 400, map[string]any{"badRequest": map[string]any{"code": 400.0, "message": "marker [" + image + "] not found"}}},
		{"alice", "/servers?all_tenants=1", 403, map[string]any{"forbidden": map[string]any{"code": 403.0, "message": "Policy doesn't allow os_compute_api:servers:index:get_all_tenants to be performed."}}},
		{"alice", "/servers/detail?all_tenants=1", 403, map[string]any{"forbidden": map[string]any{"code": 403.0, "message": "Policy doesn't allow os_compute_api:servers:detail:get_all_tenants to be performed."}}},
		{"root", "/servers", 200, map[string]any{"servers": []any{}}},
	} {
		status, body, _ := c.ask(k.token, "", "GET", k.path, "")
		if status != k.status || !reflect.DeepEqual(body, k.want) {
			t.Errorf("%s: %d %v, want %d %v", k.path, status, body, k.status, k.want)
		}
	}
	if _, body, _ := c.ask("root", "", "GET", "/servers?all_tenants=1", ""); len(body["servers"].([]any)) != 3 {
		t.Errorf("an administrator sees %v", body)
	}
}

// A build that nobody has begun is finished on the spot and the delete owns the
// row; a second delete joins the first.
func TestDelete(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("alice", "web")
	build := c.query(`SELECT operation_id FROM compute.servers WHERE id = $1`, id)
	for range 2 {
		if status, body, _ := c.ask("alice", "", "DELETE", "/servers/"+id, ""); status != 204 || body != nil {
			t.Fatalf("%d %v", status, body)
		}
	}
	if got := c.query(`SELECT kind FROM engine.operations o JOIN compute.servers s ON s.operation_id = o.id WHERE s.id = $1`, id); got != "server.delete" {
		t.Errorf("held by %s", got)
	}
	if got := c.query(`SELECT result FROM engine.operations WHERE id = $1`, build); got != "superseded" {
		t.Errorf("the build ended as %s", got)
	}
	if got := c.query(`SELECT count(*)::text FROM engine.operations`); got != "2" {
		t.Errorf("%s operations", got)
	}
	if _, body, _ := c.ask("alice", "", "GET", "/servers/"+id, ""); body["server"].(map[string]any)["OS-EXT-STS:task_state"] != "deleting" {
		t.Errorf("shown as %v", body)
	}
	if len(c.offers.ids) != 2 {
		t.Errorf("offered %v", c.offers.ids)
	}
}

// rules are the service's default policies.
func rules(t *testing.T) *policy.Enforcer {
	t.Helper()
	rules, err := policy.ForService("compute", policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
