package compute_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"testing"
)

// step is a request and what it must answer; want is compared as JSON, in which
// "*" is anything; empty compares nothing but the status.
type step struct {
	token, version, method, path, body string
	status                             int
	want                               string
}

// play sends the steps one after the other.
func (c *cloud) play(steps ...step) {
	c.t.Helper()
	for _, s := range steps {
		status, body, _ := c.ask(s.token, s.version, s.method, s.path, s.body)
		if status != s.status {
			c.t.Errorf("%s at %s: %s %s %s\n got %d %v\nwant %d", s.token, s.version, s.method, s.path, s.body, status, body, s.status)
			continue
		}
		if s.want == "" {
			continue
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(s.want), &want); err != nil {
			c.t.Fatalf("%s: %v", s.want, err)
		}
		if !matches(want, body) {
			c.t.Errorf("%s at %s: %s %s %s\n got %v\nwant %v", s.token, s.version, s.method, s.path, s.body, body, want)
		}
	}
}

// matches compares two values of JSON.
func matches(want, got any) bool {
	switch w := want.(type) {
	case string:
		return w == "*" || w == got
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(w, g, matches)
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && maps.EqualFunc(w, g, matches)
	}
	return reflect.DeepEqual(want, got)
}

func fault(name string, code string, message string) string {
	text, _ := json.Marshal(message) // a string is always JSON
	return `{"` + name + `": {"code": ` + code + `, "message": ` + string(text) + `}}`
}

func notFound(message string) string { return fault("itemNotFound", "404", message) }
func conflict(message string) string { return fault("conflictingRequest", "409", message) }
func invalid(message string) string  { return fault("badRequest", "400", message) }
func forbidden(rule string) string {
	return fault("forbidden", "403", "Policy doesn't allow "+rule+" to be performed.")
}

func TestFlavorsAreShown(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	links := `"links": [{"rel": "self", "href": "http://cloud/v2.1/flavors/1"}, {"rel": "bookmark", "href": "http://cloud/flavors/1"}]`
	c.play(
		step{"alice", "2.1", "GET", "/flavors", "", 200, `{"flavors": [{"id": "1", "name": "m1.tiny", ` + links + `}]}`},
		step{"alice", "2.55", "GET", "/flavors", "", 200, `{"flavors": [{"id": "1", "name": "m1.tiny", "description": null, ` + links + `}]}`},
		step{"alice", "2.1", "GET", "/flavors/1", "", 200, `{"flavor": {"id": "1", "name": "m1.tiny", "ram": 512, "disk": 1, "swap": "", "vcpus": 1, "rxtx_factor": 1,
			"OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false, "os-flavor-access:is_public": true, ` + links + `}}`},
		step{"alice", "2.104", "GET", "/flavors/1", "", 200, `{"flavor": {"id": "1", "name": "m1.tiny", "ram": 512, "disk": 1, "swap": 0, "vcpus": 1,
			"OS-FLV-EXT-DATA:ephemeral": 0, "os-flavor-access:is_public": true, "description": null, "extra_specs": {}, ` + links + `}}`},
		step{"alice", "2.1", "GET", "/flavors/9", "", 404, notFound("Flavor 9 could not be found.")},
		step{"alice", "2.1", "GET", "/flavors?minRam=x", "", 400, invalid("Invalid minRam filter [x]")},
		step{"alice", "2.1", "GET", "/flavors?minRam=513", "", 200, `{"flavors": []}`},
		step{"alice", "2.1", "GET", "/flavors?marker=9", "", 400, invalid("marker [9] not found")},
		step{"root", "2.1", "GET", "/flavors?is_public=maybe", "", 400, invalid("Invalid is_public filter [maybe]")},
		step{"root", "2.102", "GET", "/flavors?name=tin", "", 200, `{"flavors": [{"id": "1", "name": "m1.tiny", "description": null, ` + links + `}]}`},
	)
	for _, version := range []string{"2.1", "2.55", "2.61", "2.75", "2.102"} {
		c.play(step{"root", version, "GET", "/flavors/detail?is_public=None&sort_key=name&sort_dir=desc", "", 200, ""})
	}
}

func TestFlavorPages(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.play(step{"root", "2.1", "POST", "/flavors", `{"flavor": {"name": "b", "id": "b", "ram": "64", "vcpus": 1, "disk": 0}}`, 200, ""})
	status, body, _ := c.ask("alice", "", "GET", "/flavors?limit=1", "")
	if status != http.StatusOK || body["flavors"].([]any)[0].(map[string]any)["id"] != "1" {
		t.Fatalf("%d %v", status, body)
	}
	want := []any{map[string]any{"rel": "next", "href": "http://cloud/v2.1/flavors?limit=1&marker=1"}}
	if !reflect.DeepEqual(body["flavors_links"], want) {
		t.Errorf("%v", body["flavors_links"])
	}
	c.play(
		step{"alice", "2.1", "GET", "/flavors?limit=1&marker=b", "", 200, `{"flavors": []}`},
		step{"alice", "2.1", "GET", "/flavors?sort_key=memory_mb&limit=1&marker=b", "", 200, ""},
	)
}

