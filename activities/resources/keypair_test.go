package resources_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// keyring has keys by their names, and makes none itself.
type keyring struct {
	mu   sync.Mutex
	keys map[string]string
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
	case r.Method == http.MethodPost && body.Key.Public == "":
		answer(http.StatusBadRequest, "badRequest", map[string]any{"message": "there is no key", "code": 400})
	case r.Method == http.MethodPost:
		f.keys[body.Key.Name] = body.Key.Public
		answer(http.StatusCreated, "keypair", map[string]any{"name": body.Key.Name, "public_key": body.Key.Public})
	case !there:
		answer(http.StatusNotFound, "itemNotFound", map[string]any{"message": "Keypair " + name + " not found", "code": 404})
	case r.Method == http.MethodDelete:
		delete(f.keys, name)
		w.WriteHeader(http.StatusAccepted)
	default:
		answer(http.StatusOK, "keypair", map[string]any{"name": name, "public_key": f.keys[name]})
	}
}

// newKeyring is a bench with a keyring, and a key pair for it to make.
func newKeyring(t *testing.T) (*bench, *keyring, thing) {
	t.Helper()
	service := &keyring{keys: map[string]string{"theirs": "x"}}
	return benchOf(t, service), service, thing{name: "key", typ: "OS::Nova::KeyPair"}
}

// A key is made once, its private part is not lost however often it is tried, and one
// that somebody has already is neither taken nor deleted.
func TestKeyPair(t *testing.T) {
	t.Parallel()
	b, service, th := newKeyring(t)
	keys := b.types[th.typ]
	for properties, private := range map[string]string{`{"name": "a", "save_private_key": true}`: "RSA PRIVATE KEY", `{"name": "b"}`: "",
		`{"name": "c", "public_key": "mine"}`: "", `{"name": "d", "type": "x509", "save_private_key": true}`: "PRIVATE KEY"} {
		made := b.killed("create "+properties, b.call(th, properties), keys.Create)
		public, _ := made.Attributes.Get("public_key")
		told, _ := made.Attributes.Get("private_key")
		if public == "" || public != service.keys[made.PhysicalID] {
			t.Errorf("%s: %v, and there is %q", properties, public, service.keys[made.PhysicalID])
		}
		switch block, _ := pem.Decode([]byte(value.Str(told))); {
		case (block != nil) != (private != ""), block != nil && block.Type != private:
			t.Errorf("%s: told %.40v", properties, told)
		case private == "RSA PRIVATE KEY":
			signer, err := ssh.ParsePrivateKey([]byte(value.Str(told)))
			if err != nil || !strings.HasPrefix(value.Str(public), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))) {
				t.Errorf("%s: the key isn't that of %v (%v)", properties, public, err)
			}
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

// What somebody makes of the same name while ours is on its way stays theirs; ours,
// that nobody has heard of, is taken away with the stack.
func TestKeyPairsMeet(t *testing.T) {
	t.Parallel()
	for _, properties := range []string{`{"name": "k"}`, `{"name": "k", "public_key": "mine"}`} {
		b, service, th := newKeyring(t)
		keys := b.types[th.typ]
		noted := b.call(th, properties)
		if wait, err := keys.Create(t.Context(), noted); wait == 0 || err != nil || len(service.keys) != 1 {
			t.Fatalf("%s: %s, %v, and there are %v", properties, wait, err, service.keys)
		}
		b.cloud.after(0)
		if _, err := keys.Create(t.Context(), noted); !faults.Is(err, faults.Unavailable) || service.keys["k"] == "" {
			t.Fatalf("%s: %v, and there are %v", properties, err, service.keys)
		}
		b.cloud.after(-1)
		noted.Action = "DELETE"
		if _, err := keys.Delete(t.Context(), noted); err != nil || len(service.keys) != 1 {
			t.Errorf("%s: %v, and there are %v", properties, err, service.keys)
		}

		service.keys["k"], noted.PhysicalID, noted.Action = "another's", "", "CREATE"
		if _, err := keys.Create(t.Context(), noted); !faults.Is(err, faults.Conflict) || noted.PhysicalID != "" {
			t.Errorf("%s: %v", properties, err)
		}
		noted.Action = "DELETE"
		if _, err := keys.Delete(t.Context(), noted); err != nil || service.keys["k"] != "another's" {
			t.Errorf("%s: %v, and there are %v", properties, err, service.keys)
		}
	}
}
