package baremetal_test

// The Bare Metal API over a real database.

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/api/baremetal"
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	rows "holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// door is what is knocked at.
type door struct {
	mu    sync.Mutex
	heard []string
	// begins is what is done with what is offered; nil is nothing.
	begins func(operationID string)
}

func (d *door) Offer(operationID string) {
	if d.begins != nil {
		d.begins(operationID)
	}
}

func (d *door) Knock(operationID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard = append(d.heard, operationID)
}

// knocks are the operations that were knocked at.
func (d *door) knocks() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.heard)
}

// cloud is the API and its database.
type cloud struct {
	t  *testing.T
	db *store.DB
	http.Handler
	door *door
	box  *secrets.Box
	bmcs *bmcs
	images
}

// images are those of Glance that callers see.
type images map[string]*openstack.Image

func (i images) Image(_ context.Context, who identity.Identity, id string) (*openstack.Image, error) {
	if image := i[who.UserID+" "+id]; image != nil {
		return image, nil
	}
	return nil, faults.New(faults.NotFound, "NotFound", "there is no such image")
}

// bmcs answer for the conductors.
type bmcs struct {
	said map[string]string
	err  error
}

func (b *bmcs) Ask(_ context.Context, _, _, _, question string, _ url.Values) (json.RawMessage, error) {
	return json.RawMessage(b.said[question]), b.err
}

func newCloud(t *testing.T, types ...string) *cloud {
	t.Helper()
	return newCloudWith(t, func(*baremetal.API) {}, types...)
}

// newCloudWith is newCloud whose API is made ready by the test.
func newCloudWith(t *testing.T, ready func(*baremetal.API), types ...string) *cloud {
	t.Helper()
	db, err := store.Open(t.Context(), testenv.Database(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	rules, err := policy.ForService("baremetal", policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	if types == nil {
		types = []string{"fake-hardware", "ipmi", "manual-management", "redfish"}
	}
	enabled, err := hardware.Enable(types)
	if err != nil {
		t.Fatal(err)
	}
	at, answers := &door{}, &bmcs{said: map[string]string{}}
	seen := images{}
	api := &baremetal.API{DB: db, Images: seen, Policy: rules, Secrets: box, Hardware: enabled, MaxPageSize: 1000,
		Engine: engine.New(db, rows.Locks()), Starter: at, Conductors: answers, PowerTimeout: time.Minute, SoftPowerTimeout: 10 * time.Minute,
		Networks: nodes.Networks{Usual: map[steps.NodeNetwork]string{steps.NetworkCleaning: "cleaning"}}}
	ready(api)
	c := &cloud{t: t, db: db, door: at, box: box, bmcs: answers, images: seen}
	c.Handler, err = rest.New(rest.Options{
		Authenticator: rest.NewStaticTokens(map[string]policy.Credentials{
			"root":   {UserID: "root", SystemScope: "all", Roles: []string{"admin"}},
			"viewer": {UserID: "viewer", SystemScope: "all", Roles: []string{"reader"}},
			"alice":  {UserID: "alice", ProjectID: "a11ce", Roles: []string{"admin"}},
			"member": {UserID: "member", ProjectID: "a11ce", Roles: []string{"member"}},
			"reader": {UserID: "reader", ProjectID: "a11ce", Roles: []string{"reader"}},
			"bob":    {UserID: "bob", ProjectID: "b0b", Roles: []string{"admin"}},
			"nova":   {UserID: "nova", ProjectID: "5e57", ProjectName: "services", Roles: []string{"service"}},
		}),
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), MaxBody: 1 << 20, Timeout: time.Minute, PublicURL: "http://localhost",
	}, api.Service())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answer is what came back: the fault's inner document is read as well.
type answer struct {
	status int
	body   map[string]any
	header http.Header
	// fault is the faultstring or description of a refusal.
	fault string
}

// ask sends a request at a minor version; 0 sends none.
func (c *cloud) ask(token, version, method, path, body string) answer {
	c.t.Helper()
	recorded := c.send(token, version, method, path, body)
	a := answer{status: recorded.Code, header: recorded.Header()}
	if recorded.Body.Len() > 0 {
		if err := json.Unmarshal(recorded.Body.Bytes(), &a.body); err != nil {
			c.t.Fatalf("%s %s: %s: %v", method, path, recorded.Body, err)
		}
	}
	if text, ok := a.body["error_message"].(string); ok {
		var inner struct {
			FaultString *string
			Description *string
		}
		if err := json.Unmarshal([]byte(text), &inner); err != nil {
			c.t.Fatalf("%s %s: %q: %v", method, path, text, err)
		}
		for _, s := range []*string{inner.FaultString, inner.Description} {
			if s != nil {
				a.fault = *s
			}
		}
	}
	return a
}

// plain is what came back, as it is.
func (c *cloud) plain(token, version, method, path, body string) (int, string) {
	c.t.Helper()
	recorded := c.send(token, version, method, path, body)
	return recorded.Code, recorded.Body.String()
}

func (c *cloud) send(token, version, method, path, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if token != "" {
		request.Header.Set("X-Auth-Token", token)
	}
	if version != "" {
		request.Header.Set("X-OpenStack-Ironic-API-Version", version)
	}
	recorded := httptest.NewRecorder()
	c.ServeHTTP(recorded, request)
	return recorded
}

// enroll makes a node of alice's project and gives its id.
func (c *cloud) enroll(token, body string) string {
	c.t.Helper()
	a := c.ask(token, "1.115", "POST", "/v1/nodes", body)
	if a.status != 201 {
		c.t.Fatalf("%d %v", a.status, a.body)
	}
	return a.body["uuid"].(string)
}
