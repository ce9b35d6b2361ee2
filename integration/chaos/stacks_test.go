package chaos

// Stacks are made, changed, taken back and deleted while what they stand on is killed.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

const (
	// size is how many resources the stack has, those of groups among them.
	size = 200
	// units are so many servers, each with what belongs to it.
	units = 20
	// kills are so many in each of the stack's lives: when it is made, changed, taken
	// back and deleted.
	kills = 5
)

// A stack of all that users put in one is made, changed, taken back and deleted, while
// each process is killed by SIGKILL and started again, at times that the seed draws.
// Each of these ends as it would have without that, what is there meanwhile is what the
// template says, once, and at the end all lists are what they were before. It is done in
// full only: a small stack's control worker is killed in package stacks.
func TestKillsUnderStacks(t *testing.T) {
	if !full {
		return
	}
	t.Parallel()
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			// Every host comes back, on a crowded machine late: none is to be taken for down.
			c := cloud.Start(t, cloud.Options{Services: true, Config: map[string]any{"compute.host_down_after": "30s"}})
			k := &underKills{T: t, Cloud: c, r: rand.New(rand.NewPCG(seed, 0)), image: imageOf(t, c)}
			outside(t, c)
			before := lists(t, c)

			k.under("CREATE_COMPLETE", func() error {
				if err := k.create("mine", k.template(1)); err != nil {
					return err
				}
				return k.signal()
			})
			k.has(1)
			k.under("UPDATE_COMPLETE", func() error { return k.put(k.template(2), true) })
			k.has(2)
			k.under("ROLLBACK_COMPLETE", func() error { return k.put(k.template(3), false) })
			k.has(2)
			k.under("DELETE_COMPLETE", k.remove)
			c.Audit()
			c.Eventually("all is as before", patience, func(context.Context) error {
				after := lists(t, c)
				for name := range before {
					if !slices.Equal(before[name], after[name]) {
						return fmt.Errorf("%s are %v, and were %v", name, after[name], before[name])
					}
				}
				return nil
			})
			if guests := c.Guests(); len(guests) > 0 {
				t.Errorf("guests are left: %v", guests)
			}
		})
	}
}

// underKills is a stack of a cloud in which there is killing.
type underKills struct {
	*testing.T
	*cloud.Cloud
	r     *rand.Rand
	image string
	path  string // of the stack
}

// imageOf is the image that servers are made from.
func imageOf(t *testing.T, c *cloud.Cloud) string {
	t.Helper()
	var out struct{ Images []struct{ ID string } }
	must(t, c.Images(t.Context(), http.MethodGet, "/images", nil, &out))
	return out.Images[0].ID
}

// outside is a network with addresses that lead inside.
func outside(t *testing.T, c *cloud.Cloud) {
	t.Helper()
	var made struct{ Network struct{ ID string } }
	must(t, c.NetworksOfAll(t.Context(), http.MethodPost, "/networks", map[string]any{"network": map[string]any{"name": "outside", "router:external": true}}, &made))
	must(t, c.NetworksOfAll(t.Context(), http.MethodPost, "/subnets", map[string]any{"subnet": map[string]any{
		"network_id": made.Network.ID, "ip_version": 4, "cidr": "198.51.100.0/24"}}, nil))
}

// lists are what the project has, and whom the identity service knows of: ids, by
// the name of their list.
func lists(t *testing.T, c *cloud.Cloud) map[string][]string {
	t.Helper()
	compute := func(ctx context.Context, method, path string, in, out any) error {
		return c.Do(ctx, method, "/v2.1"+path, in, http.StatusOK, out)
	}
	type ask func(ctx context.Context, method, path string, in, out any) error
	all := map[string][]string{}
	for _, list := range []struct {
		name, path string
		of         ask
	}{
		{"servers", "/servers", compute}, {"keypairs", "/os-keypairs", compute}, {"server_groups", "/os-server-groups", compute},
		{"networks", "/networks", c.Networks}, {"subnets", "/subnets", c.Networks}, {"ports", "/ports", c.Networks}, {"routers", "/routers", c.Networks},
		{"floatingips", "/floatingips", c.Networks}, {"security_groups", "/security-groups", c.Networks},
		{"volumes", "/volumes", c.Volumes}, {"snapshots", "/snapshots", c.Volumes}, {"backups", "/backups", c.Volumes},
		{"images", "/images", c.Images},
		{"trusts", "/OS-TRUST/trusts", c.Identity}, {"users", "/users", c.Identity}, {"credentials", "/credentials", c.Identity}, {"projects", "/projects", c.Identity},
	} {
		var answer map[string]json.RawMessage
		must(t, list.of(t.Context(), http.MethodGet, list.path, nil, &answer))
		var items []struct {
			ID      string
			Keypair struct{ Name string }
		}
		must(t, json.Unmarshal(answer[list.name], &items))
		ids := []string{}
		for _, item := range items {
			ids = append(ids, item.ID+item.Keypair.Name)
		}
		slices.Sort(ids)
		all[list.name] = ids
	}
	return all
}

