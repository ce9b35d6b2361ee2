package resources_test

// Types that are data, against the services of the development cloud.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/resources"
	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/testenv"
)

// cut is a cloud whose answers are lost from some request on, once it was sent.
type cut struct {
	*openstack.Owners
	mu sync.Mutex
	// left is how many answers come through; negative is all.
	left int
	// changes is how many requests there were that may change something.
	changes int
}

var errCut = errors.New("the test has cut the connection")

func (c *cut) Client(ctx context.Context, project, trust, service string) (*gophercloud.ServiceClient, error) {
	client, err := c.Owners.Client(ctx, project, trust, service)
	if err == nil {
		client.ProviderClient.HTTPClient.Transport = cutting{c, client.ProviderClient.HTTPClient.Transport}
	}
	return client, err
}

func (c *cut) after(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = n
}

type cutting struct {
	*cut
	next http.RoundTripper
}

// RoundTrip sends the request, and may lose its answer.
func (c cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	next := c.next
	if next == nil {
		next = http.DefaultTransport
	}
	answer, err := next.RoundTrip(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
		c.changes++
	}
	switch {
	case c.left < 0 || err != nil:
		return answer, err
	case c.left == 0:
		_ = answer.Body.Close() // nobody hears it
		return nil, errCut
	}
	c.left--
	return answer, nil
}

// bench is the services with types to make resources of.
type bench struct {
	*testing.T
	cloud   *cut
	at      resources.Cloud
	types   resources.Types
	known   *resourcetype.Registry
	project string
	ids     map[string]string
	data    map[string]*value.Map
	// after, if there is one, looks at what was done.
	after func(done string)
}

// newBench has resources made in the demo project.
func newBench(t *testing.T) (*bench, *companiontest.Cloud) {
	t.Helper()
	return newBenchAs(t, "holdfast", "service", "demo")
}

// newAdminBench has resources made by an administrator.
func newAdminBench(t *testing.T) (*bench, *companiontest.Cloud) {
	t.Helper()
	return newBenchAs(t, "admin", "admin", "admin")
}

