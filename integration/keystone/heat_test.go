package keystone

// What Heat asks: keys for its users' signals, users and projects in a domain of
// their own, the roles that others bring.

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/trusts"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/stacks"
)

// keyBlob is a key as a client makes it.
func keyBlob(access, secret string) string {
	text, err := json.Marshal(map[string]string{"access": access, "secret": secret})
	if err != nil {
		panic(err) // two texts
	}
	return string(text)
}

func ec2Credentials(w *world) {
	ctx := w.t.Context()
	access, secret := strings.ReplaceAll(uuid.NewString(), "-", ""), "of-a-signal"
	key := credentials.CreateOpts{UserID: w.user.ID, ProjectID: w.project.ID, Type: "ec2", Blob: keyBlob(access, secret)}
	made, err := credentials.Create(ctx, w.admin, key).Extract()
	w.must(err)
	w.cleanup(func(ctx context.Context) error { return credentials.Delete(ctx, w.admin, made.ID).ExtractErr() })
	if made.Type != "ec2" || made.UserID != w.user.ID || made.ProjectID != w.project.ID || len(made.ID) != 64 {
		w.t.Errorf("made %+v", made)
	}
	who, err := w.keystone.EC2(ctx, signed(access, secret))
	w.must(err)
	w.want(who, w.member())
	mine := w.login(w.inProject(w.user.ID))
	read, err := credentials.Get(ctx, mine, made.ID).Extract()
	w.must(err)
	if read.Blob != key.Blob {
		w.t.Errorf("blob %q, want %q", read.Blob, key.Blob)
	}

	for name, bad := range map[string]struct {
		change func(*credentials.CreateOpts)
		status int
	}{
		"a key that is there": {func(*credentials.CreateOpts) {}, 409},
		"no JSON":             {func(o *credentials.CreateOpts) { o.Blob = "no JSON" }, 400},
		"no object":           {func(o *credentials.CreateOpts) { o.Blob = "[]" }, 400},
		"no access":           {func(o *credentials.CreateOpts) { o.Blob = `{"secret":"s"}` }, 400},
		"no project":          {func(o *credentials.CreateOpts) { o.ProjectID, o.Blob = "", keyBlob("another", "s") }, 400},
	} {
		o := key
		bad.change(&o)
		if _, err := credentials.Create(ctx, w.admin, o).Extract(); !gophercloud.ResponseCodeIs(err, bad.status) {
			w.t.Errorf("%s: %v, want status %d", name, err, bad.status)
		}
	}
	// Nobody makes them for another, and delegates make none at all.
	other := w.newUser("default", "member")
	theirs := w.login(w.inProject(other.ID))
	if _, err := credentials.Create(ctx, theirs, key).Extract(); !gophercloud.ResponseCodeIs(err, 403) {
		w.t.Errorf("a key made for another: %v", err)
	}
	given, err := trusts.Create(ctx, mine, trusts.CreateOpts{Impersonation: true, TrustorUserID: w.user.ID, TrusteeUserID: other.ID,
		ProjectID: w.project.ID, Roles: []trusts.Role{{Name: "member"}}}).Extract()
	w.must(err)
	delegate := w.login(gophercloud.AuthOptions{UserID: other.ID, Password: password, Scope: &gophercloud.AuthScope{TrustID: given.ID}})
	key.Blob = keyBlob(access+"d", secret)
	if _, err := credentials.Create(ctx, delegate, key).Extract(); !gophercloud.ResponseCodeIs(err, 403) {
		w.t.Errorf("a key made by a trustee: %v", err)
	}

	w.must(credentials.Delete(ctx, mine, made.ID).ExtractErr())
	if _, err := w.keystone.EC2(ctx, signed(access, secret)); err == nil {
		w.t.Error("a deleted key still signs")
	}
}

// stackDomain is a domain for stacks' users, with an administrator.
func (w *world) stackDomain() (*domains.Domain, *users.User) {
	w.t.Helper()
	ctx := w.t.Context()
	off := false
	domain, err := domains.Create(ctx, w.admin, domains.CreateOpts{Name: unique("heat")}).Extract()
	w.must(err)
	w.cleanup(func(ctx context.Context) error {
		_, err := domains.Update(ctx, w.admin, domain.ID, domains.UpdateOpts{Enabled: &off}).Extract() // or it can't go
		return errors.Join(err, domains.Delete(ctx, w.admin, domain.ID).ExtractErr())
	})
	administrator := w.newUser(domain.ID)
	w.must(roles.Assign(ctx, w.admin, w.roles["admin"], roles.AssignOpts{UserID: administrator.ID, DomainID: domain.ID}).ExtractErr())
	return domain, administrator
}

