package walk

// Stacks with real guests, as their user makes them with the real client.

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// templates are those that users are given to begin with.
const templates = "../../docs/examples/"

// outside makes the network that addresses outside are from.
func (c *cloud) outside(t *testing.T) {
	t.Helper()
	admin := c.as(t, "admin", newest)
	admin.run("network", "create", "--external", "public")
	admin.run("subnet", "create", "--network", "public", "--subnet-range", "203.0.113.0/24", "--no-dhcp", "public")
}

// stacks is a user of stacks.
type stacks struct{ *client }

// listed are the lists of whatever stacks make; an administrator's are of all projects.
func (s stacks) listed() map[string][]string {
	s.t.Helper()
	lists := []string{"server", "port", "volume", "volume backup", "floating ip", "network", "subnet", "router", "security group", "image", "stack"}
	all := []string{"server", "volume", "volume backup"}
	if s.user == "admin" {
		lists = append(lists, "trust", "user", "project")
	}
	ids := map[string][]string{}
	for _, list := range lists {
		args := append(strings.Fields(list), "list")
		if s.user == "admin" && slices.Contains(all, list) {
			args = append(args, "--all-projects")
		}
		if list == "user" || list == "project" {
			args = append(args, "--domain", "heat")
		}
		ids[list] = []string{}
		for _, row := range s.list(args...) {
			ids[list] = append(ids[list], row["ID"].(string))
		}
		slices.Sort(ids[list])
	}
	return ids
}

// unchanged says that all lists are what they were; trusts and the projects of stacks'
// users go within seconds.
func (s stacks) unchanged(before map[string][]string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(pause) {
		now := s.listed()
		if reflect.DeepEqual(now, before) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Errorf("there is\n%v\nand was\n%v", now, before)
			return
		}
	}
}

// none says that nothing of some ids is in any list.
func (s stacks) none(ids []string) {
	s.t.Helper()
	for list, there := range s.listed() {
		for _, id := range there {
			if slices.Contains(ids, id) {
				s.t.Errorf("%s list has %s still", list, id)
			}
		}
	}
}

// is waits until a stack has a status.
func (s stacks) is(name, status string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		now := s.show("stack", "show", "--no-resolve-outputs", name)
		if now["stack_status"] == status {
			return
		}
		if over, _ := now["stack_status"].(string); strings.HasSuffix(over, "_FAILED") || time.Now().After(deadline) {
			s.t.Fatalf("%s is %v: %v; want %s", name, now["stack_status"], now["stack_status_reason"], status)
		}
	}
}

// does is a command about a stack that waits for its end, which is a status.
func (s stacks) does(status, name string, args ...string) {
	s.t.Helper()
	s.run(append([]string{"stack"}, args...)...)
	if now := s.show("stack", "show", "--no-resolve-outputs", name); now["stack_status"] != status {
		s.t.Fatalf("after %v %s is %v: %v; want %s", args, name, now["stack_status"], now["stack_status_reason"], status)
	}
}

// removed deletes stacks, and is told when they are gone.
func (s stacks) removed(names ...string) {
	s.t.Helper()
	ids := map[string]string{}
	for _, name := range names {
		ids[name] = s.show("stack", "show", "--no-resolve-outputs", name)["id"].(string)
	}
	s.run(append([]string{"stack", "delete", "--yes", "--wait"}, names...)...)
	for name, id := range ids {
		if now := s.show("stack", "show", "--no-resolve-outputs", id); now["stack_status"] != "DELETE_COMPLETE" {
			s.t.Errorf("deleted, %s is %v: %v; its events are\n%v", name, now["stack_status"], now["stack_status_reason"],
				s.list("stack", "event", "list", id))
		}
		s.refused("Stack not found: "+name, "stack", "show", name)
	}
}

// output is what a stack says under a name.
func (s stacks) output(name, key string) any {
	s.t.Helper()
	value := s.show("stack", "output", "show", name, key)["output_value"]
	// What is no text is told as JSON.
	var inside any
	if text, ok := value.(string); ok && json.Unmarshal([]byte(text), &inside) == nil {
		return inside
	}
	return value
}

// each is a column of the list of a stack's resources, by the name of each.
func (s stacks) each(name, column string) map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for _, row := range s.list("stack", "resource", "list", name) {
		all[row["resource_name"].(string)] = row[column].(string)
	}
	return all
}

// statuses are a stack's resources and the status of each, made what each of them is.
func (s stacks) statuses(name string) map[string]string { return s.each(name, "resource_status") }
func (s stacks) made(name string) map[string]string     { return s.each(name, "physical_resource_id") }

