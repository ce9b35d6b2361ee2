package orchestration_test

// The Orchestration API over a real database, with no Temporal at all: what it
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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/api/orchestration"
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store"
	store_ "holdfast.dev/internal/store/orchestration"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// offers remembers what the starter was offered; nothing is ever started.
type offers struct {
	sync.Mutex
	ids, knocked []string
}

func (o *offers) Knock(id string) {
	o.Lock()
	defer o.Unlock()
	o.knocked = append(o.knocked, id)
}

func (o *offers) Offer(id string) {
	o.Lock()
	defer o.Unlock()
	o.ids = append(o.ids, id)
}

type cloud struct {
	*testing.T
	db     *store.DB
	offers *offers
	trusts *trusts
	keys   keys
	api    *orchestration.API
	http.Handler
}

// trusts are given by users and never ended.
type trusts struct {
	sync.Mutex
	of   []string
	fail bool
}

func (t *trusts) CreateTrust(_ context.Context, who identity.Identity, _ time.Time, _ ...string) (string, error) {
	t.Lock()
	defer t.Unlock()
	if t.fail {
		return "", faults.New(faults.Unavailable, "KeystoneUnavailable", "no answer")
	}
	t.of = append(t.of, who.UserID)
	return fmt.Sprintf("trust %d of %s", len(t.of), who.UserID), nil
}

func (t *trusts) DeleteTrust(context.Context, string) error { return nil }

func newCloud(t *testing.T) *cloud { return newCloudWith(t, policy.Options{}) }

// newCloudWith is a cloud whose policies an operator has a say in.
func newCloudWith(t *testing.T, options policy.Options) *cloud {
	t.Helper()
	db, err := store.Open(t.Context(), testenv.Database(t), 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.ForService("orchestration", options)
	if err != nil {
		t.Fatal(err)
	}
	types, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{T: t, db: db, offers: &offers{}, trusts: &trusts{}, keys: keys{}}
	api := &orchestration.API{DB: db, Engine: engine.New(db, store_.Locks(), store_.SnapshotLocks()), Starter: c.offers, Policy: rules, Secrets: box, Types: types, Trusts: c.trusts, Signers: c.keys, SignedURL: "http://guests/cloudformation",
		MaxStacks: 3, MaxConfigs: 3, MaxResources: 10, MaxSnapshots: 2, MaxPageSize: 1000}
	c.api = api
	c.Handler, err = rest.New(rest.Options{
		Authenticator: rest.NewStaticTokens(map[string]policy.Credentials{
			"alice":  {UserID: "alice", UserName: "alice", ProjectID: "p1", Roles: []string{"member"}},
			"carol":  {UserID: "carol", ProjectID: "p1", Roles: []string{"member"}},
			"reader": {UserID: "reader", ProjectID: "p1", Roles: []string{"reader"}},
			"bob":    {UserID: "bob", ProjectID: "p2", Roles: []string{"member"}},
			"inner":  {UserID: "user", ProjectID: "inner", Roles: []string{identity.StackUser}},
			"root":   {UserID: "root", ProjectID: "admin", Roles: []string{"admin"}},
			"system": {UserID: "root", SystemScope: "all", Roles: []string{"admin"}},
		}),
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), MaxBody: 114688, Timeout: time.Minute, PublicURL: "http://cloud",
	}, api.Service(), api.CloudFormation())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends a request below /v1/p1 and reads a JSON answer.
func (c *cloud) ask(token, method, path, body string) (int, map[string]any, http.Header) {
	c.Helper()
	if !strings.HasPrefix(path, "/v1") {
		path = "/v1/p1" + path
	}
	request := httptest.NewRequest(method, "http://cloud"+path, strings.NewReader(body))
	request.Header.Set("X-Auth-Token", token)
	answer := httptest.NewRecorder()
	c.ServeHTTP(answer, request)
	var document map[string]any
	if answer.Body.Len() > 0 {
		if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
			c.Fatalf("%s %s: %s: %v", method, path, answer.Body, err)
		}
	}
	return answer.Code, document, answer.Header()
}

const body = `{"stack_name": "NAME", "tags": "a,b", "timeout_mins": 5, "parameters": {"secret": "hush", "n": 3}, "template": {
	"heat_template_version": "2021-04-16", "description": "about it",
	"parameters": {"secret": {"type": "string", "hidden": true}, "n": {"type": "number", "default": 1}},
	"resources": {"v": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "n"}}}},
	"outputs": {"o": {"value": {"get_attr": ["v", "value"]}}}}}`

