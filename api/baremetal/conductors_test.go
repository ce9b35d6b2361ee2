package baremetal_test

import (
	"strings"
	"testing"
)

func TestConductors(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	for _, name := range []string{"b.example", "a.example", "c.example"} {
		c.conductor(name, "group-"+name[:1])
	}
	if _, err := c.db.Pool.Exec(t.Context(), `UPDATE baremetal.conductors SET updated_at = now() - interval '1 hour' WHERE hostname = 'c.example'`); err != nil {
		t.Fatal(err)
	}
	names := func(query string) (got []string, body map[string]any) {
		t.Helper()
		a := c.ask("root", "1.115", "GET", "/v1/conductors"+query, "")
		if a.status != 200 {
			t.Errorf("%s: %d %s", query, a.status, a.fault)
		}
		list, _ := a.body["conductors"].([]any)
		for _, one := range list {
			got = append(got, one.(map[string]any)["hostname"].(string)[:1])
		}
		return got, a.body
	}
	for query, want := range map[string]string{"": "bac", "?sort_key=hostname": "abc", "?sort_key=hostname&sort_dir=desc": "cba",
		"?sort_key=updated_at&limit=1": "c", "?sort_key=hostname&marker=a.example": "bc", "?detail=true": "bac", "?fields=hostname": "bac"} {
		if got, _ := names(query); strings.Join(got, "") != want {
			t.Errorf("%s: %v", query, got)
		}
	}
	_, body := names("?limit=2")
	if next := body["next"]; next != "http://localhost/v1/conductors?sort_key=id&sort_dir=asc&limit=2&marker=a.example" {
		t.Errorf("%v", next)
	}
	one := body["conductors"].([]any)[0].(map[string]any)
	if one["alive"] != true || one["conductor_group"] != "group-b" || one["drivers"] != nil || one["links"] == nil {
		t.Errorf("%v", one)
	}
	shown := c.ask("root", "1.49", "GET", "/v1/conductors/c.example", "").body
	if shown["alive"] != false || len(shown["drivers"].([]any)) != 4 || shown["created_at"] == nil {
		t.Errorf("%v", shown)
	}
	for path, want := range map[string]struct {
		version, token, fault string
		status                int
	}{
		"":                {"1.48", "root", "The API is not supported for this version", 404},
		"/a.example":      {"1.115", "member", "Access was denied to the following resource: baremetal:conductor:get", 403},
		"/none":           {"1.115", "root", "Conductor none could not be found.", 404},
		"?sort_key=alive": {"1.115", "root", "The sort_key value alive is an invalid field for sorting", 400},
		"?marker=none":    {"1.115", "root", "Conductor none could not be found.", 404},
		"/a.example?x=1":  {"1.115", "root", "Unexpected arguments: x", 400},
	} {
		if got := c.ask(want.token, want.version, "GET", "/v1/conductors"+path, ""); got.status != want.status || got.fault != want.fault {
			t.Errorf("%s: %d %q", path, got.status, got.fault)
		}
	}
	// A node names the one of those alive that works on it.
	id := c.enroll("root", `{"driver": "fake-hardware", "conductor_group": "group-a"}`)
	gone := c.enroll("root", `{"driver": "fake-hardware", "conductor_group": "group-c"}`)
	for node, want := range map[string]any{id: "a.example", gone: nil} {
		if got := c.ask("root", "1.115", "GET", "/v1/nodes/"+node, "").body["conductor"]; got != want {
			t.Errorf("%v, not %v", got, want)
		}
	}
}