// stackUser does what Heat does with its stack domain's administrator, who works
// in that domain and names it or not.
func stackUser(w *world) {
	ctx := w.t.Context()
	domain, administrator := w.stackDomain()
	heat := w.login(gophercloud.AuthOptions{UserID: administrator.ID, Password: password, Scope: &gophercloud.AuthScope{DomainID: domain.ID}})

	stack, err := projects.Create(ctx, heat, projects.CreateOpts{Name: unique("stack"), Description: "Heat stack user project"}).Extract()
	w.must(err)
	if stack.DomainID != domain.ID {
		w.t.Errorf("the project is in domain %s, want %s", stack.DomainID, domain.ID)
	}
	user, err := users.Create(ctx, heat, users.CreateOpts{Name: unique("stack-user"), Password: password, DefaultProjectID: stack.ID}).Extract()
	w.must(err)
	if user.DomainID != domain.ID {
		w.t.Errorf("the user is in domain %s, want %s", user.DomainID, domain.ID)
	}
	w.must(roles.Assign(ctx, heat, w.roles["member"], roles.AssignOpts{UserID: user.ID, ProjectID: stack.ID}).ExtractErr())
	who := w.who(w.token(gophercloud.AuthOptions{UserID: user.ID, Password: password, Scope: &gophercloud.AuthScope{ProjectID: stack.ID}}))
	want := w.member()
	want.UserID, want.UserName, want.UserDomainID, want.UserDomainName = user.ID, user.Name, domain.ID, domain.Name
	want.ProjectID, want.ProjectName, want.ProjectDomainID, want.ProjectDomainName = stack.ID, stack.Name, domain.ID, domain.Name
	w.want(who, want)

	access := strings.ReplaceAll(uuid.NewString(), "-", "")
	_, err = credentials.Create(ctx, heat, credentials.CreateOpts{UserID: user.ID, ProjectID: stack.ID, Type: "ec2", Blob: keyBlob(access, "s")}).Extract()
	w.must(err)
	who, err = w.keystone.EC2(ctx, signed(access, "s"))
	w.must(err)
	w.want(who, want)

	w.must(users.Delete(ctx, heat, user.ID).ExtractErr())
	if _, err := w.keystone.EC2(ctx, signed(access, "s")); err == nil {
		w.t.Error("the key of a deleted user still signs")
	}
	w.must(projects.Delete(ctx, heat, stack.ID).ExtractErr())
}

