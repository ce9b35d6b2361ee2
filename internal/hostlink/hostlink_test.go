package hostlink

// Passes, keys, both sides of the link, and what strangers get.

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/statedir"
)

func newKey(t testing.TB) Key {
	t.Helper()
	key, err := CreateKey(filepath.Join(t.TempDir(), "sub", "key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	first, err := CreateKey(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := CreateKey(path)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("a key that is there was replaced: %v", err)
	}
	for text, want := range map[string]string{"": "not 32 bytes", "zz": "not 32 bytes", strings.Repeat("ab", 31): "not 32 bytes"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKey(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("key file %q: %v, want %q", text, err, want)
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	if _, err := LoadKey(path + "x"); err == nil {
		t.Error("no key file, no error")
	}
}

func TestPass(t *testing.T) {
	t.Parallel()
	key, other := newKey(t), newKey(t)
	good := Pass{Caller: "host/x", Verb: "POST", Object: "/o", Expiry: time.Now().Add(time.Minute).UTC(), Nonce: "n"}
	change := func(f func(*Pass)) string {
		p := good
		f(&p)
		return key.sign(p)
	}
	genuine := key.sign(good)
	claims, mac, _ := strings.Cut(genuine, ".")
	forged, err := json.Marshal(Pass{Caller: "api", Verb: "POST", Object: "/o", Expiry: good.Expiry})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, header string
		ok           bool
	}{
		{"genuine", "Bearer " + genuine, true},
		{"none", "", false},
		{"no bearer", genuine, false},
		{"no mac", "Bearer " + claims, false},
		{"empty mac", "Bearer " + claims + ".", false},
		{"another's mac", "Bearer " + claims + "." + base64.RawURLEncoding.EncodeToString(other.mac(claims)), false},
		{"other claims under it", "Bearer " + base64.RawURLEncoding.EncodeToString(forged) + "." + mac, false},
		{"expired", "Bearer " + change(func(p *Pass) { p.Expiry = time.Now().Add(-time.Second) }), false},
		{"good for too long", "Bearer " + change(func(p *Pass) { p.Expiry = time.Now().Add(time.Hour) }), false},
		{"another verb", "Bearer " + change(func(p *Pass) { p.Verb = "GET" }), false},
		{"another object", "Bearer " + change(func(p *Pass) { p.Object = "/other" }), false},
		{"long", "Bearer " + change(func(p *Pass) { p.Nonce = strings.Repeat("n", 4096) }), false},
		{"not base64", "Bearer §." + mac, false},
	} {
		r := httptest.NewRequest("POST", "/o", nil)
		r.Header.Set("Authorization", c.header)
		p, err := key.Check(r, "/o")
		if (err == nil) != c.ok || !c.ok && !faults.Is(err, faults.Unauthorized) || c.ok && p.Caller != "host/x" {
			t.Errorf("%s: %+v, %v, want ok %v", c.name, p, err, c.ok)
		}
	}
	r := httptest.NewRequest("POST", "/o", nil)
	r.Header.Set("Authorization", "Bearer "+Key{}.sign(good))
	if _, err := (Key{}).Check(r, "/o"); err == nil {
		t.Error("a key that is none checks passes")
	}
}

func TestSpent(t *testing.T) {
	t.Parallel()
	var s spent
	past := time.Now().Add(-time.Minute)
	for i := range maxSpent {
		if !s.spend(Pass{Nonce: fmt.Sprint(i), Expiry: past}) {
			t.Fatal("refused at", i)
		}
	}
	future := time.Now().Add(time.Minute)
	if !s.spend(Pass{Nonce: "new", Expiry: future}) || len(s.until) != 1 {
		t.Errorf("expired ones stay: %d", len(s.until))
	}
	if s.spend(Pass{Nonce: "new", Expiry: future}) || s.spend(Pass{Expiry: future}) {
		t.Error("a spent pass, or one without a nonce, serves")
	}
	for i := range maxSpent - 1 {
		s.spend(Pass{Nonce: fmt.Sprint("f", i), Expiry: future})
	}
	if s.spend(Pass{Nonce: "one more", Expiry: future}) || len(s.until) != maxSpent {
		t.Errorf("more than %d are remembered: %d", maxSpent, len(s.until))
	}
}

// told is a Registry that answers what it is told to.
type told struct {
	answer Answer
	err    error
	got    []any
}

func (r *told) Register(_ context.Context, hostID string, in Registration) (Answer, error) {
	r.got = append(r.got, hostID, in)
	return r.answer, r.err
}

func (r *told) Heartbeat(_ context.Context, hostID string, in Report) (Answer, error) {
	r.got = append(r.got, hostID, in)
	return r.answer, r.err
}

func (r *told) Paid(_ context.Context, hostID, operationID string, seq int) error {
	r.got = append(r.got, hostID, operationID, seq)
	return r.err
}

func (r *told) ImageSettled(_ context.Context, hostID, imageID string) error {
	r.got = append(r.got, hostID, imageID)
	return r.err
}

func (r *told) Leave(_ context.Context, hostID string) error {
	r.got = append(r.got, hostID)
	return r.err
}

func TestBothSides(t *testing.T) {
	t.Parallel()
	key, hostID := newKey(t), uuid.NewString()
	registry := &told{answer: Answer{Debts: []Debt{{OperationID: "server/a/build/b", Seq: 3, Kind: "guest", Ref: "a", Generation: 2, Attempt: 1}}, Images: []string{"i"}}}
	server := httptest.NewServer(Handler(key, registry, nil))
	defer server.Close()
	client, err := NewClient(server.URL+"/", hostID, key, NewTransport())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	report := Report{Incarnation: 4, VCPUs: 2, MemoryMB: 3, DiskGB: 5, Details: json.RawMessage(`{"a":1}`),
		Guests: []Guest{{ServerID: "g", PowerState: 1}}, Steps: []string{"libvirt.Build"}}
	registration := Registration{Name: "h", Instance: "i", Driver: "simulated", LinkAddress: "127.0.0.1:1", Report: report}

	if got, err := client.Register(ctx, registration); err != nil || !reflect.DeepEqual(got, registry.answer) {
		t.Errorf("register: %+v, %v", got, err)
	}
	if got, err := client.Heartbeat(ctx, report); err != nil || !reflect.DeepEqual(got, registry.answer) {
		t.Errorf("heartbeat: %+v, %v", got, err)
	}
	if err := client.Paid(ctx, registry.answer.Debts[0]); err != nil {
		t.Errorf("paid: %v", err)
	}
	if err := client.ImageSettled(ctx, "i"); err != nil {
		t.Errorf("settled: %v", err)
	}
	if err := client.Leave(ctx); err != nil {
		t.Errorf("leave: %v", err)
	}
	want := []any{hostID, registration, hostID, report, hostID, "server/a/build/b", 3, hostID, "i", hostID}
	if !reflect.DeepEqual(registry.got, want) {
		t.Errorf("the registry was told %+v, want %+v", registry.got, want)
	}

	for _, kind := range []faults.Kind{faults.Conflict, faults.Superseded, faults.NotFound, faults.Unavailable, faults.Internal, faults.Invalid} {
		registry.err = faults.New(kind, "Code", "the text")
		_, err := client.Heartbeat(ctx, report)
		var f *faults.Error
		if !errors.As(err, &f) || f.Kind != kind || f.Code != "Code" || f.Message != "the text" {
			t.Errorf("%s comes over as %v", kind, err)
		}
	}
	server.Close()
	if _, err := client.Heartbeat(ctx, report); !faults.Is(err, faults.Unavailable) {
		t.Errorf("nobody there: %v, want unavailable", err)
	}
}

// gallery tells each host of images.
type gallery struct{ Servers }

func (gallery) WantedImage(_ context.Context, hostID, imageID string) (Image, error) {
	return Image{ID: imageID, URL: hostID}, nil
}

func TestWantedImage(t *testing.T) {
	t.Parallel()
	key, hostID := newKey(t), uuid.NewString()
	handler := Handler(key, &told{}, gallery{})
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := NewClient(server.URL, hostID, key, NewTransport())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.WantedImage(t.Context(), "i"); err != nil || got != (Image{ID: "i", URL: hostID}) {
		t.Errorf("image %+v, %v", got, err)
	}
	path := Prefix + "hosts/" + hostID + "/images/i"
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer "+key.Issue(hostCaller(uuid.NewString()), "GET", path))
	w := httptest.NewRecorder()
	if handler.ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("another host is answered %d %s", w.Code, w.Body)
	}
}

func TestHandlerRefuses(t *testing.T) {
	t.Parallel()
	key, hostID := newKey(t), uuid.NewString()
	registry := &told{}
	handler := Handler(key, registry, nil)
	base := Prefix + "hosts/" + hostID + "/"
	self := hostCaller(hostID)
	report := `{"incarnation":1}`
	for _, c := range []struct {
		name, caller, path, body string
		want                     int
	}{
		{"itself", self, base + "heartbeat", report, 200},
		{"no pass", "", base + "heartbeat", report, 401},
		{"another host", hostCaller(uuid.NewString()), base + "heartbeat", report, 403},
		{"the API", apiCaller, base + "heartbeat", report, 403},
		{"no UUID", hostCaller("x"), Prefix + "hosts/x/heartbeat", report, 400},
		{"no body", self, base + "heartbeat", ``, 400},
		{"no JSON", self, base + "heartbeat", `{`, 400},
		{"two values", self, base + "heartbeat", report + report, 400},
		{"wrong type", self, base + "heartbeat", `{"incarnation":"one"}`, 400},
		{"no incarnation", self, base + "heartbeat", `{}`, 400},
		{"negative capacity", self, base + "heartbeat", `{"incarnation":1,"vcpus":-1}`, 400},
		{"large", self, base + "heartbeat", `{"incarnation":1,"steps":["` + strings.Repeat("x", maxReport) + `"]}`, 413},
		{"no name", self, base + "register", `{"report":{"incarnation":1}}`, 400},
		{"no number", self, base + "debts/op/x/paid", `{}`, 400},
		{"no such path", self, base + "else", `{}`, 404},
	} {
		r := httptest.NewRequest("POST", c.path, strings.NewReader(c.body))
		if c.caller != "" {
			r.Header.Set("Authorization", "Bearer "+key.Issue(c.caller, "POST", c.path))
		}
		w := httptest.NewRecorder()
		told := len(registry.got)
		handler.ServeHTTP(w, r)
		if w.Code != c.want || (len(registry.got) > told) != (c.want == 200) {
			t.Errorf("%s: %d %s, want %d; the registry heard %v", c.name, w.Code, w.Body, c.want, registry.got[told:])
		}
	}
}

type consoles map[string]string

func (c consoles) Console(_ context.Context, serverID string, length int) ([]byte, error) {
	text, ok := c[serverID]
	if !ok {
		return nil, faults.New(faults.NotFound, "GuestNotFound", "no guest %s", serverID)
	}
	if length >= 0 && length < len(text) {
		text = text[len(text)-length:]
	}
	return []byte(text), nil
}

func (c consoles) Disks(context.Context, string) (GuestDisks, error) {
	return GuestDisks{}, faults.New(faults.NotFound, "GuestNotFound", "no disks")
}

func (c consoles) Progress(_ context.Context, serverID string) (json.RawMessage, error) {
	if serverID != "a" {
		return nil, faults.New(faults.NotFound, "MigrationNotFound", "it does not leave")
	}
	return json.RawMessage(`{"memory_total":7}`), nil
}

func (c consoles) Diagnostics(_ context.Context, serverID string) (json.RawMessage, error) {
	if serverID != "a" {
		return nil, faults.New(faults.NotFound, "GuestNotFound", "none")
	}
	return json.RawMessage(`{"power_state": 1, "cpus": [{"id": 0, "time": 7}]}`), nil
}

func (c consoles) Describe(_ context.Context, serverID string) (json.RawMessage, error) {
	if _, ok := c[serverID]; !ok {
		return nil, faults.New(faults.NotFound, "GuestNotFound", "no guest %s", serverID)
	}
	return json.RawMessage(`{"server_id":"` + serverID + `"}`), nil
}

func TestReads(t *testing.T) {
	t.Parallel()
	key, hostID := newKey(t), uuid.NewString()
	l, err := Listen("127.0.0.1:0", hostID, key, consoles{"a": "line 1\nline 2\n", "huge": strings.Repeat("x", maxRead+5)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, reader := t.Context(), NewReader(key)
	for length, want := range map[int]string{-1: "line 1\nline 2\n", 0: "", 7: "line 2\n", 100: "line 1\nline 2\n"} {
		if got, err := reader.Console(ctx, hostID, l.Address(), "a", length); err != nil || string(got) != want {
			t.Errorf("length %d: %q, %v, want %q", length, got, err, want)
		}
	}
	if got, err := reader.Console(ctx, hostID, l.Address(), "huge", -1); err != nil || len(got) != maxRead {
		t.Errorf("a huge log: %d bytes, %v, want %d", len(got), err, maxRead)
	}
	if got, err := reader.Describe(ctx, hostID, l.Address(), "a"); err != nil || string(got) != `{"server_id":"a"}` {
		t.Errorf("described as %s, %v", got, err)
	}
	if got, err := reader.Progress(ctx, hostID, l.Address(), "a"); err != nil || got.MemoryTotal != 7 {
		t.Errorf("progress: %+v, %v", got, err)
	}
	if _, err := reader.Progress(ctx, hostID, l.Address(), "b"); !faults.Is(err, faults.NotFound) {
		t.Errorf("progress of one that stays: %v", err)
	}
	if got, err := reader.Diagnostics(ctx, hostID, l.Address(), "a"); err != nil || got.PowerState != servers.PowerRunning || got.CPUs[0].Time != 7 {
		t.Errorf("diagnostics %+v, %v", got, err)
	}
	if _, err := reader.Diagnostics(ctx, hostID, l.Address(), "b"); !faults.Is(err, faults.NotFound) {
		t.Errorf("diagnostics of a guest that isn't there: %v", err)
	}
	if _, err := reader.Describe(ctx, hostID, l.Address(), "b"); !faults.Is(err, faults.NotFound) {
		t.Errorf("no such guest to describe: %v", err)
	}
	if _, err := reader.Console(ctx, hostID, l.Address(), "b", -1); !faults.Is(err, faults.NotFound) {
		t.Errorf("no such guest: %v", err)
	}
	if _, err := reader.Console(ctx, uuid.NewString(), l.Address(), "a", -1); !faults.Is(err, faults.Unauthorized) {
		t.Errorf("a pass for another host: %v", err)
	}
	if _, err := NewReader(newKey(t)).Console(ctx, hostID, l.Address(), "a", -1); !faults.Is(err, faults.Unauthorized) {
		t.Errorf("another deployment's pass: %v", err)
	}

	get := func(pass, query string) int {
		r, err := http.NewRequestWithContext(ctx, "GET", "http://"+l.Address()+"/guests/a/console"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+pass)
		resp, err := reader.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.ProtoMajor != 2 {
			t.Errorf("HTTP/%d, %v", resp.ProtoMajor, err)
		}
		return resp.StatusCode
	}
	pass := key.Issue(apiCaller, "GET", guestObject(hostID, "a", consoleRead))
	if first, second := get(pass, ""), get(pass, ""); first != 200 || second != 401 {
		t.Errorf("a pass serves with %d, then %d; want 200, 401", first, second)
	}
	if got := get(key.Issue(hostCaller(hostID), "GET", guestObject(hostID, "a", consoleRead)), ""); got != 401 {
		t.Errorf("a host reads with %d, want 401", got)
	}
	if got := get(key.Issue(apiCaller, "GET", guestObject(hostID, "a", consoleRead)), "?length=many"); got != 400 {
		t.Errorf("length=many: %d, want 400", got)
	}
	l.Close()
	if _, err := reader.Console(ctx, hostID, l.Address(), "a", -1); !faults.Is(err, faults.Unavailable) {
		t.Errorf("nobody there: %v, want unavailable", err)
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "x", "ftp://h", "http://"} {
		if _, err := NewClient(address, "h", Key{}, nil); err == nil {
			t.Errorf("address %q is taken", address)
		}
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	open := func() *Identity {
		t.Helper()
		id, err := OpenIdentity(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := open()
	if uuid.Validate(first.ID) != nil || first.Incarnation != 1 {
		t.Errorf("first start: %+v", first)
	}
	if _, err := OpenIdentity(dir, ""); !errors.Is(err, statedir.ErrLocked) {
		t.Errorf("a second process: %v, want locked", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open()
	if second.ID != first.ID || second.Incarnation != 2 || second.Instance == first.Instance {
		t.Errorf("second start: %+v after %+v", second, first)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenIdentity(dir, uuid.NewString()); err == nil || errors.Is(err, statedir.ErrLocked) {
		t.Errorf("another host's folder: %v", err)
	}
	given := uuid.NewString()
	third, err := OpenIdentity(filepath.Join(t.TempDir(), "given"), given)
	if err != nil || third.ID != given || third.Close() != nil {
		t.Errorf("a host with an id: %+v, %v", third, err)
	}
	for _, text := range []string{"", "{", `{"id":"x","incarnation":3}`, `{"incarnation":3}`, `{"id":"` + first.ID + `"}`} {
		if err := os.WriteFile(filepath.Join(dir, "identity.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the lock is given back
			if _, err := OpenIdentity(dir, ""); err == nil || errors.Is(err, statedir.ErrLocked) {
				t.Errorf("identity %q: %v", text, err)
			}
		}
	}
}

// asked answers questions about nodes.
type asked struct{ heard []string }

func (a *asked) Ask(_ context.Context, nodeID, question string, about url.Values) (json.RawMessage, error) {
	a.heard = append(a.heard, nodeID+" "+question+" "+about.Encode())
	switch question {
	case "refused":
		return nil, faults.New(faults.Invalid, "RedfishError", "no")
	case "endless":
		return json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`), nil
	}
	return json.RawMessage(`{"boot_device": "pxe"}`), nil
}

// A conductor answers the API's questions, once for each pass, and nobody else's.
func TestNodesAreAskedAbout(t *testing.T) {
	t.Parallel()
	key, nodes := newKey(t), &asked{}
	l, err := ListenNodes("127.0.0.1:0", "c", key, nodes, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	reader := NewReader(key)
	said, err := reader.Ask(t.Context(), "c", l.Address(), "n", "boot_device", url.Values{"a": {"b c"}})
	if err != nil || string(said) != `{"boot_device": "pxe"}` || !slices.Equal(nodes.heard, []string{"n boot_device a=b+c"}) {
		t.Errorf("%s, %v, %v", said, err, nodes.heard)
	}
	_, err = reader.Ask(t.Context(), "c", l.Address(), "n", "refused", nil)
	if f := faults.As(err); f.Kind != faults.Invalid || f.Code != "RedfishError" || f.Message != "no" {
		t.Errorf("%v", err)
	}
	if _, err := reader.Ask(t.Context(), "c", l.Address(), "n", "endless", nil); !faults.Is(err, faults.Invalid) {
		t.Errorf("%v", err)
	}
	if _, err := reader.Ask(t.Context(), "other", l.Address(), "n", "boot_device", nil); !faults.Is(err, faults.Unauthorized) {
		t.Errorf("another conductor's question: %v", err)
	}
	if _, err := NewReader(newKey(t)).Ask(t.Context(), "c", l.Address(), "n", "boot_device", nil); !faults.Is(err, faults.Unauthorized) {
		t.Errorf("a stranger's question: %v", err)
	}
	if _, err := reader.Ask(t.Context(), "c", "127.0.0.1:1", "n", "boot_device", nil); !faults.Is(err, faults.Unavailable) {
		t.Errorf("nobody answers: %v", err)
	}
}
