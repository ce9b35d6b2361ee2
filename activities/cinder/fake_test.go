package cinder_test

// A Cinder with what the steps use of it, in memory.

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
)

// object is a volume or an attachment as it goes over the wire.
type object map[string]any

// fake is the service. Its fields are read by tests while nothing calls it.
type fake struct {
	mu          sync.Mutex
	volumes     map[string]object
	attachments map[string]object
	snapshots   map[string]object
	made        int
	calls       []string

	// loseAt closes the connection of that call (from 0) once it is done; -1 never.
	loseAt int
	// refuse answers a method and path with an error.
	refuse map[string]refusal
	// slow is how often a volume that is made is looked at before it is ready;
	// becomes is what it is then.
	slow    int
	becomes string
	// refills counts how often a volume was filled anew.
	refills int
	// body is that of the request.
	body []byte
}

type refusal struct {
	status  int
	message string
}

func newFake(t *testing.T) (*fake, *gophercloud.ServiceClient) {
	t.Helper()
	f := &fake{volumes: map[string]object{}, attachments: map[string]object{}, snapshots: map[string]object{}, loseAt: -1, refuse: map[string]refusal{}, becomes: "available"}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{HTTPClient: *server.Client()},
		Endpoint:       server.URL + "/v3/", Type: "block-storage", Microversion: "3.44",
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.body, _ = io.ReadAll(r.Body)
	call := len(f.calls)
	f.calls = append(f.calls, r.Method+" "+r.URL.Path)
	status, body := f.answer(r)
	if needs := map[bool]string{true: "volume 3.68", false: "volume 3.44"}[f.refilling(r)]; r.Header.Get("OpenStack-API-Version") != needs {
		status, body = cinderError(http.StatusNotAcceptable, "microversion")
	}
	if call == f.loseAt {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body)
	}
}

func (f *fake) answer(r *http.Request) (int, any) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v3/"), "/")
	if no, ok := f.refuse[r.Method+" "+parts[0]]; ok {
		return cinderError(no.status, no.message)
	}
	var body map[string]object
	_ = json.Unmarshal(f.body, &body)
	id := ""
	if len(parts) > 1 && parts[1] != "detail" {
		id = parts[1]
	}
	switch parts[0] {
	case "volumes":
		if f.refilling(r) {
			return f.refill(id, body["os-reimage"])
		}
		if asked := body["os-migrate_volume_completion"]; asked != nil {
			return f.migrated(r, id, asked)
		}
		if asked := body["os-reset_status"]; asked != nil && r.Header.Get(asAdmin) != "" && f.volumes[id] != nil {
			f.volumes[id]["migration_status"] = asked["migration_status"]
			return http.StatusAccepted, nil
		}
		return f.volume(r, id, body["volume"])
	case "snapshots":
		return f.snapshot(r, id, body["snapshot"])
	}
	return f.attachment(r, id, body)
}

func (f *fake) volume(r *http.Request, id string, asked object) (int, any) {
	v, there := f.volumes[id]
	switch {
	case id != "" && !there:
		return cinderError(http.StatusNotFound, "Volume "+id+" could not be found.")
	case r.Method == http.MethodPost:
		f.made++
		asked["id"], asked["status"], asked["looks"] = fmt.Sprintf("made-%d", f.made), "creating", 0
		f.volumes[asked["id"].(string)] = asked
		return http.StatusAccepted, object{"volume": asked}
	case r.Method == http.MethodDelete:
		if v["status"] != "available" && v["status"] != "error" || v["snapshots"] != nil {
			return cinderError(http.StatusBadRequest, "Volume status must be available or error")
		}
		delete(f.volumes, id)
		return http.StatusAccepted, nil
	case id != "":
		if v["status"] == "creating" {
			if looks := v["looks"].(int); looks < f.slow {
				v["looks"] = looks + 1
			} else {
				v["status"] = f.becomes
			}
		}
		if v["status"] == "downloading" {
			if looks := v["looks"].(int); looks < f.slow {
				v["looks"] = looks + 1
			} else {
				v["status"] = "reserved"
			}
		}
		shown := maps.Clone(v)
		if r.Header.Get(asAdmin) == "" {
			delete(shown, "migration_status")
		}
		return http.StatusOK, object{"volume": shown}
	}
	found := []object{}
	for _, v := range f.volumes {
		if v["name"] == r.URL.Query().Get("name") {
			found = append(found, v)
		}
	}
	return http.StatusOK, object{"volumes": found}
}

// refilling says that a request is about a volume that is filled anew.
func (f *fake) refilling(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/action") && r.Method == http.MethodPost && strings.Contains(string(f.body), "os-reimage")
}

// asAdmin is the header of the service user's requests in its own project.
const asAdmin = "X-Admin"

