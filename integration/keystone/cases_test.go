package keystone

// The table.

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/trusts"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/policy"
)

var cases = []struct {
	name string
	run  func(*world)
}{
	{"a member's token", memberToken},
	{"the administrator's roles", adminRoles},
	{"tokens that aren't", noTokens},
	{"an unscoped token", unscoped},
	{"a token of the system", systemScope},
	{"a user of another domain", otherDomain},
	{"a revoked token", revoked},
	{"a token's end", tokenEnds},
	{"a disabled user", disabledUser},
	{"a changed password", changedPassword},
	{"a role taken away", roleTakenAway},
	{"a role inherited from the domain", roleInherited},
	{"a wrong password", wrongPassword},
	{"a service user without the role", noServiceRole},
	{"an application credential", applicationCredential},
	{"an application credential's end", applicationCredentialEnds},
	{"an application credential with access rules", accessRules},
	{"a trust", trustGiven},
	{"a trust of roles that the trustor lacks", trustOfMore},
	{"EC2 signatures", ec2},
	{"EC2 signatures of strangers", ec2Strangers},
	{"EC2 keys kept as credentials", ec2Credentials},
	{"a stack's user in a domain of its own", stackUser},
	{"what makes stacks' users", stackUsers},
	{"which role implies which", implied},
	{"the catalog", catalog},
	{"a session that is renewed", renewed},
}

// run runs the table.
func (s server) run(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(s.world(t))
		})
	}
}

func memberToken(w *world) {
	who := w.who(w.token(w.inProject(w.user.ID)))
	w.want(who, w.member())
	if left := time.Until(who.ExpiresAt); left < time.Minute || left > 25*time.Hour {
		w.t.Errorf("the token ends in %s", left)
	}
}

func adminRoles(w *world) {
	who := w.who(w.admin.Token())
	for _, role := range []string{"admin", "manager", "member", "reader"} {
		if !slices.Contains(who.Roles, role) {
			w.t.Errorf("the administrator lacks %s: %v", role, who.Roles)
		}
	}
}

// wantKind checks an error's kind and, if given, its whole text.
func (w *world) wantKind(err error, kind faults.Kind, message string) {
	w.t.Helper()
	f := faults.As(err)
	if f == nil || f.Kind != kind || message != "" && f.Message != message {
		w.t.Errorf("%v, want %s %q", err, kind, message)
	}
}

const unauthorized = "The request you have made requires authentication."

func (w *world) wantUnauthorized(token string) {
	w.t.Helper()
	_, err := w.keystone.Authenticate(w.t.Context(), token)
	w.wantKind(err, faults.Unauthorized, unauthorized)
}

func noTokens(w *world) {
	good := w.token(w.inProject(w.user.ID))
	for _, token := range []string{"", "nonsense", good[:len(good)-4], good + "x", strings.Repeat("a", 9000), "a b", "gAAAAA"} {
		w.wantUnauthorized(token)
	}
	w.want(w.who("  "+good+" "), w.member())
}

func unscoped(w *world) {
	who := w.who(w.token(gophercloud.AuthOptions{UserID: w.user.ID, Password: password}))
	want := w.member()
	want.ProjectID, want.ProjectName, want.ProjectDomainID, want.ProjectDomainName, want.Roles = "", "", "", "", nil
	w.want(who, want)
	if len(who.Catalog) != 0 {
		w.t.Errorf("catalog %v", who.Catalog)
	}
}

func systemScope(w *world) {
	who := w.who(w.token(gophercloud.AuthOptions{Username: "admin", Password: w.server.password, DomainName: "Default",
		Scope: &gophercloud.AuthScope{System: true}}))
	if who.SystemScope != "all" || who.ProjectID != "" || !slices.Contains(who.Roles, "admin") {
		w.t.Errorf("%+v", who.Credentials)
	}
}

