package resources_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"sync"
	"testing"

	"holdfast.dev/internal/faults"
)

// quotas is what projects may have, by the path of a project's.
type quotas struct {
	mu sync.Mutex
	at map[string]map[string]any
}

// ServeHTTP implements http.Handler.
func (f *quotas) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	key := map[byte]string{'q': "quota", 'o': "quota_set"}[r.URL.Path[1]]
	switch r.Method {
	case http.MethodPut:
		var body map[string]map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body) // what can't be read sets nothing
		if f.at[r.URL.Path] == nil {
			f.at[r.URL.Path] = map[string]any{}
		}
		maps.Copy(f.at[r.URL.Path], body[key])
	case http.MethodDelete:
		delete(f.at, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{key: f.at[r.URL.Path]}) // a client that is gone needs none
}

// Quotas are set, changed and given back.
func TestQuotaTypes(t *testing.T) {
	t.Parallel()
	service := &quotas{at: map[string]map[string]any{}}
	b := benchOf(t, service)
	const project = "0123456789abcdef0123456789abcdef"
	for typ, c := range map[string]struct{ path, made, changed string }{
		"OS::Neutron::Quota": {"/quotas/" + project, `"network": 3`, `"network": 5, "port": -1`},
		"OS::Cinder::Quota":  {"/os-quota-sets/" + project, `"volumes": 3`, `"volumes": 5, "gigabytes": -1`},
		"OS::Nova::Quota":    {"/os-quota-sets/" + project, `"cores": 3`, `"cores": 5, "ram": -1`},
	} {
		th := thing{name: "quota", typ: typ}
		made := b.killed("create "+typ, b.call(th, `{"project": "`+project+`", `+c.made+`}`), b.types[typ].Create)
		if len(service.at[c.path]) != 1 || made.PhysicalID != made.Mark {
			t.Errorf("%s: %v", typ, service.at)
		}
		update := b.call(th, `{"project": "`+project+`", `+c.changed+`}`)
		update.Action, update.PhysicalID, update.Data = "UPDATE", made.PhysicalID, made.Data
		var changed []string
		for _, key := range update.Properties.Keys() {
			if v, _ := update.Properties.Get(key); v != nil && key != "project" {
				changed = append(changed, key.(string))
			}
		}
		if _, err := b.types[typ].Update(t.Context(), update, changed); err != nil || len(service.at[c.path]) != 2 {
			t.Errorf("%s: %v, %v", typ, service.at, err)
		}
		update.Action = "DELETE"
		b.killed("delete "+typ, update, b.types[typ].Delete)
		if len(service.at) != 0 {
			t.Errorf("%s: %v is left", typ, service.at)
		}
	}
}

// A quota that was set and never heard of is given back too; one that was refused is
// another's, and stays.
func TestQuotaThatNobodyHasHeardOf(t *testing.T) {
	t.Parallel()
	const path = "/os-quota-sets/0123456789abcdef0123456789abcdef"
	th := thing{name: "quota", typ: "OS::Nova::Quota", made: `{"project": "0123456789abcdef0123456789abcdef", "cores": 3}`}
	for refused, left := range map[bool]int{false: 0, true: 1} {
		service := &quotas{at: map[string]map[string]any{path: {"ram": 7}}}
		b := benchOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refused && r.Method == http.MethodPut {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			service.ServeHTTP(w, r)
		}))
		c := b.call(th, th.made)
		if wait, err := b.types[th.typ].Create(t.Context(), c); wait == 0 || err != nil {
			t.Fatalf("%s, %v", wait, err)
		}
		if !refused {
			b.cloud.after(0)
		}
		_, err := b.types[th.typ].Create(t.Context(), c)
		if want := map[bool]faults.Kind{false: faults.Unavailable, true: faults.Forbidden}[refused]; !faults.Is(err, want) || c.PhysicalID != "" {
			t.Fatalf("%v, and it is %q", err, c.PhysicalID)
		}
		b.cloud.after(-1)
		c.Action = "DELETE"
		if wait, err := b.types[th.typ].Delete(t.Context(), c); wait != 0 || err != nil || len(service.at) != left {
			t.Errorf("refused %t: %s, %v, and there is %v", refused, wait, err, service.at)
		}
	}
}
