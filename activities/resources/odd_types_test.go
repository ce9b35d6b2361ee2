package resources_test

// Types of services that speak otherwise than the others: in headers, of one thing in
// another, or in patches.

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// objectStore has containers, all in headers.
type objectStore struct {
	mu         sync.Mutex
	containers map[string]http.Header
	objects    map[string][]string
	account    http.Header
}

// ServeHTTP implements http.Handler.
func (f *objectStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	container, object, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	_, there := f.containers[container]
	switch {
	case container == "" && r.Method == http.MethodPost:
		f.account = r.Header
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		f.containers[container] = r.Header
		w.WriteHeader(http.StatusCreated)
	case !there:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodHead:
		w.Header().Set("X-Container-Object-Count", fmt.Sprint(len(f.objects[container])))
		w.Header().Set("X-Container-Bytes-Used", "7")
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet:
		list := []any{}
		for _, name := range f.objects[container][:min(100, len(f.objects[container]))] {
			list = append(list, map[string]any{"name": name})
		}
		_ = json.NewEncoder(w).Encode(list) // a client that is gone needs none
	case object != "":
		f.objects[container] = slices.DeleteFunc(f.objects[container], func(name string) bool { return name == object })
		w.WriteHeader(http.StatusNoContent)
	case len(f.objects[container]) > 0:
		w.WriteHeader(http.StatusConflict)
	default:
		delete(f.containers, container)
		w.WriteHeader(http.StatusNoContent)
	}
}

// A container is made, read, and taken away with its objects if they are to go.
func TestContainer(t *testing.T) {
	t.Parallel()
	service := &objectStore{containers: map[string]http.Header{}, objects: map[string][]string{}}
	b := benchOf(t, service)
	const typ = "OS::Swift::Container"
	b.all([]thing{
		{"named", typ, `{"name": "a box", "X-Container-Read": ".r:*", "X-Container-Meta": {"Color": "red"}, "X-Account-Meta": {"Temp-URL-Key": "k"}}`, "", "WebsiteURL"},
		{"unnamed", typ, `{}`, "", "show"},
	})
	if len(service.containers) != 0 || service.account.Get("X-Account-Meta-Temp-URL-Key") != "k" {
		t.Errorf("%v is left, and of the account %v", service.containers, service.account)
	}
	made := func(properties string, objects int) error {
		c := b.killed("create", b.call(thing{name: "c", typ: typ}, properties), b.types[typ].Create)
		header := service.containers[c.PhysicalID]
		if header == nil {
			t.Fatalf("no %s in %v", c.PhysicalID, service.containers)
		}
		for i := range objects {
			service.objects[c.PhysicalID] = append(service.objects[c.PhysicalID], fmt.Sprint("a/", i))
		}
		c.Action = "DELETE"
		for range 10 {
			wait, err := b.types[typ].Delete(t.Context(), c)
			if wait == 0 || err != nil {
				return err
			}
		}
		return fmt.Errorf("it has no end")
	}
	if err := made(`{"name": "full"}`, 1); !faults.Is(err, faults.Invalid) || err.Error() != "Deleting non-empty container (full) when PurgeOnDelete is False is not supported for resource." {
		t.Errorf("%v", err)
	}
	if err := made(`{"name": "purged", "PurgeOnDelete": true}`, 250); err != nil || service.containers["purged"] != nil {
		t.Errorf("%v: %v", err, service.objects)
	}
}

// encryption is that of one type of disks.
type encryption struct {
	mu   sync.Mutex
	has  map[string]any
	made int
}

// ServeHTTP implements http.Handler.
func (f *encryption) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var body map[string]map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body) // some requests have none
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodPost && f.has != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case r.Method == http.MethodPost:
		f.has, f.made = body["encryption"], f.made+1
	case r.Method == http.MethodPut && f.has != nil:
		maps.Copy(f.has, body["encryption"])
	case r.Method == http.MethodDelete && f.has != nil:
		f.has = nil
	case r.Method != http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	has := f.has
	if has == nil {
		has = map[string]any{}
	}
	if r.Method == http.MethodPost {
		_ = json.NewEncoder(w).Encode(map[string]any{"encryption": has}) // a client that is gone needs none
		return
	}
	_ = json.NewEncoder(w).Encode(has)
}

