package identity

// A Keystone of the tests: it knows logins and tokens, and counts.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake answers POST and GET /v3/auth/tokens.
type fake struct {
	*httptest.Server
	mutex sync.Mutex
	// valid are the tokens that callers may have, and when each ends.
	valid map[string]time.Time
	// session is the service user's present token.
	session string
	logins  int
	asked   map[string]int
	// status, when not 0, is the answer to every question about tokens.
	status int
	// hold, when not nil, keeps questions waiting until it is closed.
	hold chan struct{}
	// deny refuses logins.
	deny bool
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{valid: map[string]time.Time{}, asked: map[string]int{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/v3":
		fmt.Fprint(w, `{"version":{"id":"v3.14"}}`)
	case r.URL.Path != "/v3/auth/tokens":
		refuse(w, http.StatusNotFound, "no such path")
	case r.Method == http.MethodPost:
		f.login(w)
	default:
		f.show(w, r)
	}
}

func (f *fake) login(w http.ResponseWriter) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.logins++
	if f.deny {
		refuse(w, http.StatusUnauthorized, errUnauthorized.Message)
		return
	}
	f.session = fmt.Sprintf("session-%d", f.logins)
	w.Header().Set("X-Subject-Token", f.session)
	w.WriteHeader(http.StatusCreated)
	show(w, "service", time.Now().Add(time.Hour))
}

func (f *fake) show(w http.ResponseWriter, r *http.Request) {
	subject := r.Header.Get("X-Subject-Token")
	f.mutex.Lock()
	f.asked[subject]++
	hold := f.hold
	f.mutex.Unlock()
	if hold != nil {
		<-hold
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch end, ok := f.valid[subject]; {
	case f.status != 0:
		refuse(w, f.status, "as the test wants")
	case r.Header.Get("X-Auth-Token") != f.session:
		refuse(w, http.StatusUnauthorized, errUnauthorized.Message)
	case !ok:
		refuse(w, http.StatusNotFound, "Could not recognize Fernet token")
	default:
		show(w, strings.Split(subject, "/")[0], end)
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"title":%q}}`, status, message, http.StatusText(status))
}

// show answers a token of a user whose only role has the user's name.
func show(w http.ResponseWriter, user string, end time.Time) {
	// The test's own types; that they can be written is certain.
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{
		"expires_at": end.UTC().Format("2006-01-02T15:04:05.000000Z"),
		"user":       map[string]any{"id": "id-of-" + user, "name": user, "domain": map[string]any{"id": "default", "name": "Default"}},
		"project":    map[string]any{"id": "p1", "name": "one", "domain": map[string]any{"id": "default", "name": "Default"}},
		"roles":      []map[string]any{{"id": "r1", "name": user}},
		"catalog": []map[string]any{{"type": "image", "name": "glance", "id": "s1", "endpoints": []map[string]any{
			{"interface": "internal", "region_id": "one", "region": "one", "url": "http://127.0.0.1:9/image"}}}},
	}})
}

// set changes the fake under its lock.
func (f *fake) set(change func()) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	change()
}

func (f *fake) count(token string) (asked, logins int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.asked[token], f.logins
}