// migrated puts a volume in the place of another, or removes it.
func (f *fake) migrated(r *http.Request, id string, asked object) (int, any) {
	v, other := f.volumes[id], f.volumes[fmt.Sprint(asked["new_volume"])]
	switch {
	case r.Header.Get(asAdmin) == "":
		return cinderError(http.StatusForbidden, "admins only")
	case v == nil || other == nil:
		return cinderError(http.StatusNotFound, "no such volume")
	case v["migration_status"] != "migrating":
		return cinderError(http.StatusBadRequest, "Source volume not mid-migration.")
	}
	delete(f.volumes, fmt.Sprint(asked["new_volume"]))
	v["migration_status"] = "error"
	if asked["error"] == false {
		v["migration_status"], v["status"] = "success", "in-use"
		for _, at := range f.attachments {
			if at["volume_id"] == asked["new_volume"] {
				at["volume_id"] = id
			}
		}
	}
	return http.StatusOK, object{"save_volume_id": id}
}

// refill fills a volume that is reserved; it is what it was when it has been looked
// at often enough.
func (f *fake) refill(id string, asked object) (int, any) {
	v := f.volumes[id]
	switch {
	case v == nil:
		return cinderError(http.StatusNotFound, "no such volume")
	case v["status"] != "reserved" || asked["reimage_reserved"] != true:
		return cinderError(http.StatusBadRequest, "may not be re-imaged")
	}
	v["status"], v["looks"], v["image"] = "downloading", 0, asked["image_id"]
	f.refills++
	return http.StatusAccepted, nil
}

func (f *fake) snapshot(r *http.Request, id string, asked object) (int, any) {
	switch {
	case r.Method == http.MethodPost && asked["force"] != true:
		return cinderError(http.StatusBadRequest, "the volume is in use")
	case r.Method == http.MethodPost:
		f.made++
		asked["id"] = fmt.Sprintf("snapshot-%d", f.made)
		f.snapshots[asked["id"].(string)] = asked
		return http.StatusAccepted, object{"snapshot": asked}
	case r.Method == http.MethodDelete && f.snapshots[id] == nil:
		return cinderError(http.StatusNotFound, "no such snapshot")
	case r.Method == http.MethodDelete:
		delete(f.snapshots, id)
		return http.StatusAccepted, nil
	}
	found := []object{}
	for _, s := range f.snapshots {
		if s["volume_id"] == r.URL.Query().Get("volume_id") {
			found = append(found, s)
		}
	}
	return http.StatusOK, object{"snapshots": found}
}

func (f *fake) attachment(r *http.Request, id string, body map[string]object) (int, any) {
	at, there := f.attachments[id]
	switch {
	case id != "" && !there:
		return cinderError(http.StatusNotFound, "no such attachment")
	case r.Method == http.MethodPost && id == "":
		asked := body["attachment"]
		v := f.volumes[asked["volume_uuid"].(string)]
		if v == nil {
			return cinderError(http.StatusNotFound, "no such volume")
		}
		if v["status"] != "available" && !f.has(asked["instance_uuid"], v["id"]) {
			return cinderError(http.StatusBadRequest, "status must be available")
		}
		if v["status"] == "available" {
			v["status"] = "reserved"
		}
		f.made++
		at = object{"id": fmt.Sprintf("attachment-%d", f.made), "volume_id": v["id"], "instance": asked["instance_uuid"], "status": "reserved"}
		f.attachments[at["id"].(string)] = at
		return http.StatusOK, object{"attachment": at}
	case r.Method == http.MethodPost: // os-complete
		at["status"], f.volumes[at["volume_id"].(string)]["status"] = "attached", "in-use"
		return http.StatusNoContent, nil
	case r.Method == http.MethodPut:
		at["connector"], at["status"] = body["attachment"]["connector"], "attaching"
		return http.StatusOK, object{"attachment": at}
	case r.Method == http.MethodDelete:
		delete(f.attachments, id)
		f.volumes[at["volume_id"].(string)]["status"] = "available"
		for _, other := range f.attachments {
			if other["instance"] != at["instance"] || other["volume_id"] != at["volume_id"] {
				continue
			}
			f.volumes[at["volume_id"].(string)]["status"] = "reserved"
			if other["status"] == "attached" {
				f.volumes[at["volume_id"].(string)]["status"] = "in-use"
			}
		}
		return http.StatusOK, object{"attachments": []any{}}
	}
	found := []object{}
	for _, at := range f.attachments {
		if at["instance"] == r.URL.Query().Get("instance_id") {
			found = append(found, at)
		}
	}
	return http.StatusOK, object{"attachments": found}
}

// has says whether a server has an attachment of a volume.
func (f *fake) has(server, volume any) bool {
	for _, at := range f.attachments {
		if at["instance"] == server && at["volume_id"] == volume {
			return true
		}
	}
	return false
}

func (f *fake) own(id string) object {
	f.volumes[id] = object{"id": id, "name": "mine", "status": "available"}
	return f.volumes[id]
}

func cinderError(status int, message string) (int, any) {
	return status, object{"fault": object{"code": status, "message": message}}
}
