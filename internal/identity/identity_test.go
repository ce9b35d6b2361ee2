package identity

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/policy"
)

const down = "The Keystone service is temporarily unavailable."

func options(address string) Options {
	return Options{
		AuthURL: address + "/v3", Username: "nova", Password: "pass-word", UserDomain: "Default", Project: "service", ProjectDomain: "Default",
		Timeout: 20 * time.Second, CacheTime: 5 * time.Minute, CacheSize: 100, Log: slog.New(slog.DiscardHandler),
	}
}

// newKeystone makes one whose clock stands still until the test moves it.
func newKeystone(t *testing.T, o Options) (k *Keystone, move func(time.Duration)) {
	t.Helper()
	k, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var mutex sync.Mutex
	at := time.Now()
	k.now = func() time.Time {
		mutex.Lock()
		defer mutex.Unlock()
		return at
	}
	return k, func(by time.Duration) {
		mutex.Lock()
		defer mutex.Unlock()
		at = at.Add(by)
	}
}

func wantFault(t *testing.T, err error, kind faults.Kind, message string) {
	t.Helper()
	if f := faults.As(err); f == nil || f.Kind != kind || f.Message != message {
		t.Errorf("%v, want %s: %s", err, kind, message)
	}
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.valid["alice"] = time.Now().Add(time.Hour)
	k, move := newKeystone(t, options(keystone.URL))
	want := policy.Credentials{
		UserID: "id-of-alice", UserName: "alice", UserDomainID: "default", UserDomainName: "Default",
		ProjectID: "p1", ProjectName: "one", ProjectDomainID: "default", ProjectDomainName: "Default", IsAdminProject: true,
	}
	for i, spelled := range []string{"alice", " alice\t", "alice"} {
		who, err := k.Authenticate(t.Context(), spelled)
		if err != nil {
			t.Fatal(err)
		}
		if who.Token != "alice" || !slices.Equal(who.Roles, []string{"alice"}) || len(who.Catalog) != 1 {
			t.Errorf("%+v", who)
		}
		who.Roles = nil
		got := who.Credentials
		got.Roles = nil
		if !equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		if asked, logins := keystone.count("alice"); asked != 1 || logins != 1 {
			t.Errorf("after %d: asked %d times, with %d logins", i+1, asked, logins)
		}
	}
	// After the cache time Keystone is asked again, and a revoked token ends.
	move(5 * time.Minute)
	if _, err := k.Authenticate(t.Context(), "alice"); err != nil {
		t.Error(err)
	}
	keystone.set(func() { delete(keystone.valid, "alice") })
	move(5 * time.Minute)
	_, err := k.Authenticate(t.Context(), "alice")
	wantFault(t, err, faults.Unauthorized, errUnauthorized.Message)
	if asked, _ := keystone.count("alice"); asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

func equal(a, b policy.Credentials) bool {
	return a.UserID == b.UserID && a.UserName == b.UserName && a.UserDomainID == b.UserDomainID && a.UserDomainName == b.UserDomainName &&
		a.ProjectID == b.ProjectID && a.ProjectName == b.ProjectName && a.ProjectDomainID == b.ProjectDomainID && a.ProjectDomainName == b.ProjectDomainName &&
		a.DomainID == b.DomainID && a.SystemScope == b.SystemScope && a.IsAdmin == b.IsAdmin && a.IsAdminProject == b.IsAdminProject
}

// A token's own end counts, however long the cache would keep it.
func TestExpiryIsHonoured(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.valid["short"] = time.Now().Add(time.Minute)
	keystone.valid["past"] = time.Now().Add(-time.Minute)
	k, move := newKeystone(t, options(keystone.URL))
	if _, err := k.Authenticate(t.Context(), "short"); err != nil {
		t.Error(err)
	}
	move(2 * time.Minute)
	for _, token := range []string{"short", "past"} {
		_, err := k.Authenticate(t.Context(), token)
		wantFault(t, err, faults.Unauthorized, errUnauthorized.Message)
	}
}

func TestTokensThatArent(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	k, _ := newKeystone(t, options(keystone.URL))
	for _, token := range []string{"", "  ", strings.Repeat("x", maxToken+1), "unknown", "unknown"} {
		_, err := k.Authenticate(t.Context(), token)
		wantFault(t, err, faults.Unauthorized, errUnauthorized.Message)
	}
	// A refusal isn't remembered; what can't be a token isn't asked about.
	if asked, _ := keystone.count("unknown"); asked != 2 || len(keystone.asked) != 1 {
		t.Errorf("asked %v", keystone.asked)
	}
}

// Many callers with one new token ask once, and one that goes takes nobody
// along.
func TestOneCallForManyCallers(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.valid["alice"] = time.Now().Add(time.Hour)
	hold := make(chan struct{})
	keystone.hold = hold
	k, _ := newKeystone(t, options(keystone.URL))
	gone, leave := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := k.Authenticate(gone, "alice")
		first <- err
	}()
	for asked := 0; asked == 0; asked, _ = keystone.count("alice") {
		time.Sleep(time.Millisecond)
	}
	var callers sync.WaitGroup
	failed := make(chan error, 50)
	for range 50 {
		callers.Go(func() {
			_, err := k.Authenticate(t.Context(), "alice")
			failed <- err
		})
	}
	leave()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that went: %v", err)
	}
	close(hold)
	callers.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			t.Error(err)
		}
	}
	if asked, logins := keystone.count("alice"); asked != 1 || logins != 1 {
		t.Errorf("asked %d times, with %d logins", asked, logins)
	}
}