func TestFlavorsAreManaged(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const make = `{"flavor": {"name": "big", "id": "big", "ram": "2048", "vcpus": 2, "disk": 20, "swap": 512, "OS-FLV-EXT-DATA:ephemeral": 3, "os-flavor-access:is_public": false, "rxtx_factor": 2.5}}`
	c.play(
		step{"alice", "2.1", "POST", "/flavors", make, 403, forbidden("os_compute_api:os-flavor-manage:create")},
		step{"root", "2.1", "POST", "/flavors", make, 200, `{"flavor": {"id": "big", "name": "big", "ram": 2048, "disk": 20, "swap": 512, "vcpus": 2, "rxtx_factor": 2.5,
			"OS-FLV-EXT-DATA:ephemeral": 3, "OS-FLV-DISABLED:disabled": false, "os-flavor-access:is_public": false,
			"links": [{"rel": "self", "href": "http://cloud/v2.1/flavors/big"}, {"rel": "bookmark", "href": "http://cloud/flavors/big"}]}}`},
		step{"root", "2.1", "POST", "/flavors", make, 409, conflict("Flavor with ID big already exists.")},
		step{"root", "2.1", "POST", "/flavors", `{"flavor": {"name": "big", "ram": 1, "vcpus": 1, "disk": 0}}`, 409, conflict("Flavor with name big already exists.")},
		step{"root", "2.1", "PUT", "/flavors/big", `{"flavor": {"description": "x"}}`, 404, notFound("The resource could not be found.")},
		step{"root", "2.55", "PUT", "/flavors/big", `{"flavor": {"description": "roomy"}}`, 200, ""},
		step{"root", "2.1", "GET", "/flavors/big/os-flavor-access", "", 200, `{"flavor_access": []}`},
		step{"root", "2.1", "GET", "/flavors?is_public=false&marker=big", "", 200, `{"flavors": []}`},
		step{"root", "2.1", "POST", "/flavors/big/action", `{"addTenantAccess": {"tenant": "admin"}}`, 200, ""},
		step{"root", "2.55", "PUT", "/flavors/none", `{"flavor": {"description": "x"}}`, 404, notFound("Flavor none could not be found.")},
		// Private: alice doesn't see it until she is let.
		step{"alice", "2.1", "GET", "/flavors/big", "", 404, notFound("Flavor big could not be found.")},
		step{"root", "2.1", "GET", "/flavors/1/os-flavor-access", "", 404, notFound("Access list not available for public flavors.")},
		step{"root", "2.1", "POST", "/flavors/big/action", `{"addTenantAccess": {"tenant": "a11ce"}}`, 200,
			`{"flavor_access": [{"flavor_id": "big", "tenant_id": "a11ce"}, {"flavor_id": "big", "tenant_id": "admin"}]}`},
		step{"alice", "2.1", "GET", "/flavors/big", "", 200, ""},
		step{"root", "2.1", "POST", "/flavors/big/action", `{"addTenantAccess": {"tenant": "a11ce"}}`, 409,
			conflict("Flavor access already exists for flavor big and project a11ce combination.")},
		step{"root", "2.7", "POST", "/flavors/1/action", `{"addTenantAccess": {"tenant": "a11ce"}}`, 409, conflict("Can not add access to a public flavor.")},
		step{"root", "2.1", "POST", "/flavors/big/action", `{"removeTenantAccess": {"tenant": "a11ce"}}`, 200, `{"flavor_access": [{"flavor_id": "big", "tenant_id": "admin"}]}`},
		step{"root", "2.1", "POST", "/flavors/big/action", `{"removeTenantAccess": {"tenant": "a11ce"}}`, 404, notFound("Flavor access not found for big / a11ce combination.")},
		step{"alice", "2.1", "DELETE", "/flavors/big", "", 403, forbidden("os_compute_api:os-flavor-manage:delete")},
		step{"root", "2.1", "DELETE", "/flavors/big", "", 202, ""},
		step{"root", "2.1", "DELETE", "/flavors/big", "", 404, notFound("Flavor big could not be found.")},
	)
}

func TestExtraSpecs(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	const path = "/flavors/1/os-extra_specs"
	c.play(
		step{"alice", "2.1", "POST", path, `{"extra_specs": {"a": "b"}}`, 403, forbidden("os_compute_api:os-flavor-extra-specs:create")},
		step{"root", "2.1", "POST", path, `{"extra_specs": {"hw:cpu_policy": "shared", "n": 1}}`, 200, `{"extra_specs": {"hw:cpu_policy": "shared", "n": "1"}}`},
		step{"root", "2.86", "POST", path, `{"extra_specs": {"hw:cpu_policy": "sharred"}}`, 400, invalid("Validation failed; 'sharred' is not one of: dedicated, shared, mixed.")},
		step{"alice", "2.1", "GET", path, "", 200, `{"extra_specs": {"hw:cpu_policy": "shared", "n": "1"}}`},
		step{"alice", "2.1", "GET", path + "/n", "", 200, `{"n": "1"}`},
		step{"alice", "2.1", "GET", path + "/x", "", 404, notFound("Flavor 1 has no extra specs with key x.")},
		step{"root", "2.1", "PUT", path + "/n", `{"n": "2"}`, 200, `{"n": "2"}`},
		step{"root", "2.1", "PUT", path + "/n", `{"m": "2"}`, 400, invalid("Request body and URI mismatch")},
		step{"root", "2.1", "DELETE", path + "/n", "", 200, ""},
		step{"root", "2.1", "DELETE", path + "/n", "", 404, notFound("Flavor 1 has no extra specs with key n.")},
		step{"root", "2.1", "DELETE", "/flavors/x/os-extra_specs/n", "", 404, notFound("Flavor x could not be found.")},
		step{"alice", "2.61", "GET", "/flavors/1", "", 200, ""},
	)
}
