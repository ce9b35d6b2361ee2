package hostile

// Tokens of an identity service that are for something else than a project, what
// strangers are told, and bodies whose length nobody has said.

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/contracttest"
)

func TestScopesAndStrangers(t *testing.T) {
	t.Parallel()
	others := companiontest.Start(t)
	admin, adminID, _ := others.Login(t, "admin")
	member, _, _ := others.Login(t, "demo")
	identity := others.At(t, others.Identity)
	role := identity.Want(200, admin, "GET", "/roles?name=admin", "").TextAt("roles", 0, "id")
	identity.Want(204, admin, "PUT", "/domains/default/users/"+adminID+"/roles/"+role, "")
	w := &world{t: t, Cloud: cloud.Start(t, cloud.Options{Hosts: 1, Config: map[string]any{
		"dev.static_tokens":  []any{},
		"openstack.auth_url": others.Identity, "openstack.username": "holdfast", "openstack.password": others.Password("holdfast"),
	}})}
	tokens := map[string]string{
		"domain": scoped(identity, others, `{"domain": {"id": "default"}}`),
		"system": scoped(identity, others, `{"system": {"all": true}}`),
	}

	var contract struct{ Operations []operation }
	contracttest.Read(t, "compute/operations.json", &contract)
	checks, asked := rules(t), 0
	for _, o := range contract.Operations {
		if o.Removed || o.Path == "/" || o.Path == "/versions/{id}" || !w.serves(o, admin) {
			continue
		}
		for who, token := range tokens {
			answer, text := w.askOperation(o, token, nothing)
			asked++
			checkVerdict(t, o, checks, who, answer.StatusCode, text)
		}
		for _, token := range []string{"", "worthless"} {
			answer, text := w.askOperation(o, token, nothing)
			asked++
			if got, want := answer.Header.Get("WWW-Authenticate"), `Keystone uri="`+others.Identity+`"`; answer.StatusCode != 401 || got != want {
				t.Errorf("%s with token %q: %d %s, WWW-Authenticate %q, want %q", o, token, answer.StatusCode, text, got, want)
			}
		}
	}
	if asked < 240 {
		t.Errorf("only %d questions", asked)
	}
	w.bodiesOfUnknownLength(member)
	w.Audit()
}

// scoped is a token of the administrator for something.
func scoped(identity *companiontest.Client, others *companiontest.Cloud, scope string) string {
	answer := identity.Want(201, "", "POST", "/auth/tokens", fmt.Sprintf(`{"auth": {"identity": {"methods": ["password"],
		"password": {"user": {"name": "admin", "domain": {"id": "default"}, "password": %q}}}, "scope": %s}}`, others.Password("admin"), scope))
	return answer.Header.Get("X-Subject-Token")
}

// bodiesOfUnknownLength come in chunks and have no Content-Length.
func (w *world) bodiesOfUnknownLength(token string) {
	w.t.Helper()
	keypair := `{"keypair": {"name": "chunked", "public_key": "` + publicKey + `"}}`
	for name, c := range map[string]struct {
		body   io.Reader
		status int
	}{
		"as long as the limit": {strings.NewReader(keypair + strings.Repeat(" ", 114688-len(keypair))), 200},
		"a byte longer":        {strings.NewReader(`{"keypair": {"name": "long", "public_key": "` + publicKey + `"}}` + strings.Repeat(" ", 114688)), 413},
		"without an end":       {endless{}, 413},
		"broken JSON":          {strings.NewReader(`{"keypair": `), 400},
		"empty":                {strings.NewReader(""), 400},
	} {
		r, err := http.NewRequestWithContext(w.t.Context(), "POST", w.URL()+"/v2.1/os-keypairs", io.MultiReader(c.body))
		if err != nil {
			w.t.Fatal(err)
		}
		r.Header.Set("X-Auth-Token", token)
		r.Header.Set("Content-Type", "application/json")
		if status, text := w.send(r); status != c.status {
			w.t.Errorf("%s: %d %s, want %d", name, status, text, c.status)
		}
	}
	kept := w.must(token, "GET", "/os-keypairs", "")["keypairs"].([]any)
	if text, err := json.Marshal(kept); err != nil || len(kept) != 1 || !strings.Contains(string(text), `"chunked"`) {
		w.t.Errorf("key pairs: %s, %v", text, err)
	}
}

// endless is a body that doesn't end.
type endless struct{}

func (endless) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = ' '
	}
	return len(into), nil
}
