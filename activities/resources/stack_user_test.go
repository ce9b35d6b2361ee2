package resources_test

// Resources that are users, at the development cloud's Keystone: none is made twice,
// and none is left.

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/orchestration"
	"holdfast.dev/workers"
)

// gate is the way to a service, which may lose answers.
type gate struct {
	*httputil.ReverseProxy
	// left is how many answers come through; less than 0 is all.
	left atomic.Int64
}

// ServeHTTP passes the request on, and may lose its answer.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lost := false
	if n := g.left.Load(); n >= 0 && !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
		lost = g.left.Add(-1) < 0
		g.left.Store(max(g.left.Load(), 0))
	}
	if !lost {
		g.ReverseProxy.ServeHTTP(w, r)
		return
	}
	g.ReverseProxy.ServeHTTP(httptest.NewRecorder(), r)
	w.WriteHeader(http.StatusBadGateway)
}

// keystoneAt is Keystone as it is reached at an address.
func keystoneAt(t *testing.T, services *companiontest.Cloud, address string) *identity.Keystone {
	t.Helper()
	k, err := identity.New(identity.Options{AuthURL: address, Username: "holdfast", Password: services.Password("holdfast"), UserDomain: "Default",
		Project: "service", ProjectDomain: "Default", Timeout: time.Minute, CacheTime: time.Minute, CacheSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// known are the users, projects and keys that Keystone has.
func known(t *testing.T, services *companiontest.Cloud) []string {
	t.Helper()
	token, _, _ := services.Login(t, "admin")
	keystone := services.At(t, services.Identity)
	var all []string
	for _, path := range []string{"users", "projects", "credentials"} {
		list, _ := keystone.Want(200, token, "GET", "/"+path, "").At(path).([]any)
		for _, one := range list {
			all = append(all, path+" "+one.(map[string]any)["id"].(string))
		}
	}
	slices.Sort(all)
	return all
}

// Handles and a policy that are users, with Keystone's answers lost one after the other
// while they are made and taken away; then the project goes with the stack.
func TestStackUsers(t *testing.T) {
	t.Parallel()
	services := companiontest.Start(t)
	address, err := url.Parse(services.Identity)
	if err != nil {
		t.Fatal(err)
	}
	way := &gate{ReverseProxy: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: address.Scheme, Host: address.Host})}
	way.left.Store(-1)
	server := httptest.NewServer(way)
	t.Cleanup(server.Close)
	keystone := keystoneAt(t, services, server.URL+"/v3")
	users := keystone.StackUsers(identity.StackDomain{Name: companiontest.StackDomain, Admin: companiontest.StackDomainAdmin, Password: services.Password(companiontest.StackDomainAdmin)})
	if _, err := users.Domain(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := known(t, services)
	w := newWorld(t, `
heat_template_version: 2021-04-16
resources:
  login: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: HEAT_SIGNAL}}
  url: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: CFN_SIGNAL}}
  amazon: {type: AWS::CloudFormation::WaitConditionHandle, deletion_policy: Retain}
  token: {type: OS::Heat::WaitConditionHandle}
  wait: {type: AWS::CloudFormation::WaitCondition, properties: {Handle: {get_resource: amazon}, Timeout: 600}}
`)
	w.users = users
	worked := func(phase steps.Phase, id int64) {
		t.Helper()
		for lost := int64(0); ; lost++ {
			way.left.Store(lost)
			out, err := w.on(w.db).Work(t.Context(), steps.WorkIn{Fence: w.fence, Phase: phase, IDs: []int64{id}})
			way.left.Store(-1)
			if err == nil && out.Failed == nil {
				break
			}
			if !faults.Is(err, faults.Unavailable) || lost > 50 {
				t.Fatalf("%d answers came through: %+v, %v", lost, out, err)
			}
		}
	}
	plan := w.plan(steps.Make)
	ids := map[string]int64{}
	for name, r := range w.rows() {
		ids[name] = r.ID
	}
	for _, name := range []string{"login", "url", "amazon", "token"} {
		worked(steps.Make, ids[name])
	}
	if len(plan.Instant) != 1 {
		t.Errorf("%v are made without anybody", plan.Instant)
	}
	attribute := func(resource, name string) string {
		t.Helper()
		v, err := stacks.NewWorld([]*orchestration.Resource{w.rows()[resource]}, w.box).Attribute(resource, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return value.Str(v)
	}
	if made := len(known(t, services)) - len(before); made != 1+3+2 {
		t.Errorf("%d things were made, want a project, 3 users and 2 keys", made)
	}
	stack, err := orchestration.GetStack(t.Context(), w.db.Pool, "p", w.stack.ID)
	if err != nil || stack.UserProjectID == nil {
		t.Fatalf("%+v, %v", stack, err)
	}
	given, err := value.ParseJSON(attribute("login", "signal"))
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) string { v, _ := given.(*value.Map).Get(name); return value.Str(v) }
	session := keystone.Password(of("user_id"), of("password"), of("project_id"))
	who, err := session.Identity(t.Context())
	if err != nil || who.ProjectID != *stack.UserProjectID || !slices.Equal(who.Roles, []string{identity.StackUser}) || who.DomainID != "" || who.UserDomainID != of("domain_id") ||
		of("auth_url") != "http://keystone/v3" || of("region_name") != "one" || of("user_id") != w.rows()["login"].PhysicalID || of("username") != who.UserName ||
		of("alarm_url") != "http://guests/orchestration/v1/"+who.ProjectID+"/stacks/s/"+w.stack.ID+"/resources/login/signal" {
		t.Errorf("%+v, %v, of %s", who.Credentials, err, attribute("login", "signal"))
	}
	if got := attribute("url", "signal"); !strings.HasPrefix(got, `{"alarm_url": "http://guests/cloudformation/v1/waitcondition/arn%3Aopenstack%3Aheat%3A%3Ap%3Astacks/s/`+w.stack.ID+`/resources/url?`) {
		t.Error(got)
	}
	if got := attribute("token", "signal"); got != "null" || attribute("token", "token") == "" {
		t.Errorf("the handle with a token: %s", got)
	}
	w.signal("amazon", map[string]any{"Status": "SUCCESS", "Data": "d", "Reason": "r", "UniqueId": "1"})
	if out := w.batch(steps.Make, ids["wait"]); out.Failed != nil || attribute("wait", "Data") != `{"1": "d"}` {
		t.Errorf("%+v: %s", out.Failed, attribute("wait", "Data"))
	}
	w.end("CREATE", "COMPLETE")

	w.fence = w.begin(operations.StackSuspend)
	w.plan(steps.Suspend)
	worked(steps.Suspend, ids["login"])
	if _, err := keystone.Password(of("user_id"), of("password"), of("project_id")).Token(t.Context()); !faults.Is(err, faults.Unauthorized) {
		t.Errorf("a user that is put to sleep logs in: %v", err)
	}
	w.end("SUSPEND", "COMPLETE")

	w.fence = w.begin(operations.StackDelete)
	w.plan(steps.Clear)
	w.batch(steps.Clear, -ids["wait"])
	for _, name := range []string{"login", "url", "amazon", "token"} {
		worked(steps.Clear, -ids[name])
	}
	if left := len(known(t, services)) - len(before); left != 1 {
		t.Errorf("%d things are left, want the project", left)
	}
	ends := workers.StackIdentities{DB: w.db, EndProject: users.EndProject}
	once := func() error { return ends.Once(context.WithoutCancel(t.Context())) }
	if err := once(); err != nil || len(known(t, services)) == len(before) {
		t.Errorf("the project of a stack that is there: %v", err)
	}
	if _, err := w.db.Pool.Exec(t.Context(), `UPDATE orchestration.stacks SET deleted_at = now()`); err != nil {
		t.Fatal(err)
	}
	for lost := int64(0); ; lost++ {
		way.left.Store(lost)
		err := once()
		way.left.Store(-1)
		if err == nil {
			break
		}
		if lost > 20 {
			t.Fatal(err)
		}
	}
	if after := known(t, services); !slices.Equal(after, before) {
		t.Errorf("%v, want %v", after, before)
	}
	if err := once(); err != nil {
		t.Error(err)
	}
}