// Failures of Keystone are 503s and aren't remembered; known tokens go on.
func TestKeystoneInTrouble(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.valid["known"], keystone.valid["new"] = time.Now().Add(time.Hour), time.Now().Add(time.Hour)
	k, _ := newKeystone(t, options(keystone.URL))
	if _, err := k.Authenticate(t.Context(), "known"); err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{500, 502, 503, 403, 400, 429, 302} {
		keystone.set(func() { keystone.status = status })
		_, err := k.Authenticate(t.Context(), "new")
		wantFault(t, err, faults.Unavailable, down)
		if _, err := k.Authenticate(t.Context(), "known"); err != nil {
			t.Errorf("%d: a known token: %v", status, err)
		}
	}
	keystone.set(func() { keystone.status = 0 })
	if _, err := k.Authenticate(t.Context(), "new"); err != nil {
		t.Errorf("after the trouble: %v", err)
	}
	keystone.Close()
	_, err := k.Authenticate(t.Context(), "other")
	wantFault(t, err, faults.Unavailable, down)
	wantFault(t, k.Ping(t.Context()), faults.Unavailable, down)
}

// A Keystone that doesn't answer is as good as none.
func TestKeystoneThatHangs(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.hold = make(chan struct{})
	defer close(keystone.hold)
	o := options(keystone.URL)
	o.Timeout = 100 * time.Millisecond
	k, _ := newKeystone(t, o)
	_, err := k.Authenticate(t.Context(), "alice")
	wantFault(t, err, faults.Unavailable, down)
}