// newBenchAs has resources made by a user that logs in in one project, in that of another.
func newBenchAs(t *testing.T, user, at, owner string) (*bench, *companiontest.Cloud) {
	t.Helper()
	services := companiontest.Start(t)
	keystone, err := identity.New(identity.Options{AuthURL: services.Identity, Username: user, Password: services.Password(user),
		UserDomain: "Default", Project: at, ProjectDomain: "Default",
		Timeout: time.Minute, CacheTime: time.Minute, CacheSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	_, _, project := services.Login(t, owner)
	cloud := &cut{Owners: &openstack.Owners{Keystone: keystone, Region: companiontest.Region}, left: -1}
	return &bench{t, cloud, cloud, resources.FromFiles(registry, cloud), registry, project, map[string]string{}, map[string]*value.Map{}, nil}, services
}

// thing is a resource of the table of what is made.
type thing struct {
	name, typ string
	// made and changed are its properties, in which NAME. is the id of a thing.
	made, changed string
	// attribute is one that is to be something.
	attribute string
}

// call is a call that nothing is remembered for.
func (b *bench) call(th thing, text string) *resources.Call {
	b.Helper()
	for name, id := range b.ids {
		text = strings.ReplaceAll(text, `"`+name+`."`, `"`+id+`"`)
	}
	v, err := value.ParseJSON(text)
	if err != nil {
		b.Fatalf("%s: %v", text, err)
	}
	properties, err := b.known.Find(th.typ).Check(v.(*value.Map), th.name, nil, everything{})
	if err != nil {
		b.Fatalf("%s: %v", th.name, err)
	}
	return &resources.Call{Name: th.name, Mark: "stack-" + th.name + "-abcdefghij" + fmt.Sprintf("%02d", len(th.name)), Action: "CREATE", ProjectID: b.project,
		Now: time.Now(), Properties: properties, Data: &value.Map{}, Attributes: &value.Map{}}
}

type everything struct{}

func (everything) Known(string) bool       { return true }
func (everything) Check(string, any) error { return nil }

// killed does something with its answers lost from the first, the second, ...
// request on, each time as if nobody had heard of the time before, until it comes
// through; and once more. What a call that came through says is remembered.
func (b *bench) killed(what string, start *resources.Call, do func(context.Context, *resources.Call) (time.Duration, error)) *resources.Call {
	b.Helper()
	again := func(c *resources.Call) *resources.Call {
		fresh := *c
		fresh.Data, fresh.Attributes = c.Data.Copy(), c.Attributes.Copy()
		return &fresh
	}
	deadline := time.Now().Add(testenv.Patience)
	for n := 0; ; {
		c := again(start)
		b.cloud.after(n)
		wait, err := do(b.Context(), c)
		switch {
		case time.Now().After(deadline) || err != nil && !faults.Is(err, faults.Unavailable):
			b.Fatalf("%s, killed at request %d: %v", what, n, err)
		case err != nil:
			n++
			continue
		}
		if start = c; wait == 0 {
			break
		}
		n = 0
		time.Sleep(wait)
	}
	b.cloud.after(-1)
	if _, err := do(b.Context(), again(start)); err != nil {
		b.Fatalf("%s, once more: %v", what, err)
	}
	return start
}

// count is how many resources of a collection there are in the project.
func (b *bench) count(t *resourcetype.Type) int {
	b.Helper()
	client, err := b.at.Client(b.Context(), b.project, "", t.REST.Service)
	if err != nil {
		b.Fatal(err)
	}
	var answer map[string]json.RawMessage
	path := strings.NewReplacer("$(policy)", b.ids["policy"], "$(instance_uuid)", b.ids["server"]).Replace(t.REST.Collection)
	if _, err := client.Get(b.Context(), client.ServiceURL(path), &answer, nil); err != nil {
		b.Fatal(err)
	}
	var list []any
	for key, text := range answer {
		if !strings.HasSuffix(key, "links") {
			if err := json.Unmarshal(text, &list); err != nil {
				b.Fatal(err)
			}
		}
	}
	return len(list)
}

// adopted has what is there be adopted, killed at every request and twice: by what is
// kept of it and without that. Nothing of it is changed, and it is read as before.
func (b *bench) adopted(th thing, made *resources.Call) {
	b.Helper()
	changes := b.cloud.changes
	for what, data := range map[string]*value.Map{"what was kept": made.Data, "its id": {}} {
		c := b.call(th, th.made)
		c.Action, c.PhysicalID, c.Data = "ADOPT", made.PhysicalID, data.Copy()
		c = b.killed("adopt "+th.name+" by "+what, c, b.types[th.typ].(resources.Adopter).Adopt)
		if v, _ := c.Attributes.Get(th.attribute); th.attribute != "" && !value.Truth(v) || c.PhysicalID != made.PhysicalID {
			b.Errorf("%s, adopted by %s: its %s is %v of %v", th.name, what, th.attribute, v, value.JSON(c.Attributes, false))
		}
		if !value.Equal(c.Reference, made.Reference) {
			b.Errorf("%s, adopted by %s: its reference is %v, and was %v", th.name, what, c.Reference, made.Reference)
		}
	}
	if b.cloud.changes != changes {
		b.Errorf("%s was changed when it was adopted", th.name)
	}
}

// checked has a check look at what is there, if it does, killed at every request and
// twice. Nothing of it is changed, and it is read as before; what isn't there is told.
func (b *bench) checked(th thing, made *resources.Call) {
	b.Helper()
	checker, is := b.types[th.typ].(resources.Checker)
	if !is {
		return
	}
	changes := b.cloud.changes
	c := b.call(th, th.made)
	c.Action, c.PhysicalID, c.Data = "CHECK", made.PhysicalID, made.Data.Copy()
	c = b.killed("check "+th.name, c, checker.Check)
	if v, _ := c.Attributes.Get(th.attribute); th.attribute != "" && !value.Truth(v) {
		b.Errorf("%s, checked: its %s is %v of %v", th.name, th.attribute, v, value.JSON(c.Attributes, false))
	}
	gone := b.call(th, th.made)
	gone.Action, gone.PhysicalID = "CHECK", "00000000-9999-4999-8999-999999999999"
	if _, err := checker.Check(b.Context(), gone); !faults.Is(err, faults.NotFound) {
		b.Errorf("a check of %s, which isn't there, says %v", th.name, err)
	}
	if b.cloud.changes != changes {
		b.Errorf("%s was changed when it was checked", th.name)
	}
}

// all makes, adopts, checks, changes and takes away everything of a table, killed at every
// request and twice: there is never more than one of a thing, and nothing is left.
func (b *bench) all(table []thing) {
	before := map[string]int{}
	for _, th := range table {
		t := b.known.Find(th.typ)
		if t.REST.Collection != "" {
			before[th.name] = b.count(t)
		}
		c := b.killed("create "+th.name, b.call(th, th.made), b.types[th.typ].Create)
		b.ids[th.name], b.data[th.name] = c.PhysicalID, c.Data
		b.did(c.Action, th)
		b.adopted(th, c)
		b.checked(th, c)
		if t.REST.Collection != "" && b.count(t) != before[th.name]+1 {
			b.Errorf("%s: there were %d and are %d", th.name, before[th.name], b.count(t))
		}
		if v, _ := c.Attributes.Get(th.attribute); th.attribute != "" && !value.Truth(v) {
			b.Errorf("%s: its %s is %v of %v", th.name, th.attribute, v, value.JSON(c.Attributes, false))
		}
	}
	for _, th := range table {
		if th.changed == "" {
			continue
		}
		var changed []string
		was, c := b.call(th, th.made), b.call(th, th.changed)
		for _, key := range c.Properties.Keys() {
			x, _ := was.Properties.Get(key)
			if y, _ := c.Properties.Get(key); !value.Equal(x, y) {
				changed = append(changed, key.(string))
			}
		}
		c.Action, c.PhysicalID, c.Data = "UPDATE", b.ids[th.name], b.data[th.name]
		c = b.killed("update "+th.name, c, func(ctx context.Context, c *resources.Call) (time.Duration, error) {
			return b.types[th.typ].Update(ctx, c, changed)
		})
		b.ids[th.name], b.data[th.name] = c.PhysicalID, c.Data
		b.did(c.Action, th)
	}
	for i := len(table) - 1; i >= 0; i-- {
		th := table[i]
		t := b.known.Find(th.typ)
		text := th.made
		if th.changed != "" {
			text = th.changed
		}
		c := b.call(th, text)
		c.Action, c.PhysicalID, c.Data = "DELETE", b.ids[th.name], b.data[th.name]
		b.killed("delete "+th.name, c, b.types[th.typ].Delete)
		b.did(c.Action, th)
		if n, counted := before[th.name]; counted && b.count(t) != n {
			b.Errorf("%s: there were %d and %d are left", th.name, n, b.count(t))
		}
	}
}

// did has what was done with a thing looked at.
func (b *bench) did(action string, th thing) {
	if b.after != nil {
		b.after(strings.ToLower(action) + " " + th.name)
	}
}

// Networks and what belongs to them.
func TestNetworkTypes(t *testing.T) {
	t.Parallel()
	b, services := newBench(t)
	admin, _, _ := services.Login(t, "admin")
	neutron := services.At(t, services.Network)
	outside := neutron.Want(201, admin, "POST", "/v2.0/networks", `{"network":{"name":"outside","router:external":true}}`).TextAt("network", "id")
	neutron.Want(201, admin, "POST", "/v2.0/subnets", `{"subnet":{"network_id":"`+outside+`","cidr":"203.0.113.0/24","ip_version":4}}`)
	b.all([]thing{
		{"net", "OS::Neutron::Net", `{"name": "mine", "tags": ["a"]}`, `{"name": "ours", "tags": ["b"], "admin_state_up": false}`, "status"},
		{"unnamed", "OS::Neutron::Net", `{}`, `{"tags": ["b"]}`, "name"},
		{"subnet", "OS::Neutron::Subnet", `{"network": "mine", "cidr": "10.1.0.0/24", "name": "s", "dns_nameservers": ["10.1.0.2"]}`, `{"network": "mine", "cidr": "10.1.0.0/24", "enable_dhcp": false}`, "cidr"},
		{"group", "OS::Neutron::SecurityGroup", `{"rules": [{"protocol": "tcp", "port_range_min": 22, "port_range_max": 22}, {"remote_mode": "remote_group_id"}]}`,
			`{"name": "g", "rules": [{"protocol": "icmp"}, {"direction": "egress", "ethertype": "IPv6"}, {"protocol": "udp"}, {"direction": "egress"}]}`, "show"},
		{"rule", "OS::Neutron::SecurityGroupRule", `{"security_group": "group.", "port_range_min": 80, "port_range_max": 90}`, "", ""},
		{"port", "OS::Neutron::Port", `{"network": "net.", "name": "p", "fixed_ips": [{"subnet": "subnet."}], "security_groups": ["group."]}`,
			`{"network": "net.", "name": "q", "fixed_ips": [{"subnet": "subnet.", "ip_address": "10.1.0.9"}], "security_groups": [], "allowed_address_pairs": [{"ip_address": "10.1.0.0/24"}]}`, "subnets"},
		{"router", "OS::Neutron::Router", `{"name": "r", "external_gateway_info": {"network": "outside"}}`, `{"name": "r2", "external_gateway_info": {"network": "outside"}}`, "status"},
		{"interface", "OS::Neutron::RouterInterface", `{"router": "r", "subnet": "subnet."}`, "", ""},
		{"floating", "OS::Neutron::FloatingIP", `{"floating_network": "outside", "port_id": "port."}`, `{"floating_network": "outside"}`, "floating_ip_address"},
		{"association", "OS::Neutron::FloatingIPAssociation", `{"floatingip_id": "floating.", "port_id": "port."}`, "", ""},
	})
}

// Disks.
func TestVolumeTypes(t *testing.T) {
	t.Parallel()
	b, _ := newBench(t)
	b.all([]thing{
		{"plain", "OS::Cinder::Volume", `{"size": 1}`, `{"size": 2, "metadata": {"a": "b"}}`, "status"},
		{"volume", "OS::Cinder::Volume", `{"size": 1, "name": "mine", "metadata": {"a": "b"}}`, `{"size": 2, "name": "ours", "description": "d"}`, "display_name"},
	})
}

// Users, groups, what they may do, and where services are.
func TestIdentityTypes(t *testing.T) {
	t.Parallel()
	b, services := newAdminBench(t)
	admin, _, _ := services.Login(t, "admin")
	keystone := services.At(t, services.Identity)
	roles := func(whom, id string) string {
		var said []string
		answer := keystone.Want(200, admin, "GET", "/role_assignments?"+whom+".id="+id+"&include_names=true", "")
		for _, one := range answer.At("role_assignments").([]any) {
			m := one.(map[string]any)
			scope := "domain"
			if m["scope"].(map[string]any)["project"] != nil {
				scope = "project"
			}
			said = append(said, m["role"].(map[string]any)["name"].(string)+" in a "+scope)
		}
		slices.Sort(said)
		return strings.Join(said, ", ")
	}
	steps := map[string]string{}
	b.after = func(done string) {
		if id := b.ids["group"]; id != "" {
			steps[done] = roles("group", id)
		}
	}
	b.all([]thing{
		{"project", "OS::Keystone::Project", `{"name": "mine", "tags": ["a"]}`, `{"name": "ours", "description": "d"}`, "name"},
		{"group", "OS::Keystone::Group", `{"name": "team", "roles": [{"role": "member", "project": "project."}, {"role": "reader", "domain": "default"}]}`,
			`{"name": "crew", "roles": [{"role": "reader", "project": "project."}, {"role": "reader", "domain": "default"}]}`, "show"},
		{"user", "OS::Keystone::User", `{"name": "one", "password": "secret", "groups": ["group."], "roles": [{"role": "member", "project": "project."}]}`,
			`{"name": "one", "password": "other", "email": "one@example.org", "default_project": "project."}`, "domain_id"},
		{"of group", "OS::Keystone::GroupRoleAssignment", `{"group": "group.", "roles": [{"role": "admin", "project": "project."}]}`,
			`{"group": "group.", "roles": [{"role": "member", "project": "project."}]}`, ""},
		{"of user", "OS::Keystone::UserRoleAssignment", `{"user": "user.", "roles": [{"role": "reader", "domain": "default"}]}`, `{"user": "user.", "roles": []}`, ""},
		{"region", "OS::Keystone::Region", `{"id": "north", "description": "d"}`, `{"id": "north", "parent_region": "RegionOne"}`, "show"},
		{"nameless", "OS::Keystone::Region", `{}`, "", "show"},
		{"service", "OS::Keystone::Service", `{"type": "dns"}`, `{"type": "dns", "name": "names"}`, "show"},
		{"endpoint", "OS::Keystone::Endpoint", `{"service": "service.", "interface": "public", "url": "http://dns.example", "region": "north"}`,
			`{"service": "service.", "interface": "admin", "url": "http://dns.example/v2", "name": "mine"}`, "show"},
	})
	for done, want := range map[string]string{
		"create group":    "member in a project, reader in a domain",
		"create of group": "admin in a project, member in a project, reader in a domain",
		"update group":    "admin in a project, reader in a domain, reader in a project",
		"update of group": "member in a project, reader in a domain, reader in a project",
		"delete of group": "reader in a domain, reader in a project",
	} {
		if steps[done] != want {
			t.Errorf("after %s: %q; want %q", done, steps[done], want)
		}
	}
}

// How fast volumes of a type may be.
func TestQoSTypes(t *testing.T) {
	t.Parallel()
	b, services := newAdminBench(t)
	admin, _, _ := services.Login(t, "admin")
	cinder := services.At(t, services.Volume)
	cinder.Want(200, admin, "POST", "/v3/types", `{"volume_type":{"name":"fast"}}`)
	specs := map[string]string{}
	b.after = func(done string) {
		if id := b.ids["specs"]; id != "" && done != "delete specs" {
			specs[done] = value.JSON(value.Of(cinder.Want(200, admin, "GET", "/v3/qos-specs/"+id, "").At("qos_specs", "specs")), true) +
				fmt.Sprint(len(cinder.Want(200, admin, "GET", "/v3/qos-specs/"+id+"/associations", "").At("qos_associations").([]any)))
		}
	}
	b.all([]thing{
		{"specs", "OS::Cinder::QoSSpecs", `{"name": "limits", "specs": {"total_iops_sec": "100", "total_bytes_sec": "5"}}`, `{"name": "limits", "specs": {"total_iops_sec": "200"}}`, "show"},
		{"association", "OS::Cinder::QoSAssociation", `{"qos_specs": "specs.", "volume_types": ["fast"]}`, `{"qos_specs": "specs.", "volume_types": []}`, ""},
	})
	for done, want := range map[string]string{
		"create specs":       `{"total_bytes_sec": "5", "total_iops_sec": "100"}0`,
		"create association": `{"total_bytes_sec": "5", "total_iops_sec": "100"}1`,
		"update specs":       `{"total_iops_sec": "200"}1`,
		"update association": `{"total_iops_sec": "200"}0`,
	} {
		if specs[done] != want {
			t.Errorf("after %s: %q; want %q", done, specs[done], want)
		}
	}
}