func otherDomain(w *world) {
	off := false
	domain, err := domains.Create(w.t.Context(), w.admin, domains.CreateOpts{Name: unique("domain")}).Extract()
	w.must(err)
	w.cleanup(func(ctx context.Context) error {
		_, err := domains.Update(ctx, w.admin, domain.ID, domains.UpdateOpts{Enabled: &off}).Extract() // or it can't go
		return errors.Join(err, domains.Delete(ctx, w.admin, domain.ID).ExtractErr())
	})
	user := w.newUser(domain.ID, "reader")
	want := w.member()
	want.UserID, want.UserName, want.UserDomainID, want.UserDomainName, want.Roles = user.ID, user.Name, domain.ID, domain.Name, []string{"reader"}
	byName := gophercloud.AuthOptions{Username: user.Name, Password: password, DomainName: domain.Name, Scope: &gophercloud.AuthScope{ProjectID: w.project.ID}}
	w.want(w.who(w.token(byName)), want)
	byName.DomainName = "Default"
	if _, err := w.tryLogin(byName); !gophercloud.ResponseCodeIs(err, 401) {
		w.t.Errorf("a login by the name in another domain: %v", err)
	}
	w.must(roles.Assign(w.t.Context(), w.admin, w.roles["admin"], roles.AssignOpts{UserID: user.ID, DomainID: domain.ID}).ExtractErr())
	who := w.who(w.token(gophercloud.AuthOptions{UserID: user.ID, Password: password, Scope: &gophercloud.AuthScope{DomainID: domain.ID}}))
	if who.DomainID != domain.ID || who.DomainName != domain.Name || who.ProjectID != "" {
		w.t.Errorf("%+v", who.Credentials)
	}
}

// A revoked token works until it is asked about again, and then no more.
func revoked(w *world) {
	token := w.token(w.inProject(w.user.ID))
	w.want(w.who(token), w.member())
	w.revoke(token)
	w.want(w.who(token), w.member())
	w.keystone.Forget(token)
	w.wantUnauthorized(token)
}

// A token ends with the trust that it was made by, and isn't believed longer,
// though the cache would.
func tokenEnds(w *world) {
	end := time.Now().Add(time.Minute) // long enough to see it work
	trustee := w.newUser("default")
	mine := w.login(w.inProject(w.user.ID))
	made, err := trusts.Create(w.t.Context(), mine, trusts.CreateOpts{Impersonation: true, TrustorUserID: w.user.ID, TrusteeUserID: trustee.ID,
		ProjectID: w.project.ID, Roles: []trusts.Role{{Name: "member"}}, ExpiresAt: &end}).Extract()
	w.must(err)
	token := w.token(gophercloud.AuthOptions{UserID: trustee.ID, Password: password, Scope: &gophercloud.AuthScope{TrustID: made.ID}})
	who := w.who(token)
	if who.ExpiresAt.After(end) {
		w.t.Errorf("the token ends at %s, the trust at %s", who.ExpiresAt, end)
	}
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if _, err := w.keystone.Authenticate(w.t.Context(), token); err != nil {
			w.wantKind(err, faults.Unauthorized, unauthorized)
			break
		}
		if time.Now().After(deadline) {
			w.t.Fatal("a token that has ended is still believed")
		}
	}
	w.keystone.Forget(token)
	w.wantUnauthorized(token)
}

// ended says that a token that worked doesn't once it is asked about again.
func (w *world) ended(token string, end func()) {
	w.t.Helper()
	w.who(token)
	end()
	w.keystone.Forget(token)
	w.wantUnauthorized(token)
}

func disabledUser(w *world) {
	off := false
	w.ended(w.token(w.inProject(w.user.ID)), func() {
		_, err := users.Update(w.t.Context(), w.admin, w.user.ID, users.UpdateOpts{Enabled: &off}).Extract()
		w.must(err)
	})
	if _, err := w.tryLogin(w.inProject(w.user.ID)); !gophercloud.ResponseCodeIs(err, 401) {
		w.t.Errorf("a login of a disabled user: %v", err)
	}
}

func changedPassword(w *world) {
	w.ended(w.token(w.inProject(w.user.ID)), func() {
		_, err := users.Update(w.t.Context(), w.admin, w.user.ID, users.UpdateOpts{Password: "another-" + password}).Extract()
		w.must(err)
	})
}

func roleTakenAway(w *world) {
	w.ended(w.token(w.inProject(w.user.ID)), func() {
		w.must(roles.Unassign(w.t.Context(), w.admin, w.roles["member"], roles.UnassignOpts{UserID: w.user.ID, ProjectID: w.project.ID}).ExtractErr())
	})
}

