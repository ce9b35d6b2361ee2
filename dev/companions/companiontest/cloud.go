package companiontest

// All companions at once, as the development cloud runs them.

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev/dev/companions"
	"holdfast.dev/dev/companions/identity"
	"holdfast.dev/dev/ports"
	"holdfast.dev/internal/testenv"
)

// Region is where a Cloud's endpoints are.
const Region = "RegionOne"

// The domain of users that stacks make, and its administrator.
const (
	StackDomain      = "heat"
	StackDomainAdmin = "heat_domain_admin"
)

// Cloud is the four services with users in the projects "admin", "demo" and
// "other": "admin", an administrator; "demo" and "other", members; "reader", of
// demo; and "holdfast", the service user of the project "service".
type Cloud struct {
	t testing.TB
	// Identity is its address with /v3; the others are without a version.
	Identity, Image, Network, Volume string
	// Images is the folder with images' data, each in a file named by its id.
	Images    string
	passwords map[string]string
}

var cloudUsers = []struct{ name, project, role string }{
	{"admin", "admin", "admin"}, {"demo", "demo", "member"}, {"other", "other", "member"}, {"reader", "demo", "reader"}, {"holdfast", "service", "service"},
}

// Start runs all companions over a fresh database until the test's end. Networks
// are documents only.
func Start(t testing.TB) *Cloud {
	t.Helper()
	c := &Cloud{t: t, passwords: map[string]string{}}
	var at [4]int
	for i := range at {
		port, err := ports.Free()
		if err != nil {
			t.Fatal(err)
		}
		at[i] = port
	}
	url := func(i int) string { return fmt.Sprintf("http://127.0.0.1:%d", at[i]) }
	c.Identity, c.Image, c.Network, c.Volume = url(0)+"/v3", url(1), url(2), url(3)
	c.passwords[StackDomainAdmin] = rand.Text()
	seed := identity.Seed{Region: Region, Projects: []string{"admin", "demo", "other", "service"}, Roles: []string{"heat_stack_user"},
		Domains: []identity.SeedDomain{{Name: StackDomain, Admin: StackDomainAdmin, Password: c.passwords[StackDomainAdmin]}}, Services: []identity.SeedService{
			{Type: "identity", Name: "keystone", URL: c.Identity}, {Type: "image", Name: "glance", URL: c.Image},
			{Type: "network", Name: "neutron", URL: c.Network}, {Type: "block-storage", Name: "cinder", URL: c.Volume + "/v3"},
		}}
	for _, u := range cloudUsers {
		c.passwords[u.name] = rand.Text()
		roles, inherited := map[string][]string{u.project: {u.role}}, []string(nil)
		switch u.name {
		case "admin":
			roles[""] = []string{"admin"}
		case "holdfast":
			roles["service"], inherited = []string{"admin", "service"}, []string{"member", "service"}
		}
		seed.Users = append(seed.Users, identity.SeedUser{Name: u.name, Password: c.passwords[u.name], DefaultProject: u.project, Roles: roles, Inherited: inherited})
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	dir := t.TempDir()
	c.Images = filepath.Join(dir, "images")
	cfg := companions.Config{DSN: testenv.Database(t), Dir: dir, Seed: seed,
		IdentityPort: at[0], ImagePort: at[1], NetworkPort: at[2], VolumePort: at[3],
		User: "holdfast", Password: c.passwords["holdfast"], Project: "service", ComputeURL: "http://127.0.0.1:1/v2.1"}
	go func() { done <- companions.Run(ctx, cfg, Log(t)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for _, address := range []string{c.Identity, c.Image, c.Network, c.Volume} {
		c.await(address, done)
	}
	return c
}

// await waits until a service answers.
func (c *Cloud) await(address string, done chan error) {
	c.t.Helper()
	for deadline := time.Now().Add(testenv.Patience); ; time.Sleep(20 * time.Millisecond) {
		response, err := http.Get(address)
		if err == nil {
			_ = response.Body.Close() // that it answers is enough
			return
		}
		select {
		case err := <-done:
			done <- nil // for the cleanup
			c.t.Fatalf("the companions have ended: %v", err)
		default:
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s doesn't answer: %v", address, err)
		}
	}
}

// Environment is what the command line client reads, for one of the users.
func (c *Cloud) Environment(user string) []string {
	return []string{"OS_AUTH_URL=" + c.Identity, "OS_USERNAME=" + user, "OS_PASSWORD=" + c.passwords[user], "OS_PROJECT_NAME=" + c.project(user),
		"OS_USER_DOMAIN_ID=default", "OS_PROJECT_DOMAIN_ID=default", "OS_IDENTITY_API_VERSION=3", "OS_REGION_NAME=" + Region}
}

func (c *Cloud) project(user string) string {
	for _, u := range cloudUsers {
		if u.name == user {
			return u.project
		}
	}
	c.t.Fatalf("the cloud has no user %q", user)
	return ""
}

// Password is a user's.
func (c *Cloud) Password(user string) string { return c.passwords[user] }

// Login gives a token of a user for its project, and who that is.
func (c *Cloud) Login(t testing.TB, user string) (token, userID, projectID string) {
	t.Helper()
	domain := map[string]any{"id": "default"}
	body, err := json.Marshal(map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"},
			"password": map[string]any{"user": map[string]any{"name": user, "domain": domain, "password": c.passwords[user]}}},
		"scope": map[string]any{"project": map[string]any{"name": c.project(user), "domain": domain}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(c.Identity+"/auth/tokens", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Token struct{ User, Project struct{ ID string } }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusCreated {
		t.Fatalf("log in as %s: status %d, %v", user, response.StatusCode, err)
	}
	return response.Header.Get("X-Subject-Token"), answer.Token.User.ID, answer.Token.Project.ID
}

// At is a client of one of the services' addresses; its callers are tokens.
func (c *Cloud) At(t testing.TB, address string) *Client {
	return &Client{t: t, Base: address, Header: http.Header{}}
}