func (c *cloud) create(name string) (id string) {
	c.Helper()
	status, answer, header := c.ask("alice", "POST", "/stacks", strings.ReplaceAll(body, "NAME", name))
	if status != 201 {
		c.Fatalf("%d %v", status, answer)
	}
	id = answer["stack"].(map[string]any)["id"].(string)
	if want := "http://cloud/v1/p1/stacks/" + name + "/" + id; header.Get("Location") != want {
		c.Errorf("Location %q, want %q", header.Get("Location"), want)
	}
	return id
}

// made has a stack of p1 have resources, as a control worker would have made them by
// now: the first of them with these states.
func (c *cloud) made(id string, rows []*store_.Resource, states ...*stacks.State) {
	c.Helper()
	err := c.db.InTx(c.Context(), func(tx store.Tx) error {
		s, err := store_.LockStack(c.Context(), tx, "p1", id)
		if err != nil {
			return err
		}
		if err := store_.InsertResources(c.Context(), tx, id, s.TemplateID, rows); err != nil {
			return err
		}
		for _, row := range rows {
			row.Action = store_.ActionCreate
		}
		for i, state := range states {
			if err := state.Seal(rows[i], c.api.Secrets); err != nil {
				return err
			}
		}
		return store_.PutResources(c.Context(), tx, rows)
	})
	if err != nil {
		c.Fatal(err)
	}
}

// The state is shown at once, the operation is there and the secret is not.
func TestCreateShowDelete(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	_, answer, _ := c.ask("reader", "GET", "/stacks/one/"+id, "")
	s := answer["stack"].(map[string]any)
	for key, want := range map[string]any{
		"id": id, "stack_name": "one", "stack_status": "CREATE_IN_PROGRESS", "stack_status_reason": "Stack CREATE started", "description": "about it",
		"template_description": "about it", "updated_time": nil, "deletion_time": nil, "stack_owner": "alice", "parent": nil, "tags": []any{"a", "b"},
		"disable_rollback": true, "timeout_mins": 5.0, "capabilities": []any{}, "notification_topics": []any{},
		"outputs":    []any{map[string]any{"output_key": "o", "description": "No description given", "output_value": nil}},
		"parameters": map[string]any{"OS::stack_id": id, "OS::stack_name": "one", "OS::project_id": "p1", "secret": "******", "n": "3"},
	} {
		if !reflect.DeepEqual(s[key], want) {
			t.Errorf("%s is %#v, want %#v", key, s[key], want)
		}
	}
	if len(c.offers.ids) != 1 || !strings.HasPrefix(c.offers.ids[0], "stack/"+id+"/create/") {
		t.Errorf("offered %v", c.offers.ids)
	}
	_, list, _ := c.ask("alice", "GET", "/stacks?limit=1&with_count=true", "")
	if items := list["stacks"].([]any); len(items) != 1 || list["count"] != 1.0 || items[0].(map[string]any)["description"] != "" {
		t.Errorf("list %v", list)
	}
	if status, answer, _ := c.ask("alice", "DELETE", "/stacks/one/"+id, ""); status != 204 || answer != nil {
		t.Errorf("delete %d %v", status, answer)
	}
	if status, _, _ := c.ask("alice", "DELETE", "/stacks/one/"+id, ""); status != 204 {
		t.Errorf("delete again %d", status)
	}
	_, answer, _ = c.ask("alice", "GET", "/stacks/one/"+id, "")
	if s := answer["stack"].(map[string]any); s["stack_status"] != "DELETE_IN_PROGRESS" || s["updated_time"] == nil {
		t.Errorf("%v", s)
	}
	var texts string
	err := c.db.Pool.QueryRow(t.Context(), `SELECT (SELECT string_agg(to_jsonb(o)::text, ' ') FROM engine.operations o) ||
		(SELECT string_agg(to_jsonb(x)::text, ' ') FROM orchestration.templates x)`).Scan(&texts)
	if err != nil || strings.Contains(texts, "hush") {
		t.Errorf("the secret can be read (%v)", err)
	}
}

