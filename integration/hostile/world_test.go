package hostile

// The cloud that the requests are asked of, and what is in it.

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
)

// world is a cloud with a server of the project that asks, one of another
// project, a hidden flavor and a key pair.
type world struct {
	*cloud.Cloud
	t   *testing.T
	ids struct{ fill, blank *strings.Replacer }
}

// callers have these names for tokens.
var callers = []map[string]any{
	{"token": "member", "user": "alice", "project": "a11ce", "roles": []string{"member", "reader"}},
	{"token": "nobody", "user": "nina", "project": "a11ce", "roles": []string{}},
	{"token": "reader", "user": "rita", "project": "a11ce", "roles": []string{"reader"}},
	{"token": "other", "user": "bob", "project": "b0b", "roles": []string{"member", "reader"}},
	{"token": "admin", "user": "root", "project": "ad", "roles": []string{"admin", "member", "reader"}},
	{"token": "system", "user": "root", "system": true, "roles": []string{"admin", "member", "reader"}},
}

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl k"

func newWorld(t *testing.T, o cloud.Options) *world {
	t.Helper()
	o.Config = map[string]any{"dev.static_tokens": callers, "compute.host_down_after": "10m"}
	w := &world{Cloud: cloud.Start(t, o), t: t}
	w.must("admin", "POST", "/flavors", `{"flavor": {"id": "hidden", "name": "hidden", "ram": 64, "vcpus": 1, "disk": 1, "os-flavor-access:is_public": false}}`)
	w.must("member", "POST", "/os-keypairs", `{"keypair": {"name": "k", "public_key": "`+publicKey+`"}}`)
	server, foreign := w.server("member", "server"), w.server("other", "foreign")
	w.must("member", "POST", "/servers/"+server+"/metadata", `{"metadata": {"a": "1"}}`)
	const none = "00000000-0000-4000-8000-00000000dead"
	names := []string{"{server}", server, "{foreign}", foreign, "{none}", none}
	for i, name := range []string{"node", "port", "portgroup", "chassis", "allocation", "template", "runbook", "rule"} {
		names = append(names, "{"+name+"}", strings.Repeat(strconv.Itoa(i+1), 8)+"-1111-4111-8111-111111111111")
	}
	w.ids.fill = strings.NewReplacer(names...)
	slices.Reverse(names)
	w.ids.blank = strings.NewReplacer(names...)
	return w
}

// describe makes what requests of the bare metal service are about: testdata/baremetal.json.
func (w *world) describe() {
	w.t.Helper()
	text, err := os.ReadFile("testdata/baremetal.json")
	if err != nil {
		w.t.Fatal(err)
	}
	var things []struct {
		Of   string
		Body json.RawMessage
	}
	if err := json.Unmarshal(text, &things); err != nil {
		w.t.Fatal(err)
	}
	for _, thing := range things {
		w.succeeds("system", "POST", "/baremetal/v1/"+thing.Of, string(thing.Body), http.Header{"X-Openstack-Ironic-Api-Version": {"1.115"}})
	}
}

// must asks the compute service for what has to succeed.
func (w *world) must(token, method, path, body string) map[string]any {
	w.t.Helper()
	return w.succeeds(token, method, "/v2.1"+path, body, http.Header{})
}

// succeeds asks for what has to succeed.
func (w *world) succeeds(token, method, path, body string, header http.Header) map[string]any {
	w.t.Helper()
	header.Set("Content-Type", "application/json")
	answer, text, err := w.Ask(w.t.Context(), token, method, path, header, []byte(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if answer.StatusCode > 299 {
		w.t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, text)
	}
	var out map[string]any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			w.t.Fatal(err)
		}
	}
	return out
}

// server makes one and waits until it is active.
func (w *world) server(token, name string) (id string) {
	w.t.Helper()
	made := w.must(token, "POST", "/servers", `{"server": {"name": "`+name+`", "flavorRef": "`+cloud.Flavor+`", "imageRef": "`+cloud.Image+`"}}`)
	id = made["server"].(map[string]any)["id"].(string)
	w.Eventually(name+" is active", cloud.Patience, func(context.Context) error {
		shown := w.must(token, "GET", "/servers/"+id, "")["server"].(map[string]any)
		if shown["status"] != "ACTIVE" {
			return &cloud.StatusError{Body: shown["status"].(string)}
		}
		return nil
	})
	return id
}

// rest ends what writes to the database by itself: what changes from here on
// was changed by a request.
func (w *world) rest() {
	w.Audit()
	w.Kill(cloud.Control)
	w.Kill(cloud.Host)
}

// ask sends a row of the table.
func (w *world) ask(r request) (*http.Response, []byte) {
	w.t.Helper()
	method, path, _ := strings.Cut(r.Do, " ")
	answer, body, err := w.Ask(w.t.Context(), cmp.Or(r.As, r.of.token), method, r.of.prefix+w.ids.fill.Replace(path), r.header(), r.sent(w.ids.fill))
	if err != nil {
		w.t.Fatalf("%s: %v", r, err)
	}
	return answer, body
}

// snapshot is a line for each table of the product: its name, its rows, and a
// hash of all that they say.
func (w *world) snapshot() string {
	w.t.Helper()
	tables, err := w.DB.Pool.Query(w.t.Context(), `SELECT table_schema || '.' || table_name FROM information_schema.tables
		WHERE table_schema IN ('baremetal', 'compute', 'engine') ORDER BY 1`)
	if err != nil {
		w.t.Fatal(err)
	}
	defer tables.Close()
	var parts []string
	for tables.Next() {
		var name string
		if err := tables.Scan(&name); err != nil {
			w.t.Fatal(err)
		}
		parts = append(parts, `SELECT '`+name+` ' || count(*) || ' ' || coalesce(md5(string_agg(r::text, ' ' ORDER BY r::text)), '-') FROM `+name+` r`)
	}
	if err := tables.Err(); err != nil || len(parts) < 10 {
		w.t.Fatalf("%d tables: %v", len(parts), err)
	}
	var text string
	err = w.DB.Pool.QueryRow(w.t.Context(), `SELECT string_agg(line, E'\n') FROM (`+strings.Join(parts, " UNION ALL ")+`) AS all_tables(line)`).Scan(&text)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// sameAnswer compares bodies as what they mean if they are JSON. Nova
// lists sort keys in another order each time it starts: they count up to the list.
func sameAnswer(got, want string) bool {
	if g, w, ok := beforeKeys(got, want); ok {
		return g == w
	}
	return reflect.DeepEqual(meaning(got), meaning(want))
}

// meaning is a body's, if it is JSON; faults of the bare metal service are JSON within JSON.
func meaning(body string) any {
	var said any
	if json.Unmarshal([]byte(body), &said) != nil {
		return body
	}
	if fault, ok := said.(map[string]any); ok {
		if inner, ok := fault["error_message"].(string); ok {
			fault["error_message"] = meaning(inner)
		}
	}
	return said
}

// beforeKeys cuts both texts where the sort keys are listed.
func beforeKeys(got, want string) (string, string, bool) {
	const begin, list = "Invalid input for query parameters sort_key", "is not one of ["
	_, got, inGot := strings.Cut(got, begin)
	_, want, inWant := strings.Cut(want, begin)
	got, _, listGot := strings.Cut(got, list)
	want, _, listWant := strings.Cut(want, list)
	return got, want, inGot && inWant && listGot && listWant
}