// unitsOf are those that an edition of the template has: of a later one the first is
// gone, and there is another.
func unitsOf(edition int) []int {
	all := make([]int, units)
	for i := range all {
		all[i] = edition - 1 + i
	}
	return all
}

// members are those of the group, by the edition.
var members = map[int]int{1: 3, 2: 5, 3: 2}

// template is an edition of the stack's. The second replaces servers under their ports,
// disks and addresses; the third can't be carried out.
func (k *underKills) template(edition int) string {
	lines := []string{"heat_template_version: 2021-04-16", "resources:"}
	add := func(name, typ, properties string, more ...any) {
		lines = append(lines, fmt.Sprintf("  %s: {type: %q, properties: {%s}}", name, "OS::"+typ, fmt.Sprintf(properties, more...)))
	}
	add("net", "Neutron::Net", "")
	add("subnet", "Neutron::Subnet", "network: {get_resource: net}, cidr: 10.9.0.0/24")
	add("router", "Neutron::Router", "external_gateway_info: {network: outside}")
	add("plug", "Neutron::RouterInterface", "router: {get_resource: router}, subnet: {get_resource: subnet}")
	add("guard", "Neutron::SecurityGroup", "rules: [{protocol: tcp, port_range_min: %d, port_range_max: 80}]", edition)
	add("key", "Nova::KeyPair", "name: mine")
	add("near", "Nova::ServerGroup", "policies: [soft-affinity]")
	add("handle", "Heat::WaitConditionHandle", "")
	add("wait", "Heat::WaitCondition", "handle: {get_resource: handle}, timeout: 3600")
	add("group", "Heat::ResourceGroup", "count: %d, resource_def: {type: 'OS::Neutron::Port', properties: {network: {get_resource: net}, fixed_ips: [{subnet: {get_resource: subnet}}]}}", members[edition])
	add("scaled", "Heat::AutoScalingGroup", "min_size: 1, max_size: 5, desired_capacity: %d, resource: {type: 'OS::Heat::RandomString'}", edition)
	has := unitsOf(edition)
	for _, i := range has {
		data, near := 0, ""
		if i%2 == 1 {
			data = edition // so that it is replaced
		}
		if i%4 == 0 { // a group has few members
			near = ", scheduler_hints: {group: {get_resource: near}}"
		}
		add(fmt.Sprintf("port%d", i), "Neutron::Port", "network: {get_resource: net}, fixed_ips: [{subnet: {get_resource: subnet}}], security_groups: [{get_resource: guard}], name: port-%d-%d", i, edition)
		add(fmt.Sprintf("disk%d", i), "Cinder::Volume", "size: 1, metadata: {edition: '%d'}", edition)
		add(fmt.Sprintf("server%d", i), "Nova::Server", "name: server-%d, image: %s, flavor: %s, key_name: {get_resource: key}, networks: [{port: {get_resource: port%d}}], metadata: {edition: '%d'}, user_data_format: RAW, user_data: '%d'%s",
			i, k.image, cloud.Flavor, i, edition, data, near)
		add(fmt.Sprintf("attached%d", i), "Cinder::VolumeAttachment", "instance_uuid: {get_resource: server%d}, volume_id: {get_resource: disk%d}", i, i)
		add(fmt.Sprintf("address%d", i), "Neutron::FloatingIP", "floating_network: outside, port_id: {get_resource: port%d}", i)
	}
	if edition == 3 {
		lines = append(lines, fmt.Sprintf("  bad: {type: 'OS::Heat::TestResource', properties: {fail: true}, depends_on: [server%d, word2]}", has[len(has)-1]))
	}
	for i := 0; len(lines)-2+members[edition]+edition < size; i++ {
		if i%2 == 0 {
			add(fmt.Sprintf("word%d", i), "Heat::RandomString", "length: %d", 8+i%3*edition)
		} else {
			add(fmt.Sprintf("said%d", i), "Heat::Value", "value: {get_attr: [word%d, value]}", i-1)
		}
	}
	return strings.Join(lines, "\n")
}

