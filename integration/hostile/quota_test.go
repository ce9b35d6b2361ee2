package hostile

// Many at once against a quota of k: exactly k get through, over two API
// processes, and what they give back can be used again.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

// clients ask at once.
const clients = 40

// race is a resource that many ask for at once, each project its own.
type race struct {
	resource string
	limit    int
	// create is one client's request, remove what takes it back by what is
	// listed; %d in the body is the client's number.
	path, body   string
	list, remove string
	key          string
	through      int
	status       int
	refusal      string
}

var races = []race{
	{resource: "instances", limit: 7, path: "/servers", body: small, list: "/servers", key: "id", remove: "/servers/%s", through: 7, status: 202,
		refusal: "Quota exceeded for instances: Requested 1, but already used 7 of 7 instances"},
	{resource: "cores", limit: 9, path: "/servers", body: large, list: "/servers", key: "id", remove: "/servers/%s", through: 4, status: 202,
		refusal: "Quota exceeded for cores: Requested 2, but already used 8 of 9 cores"},
	{resource: "ram", limit: 500, path: "/servers", body: large, list: "/servers", key: "id", remove: "/servers/%s", through: 3, status: 202,
		refusal: "Quota exceeded for ram: Requested 128, but already used 384 of 500 ram"},
	{resource: "key_pairs", limit: 5, path: "/os-keypairs", body: `{"keypair": {"name": "k%d", "public_key": "` + publicKey + `"}}`, list: "/os-keypairs", key: "name",
		remove: "/os-keypairs/%s", through: 5, status: 200, refusal: "Quota exceeded, too many key pairs."},
	{resource: "server_groups", limit: 4, path: "/os-server-groups", body: `{"server_group": {"name": "g%d", "policies": ["affinity"]}}`, list: "/os-server-groups", key: "id",
		remove: "/os-server-groups/%s", through: 4, status: 200, refusal: "Quota exceeded, too many server groups."},
}

const (
	small = `{"server": {"name": "s%d", "flavorRef": "tiny", "imageRef": "` + cloud.Image + `"}}`
	large = `{"server": {"name": "l%d", "flavorRef": "large", "imageRef": "` + cloud.Image + `"}}`
)

func TestQuotasAreExact(t *testing.T) {
	t.Parallel()
	tokens := []map[string]any{{"token": "admin", "user": "root", "project": "ad", "roles": []string{"admin"}}}
	for _, r := range races {
		tokens = append(tokens, map[string]any{"token": r.resource, "user": r.resource, "project": r.resource, "roles": []string{"member"}})
	}
	w := &world{Cloud: cloud.Start(t, cloud.Options{Hosts: 3, Config: map[string]any{"dev.static_tokens": tokens}}), t: t}
	w.must("admin", "POST", "/flavors", `{"flavor": {"id": "large", "name": "large", "ram": 128, "vcpus": 2, "disk": 1}}`)
	apis := []string{w.URL(), w.AnotherAPI()}
	for _, r := range races {
		w.must("admin", "PUT", "/os-quota-sets/"+r.resource, fmt.Sprintf(`{"quota_set": {"force": true, %q: %d}}`, r.resource, r.limit))
	}
	// Twice: what was given back can be had again, all of it.
	for range 2 {
		for _, r := range races {
			w.race(apis, r)
		}
	}
	w.metadata(apis)
	w.Audit()
}