// A role that the domain's projects inherit is held on them, and on the domain
// itself not.
func roleInherited(w *world) {
	heir := w.newUser("default")
	if _, err := w.tryLogin(w.inProject(heir.ID)); err == nil {
		w.t.Error("a token of a project without a role on it")
	}
	path := w.admin.ServiceURL("OS-INHERIT", "domains", "default", "users", heir.ID, "roles", w.roles["member"], "inherited_to_projects")
	inherit := func(method string) {
		_, err := w.admin.Request(w.t.Context(), method, path, &gophercloud.RequestOpts{OkCodes: []int{http.StatusNoContent}})
		w.must(err)
	}
	inherit(http.MethodPut)
	inherit(http.MethodHead)
	token := w.token(w.inProject(heir.ID))
	who := w.who(token)
	if who.ProjectID != w.project.ID || !slices.Equal(slices.Sorted(slices.Values(who.Roles)), []string{"member", "reader"}) {
		w.t.Errorf("roles %v on %s", who.Roles, who.ProjectID)
	}
	if _, err := w.tryLogin(gophercloud.AuthOptions{UserID: heir.ID, Password: password, Scope: &gophercloud.AuthScope{DomainID: "default"}}); err == nil {
		w.t.Error("a token of the domain itself")
	}
	w.ended(token, func() { inherit(http.MethodDelete) })
}

// The answer that clients read, on the wire.
func wrongPassword(w *world) {
	body := `{"auth":{"identity":{"methods":["password"],"password":{"user":{"id":"` + w.user.ID + `","password":"wrong"}}}}}`
	status, text, header := w.post("/auth/tokens", body, "")
	if status != 401 || !strings.Contains(text, `"message":"`+unauthorized+`"`) && !strings.Contains(text, `"message": "`+unauthorized+`"`) {
		w.t.Errorf("%d %s", status, text)
	}
	if got := header.Get("WWW-Authenticate"); !strings.HasPrefix(got, `Keystone uri="http`) {
		w.t.Errorf("WWW-Authenticate: %q", got)
	}
}

func (w *world) post(path, body, token string) (int, string, http.Header) {
	w.t.Helper()
	ask, err := http.NewRequestWithContext(w.t.Context(), "POST", w.server.url+path, strings.NewReader(body))
	w.must(err)
	ask.Header.Set("Content-Type", "application/json")
	if token != "" {
		ask.Header.Set("X-Auth-Token", token)
	}
	answer, err := http.DefaultClient.Do(ask)
	w.must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	w.must(err)
	return answer.StatusCode, string(text), answer.Header
}

// A service user that may not ask about tokens, or can't log in, is this
// side's failure and not the caller's.
func noServiceRole(w *world) {
	token := w.token(w.inProject(w.user.ID))
	const down = "The Keystone service is temporarily unavailable."
	for _, name := range []string{w.newUser("default", "member").Name, unique("nobody")} {
		_, err := w.newKeystone(name).Authenticate(w.t.Context(), token)
		w.wantKind(err, faults.Unavailable, down)
	}
}

func applicationCredential(w *world) {
	who := w.who(w.token(w.inProject(w.user.ID)))
	id, secret, err := w.keystone.CreateApplicationCredential(w.t.Context(), who, "by-holdfast")
	w.must(err)
	session := w.keystone.ApplicationCredential(id, secret)
	by, err := session.Identity(w.t.Context())
	w.must(err)
	w.want(by, w.member())

	// It is restricted: it can't make others, nor trusts.
	_, _, err = w.keystone.CreateApplicationCredential(w.t.Context(), by, "by-itself")
	w.wantKind(err, faults.Forbidden, "")
	_, err = w.keystone.CreateTrust(w.t.Context(), by, time.Time{})
	w.wantKind(err, faults.Forbidden, "")
	// Names are the user's own.
	_, _, err = w.keystone.CreateApplicationCredential(w.t.Context(), who, "by-holdfast")
	w.wantKind(err, faults.Conflict, "")

	_, err = w.keystone.ApplicationCredential(id, "x"+secret).Token(w.t.Context())
	w.wantKind(err, faults.Unauthorized, "")
	mine := w.login(w.inProject(w.user.ID))
	w.ended(by.Token, func() {
		w.must(applicationcredentials.Delete(w.t.Context(), mine, w.user.ID, id).ExtractErr())
	})
	_, err = w.keystone.ApplicationCredential(id, secret).Token(w.t.Context())
	if !faults.Is(err, faults.Unauthorized) && !faults.Is(err, faults.NotFound) {
		w.t.Errorf("a login by a deleted application credential: %v", err)
	}
}