// The service's session is renewed when Keystone refuses its token; a refused
// login is this side's failure, and isn't tried with every request.
func TestServiceSession(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.deny = true
	keystone.valid["alice"], keystone.valid["bob"] = time.Now().Add(time.Hour), time.Now().Add(time.Hour)
	var log bytes.Buffer
	o := options(keystone.URL)
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	k, move := newKeystone(t, o)
	for range 3 {
		_, err := k.Authenticate(t.Context(), "alice")
		wantFault(t, err, faults.Unavailable, down)
	}
	if _, logins := keystone.count(""); logins != 1 {
		t.Errorf("%d logins, want 1", logins)
	}
	if text := log.String(); !strings.Contains(text, "a token can't be checked") || strings.Contains(text, "pass-word") || strings.Contains(text, "alice") {
		t.Errorf("log: %s", text)
	}
	keystone.set(func() { keystone.deny = false })
	move(loginPause)
	if _, err := k.Authenticate(t.Context(), "alice"); err != nil {
		t.Error(err)
	}
	keystone.set(func() { keystone.session = "another's" })
	if _, err := k.Authenticate(t.Context(), "bob"); err != nil {
		t.Error(err)
	}
	if _, logins := keystone.count(""); logins != 3 {
		t.Errorf("%d logins, want 3", logins)
	}
	if err := k.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// No more tokens than configured are remembered.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	o := options(keystone.URL)
	o.CacheSize = 10
	k, _ := newKeystone(t, o)
	for i := range 50 {
		token := "alice/" + strings.Repeat("x", i)
		keystone.set(func() { keystone.valid[token] = time.Now().Add(time.Hour) })
		if _, err := k.Authenticate(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	k.known.CleanUp()
	if size := k.known.EstimatedSize(); size > 10 {
		t.Errorf("%d tokens are remembered, want at most 10", size)
	}
}

func TestThroughAService(t *testing.T) {
	t.Parallel()
	user := Identity{Credentials: policy.Credentials{UserID: "u", Roles: []string{"member"}}}
	service := Identity{Credentials: policy.Credentials{UserID: "s", UserDomainID: "d", ProjectID: "p", ProjectDomainID: "e", Roles: []string{"service"}}}
	got, err := user.Through(service)
	if err != nil || got.UserID != "u" || got.ServiceUserID != "s" || got.ServiceUserDomainID != "d" || got.ServiceProjectID != "p" ||
		got.ServiceProjectDomainID != "e" || !slices.Equal(got.ServiceRoles, []string{"service"}) {
		t.Errorf("%+v %v", got, err)
	}
	_, err = user.Through(Identity{Credentials: policy.Credentials{Roles: []string{"admin"}}})
	wantFault(t, err, faults.Unauthorized, errUnauthorized.Message)
}

// Redirects aren't followed: a token goes to the server it is meant for.
func TestNoRedirects(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	k, _ := newKeystone(t, options(keystone.URL))
	ask, err := http.NewRequestWithContext(t.Context(), "GET", keystone.URL+"/v3", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.http.CheckRedirect(ask, nil); !errors.Is(err, http.ErrUseLastResponse) {
		t.Errorf("%v", err)
	}
}

// A caller's client finds its endpoints in the token's own catalog.
func TestFor(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	keystone.valid["alice"] = time.Now().Add(time.Hour)
	k, _ := newKeystone(t, options(keystone.URL))
	who, err := k.Authenticate(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := k.For(who)
	if err != nil || provider.Token() != "alice" {
		t.Fatalf("%v %q", err, provider.Token())
	}
	for region, want := range map[string]string{"one": "http://127.0.0.1:9/image/", "two": ""} {
		at := gophercloud.EndpointOpts{Region: region, Availability: gophercloud.AvailabilityInternal}
		at.ApplyDefaults("image")
		if got, err := provider.EndpointLocator(at); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v, want %q", region, got, err, want)
		}
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Options){
		`"keystone" is no URL of Keystone`:                                         func(o *Options) { o.AuthURL = "keystone" },
		`"ftp://keystone/v3" is no URL of Keystone`:                                func(o *Options) { o.AuthURL = "ftp://keystone/v3" },
		"Keystone's timeout, cache time and cache size must be more than 0":        func(o *Options) { o.CacheSize = 0 },
		"the CA file can't be read: open /no/such/file: no such file or directory": func(o *Options) { o.CAFile = "/no/such/file" },
		"identity_test.go holds no certificate":                                    func(o *Options) { o.CAFile = "identity_test.go" },
	} {
		o := options("http://127.0.0.1:1")
		change(&o)
		_, err := New(o)
		wantFault(t, err, faults.Invalid, want)
	}
}

// A client for the services beside Keystone renews its token by the session.
func TestProviderRenews(t *testing.T) {
	t.Parallel()
	keystone := newFake(t)
	k, _ := newKeystone(t, options(keystone.URL))
	provider, err := k.Service().Provider(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var mutex sync.Mutex
	var seen []string
	glance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		seen = append(seen, r.Header.Get("X-Auth-Token"))
		if len(seen) == 2 {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer glance.Close()
	for range 2 {
		answer, err := provider.Request(t.Context(), "GET", glance.URL, &gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{200}})
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	if want := []string{"session-1", "session-1", "session-2"}; !slices.Equal(seen, want) {
		t.Errorf("tokens %v, want %v", seen, want)
	}
}