// stackUsers are made by what Holdfast makes stacks' users by: each once, and gone after.
func stackUsers(w *world) {
	ctx := w.t.Context()
	domain, administrator := w.stackDomain()
	if w.roles[identity.StackUser] == "" {
		role, err := roles.Create(ctx, w.admin, roles.CreateOpts{Name: identity.StackUser}).Extract()
		w.must(err)
		w.cleanup(func(ctx context.Context) error { return roles.Delete(ctx, w.admin, role.ID).ExtractErr() })
	}
	byName := w.keystone.StackUsers(identity.StackDomain{Name: domain.Name, Admin: administrator.Name, Password: password})
	byID := w.keystone.StackUsers(identity.StackDomain{ID: domain.ID, Admin: administrator.Name, Password: password})
	if id, err := byName.Domain(ctx); err != nil || id != domain.ID {
		w.t.Errorf("the domain is %s, %v", id, err)
	}
	project, name := unique("stack"), strings.Repeat("x", 300)+unique("user")
	access := strings.ReplaceAll(uuid.NewString(), "-", "")
	var projectID, userID string
	for _, u := range []*identity.StackUsers{byName, byID} {
		of, err := u.Project(ctx, project)
		w.must(err)
		id, err := u.User(ctx, name, password, of)
		w.must(err)
		w.must(u.Key(ctx, id, of, access, "s"))
		if userID != "" && (of != projectID || id != userID) {
			w.t.Error("something was made twice")
		}
		projectID, userID = of, id
	}
	login := gophercloud.AuthOptions{UserID: userID, Password: password, Scope: &gophercloud.AuthScope{ProjectID: projectID}}
	who := w.who(w.token(login))
	if who.ProjectName != project || !slices.Equal(who.Roles, []string{identity.StackUser}) || who.UserDomainID != domain.ID {
		w.t.Errorf("it logs in as %+v", who.Credentials)
	}
	// What doesn't say when it was signed is good for as long as the key is.
	address, err := url.Parse(must(stacks.SignedURL("http://guests/cfn", stacks.SignalPath, stacks.Place{ProjectID: "p", StackName: "s", StackID: "i", Resource: "r"},
		stacks.Key{Access: access, Secret: "s"}, time.Time{})))
	w.must(err)
	path, err := url.PathUnescape(address.EscapedPath())
	w.must(err)
	asked := identity.EC2Request{Access: access, Signature: address.Query().Get("Signature"), Host: address.Host, Verb: "POST", Path: path, Params: map[string]string{}}
	for name := range address.Query() {
		if name != "Signature" {
			asked.Params[name] = address.Query().Get(name)
		}
	}
	signer, err := w.keystone.EC2(ctx, asked)
	if err != nil || signer.UserID != userID || signer.ProjectID != projectID {
		w.t.Errorf("it signs as %+v, %v", signer.Credentials, err)
	}
	w.must(byID.Enable(ctx, userID, false))
	if _, err := w.keystone.EC2(ctx, asked); err == nil {
		w.t.Error("who is disabled still signs")
	}
	w.must(byID.Enable(ctx, userID, true))
	if err := byID.Enable(ctx, w.user.ID, false); err == nil {
		w.t.Error("a user of another domain was disabled")
	}
	w.must(byID.EndProject(ctx, "", w.project.ID)) // of another domain, and stays
	if _, err := projects.Get(ctx, w.admin, w.project.ID).Extract(); err != nil {
		w.t.Errorf("a project of another domain: %v", err)
	}
	for _, id := range []string{userID, userID, ""} {
		w.must(byName.EndUser(ctx, name, id))
	}
	for _, id := range []string{"", projectID, ""} {
		w.must(byName.EndProject(ctx, project, id))
	}
	if _, err := w.keystone.EC2(ctx, asked); err == nil {
		w.t.Error("who is gone still signs")
	}
	wrong := w.keystone.StackUsers(identity.StackDomain{ID: domain.ID, Admin: administrator.Name, Password: "wrong"})
	if _, err := wrong.Project(ctx, project); err == nil || faults.As(err).Message != "Authorization failed." {
		w.t.Errorf("a wrong password: %v", err)
	}
}

func must(text string, err error) string {
	if err != nil {
		panic(err) // nothing but texts
	}
	return text
}

// implied reads the rules whole, of one role, and one.
func implied(w *world) {
	type link struct {
		ID, Name string
	}
	var all struct {
		Inferences []struct {
			Prior   link `json:"prior_role"`
			Implies []link
		} `json:"role_inferences"`
	}
	w.get("/role_inferences", &all)
	found := map[string][]string{}
	for _, inference := range all.Inferences {
		for _, role := range inference.Implies {
			found[inference.Prior.Name] = append(found[inference.Prior.Name], role.Name)
		}
	}
	for prior, role := range map[string]string{"admin": "manager", "manager": "member", "member": "reader"} {
		if !slices.Contains(found[prior], role) {
			w.t.Errorf("%s implies %v, want %s among them", prior, found[prior], role)
		}
	}
	var one struct {
		Inference struct {
			Implies []link
		} `json:"role_inference"`
	}
	w.get("/roles/"+w.roles["member"]+"/implies", &one)
	if len(one.Inference.Implies) != 1 || one.Inference.Implies[0].ID != w.roles["reader"] {
		w.t.Errorf("member implies %+v", one.Inference.Implies)
	}
	var rule struct {
		Inference struct {
			Prior   link `json:"prior_role"`
			Implies link
		} `json:"role_inference"`
	}
	w.get("/roles/"+w.roles["member"]+"/implies/"+w.roles["reader"], &rule)
	if rule.Inference.Prior.Name != "member" || rule.Inference.Implies.Name != "reader" {
		w.t.Errorf("the rule %+v", rule.Inference)
	}
	err := w.tryGet("/roles/"+w.roles["reader"]+"/implies/"+w.roles["member"], &rule)
	if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		w.t.Errorf("a rule that isn't there: %v", err)
	}
}

// tryGet reads a document as the administrator.
func (w *world) tryGet(path string, into any) error {
	answer, err := w.admin.Get(w.t.Context(), w.server.url+path, into, nil)
	if err != nil && answer != nil && answer.Body != nil {
		_ = answer.Body.Close() // the error is told already
	}
	return err
}

func (w *world) get(path string, into any) {
	w.t.Helper()
	w.must(w.tryGet(path, into))
}
