package baremetal_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
)

// exchange is one that the original was seen to have.
type exchange struct {
	Method, Path string
	Version      *string
	Body         any
	Status       int
	Location     *string
	Response     any
	Headers      []string `json:"version_headers"`
	Inner        *struct {
		FaultString, Description *string
	} `json:"error_inner"`
}

// notServed are parts of the original's API that this table doesn't have.
var notServed = regexp.MustCompile(`^/v1/events`)

// meant are answers that are meant to differ, by what was asked, and why.
var meant = map[string]string{
	"GET /v1/nodes?fields=nope":                  "400 with the field's name, not 500",
	"GET /v1/nodes/n1/nosuch":                    "404 as for every path that isn't one",
	"PATCH /v1/nodes":                            "405 as for every method that a path doesn't have",
	"DELETE /v1/nodes":                           "the same",
	"POST /v1/nodes/n1":                          "the same",
	"GET /v1/nodes/detail/":                      "a last slash means nothing",
	"GET /v1/nodes/n1.json":                      "the suffix is part of the name",
	"GET /v1/portgroups/detail":                  "newer fields are hidden from lists too",
	"GET /v1/drivers":                            "hardware types are there without a conductor",
	"GET /v1/drivers/redfish":                    "the same",
	"POST /v1/inspection_rules":                  "400 and 201, not 500",
	"GET /v1/inspection_rules":                   "the rule before is there",
	"DELETE /v1/inspection_rules":                "405 as for every method that a path doesn't have",
	"PATCH /v1/runbooks/my-rb/owner":             "404 as for every path that isn't one",
	"GET /v1/nodes/n1/inventory":                 "the node's id, not its number",
	"GET /v1/":                                   "collections that are not served are not told",
	"PATCH /v1/nodes/n1 /extra/a~1b":             "keys with a slash are taken from 1.98 on, as the version says",
	"PATCH /v1/nodes/n1 /extra/a.b":              "the same of a dot",
	"GET /v1/nodes/n1/management/indicators/a/b": "a part and its lamp are named, not 500",
	"DELETE /v1/volume/connector/1be26c0b-03f2-4d2e-ae87-c02d7f33c781": "404 as for every path that isn't one",
	"GET /v1/nodes/n1/states/power":                                    "405 as for every method that a path does not have",
}

// Every exchange that the contract has seen, of what is served, has the same
// answer here.
func TestObservedExchanges(t *testing.T) {
	t.Parallel()
	var contract struct{ Exchanges []exchange }
	contracttest.Read(t, "baremetal/observed-responses.json", &contract)
	c := newCloud(t)
	ids, compared := map[string]string{}, 0
	for _, e := range contract.Exchanges {
		key := e.Method + " " + e.Path
		body := ""
		if e.Body != nil {
			text, err := json.Marshal(e.Body)
			if err != nil {
				t.Fatal(err)
			}
			body = string(text)
		}
		if notServed.MatchString(e.Path) {
			continue
		}
		if list, ok := e.Body.([]any); ok && len(list) > 0 {
			path, _ := list[0].(map[string]any)["path"].(string)
			if meant[key+" "+path] != "" {
				continue
			}
		}
		if meant[key] != "" {
			continue
		}
		path := e.Path
		for theirs, ours := range ids {
			path, body = strings.ReplaceAll(path, theirs, ours), strings.ReplaceAll(body, theirs, ours)
		}
		version := ""
		if e.Version != nil {
			version = *e.Version
		}
		compared++
		got := c.ask("root", version, e.Method, path, body)
		name := fmt.Sprintf("%s at %s %.120s", key, version, body)
		if got.status != e.Status {
			t.Errorf("%s: %d %v, not %d", name, got.status, got.body, e.Status)
			continue
		}
		if e.Inner != nil {
			want := ""
			for _, s := range []*string{e.Inner.FaultString, e.Inner.Description} {
				if s != nil {
					want = *s
				}
			}
			for theirs, ours := range ids {
				want = strings.ReplaceAll(want, theirs, ours)
			}
			if got.fault != want {
				t.Errorf("%s: %q, not %q", name, got.fault, want)
			}
			continue
		}
		if e.Response != nil || got.body != nil {
			sameShape(t, name, e.Response, any(got.body))
		}
		if e.Method == "POST" {
			theirs := e.Response.(map[string]any)["uuid"].(string)
			ids[theirs] = got.body["uuid"].(string)
			if want := strings.ReplaceAll(*e.Location, theirs, ids[theirs]); got.header.Get("Location") != want {
				t.Errorf("%s: at %q, not %q", name, got.header.Get("Location"), want)
			}
		}
		for _, header := range []string{"X-OpenStack-Ironic-API-Minimum-Version", "X-OpenStack-Ironic-API-Maximum-Version", "X-OpenStack-Ironic-API-Version"} {
			if got.header.Get(header) == "" {
				t.Errorf("%s: no %s", name, header)
			}
		}
	}
	if compared < 50 {
		t.Errorf("only %d exchanges were compared", compared)
	}
}

// unset are values that only the original's stubs had or lacked: without a
// conductor it fills in no interfaces.
var unset = regexp.MustCompile(`_interface$|^(uuid|created_at|updated_at|href|links|ports|states|nodes|next|conductor|portgroups|volume|instance_uuid|chassis_uuid|node_uuid|properties|min_version|version)$`)

// sameShape compares the keys of documents, and their values where those are no
// ids, times or links.
func sameShape(t *testing.T, name string, theirs, ours any) {
	t.Helper()
	switch want := theirs.(type) {
	case map[string]any:
		got, ok := ours.(map[string]any)
		if !ok {
			t.Errorf("%s: %v, not %v", name, ours, theirs)
			return
		}
		delete(want, "volume")
		if keys, own := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); !slices.Equal(keys, own) {
			t.Errorf("%s: the keys are %v, not %v", name, own, keys)
		}
		for key, value := range want {
			if !unset.MatchString(key) || key == "nodes" || key == "ports" {
				sameShape(t, name+" "+key, value, got[key])
			}
		}
	case []any:
		got, ok := ours.([]any)
		if !ok || len(got) != len(want) {
			t.Errorf("%s: %v, not %v", name, ours, theirs)
			return
		}
		for i := range want {
			sameShape(t, fmt.Sprintf("%s %d", name, i), want[i], got[i])
		}
	default:
		if theirs != ours {
			t.Errorf("%s: %v, not %v", name, ours, theirs)
		}
	}
}