// What a name alone names is found at its own address.
func TestLookup(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	at := "http://cloud/v1/p1/stacks/one/" + id
	for path, want := range map[string]string{"/stacks/one?x=1": at + "?x=1", "/stacks/one/template": at + "/template", "/stacks/" + id: at} {
		status, answer, header := c.ask("alice", "GET", path, "")
		if status != 302 || header.Get("Location") != want || answer["code"] != "302 Found" {
			t.Errorf("%s: %d %s %v", path, status, header.Get("Location"), answer)
		}
	}
	for path, key := range map[string]string{"/resources": "resources", "/events": "events", "/outputs": "outputs"} {
		if status, answer, _ := c.ask("alice", "GET", "/stacks/one/"+id+path, ""); status != 200 || answer[key] == nil {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
	if _, answer, _ := c.ask("alice", "GET", "/stacks/one/"+id+"/environment", ""); answer["parameters"].(map[string]any)["secret"] != "******" {
		t.Errorf("%v", answer)
	}
	if _, answer, _ := c.ask("alice", "GET", "/stacks/one/"+id+"/template", ""); answer["heat_template_version"] != "2021-04-16" {
		t.Errorf("%v", answer)
	}
	if status, answer, _ := c.ask("alice", "GET", "/v1/", ""); status != 404 {
		t.Errorf("%d %v", status, answer)
	}
}

// Refusals, by status, class and text (contracts: wire-exchanges.json, lifecycle.json).
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	tiny := `"template": {"heat_template_version": "2021-04-16"}`
	for _, row := range []struct {
		token, method, path, body string
		status                    int
		class, text               string
	}{
		{"alice", "POST", "/stacks", "", 400, "HTTPBadRequest", "The server could not comply with the request since it is either malformed or otherwise incorrect."},
		{"alice", "POST", "/stacks", `{` + tiny + `}`, 400, "HTTPBadRequest", "No stack name specified"},
		{"alice", "POST", "/stacks", `{"stack_name": "a"}`, 400, "HTTPBadRequest", "No template specified"},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "template": "x: 1"}`, 400, "HTTPBadRequest", "Template not in valid format: Template format version not found."},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "timeout_mins": "x", ` + tiny + `}`, 400, "HTTPBadRequest", "Only integer is acceptable by 'timeout_mins'."},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "timeout_mins": -1, ` + tiny + `}`, 400, "HTTPBadRequest", "Value '-1' is invalid for 'timeout_mins' which only accepts non-negative integer."},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "disable_rollback": "zz", ` + tiny + `}`, 400, "ValueError", `Unrecognized value "zz" for "disable_rollback", acceptable values are: true, false.`},
		{"alice", "PUT", "/stacks/one/" + id, `{"converge": "zz", ` + tiny + `}`, 400, "ValueError", `Unrecognized value "zz" for "converge", acceptable values are: true, false.`},
		{"alice", "PATCH", "/stacks/one/" + id, `{"converge": 2}`, 400, "ValueError", `Unrecognized value "2" for "converge", acceptable values are: true, false.`},
		{"alice", "PUT", "/stacks/one/" + id + "/preview", `{"converge": "zz", ` + tiny + `}`, 400, "ValueError", `Unrecognized value "zz" for "converge", acceptable values are: true, false.`},
		{"alice", "PATCH", "/stacks/one/" + id + "/preview", `{"timeout_mins": "x"}`, 400, "HTTPBadRequest", "Only integer is acceptable by 'timeout_mins'."},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "converge": true, ` + tiny + `}`, 400, "HTTPBadRequest", "converge flag only supported in stack update (or update preview) request."},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "tags": ["a"], ` + tiny + `}`, 400, "AttributeError", "tags must be a text, not list"},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "environment_files": ["e.yaml"], ` + tiny + `}`, 400, "ValueError", "the environment file 'e.yaml' is not among the files"},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "environment": {"foo": 1}, ` + tiny + `}`, 400, "HTTPBadRequest", `Environment not in valid format: environment has wrong section "foo"`},
		{"alice", "POST", "/stacks", `{"stack_name": "one", ` + tiny + `}`, 409, "StackExists", "The Stack (one) already exists."},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"x": {"type": "OS::No::Such"}}}}`,
			400, "StackValidationFailed", "The Resource Type (OS::No::Such) could not be found."},
		{"alice", "POST", "/validate", `{"template": {"heat_template_version": "2021-04-16", "resources": {"r/s": {"type": "OS::Heat::None"}}}}`,
			400, "StackValidationFailed", "Resource name may not contain \"/\""},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"x": {"type": "OS::Heat::RandomString", "properties": {"length": 0}}}}}`,
			400, "StackValidationFailed", "Property error: resources.x.properties.length: 0 is out of range (min: 1, max: 512)"},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"x": {"type": "OS::Heat::Value", "properties": {"foo": 0}}}}}`,
			400, "StackValidationFailed", "Property error: resources.x.properties: Unknown Property foo"},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"x": {"type": "OS::Heat::Value", "properties": {"value": {"filter": [1, 2]}}}}}}`,
			400, "StackValidationFailed", `Property error: resources.x.properties.value: "filter" only works with lists`},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"x": {"type": "OS::Heat::Value", "properties": {"value": {"get_file": "f"}}}}}}`,
			400, "StackValidationFailed", `Property error: resources.x.properties.value: No content found in the "files" section for get_file path: f`},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"x": {"type": "OS::Heat::Value", "properties": {"value": {"str_split": ["", "abc"]}}}}}}`,
			400, "StackValidationFailed", "Property error: resources.x.properties.value: empty separator"},
		{"alice", "POST", "/stacks", `{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"x": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": null}}}}}}`,
			400, "StackValidationFailed", `Property error: resources.x.properties.value: Function "get_param" must have arguments`},
		{"reader", "POST", "/stacks", `{"stack_name": "a", ` + tiny + `}`, 403, "Forbidden", "You are not authorized to use stacks:create."},
		{"bob", "GET", "/stacks", "", 403, "HTTPForbidden", "Access was denied to this resource."},
		{"inner", "GET", "/stacks", "", 403, "HTTPForbidden", "Access was denied to this resource."},
		{"inner", "GET", "/v1/inner/stacks", "", 403, "Forbidden", "You are not authorized to use stacks:index."},
		{"system", "GET", "/stacks", "", 403, "HTTPForbidden", "Access was denied to this resource."},
		{"bob", "GET", "/v1/p2/stacks/one/" + id, "", 404, "EntityNotFound", "The Stack (one) could not be found."},
		{"bob", "DELETE", "/v1/p2/stacks/one/" + id, "", 404, "EntityNotFound", "The Stack (one) could not be found."},
		{"alice", "GET", "/stacks/two/" + id, "", 404, "EntityNotFound", "The Stack (two) could not be found."},
		{"alice", "GET", "/stacks/two", "", 404, "EntityNotFound", "The Stack (two) could not be found."},
		{"alice", "GET", "/stacks?limit=x", "", 400, "HTTPBadRequest", "Only integer is acceptable by 'limit'."},
		{"alice", "GET", "/stacks?limit=-1", "", 400, "HTTPBadRequest", "Value '-1' is invalid for 'limit' which only accepts non-negative integer."},
		{"alice", "GET", "/stacks?show_nested=maybe", "", 400, "HTTPBadRequest", `Unrecognized value "maybe" for "show_nested", acceptable values are: true, false.`},
		{"alice", "GET", "/stacks?global_tenant=true", "", 403, "Forbidden", "You are not authorized to use stacks:global_index."},
		{"alice", "GET", "/stacks/one/" + id + "?resolve_outputs=x", "", 400, "HTTPBadRequest", `Unrecognized value "x" for "resolve_outputs", acceptable values are: true, false.`},
		{"alice", "GET", "/stacks/one/" + id + "/resources?bogus=1", "", 400, "HTTPBadRequest", "Invalid filter parameters ['bogus']"},
		{"alice", "GET", "/stacks/one/" + id + "/resources/v/events", "", 404, "HTTPNotFound", "No events found for resource v"},
		{"alice", "GET", "/stacks/one/" + id + "/resources/v/events/e", "", 404, "HTTPNotFound", "No event e found"},
		{"alice", "GET", "/stacks/one/" + id + "/outputs/x", "", 404, "NotFound", "Specified output key x not found."},
		{"alice", "GET", "/stacks/one/" + id + "/resources/x", "", 404, "ResourceNotFound", "The Resource (x) could not be found in Stack one."},
	} {
		status, answer, _ := c.ask(row.token, row.method, row.path, row.body)
		fault, _ := answer["error"].(map[string]any)
		text, _ := fault["message"].(string)
		if status != row.status || answer["code"] != float64(row.status) || fault["type"] != row.class || text != row.text {
			t.Errorf("%s %s %s: %d %v, want %d %s %q", row.method, row.path, row.body, status, answer, row.status, row.class, row.text)
		}
	}
	var n int
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM orchestration.stacks`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d stacks (%v)", n, err)
	}
	c.create("two")
	c.create("three")
	_, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "four", `+tiny+`}`)
	if fault := answer["error"].(map[string]any); answer["code"] != 400.0 || fault["type"] != "RequestLimitExceeded" ||
		fault["message"] != "Request limit exceeded: You have reached the maximum stacks per tenant, 3. Please delete some stacks." {
		t.Errorf("%v", answer)
	}
}