// inServer are the resources of the template server.yaml.
var inServer = map[string]string{
	"network": "OS::Neutron::Net", "subnet": "OS::Neutron::Subnet", "router": "OS::Neutron::Router", "router_interface": "OS::Neutron::RouterInterface",
	"security_group": "OS::Neutron::SecurityGroup", "port": "OS::Neutron::Port", "server": "OS::Nova::Server", "volume": "OS::Cinder::Volume",
	"attachment": "OS::Cinder::VolumeAttachment", "floating_ip": "OS::Neutron::FloatingIP",
}

// all says that a stack of the template server.yaml has its resources, in a status but
// for those that are named.
func (s stacks) all(name, status string, but map[string]string) {
	s.t.Helper()
	want := map[string]string{}
	for resource := range inServer {
		want[resource] = status
	}
	maps.Copy(want, but)
	if got := s.statuses(name); !reflect.DeepEqual(got, want) {
		s.t.Errorf("the resources of %s are %v, want %v", name, got, want)
	}
}

// runs says that the guest of a stack of the template server.yaml has what its template
// gives it, and that it answers; gives it, and the ids of the stack's resources.
func (s stacks) runs(name, flavor, data string) (guest, map[string]string) {
	s.t.Helper()
	made := s.made(name)
	g := guest{client: s.client, name: made["server"], id: made["server"]}
	s.becomes(g.id, "ACTIVE")
	inside, outside := s.output(name, "inside"), s.output(name, "outside")
	if got := s.output(name, "server"); got != g.id {
		s.t.Errorf("the output server is %v, and the server %s", got, g.id)
	}
	server := s.show("server", "show", g.id)
	network := s.show("network", "show", made["network"])["name"].(string)
	if want := map[string]any{network: []any{inside, outside}}; !reflect.DeepEqual(server["addresses"], want) {
		s.t.Errorf("the server's addresses are %v, want %v", server["addresses"], want)
	}
	if embedded, _ := server["flavor"].(map[string]any); embedded["original_name"] != flavor {
		s.t.Errorf("the server's flavor is %v, want %s", server["flavor"], flavor)
	}
	if volumes, _ := server["volumes_attached"].([]any); len(volumes) != 1 || volumes[0].(map[string]any)["id"] != made["volume"] {
		s.t.Errorf("the server's volumes are %v, want %s", volumes, made["volume"])
	}
	if status := s.show("volume", "show", made["volume"])["status"]; status != "in-use" {
		s.t.Errorf("the volume is %v", status)
	}
	floating := s.show("floating", "ip", "show", made["floating_ip"])
	for field, want := range map[string]any{"status": "ACTIVE", "floating_ip_address": outside, "fixed_ip_address": inside, "port_id": made["port"], "router_id": made["router"]} {
		if floating[field] != want {
			s.t.Errorf("floating ip show: %s is %v, want %v", field, floating[field], want)
		}
	}
	log := s.console(g.id, "ready: ")
	for _, line := range []string{fmt.Sprintf("address: eth0 %s/24\n", inside), "user data: " + data + "|\n", "instance: " + g.id + "\n"} {
		if !strings.Contains(log, line) {
			s.t.Errorf("the guest's console lacks %q:\n%s", line, log)
		}
	}
	g.answers(made["network"], inside.(string))
	return g, made
}

// story is what users do with stacks.
type story struct {
	name string
	tell func(stacks)
}

// TestStacks has what users do with stacks: in brief, and in full the rest.
func TestStacks(t *testing.T) {
	stories := []story{{"in brief", brief}}
	if full {
		stories = append(stories, story{"a guest", life}, story{"a group", group}, story{"what fails", failures})
	}
	c := newCloud(t)
	c.start()
	c.outside(t)
	admin := stacks{c.shell(t, "admin", newest)}
	c.shell(t, "demo", newest).list("security", "group", "list") // makes the project's own
	before := admin.listed()
	for _, one := range stories {
		t.Run(one.name, func(t *testing.T) { one.tell(stacks{c.shell(t, "demo", newest)}) })
		admin.unchanged(before)
	}
	c.clean()
	c.interrupt()
}

// brief is a guest with all that it takes made by a template, changed and deleted.
func brief(s stacks) {
	s.does("CREATE_COMPLETE", "brief", "create", "--wait", "--poll", "2", "-t", templates+"server.yaml", "--parameter", "user_data=told", "brief")
	s.all("brief", "CREATE_COMPLETE", nil)
	g, made := s.runs("brief", "m1.nano", "told")
	s.does("UPDATE_COMPLETE", "brief", "update", "--wait", "--existing", "--parameter", "role=other", "brief")
	s.all("brief", "CREATE_COMPLETE", map[string]string{"server": "UPDATE_COMPLETE"})
	if got := s.show("server", "show", g.id)["properties"]; !reflect.DeepEqual(got, map[string]any{"role": "other"}) {
		s.t.Errorf("after an update the server's metadata are %v", got)
	}
	s.removed("brief")
	s.none(slices.Collect(maps.Values(made)))
}
