package resources_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// keyring has keys by their names, and tells the private one once.
type keyring struct {
	mu   sync.Mutex
	keys map[string]string
	made int
}

// ServeHTTP implements http.Handler.
func (f *keyring) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/os-keypairs"), "/")
	answer := func(status int, key string, v map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{key: v}) // a client that is gone needs none
	}
	var body struct {
		Key struct {
			Name   string
			Public string `json:"public_key"`
		} `json:"keypair"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // only one request has any
	_, there := f.keys[name]
	_, taken := f.keys[body.Key.Name]
	switch {
	case r.Method == http.MethodPost && taken:
		answer(http.StatusConflict, "conflictingRequest", map[string]any{"message": "Key pair '" + body.Key.Name + "' already exists.", "code": 409})
	case r.Method == http.MethodPost:
		f.made++
		key := map[string]any{"name": body.Key.Name, "public_key": body.Key.Public}
		if body.Key.Public == "" {
			key["public_key"], key["private_key"] = fmt.Sprint("public ", f.made), fmt.Sprint("private ", f.made)
		}
		f.keys[body.Key.Name] = key["public_key"].(string)
		answer(http.StatusOK, "keypair", key)
	case !there:
		answer(http.StatusNotFound, "itemNotFound", map[string]any{"message": "Keypair " + name + " not found", "code": 404})
	case r.Method == http.MethodDelete:
		delete(f.keys, name)
		w.WriteHeader(http.StatusAccepted)
	default:
		answer(http.StatusOK, "keypair", map[string]any{"name": name, "public_key": f.keys[name]})
	}
}

// A key is made once, its private part is not lost however often it is tried, and one
// that somebody has already is neither taken nor deleted.
func TestKeyPair(t *testing.T) {
	t.Parallel()
	registry, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	service := &keyring{keys: map[string]string{"theirs": "x"}}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	cloud := faked{&cut{left: -1}, server.URL}
	b := &bench{t, cloud.cut, cloud, resources.FromFiles(registry, cloud), registry, "p", map[string]string{}, map[string]*value.Map{}}
	th := thing{name: "key", typ: "OS::Nova::KeyPair"}
	keys := b.types[th.typ]
	for properties, private := range map[string]bool{`{"name": "a", "save_private_key": true}`: true, `{"name": "b"}`: false, `{"name": "c", "public_key": "mine"}`: false} {
		made := b.killed("create "+properties, b.call(th, properties), keys.Create)
		public, _ := made.Attributes.Get("public_key")
		told, _ := made.Attributes.Get("private_key")
		if public != service.keys[made.PhysicalID] || private != (told == strings.Replace(value.Str(public), "public", "private", 1)) || !private && told != "" {
			t.Errorf("%s: %v %v", properties, public, told)
		}
		made.Action = "DELETE"
		b.killed("delete "+properties, made, keys.Delete)
	}
	for range 2 {
		c := b.call(th, `{"name": "theirs", "public_key": "y"}`)
		if _, err := keys.Create(t.Context(), c); !faults.Is(err, faults.Conflict) || c.PhysicalID != "" || faults.As(err).Message != "Key pair 'theirs' already exists. (HTTP 409)" {
			t.Errorf("%v", err)
		}
	}
	if len(service.keys) != 1 || service.keys["theirs"] != "x" {
		t.Errorf("%v is left", service.keys)
	}
}