// Lists are narrowed, sorted and paged.
func TestLists(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, name := range []string{"b", "c", "a"} {
		c.create(name)
	}
	for query, want := range map[string]string{
		"": "a c b", "sort_keys=stack_name&sort_dir=asc": "a b c", "name=a&name=b": "a b", "status=CREATE_IN_PROGRESS&sort_keys=stack_name": "c b a",
		"status=COMPLETE": "", "tags=a,b": "a c b", "tags=z": "", "tags_any=z,a": "a c b", "not_tags=a,z": "a c b", "not_tags_any=a,z": "", "limit=2": "a c",
		"show_deleted=true": "a c b", "bogus=1": "a c b", "sort_keys=bogus": "a c b", "marker=none": "a c b",
	} {
		if got := c.names(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	_, err := c.db.Pool.Exec(t.Context(), `UPDATE orchestration.stacks SET
		tags = CASE name WHEN 'c' THEN '{data-processing-cluster}' WHEN 'b' THEN '{}' ELSE tags END, action = CASE name WHEN 'b' THEN 'UPDATE' ELSE action END,
		disable_rollback = name <> 'b', timeout_mins = CASE name WHEN 'b' THEN 7 WHEN 'c' THEN NULL ELSE timeout_mins END, reason = 'about ' || name`)
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"": "a b", "show_hidden=true": "a c b", "show_hidden=true&tags=data-processing-cluster": "c", "tags=data-processing-cluster": "", "not_tags=a": "b", "not_tags_any=b": "b",
		"tenant=p1": "a b", "tenant=p2": "", "username=alice": "a b", "stack_owner=bob": "", "disable_rollback=False": "b", "disable_rollback=true": "a", "disable_rollback=maybe": "",
		"timeout_mins=7": "b", "timeout_mins=5&timeout_mins=7": "a b", "timeout_mins=x": "", "stack_status_reason=about+b": "b", "action=UPDATE": "b", "stack_action=CREATE": "a",
		"stack_status=UPDATE_IN_PROGRESS": "b", "status=IN_PROGRESS&action=CREATE": "a", "stack_name=a&name=b": "a b", "stack_user_project_id=none": "", "parent=none": "", "owner_id=none": "", "id=none": "",
	} {
		if got := c.names(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if _, answer, _ := c.ask("alice", "GET", "/stacks/detail?show_hidden=true", ""); len(answer["stacks"].([]any)) != 2 {
		t.Errorf("in detail: %v", answer)
	}
	if status, answer, _ := c.ask("alice", "GET", "/stacks?tags="+strings.Repeat("x", 81), ""); status != 400 {
		t.Errorf("a long tag: %d %v", status, answer)
	}
	_, list, _ := c.ask("alice", "GET", "/stacks?show_hidden=true&limit=1&sort_keys=stack_name&sort_dir=asc", "")
	first := list["stacks"].([]any)[0].(map[string]any)["id"].(string)
	if got := c.names("limit=1&sort_keys=stack_name&sort_dir=asc&marker=" + first); got != "b" {
		t.Errorf("the second page is %q", got)
	}
	if list["links"] == nil {
		t.Error("no link to the second page")
	}
}

func (c *cloud) names(query string) string {
	c.Helper()
	status, list, _ := c.ask("alice", "GET", "/stacks?"+query, "")
	if status != 200 {
		c.Fatalf("%s: %d %v", query, status, list)
	}
	var names []string
	for _, s := range list["stacks"].([]any) {
		names = append(names, s.(map[string]any)["stack_name"].(string))
	}
	return strings.Join(names, " ")
}

// What is told of each type is what the contract has of it.
func TestTypes(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	var contract struct {
		Types map[string]struct {
			Properties map[string]map[string]any
			Attributes map[string]map[string]any
			Support    map[string]any `json:"support_status"`
		}
	}
	contracttest.Read(t, "orchestration/resource-types.json", &contract)
	_, answer, _ := c.ask("reader", "GET", "/resource_types", "")
	types := answer["resource_types"].([]any)
	for _, name := range []string{"OS::Heat::Value", "OS::Neutron::Port", "OS::Cinder::Volume"} {
		if !slices.Contains(types, any(name)) {
			t.Errorf("%v lacks %s", types, name)
		}
	}
	for _, name := range []string{"OS::Keystone::Role", "OS::Neutron::Segment", "OS::Neutron::RouterGateway"} {
		if slices.Contains(types, any(name)) {
			t.Errorf("%s is shown to everybody", name)
		}
	}
	if status, answer, _ := c.ask("reader", "GET", "/resource_types/OS::Keystone::Role", ""); status != 403 ||
		answer["error"].(map[string]any)["message"] != "You are not authorized to use OS::Keystone::Role." {
		t.Errorf("%d %v", status, answer)
	}
	for _, resource := range []string{`{"type": "OS::Keystone::Role"}`,
		`{"type": "OS::Heat::ResourceGroup", "properties": {"count": 0, "resource_def": {"type": "OS::Heat::ResourceGroup", "properties": {"resource_def": {"type": "OS::Keystone::Role"}}}}}`} {
		refused := `{"stack_name": "admins", "template": {"heat_template_version": "2021-04-16", "resources": {"r": ` + resource + `}}}`
		if status, answer, _ := c.ask("alice", "POST", "/stacks", refused); status != 403 {
			t.Errorf("%d %v", status, answer)
		}
	}
	for _, name := range types {
		_, shown, _ := c.ask("reader", "GET", "/resource_types/"+name.(string), "")
		want := contract.Types[name.(string)]
		for property, p := range shown["properties"].(map[string]any) {
			told, known := p.(map[string]any), want.Properties[property]
			for key, v := range told {
				if !reflect.DeepEqual(v, known[key]) && key != "schema" {
					t.Errorf("%s %s %s: %v, want %v", name, property, key, v, known[key])
				}
			}
			if (told["schema"] == nil) != (known["schema"] == nil) || (told["default"] == nil) != (known["default"] == nil) {
				t.Errorf("%s %s: %v, want %v", name, property, told, known)
			}
		}
		for attribute, a := range want.Attributes {
			if support, _ := a["support_status"].(map[string]any); support["status"] == "HIDDEN" {
				delete(want.Attributes, attribute)
			}
		}
		if got := shown["attributes"].(map[string]any); len(got) != len(want.Attributes) {
			t.Errorf("%s has the attributes %v", name, got)
		}
		if got := shown["support_status"].(map[string]any); got["status"] != want.Support["status"] || got["version"] != want.Support["version"] {
			t.Errorf("%s: %v", name, got)
		}
	}
	for path, want := range map[string]string{
		"/resource_types/OS::No":               "The Resource Type (OS::No) could not be found.",
		"/resource_types?support_status=GREAT": "Data supplied was not valid: Invalid support status and should be one of ('UNKNOWN', 'SUPPORTED', 'DEPRECATED', 'UNSUPPORTED', 'HIDDEN')",
	} {
		if _, answer, _ := c.ask("reader", "GET", path, ""); answer["error"].(map[string]any)["message"] != want {
			t.Errorf("%s: %v", path, answer)
		}
	}
	for query, n := range map[string]int{"name=OS::Heat::[VD]": 2, "name=Value": 0, "name=(": 0, "support_status=HIDDEN": 0, "with_description=true": len(types), "name=OS::Cinder::VolumeType": 0, "name=OS::Heat::.*&version=5.0.0": 2} {
		if _, answer, _ := c.ask("reader", "GET", "/resource_types?"+query, ""); len(answer["resource_types"].([]any)) != n {
			t.Errorf("%s: %v", query, answer)
		}
	}
}

func TestTemplatesAreToldOf(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	_, answer, _ := c.ask("alice", "POST", "/validate", strings.ReplaceAll(body, "NAME", "x"))
	parameters, _ := answer["Parameters"].(map[string]any)
	if n, _ := parameters["n"].(map[string]any); answer["Description"] != "about it" || n["Type"] != "Number" {
		t.Errorf("%v", answer)
	}
	_, answer, _ = c.ask("alice", "GET", "/template_versions", "")
	if len(answer["template_versions"].([]any)) < 10 {
		t.Errorf("%v", answer)
	}
	if status, answer, _ := c.ask("alice", "GET", "/template_versions/heat_template_version.2021-04-16/functions", ""); status != 200 || len(answer["template_functions"].([]any)) < 10 {
		t.Errorf("%d %v", status, answer)
	}
	if status, _, _ := c.ask("alice", "GET", "/template_versions/x/functions", ""); status != 404 {
		t.Errorf("%d", status)
	}
}

// An update is shown at once; one that takes over from another too. What can't be
// updated says why.
func TestUpdate(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	at := "/stacks/one/" + id
	parameters := `"parameters": {"n": 1, "keep": 2}, `
	template := `"template": {"heat_template_version": "2021-04-16", "parameters": {"n": {"type": "number"},
		"keep": {"type": "number", "immutable": true}}, "outputs": {"n": {"value": {"get_param": "n"}}}}`
	status, answer, _ := c.ask("alice", "PUT", at, `{`+parameters+template+`}`)
	if status != 202 || answer["code"] != "202 Accepted" {
		t.Fatalf("%d %v", status, answer)
	}
	show := func() map[string]any {
		_, answer, _ := c.ask("alice", "GET", at, "")
		return answer["stack"].(map[string]any)
	}
	if s := show(); s["stack_status"] != "UPDATE_IN_PROGRESS" || s["description"] != "No description" || len(s["tags"].([]any)) != 0 || s["timeout_mins"] != 5.0 {
		t.Errorf("%v", s)
	}
	if status, answer, _ := c.ask("alice", "PATCH", at, `{"parameters": {"n": 7}, "template": null, "tags": null, "converge": true}`); status != 202 {
		t.Errorf("%d %v", status, answer)
	}
	if p := show()["parameters"].(map[string]any); p["n"] != "7" || p["keep"] != "2" {
		t.Errorf("%v", p)
	}
	for _, row := range []struct{ token, method, body, class, text string }{
		{"alice", "PUT", `{}`, "HTTPBadRequest", "No template specified"},
		{"alice", "PATCH", "", "HTTPBadRequest", "The server could not comply with the request since it is either malformed or otherwise incorrect."},
		{"alice", "PATCH", `{"parameters": {"keep": 3}}`, "ImmutableParameterModified", "The following parameters are immutable and may not be updated: keep"},
		{"reader", "PATCH", `{"parameters": {"n": 3}}`, "Forbidden", "You are not authorized to use stacks:update_patch."},
		{"reader", "PUT", `{` + template + `}`, "Forbidden", "You are not authorized to use stacks:update."},
	} {
		_, answer, _ := c.ask(row.token, row.method, at, row.body)
		fault, _ := answer["error"].(map[string]any)
		if fault["type"] != row.class || fault["message"] != row.text {
			t.Errorf("%s %s: %v, want %s %q", row.method, row.body, answer, row.class, row.text)
		}
	}
	c.ask("alice", "DELETE", at, "")
	_, answer, _ = c.ask("alice", "PATCH", at, `{}`)
	if fault := answer["error"].(map[string]any); fault["type"] != "NotSupported" || fault["message"] != "Updating a stack when it is deleting is not supported." {
		t.Errorf("%v", answer)
	}
	var open int
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM engine.operations WHERE finished_at IS NULL`).Scan(&open); err != nil || open != 1 {
		t.Errorf("%d operations are open (%v)", open, err)
	}
}

// A stack with something outside is made in the name of who asks for it, by one
// trust, which is to end once the stack is gone or if it never came to be.
func TestTrusts(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	create := func(name, typ string) string {
		status, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "`+name+`", "template": {"heat_template_version": "2021-04-16", "resources": {"r": {"type": "`+typ+`"}}}}`)
		if status != 201 {
			t.Fatalf("%d %v", status, answer)
		}
		return answer["stack"].(map[string]any)["id"].(string)
	}
	create("inside", "OS::Heat::None")
	if len(c.trusts.of) != 0 {
		t.Errorf("trusts of %v", c.trusts.of)
	}
	id := create("outside", "OS::Neutron::Net")
	if got, by, err := store_.TrustOf(t.Context(), c.db.Pool, id); err != nil || got != "trust 1 of alice" || by != "alice" || len(c.trusts.of) != 1 {
		t.Errorf("the trust is %q (%v)", got, err)
	}
	ending := func() []string {
		ids, err := store_.TrustsToEnd(t.Context(), c.db.Pool, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(ids)
		return ids
	}
	if ids := ending(); len(ids) != 0 {
		t.Errorf("%v is to end", ids)
	}
	// One for a stack that is refused ends at once.
	if status, _, _ := c.ask("bob", "POST", "/v1/p2/stacks", `{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"r": {"type": "OS::Neutron::Net"}}}}`); status != 201 {
		t.Fatal(status)
	}
	if status, _, _ := c.ask("bob", "POST", "/v1/p2/stacks", `{"stack_name": "a", "template": {"heat_template_version": "2021-04-16", "resources": {"r": {"type": "OS::Neutron::Net"}}}}`); status != 409 {
		t.Errorf("another of the name: %d", status)
	}
	if ids := ending(); !slices.Equal(ids, []string{"trust 3 of bob"}) {
		t.Errorf("%v are to end", ids)
	}
	if err := store_.DeleteTrust(t.Context(), c.db.Pool, "trust 3 of bob"); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`UPDATE orchestration.stacks SET deleted_at = now() WHERE name = 'outside'`,
		`INSERT INTO orchestration.trusts (id, stack_id, created_at) VALUES ('unborn', gen_random_uuid(), now() - interval '1 hour'), ('young', gen_random_uuid(), now())`,
	} {
		if _, err := c.db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if ids := ending(); !slices.Equal(ids, []string{"trust 1 of alice", "unborn"}) {
		t.Errorf("%v are to end", ids)
	}
	if unheard, err := store_.TrustsUnheard(t.Context(), c.db.Pool, 0); err != nil || len(unheard) != 0 {
		t.Errorf("nobody has heard of %v (%v)", unheard, err)
	}
	c.trusts.fail = true
	if status, _, _ := c.ask("bob", "POST", "/v1/p2/stacks", `{"stack_name": "b", "template": {"heat_template_version": "2021-04-16", "resources": {"r": {"type": "OS::Neutron::Net"}}}}`); status != 503 {
		t.Errorf("without an answer: %d", status)
	}
	unheard, err := store_.TrustsUnheard(t.Context(), c.db.Pool, 0)
	if err != nil || len(unheard) != 1 || unheard[0].TrustorID != "bob" || unheard[0].GoodUntil.Year() < 2100 || unheard[0].GoodUntil.Nanosecond() != 0 {
		t.Fatalf("nobody has heard of %v (%v)", unheard, err)
	}
	if err := store_.ForgetAsked(t.Context(), c.db.Pool, unheard[0].GoodUntil); err != nil {
		t.Fatal(err)
	}
	if err := store_.InsertTrust(t.Context(), c.db.Pool, id, "late", unheard[0].GoodUntil); !faults.Is(err, faults.Unavailable) {
		t.Errorf("one that is heard of too late: %v", err)
	}
	if err := store_.DeleteTrust(t.Context(), c.db.Pool, "unborn"); err != nil || len(ending()) != 1 {
		t.Errorf("%v, %v", err, ending())
	}
}

// What is asked for by another user is done in that one's name from then on, and no more
// in the name of whom it was; the same user's trust stays. One for what is refused, or
// that can't be given, changes nothing.
func TestTrustsOfSeveral(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const nothing = `{"template": {"heat_template_version": "2021-04-16", "resources": {}}}`
	_, answer, _ := c.ask("alice", "POST", "/stacks", `{"stack_name": "one", "template": {"heat_template_version": "2021-04-16", "resources": {"r": {"type": "OS::Neutron::Net"}}}}`)
	path := "/stacks/one/" + answer["stack"].(map[string]any)["id"].(string)
	id := path[strings.LastIndex(path, "/")+1:]
	for _, step := range []struct {
		who, method, body string
		status            int
		trust             string
		ending            []string
		fail              bool
	}{
		{who: "alice", method: "PUT", body: nothing, status: 202, trust: "trust 1 of alice"},
		{who: "carol", method: "PUT", body: nothing, status: 503, trust: "trust 1 of alice", fail: true},
		{who: "carol", method: "PATCH", body: `{"timeout_mins": "x"}`, status: 400, trust: "trust 1 of alice", ending: []string{"trust 2 of carol"}},
		{who: "carol", method: "PUT", body: nothing, status: 202, trust: "trust 3 of carol", ending: []string{"trust 1 of alice", "trust 2 of carol"}},
		{who: "carol", method: "PATCH", body: `{}`, status: 202, trust: "trust 3 of carol", ending: []string{"trust 1 of alice", "trust 2 of carol"}},
		{who: "alice", method: "DELETE", status: 204, trust: "trust 4 of alice", ending: []string{"trust 1 of alice", "trust 2 of carol", "trust 3 of carol"}},
	} {
		c.trusts.fail = step.fail
		if status, answer, _ := c.ask(step.who, step.method, path, step.body); status != step.status {
			t.Fatalf("%s %s: %d %v, want %d", step.who, step.method, status, answer, step.status)
		}
		if got, _, err := store_.TrustOf(t.Context(), c.db.Pool, id); err != nil || got != step.trust {
			t.Errorf("after %s %s: the trust is %q (%v), want %q", step.who, step.method, got, err, step.trust)
		}
		ending, err := store_.TrustsToEnd(t.Context(), c.db.Pool, time.Minute)
		if slices.Sort(ending); err != nil || !slices.Equal(ending, step.ending) {
			t.Errorf("after %s %s: %v are to end (%v), want %v", step.who, step.method, ending, err, step.ending)
		}
	}
}