// race lets all clients ask at once, counts, and takes everything back.
func (w *world) race(apis []string, r race) {
	w.t.Helper()
	through := 0
	for _, a := range w.rush(apis, r.resource, r.path, r.body) {
		var refusal map[string]struct{ Message string }
		switch {
		case a.status == r.status:
			through++
		case a.status != 403 || json.Unmarshal(a.body, &refusal) != nil || refusal["forbidden"].Message != r.refusal:
			w.t.Errorf("%s: %d %s, want 403 %s", r.resource, a.status, a.body, r.refusal)
		}
	}
	if through != r.through {
		w.t.Errorf("%s: %d got through, want %d", r.resource, through, r.through)
	}
	if used, want := w.used(r.resource), r.uses(r.through); used != want {
		w.t.Errorf("%s: %d are in use, want %d", r.resource, used, want)
	}
	for _, name := range w.listed(r) {
		w.must(r.resource, "DELETE", fmt.Sprintf(r.remove, name), "")
	}
	w.Eventually(r.resource+" are given back", cloud.Patience, func(context.Context) error {
		if used := w.used(r.resource); used != 0 {
			return fmt.Errorf("%d are in use", used)
		}
		return nil
	})
}

// uses is how much of the resource so many objects take.
func (r race) uses(objects int) int {
	switch r.resource {
	case "cores":
		return 2 * objects
	case "ram":
		return 128 * objects
	}
	return objects
}

// listed are the ids of what the project has.
func (w *world) listed(r race) (ids []string) {
	for _, list := range w.must(r.resource, "GET", r.list, "") {
		for _, entry := range list.([]any) {
			fields := entry.(map[string]any)
			if inner, ok := fields["keypair"].(map[string]any); ok {
				fields = inner
			}
			ids = append(ids, fields[r.key].(string))
		}
	}
	return ids
}

// used is what the project's own quota says is in use, or of what is counted when
// it is made, its number.
func (w *world) used(resource string) int {
	switch resource {
	case "key_pairs":
		return len(w.must(resource, "GET", "/os-keypairs", "")["keypairs"].([]any))
	case "server_groups":
		return len(w.must(resource, "GET", "/os-server-groups", "")["server_groups"].([]any))
	}
	quotas := w.must(resource, "GET", "/os-quota-sets/"+resource+"/detail", "")["quota_set"].(map[string]any)
	return int(quotas[resource].(map[string]any)["in_use"].(float64))
}

// metadata lets all clients add an item to one server of a project that may
// have three.
func (w *world) metadata(apis []string) {
	w.t.Helper()
	const project, limit = "instances", 3
	w.must("admin", "PUT", "/os-quota-sets/"+project, fmt.Sprintf(`{"quota_set": {"metadata_items": %d}}`, limit))
	id := w.server(project, "meta")
	through := 0
	for _, a := range w.rush(apis, project, "/servers/"+id+"/metadata", `{"metadata": {"k%d": "v"}}`) {
		switch want := `{"forbidden":{"code":403,"message":"Maximum number of metadata items exceeds 3"}}`; {
		case a.status == 200:
			through++
		case a.status != 403 || string(a.body) != want:
			w.t.Errorf("metadata: %d %s, want 403 %s", a.status, a.body, want)
		}
	}
	items := w.must(project, "GET", "/servers/"+id+"/metadata", "")["metadata"].(map[string]any)
	if through != limit || len(items) != limit {
		w.t.Errorf("metadata: %d got through and %d are there, want %d", through, len(items), limit)
	}
	w.must(project, "DELETE", "/servers/"+id, "")
}

// reply is what one client got.
type reply struct {
	status int
	body   []byte
}

// rush sends the request from all clients at once, spread over the APIs.
func (w *world) rush(apis []string, token, path, body string) []reply {
	w.t.Helper()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	replies, errs := make([]reply, clients), make([]error, clients)
	gate := make(chan struct{})
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			<-gate
			text := strings.ReplaceAll(body, "%d", fmt.Sprint(i))
			replies[i], errs[i] = send(w.t.Context(), client, token, apis[i%len(apis)]+"/v2.1"+path, text)
		})
	}
	close(gate)
	all.Wait()
	for _, err := range errs {
		if err != nil {
			w.t.Error(err)
		}
	}
	return replies
}

func send(ctx context.Context, client *http.Client, token, url, body string) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return reply{answer.StatusCode, text}, err
}