// The disks of a type are encrypted once, and what somebody else has said of that stays.
func TestEncryptedVolumeType(t *testing.T) {
	t.Parallel()
	service := &encryption{}
	b := benchOf(t, service)
	const typ, of = "OS::Cinder::EncryptedVolumeType", `"volume_type": "00000000-1111-4111-8111-111111111111"`
	b.all([]thing{{"encrypted", typ, `{"provider": "luks", "cipher": "aes-xts-plain64", "key_size": 256, ` + of + `}`, `{"provider": "luks2", "cipher": "aes-xts-plain64", "key_size": 256, ` + of + `}`, "show"}})
	if service.made != 1 || service.has != nil {
		t.Errorf("made %d times, and %v is left", service.made, service.has)
	}
	service.has = map[string]any{"provider": "theirs"}
	c := b.call(thing{name: "encrypted", typ: typ}, `{"provider": "luks", `+of+`}`)
	_, err := b.types[typ].Create(t.Context(), c)
	if !faults.Is(err, faults.Invalid) || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("%v", err)
	}
	c.Action = "DELETE"
	if _, err := b.types[typ].Delete(t.Context(), c); err != nil || service.has == nil {
		t.Errorf("%v, and it is %v", err, service.has)
	}
}

// gallery has images, which are read at once.
type gallery struct {
	mu     sync.Mutex
	images map[string]map[string]any
	next   int
	told   []string
}

// ServeHTTP implements http.Handler.
func (f *gallery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var body any
	_ = json.NewDecoder(r.Body).Decode(&body) // some requests have none
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // a client that is gone needs none
	}
	if len(parts) == 1 && r.Method == http.MethodPost {
		f.next++
		one := body.(map[string]any)
		one["id"], one["status"] = fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", f.next), "queued"
		f.images[one["id"].(string)] = one
		answer(201, one)
		return
	}
	if len(parts) == 1 {
		list := []any{}
		for _, one := range f.images {
			if name := r.URL.Query().Get("name"); name == "" || one["name"] == name {
				list = append(list, one)
			}
		}
		answer(200, map[string]any{"images": list})
		return
	}
	one := f.images[parts[1]]
	switch what := parts[len(parts)-1]; {
	case one == nil:
		answer(404, map[string]any{})
	case what == "import" && one["status"] != "queued":
		answer(409, map[string]any{})
	case what == "import":
		one["status"], one["from"] = "active", body.(map[string]any)["method"].(map[string]any)["uri"]
		answer(202, nil)
	case what == "deactivate":
		one["status"] = "deactivated"
		answer(204, nil)
	case what == "reactivate":
		one["status"] = "active"
		answer(204, nil)
	case len(parts) > 2:
		if said := r.Method + " " + strings.Join(parts[2:], "/"); !slices.Contains(f.told, said) {
			f.told = append(f.told, said)
		}
		answer(200, map[string]any{})
	case r.Method == http.MethodPatch && r.Header.Get("Content-Type") != "application/openstack-images-v2.1-json-patch":
		answer(415, map[string]any{})
	case r.Method == http.MethodPatch:
		for _, v := range body.([]any) {
			op := v.(map[string]any)
			key := strings.TrimPrefix(op["path"].(string), "/")
			if delete(one, key); op["op"] != "remove" {
				one[key] = op["value"]
			}
		}
		answer(200, one)
	case r.Method == http.MethodDelete:
		delete(f.images, parts[1])
		answer(204, nil)
	default:
		answer(200, one)
	}
}

// An image is read from its URL once, and changed by patches.
func TestWebImage(t *testing.T) {
	t.Parallel()
	service := &gallery{images: map[string]map[string]any{}}
	b := benchOf(t, service)
	now := map[string]string{}
	b.after = func(done string) {
		for _, one := range service.images {
			now[done] = fmt.Sprint(one["name"], " ", one["status"], " ", one["from"], " ", one["os_distro"], " ", one["hw_a"], " ", one["hw_b"])
		}
	}
	const common = `"disk_format": "qcow2", "container_format": "bare", "location": "http://example.org/i"`
	b.all([]thing{
		{"image", "OS::Glance::WebImage", `{` + common + `, "name": "mine", "tags": ["a", "b"], "extra_properties": {"hw_a": "1"}}`,
			`{` + common + `, "name": "mine", "tags": ["b", "c"], "os_distro": "debian", "extra_properties": {"hw_b": "2"}, "active": false}`, "show"},
	})
	if service.next != 1 || now["create image"] != "mine active http://example.org/i <nil> 1 <nil>" || now["update image"] != "mine deactivated http://example.org/i debian <nil> 2" {
		t.Errorf("%d were made: %v", service.next, now)
	}
	if slices.Sort(service.told); !slices.Equal(service.told, []string{"DELETE tags/a", "PUT tags/b", "PUT tags/c"}) {
		t.Errorf("told %v", service.told)
	}
	asleep := b.killed("create", b.call(thing{name: "asleep", typ: "OS::Glance::WebImage"}, `{`+common+`, "active": false}`), b.types["OS::Glance::WebImage"].Create)
	if shown, _ := asleep.Attributes.Get("show"); !strings.Contains(value.JSON(shown, false), `"deactivated"`) {
		t.Errorf("%s", value.JSON(shown, false))
	}
}