// under has something be asked for, and waits until the stack has come to a state, while
// there are the kills of one of its lives.
func (k *underKills) under(state string, ask func() error) {
	k.Helper()
	began := time.Now()
	asked := make(chan error, 1)
	go func() { asked <- surely(k.Context(), ask) }()
	for range kills {
		victim := []cloud.Name{cloud.Control, cloud.API, cloud.Temporal, cloud.Postgres}[k.r.IntN(4)]
		time.Sleep(between(k.r, 300*time.Millisecond, 3*time.Second))
		k.Kill(victim)
		k.Logf("%s killed %s after it was asked to be %s", victim, time.Since(began).Round(100*time.Millisecond), state)
		time.Sleep(between(k.r, 100*time.Millisecond, 2*time.Second))
		k.Restart(victim)
	}
	must(k.T, <-asked)
	k.Eventually("the stack is "+state, 3*time.Minute, func(ctx context.Context) error {
		var shown struct {
			Stack struct {
				Status string `json:"stack_status"`
				Reason string `json:"stack_status_reason"`
			}
		}
		if err := k.Do(ctx, http.MethodGet, k.path, nil, http.StatusOK, &shown); err != nil || shown.Stack.Status == state {
			return err
		}
		if strings.HasSuffix(shown.Stack.Status, "_FAILED") {
			k.Fatalf("the stack is %s: %s", shown.Stack.Status, shown.Stack.Reason)
		}
		return fmt.Errorf("it is %s: %s", shown.Stack.Status, shown.Stack.Reason)
	})
	k.Logf("%s after %s", state, time.Since(began).Round(100*time.Millisecond))
}

// surely asks until there is an answer that is one.
func surely(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		var refused *cloud.StatusError
		if err == nil || ctx.Err() != nil || errors.As(err, &refused) && refused.Code < http.StatusInternalServerError {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (k *underKills) stacks() string { return "/orchestration/v1/" + k.Project() + "/stacks" }

// create makes a stack of a name, once: a conflict says that it was, by a request whose
// answer was lost.
func (k *underKills) create(name, template string) error {
	err := k.Do(k.Context(), http.MethodPost, k.stacks(), map[string]any{"stack_name": name, "template": template}, http.StatusCreated, nil)
	var refused *cloud.StatusError
	if err != nil && !(errors.As(err, &refused) && refused.Code == http.StatusConflict) {
		return err
	}
	var list struct{ Stacks []struct{ ID string } }
	if err := k.Do(k.Context(), http.MethodGet, k.stacks()+"?name="+name, nil, http.StatusOK, &list); err != nil {
		return err
	}
	k.path = k.stacks() + "/" + name + "/" + list.Stacks[0].ID
	return nil
}

func (k *underKills) put(template string, keep bool) error {
	return k.Do(k.Context(), http.MethodPut, k.path, map[string]any{"template": template, "disable_rollback": keep}, http.StatusAccepted, nil)
}

// remove has the stack be deleted, if it isn't by a request whose answer was lost.
func (k *underKills) remove() error {
	err := k.Do(k.Context(), http.MethodDelete, k.path, nil, http.StatusNoContent, nil)
	if isGone(err) {
		return nil
	}
	return err
}

// signal has the wait condition be met, once there is its handle.
func (k *underKills) signal() error {
	var shown struct {
		Resource struct {
			Status string `json:"resource_status"`
		}
	}
	err := k.Do(k.Context(), http.MethodGet, k.path+"/resources/handle", nil, http.StatusOK, &shown)
	if err == nil && shown.Resource.Status != "CREATE_COMPLETE" || isGone(err) {
		return fmt.Errorf("the handle is %q: %v", shown.Resource.Status, err)
	}
	if err != nil {
		return err
	}
	return k.Do(k.Context(), http.MethodPost, k.path+"/resources/handle/signal", map[string]any{"status": "SUCCESS", "id": "1", "data": "ready"}, http.StatusOK, nil)
}

// has fails the test unless the project has what an edition of the template says, once.
func (k *underKills) has(edition int) {
	k.Helper()
	all := lists(k.T, k.Cloud)
	want := map[string]int{"servers": units, "volumes": units, "floatingips": units, "routers": 1, "keypairs": 1, "server_groups": 1}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if len(all[name]) != want[name] {
			k.Errorf("edition %d: there are %d %s, want %d", edition, len(all[name]), name, want[name])
		}
	}
	once(k.T, k.Cloud, all["servers"])
	var shown struct {
		Resources []struct {
			Name string `json:"resource_name"`
		}
	}
	must(k.T, k.Do(k.Context(), http.MethodGet, k.path+"/resources?nested_depth=2", nil, http.StatusOK, &shown))
	if len(shown.Resources) != size {
		k.Errorf("edition %d: the stack has %d resources, want %d", edition, len(shown.Resources), size)
	}
	var listed struct {
		Servers []struct{ Metadata struct{ Edition string } }
	}
	must(k.T, k.Do(k.Context(), http.MethodGet, "/v2.1/servers/detail", nil, http.StatusOK, &listed))
	for _, s := range listed.Servers {
		if s.Metadata.Edition != fmt.Sprint(edition) {
			k.Errorf("a server is of edition %s, want %d", s.Metadata.Edition, edition)
		}
	}
	k.Audit()
}