func applicationCredentialEnds(w *world) {
	mine := w.login(w.inProject(w.user.ID))
	end := time.Now().Add(2 * time.Second)
	made, err := applicationcredentials.Create(w.t.Context(), mine, w.user.ID, applicationcredentials.CreateOpts{Name: "short", ExpiresAt: &end}).Extract()
	w.must(err)
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, err := w.tryLogin(gophercloud.AuthOptions{ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret})
		if gophercloud.ResponseCodeIs(err, 401) {
			break
		}
		w.must(err)
		if time.Now().After(deadline) {
			w.t.Fatal("an application credential that has ended still gives tokens")
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Who doesn't say that it keeps to access rules isn't told of such tokens.
func accessRules(w *world) {
	mine := w.login(w.inProject(w.user.ID))
	made, err := applicationcredentials.Create(w.t.Context(), mine, w.user.ID, applicationcredentials.CreateOpts{
		Name: "ruled", AccessRules: []applicationcredentials.AccessRule{{Path: "/v2.1/servers", Method: "GET", Service: "compute"}}}).Extract()
	w.must(err)
	w.wantUnauthorized(w.token(gophercloud.AuthOptions{ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret}))
}

func trustGiven(w *world) {
	ctx := w.t.Context()
	who := w.who(w.token(w.inProject(w.user.ID)))
	id, err := w.keystone.CreateTrust(ctx, who, time.Time{})
	w.must(err)
	given, err := w.keystone.Trusts(ctx, w.user.ID)
	w.must(err)
	if len(given) != 1 || given[0].ID != id || given[0].ProjectID != w.project.ID || !given[0].Impersonation {
		w.t.Errorf("trusts %+v, want one, %s", given, id)
	}
	session := w.keystone.Trust(id)
	by, err := session.Identity(ctx)
	w.must(err)
	w.want(by, w.member())
	if by.TrustID != id {
		w.t.Errorf("trust %q, want %q", by.TrustID, id)
	}

	w.must(w.keystone.DeleteTrust(ctx, id))
	w.keystone.Forget(by.Token)
	w.wantUnauthorized(by.Token)
	if _, err := w.keystone.Trust(id).Token(ctx); err == nil {
		w.t.Error("a deleted trust still gives tokens")
	}
	w.must(w.keystone.DeleteTrust(ctx, id))
	given, err = w.keystone.Trusts(ctx, w.user.ID)
	if err != nil || len(given) != 0 {
		w.t.Errorf("trusts after the delete: %v %v", given, err)
	}

	// One of which nobody has heard is found by the time until which it is good.
	goodUntil := time.Date(8150, 5, 6, 7, 8, 9, 0, time.UTC)
	_, err = w.keystone.CreateTrust(ctx, who, goodUntil)
	w.must(err)
	other, err := w.keystone.CreateTrust(ctx, who, goodUntil.Add(time.Second))
	w.must(err)
	for range 2 {
		w.must(w.keystone.DeleteTrustUntil(ctx, w.user.ID, goodUntil))
	}
	given, err = w.keystone.Trusts(ctx, w.user.ID)
	if err != nil || len(given) != 1 || given[0].ID != other {
		w.t.Errorf("trusts %v %v, want one, %s", given, err, other)
	}
	w.must(w.keystone.DeleteTrust(ctx, other))
}

func trustOfMore(w *world) {
	who := w.who(w.token(w.inProject(w.user.ID)))
	_, err := w.keystone.CreateTrust(w.t.Context(), who, time.Time{}, "admin")
	w.wantKind(err, faults.NotFound, "Could not find role: "+w.roles["admin"]+".")
	reader, err := w.keystone.CreateTrust(w.t.Context(), who, time.Time{}, "reader")
	w.must(err)
	by, err := w.keystone.Trust(reader).Identity(w.t.Context())
	w.must(err)
	want := w.member()
	want.Roles = []string{"reader"}
	w.want(by, want)
	w.must(w.keystone.DeleteTrust(w.t.Context(), reader))
}

// signed is a request for a signal, signed with a key (version 2).
func signed(access, secret string) identity.EC2Request {
	r := identity.EC2Request{Access: access, Host: "cloud.example:8000", Verb: "PUT", Path: "/v1/waitcondition/arn", Params: map[string]string{
		"AWSAccessKeyId": access, "SignatureMethod": "HmacSHA256", "SignatureVersion": "2", "Timestamp": time.Now().UTC().Format(time.RFC3339),
	}}
	query := url.Values{}
	for name, value := range r.Params {
		query.Set(name, value)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.Join([]string{r.Verb, r.Host, r.Path, query.Encode()}, "\n")))
	r.Signature = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return r
}

func ec2(w *world) {
	ctx := w.t.Context()
	session := w.keystone.Password(w.user.ID, password, w.project.ID)
	access, secret, err := session.CreateEC2Key(ctx, w.user.ID, w.project.ID)
	w.must(err)
	who, err := w.keystone.EC2(ctx, signed(access, secret))
	w.must(err)
	w.want(who, w.member())
	w.want(w.who(who.Token), w.member())

	_, err = w.keystone.EC2(ctx, signed(access, secret+"x"))
	w.wantKind(err, faults.Unauthorized, "")
	_, err = w.keystone.EC2(ctx, signed(strings.Repeat("0", 32), secret))
	w.wantKind(err, faults.NotFound, "EC2 access key not found.")
	old := signed(access, secret)
	old.Params["Timestamp"] = time.Now().UTC().Add(-48 * time.Hour).Format(time.RFC3339)
	_, err = w.keystone.EC2(ctx, old)
	w.wantKind(err, faults.Unauthorized, "")
	none := signed(access, secret)
	none.Signature = ""
	_, err = w.keystone.EC2(ctx, none)
	w.wantKind(err, faults.Unauthorized, unauthorized)
}

// Only services may ask whose signature it is.
func ec2Strangers(w *world) {
	body := `{"credentials":{"access":"a","signature":"s","host":"h","verb":"GET","path":"/","params":{}}}`
	if status, text, _ := w.post("/ec2tokens", body, ""); status != 401 {
		w.t.Errorf("a stranger: %d %s", status, text)
	}
	if status, text, _ := w.post("/ec2tokens", body, w.token(w.inProject(w.user.ID))); status != 403 {
		w.t.Errorf("a member: %d %s", status, text)
	}
}

func catalog(w *world) {
	ctx := w.t.Context()
	kind := unique("type")
	service, err := services.Create(ctx, w.admin, services.CreateOpts{Type: kind, Extra: map[string]any{"name": "made by a test"}}).Extract()
	w.must(err)
	w.cleanup(func(ctx context.Context) error { return services.Delete(ctx, w.admin, service.ID).ExtractErr() })
	for region, address := range map[string]string{"RegionOne": "http://127.0.0.1:1/one/%(project_id)s", "": "http://127.0.0.1:1/nowhere"} {
		o := endpoints.CreateOpts{ServiceID: service.ID, Name: kind, Availability: gophercloud.AvailabilityPublic, URL: address, Region: region}
		_, err := endpoints.Create(ctx, w.admin, o).Extract()
		w.must(err)
	}
	who := w.who(w.token(w.inProject(w.user.ID)))
	provider, err := w.keystone.For(who)
	w.must(err)
	at := gophercloud.EndpointOpts{Type: kind, Region: "RegionOne", Availability: gophercloud.AvailabilityPublic}
	if got, err := provider.EndpointLocator(at); err != nil || got != "http://127.0.0.1:1/one/"+w.project.ID+"/" {
		w.t.Errorf("%q %v", got, err)
	}
	at.Availability = gophercloud.AvailabilityInternal
	if got, err := provider.EndpointLocator(at); err == nil {
		w.t.Errorf("an internal endpoint that isn't there: %q", got)
	}
	at.Type, at.Availability = "identity", gophercloud.AvailabilityPublic
	if got, err := provider.EndpointLocator(at); err != nil || !strings.HasPrefix(got, "http://127.0.0.1:") {
		w.t.Errorf("identity: %q %v", got, err)
	}
}

// A session whose token was revoked under it goes on with another.
func renewed(w *world) {
	ctx := w.t.Context()
	before, err := w.keystone.Service().Token(ctx)
	w.must(err)
	w.revoke(before)
	w.want(w.who(w.token(w.inProject(w.user.ID))), w.member())
	after, err := w.keystone.Service().Token(ctx)
	w.must(err)
	if after == before {
		w.t.Error("the session kept a revoked token")
	}
	var service policy.Credentials
	who, err := w.keystone.Service().Identity(ctx)
	w.must(err)
	service = who.Credentials
	if !slices.Contains(service.Roles, "service") || service.ProjectID != w.project.ID {
		w.t.Errorf("%+v", service)
	}
}
