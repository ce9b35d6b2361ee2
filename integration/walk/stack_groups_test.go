package walk

// Groups of guests, and stacks that come to nothing.

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// group is a group of guests that grows and shrinks.
func group(s stacks) {
	s.does("CREATE_COMPLETE", "many", "create", "--wait", "-t", templates+"group.yaml", "many")
	three := s.members(3)
	s.does("UPDATE_COMPLETE", "many", "update", "--wait", "--existing", "--parameter", "count=5", "many")
	five := s.members(5)
	for name, id := range three {
		if five[name] != id {
			s.t.Errorf("grown, the member %s is %s, and was %s", name, five[name], id)
		}
	}
	s.does("UPDATE_COMPLETE", "many", "update", "--wait", "--existing", "--parameter", "count=2", "many")
	two := s.members(2)
	for _, name := range []string{"0", "1"} {
		if two[name] != three[name] {
			s.t.Errorf("shrunk, the member %s is %s, and was %s", name, two[name], three[name])
		}
	}
	s.none([]string{five["2"], five["3"], five["4"]})
	s.removed("many")
	s.none(slices.Collect(maps.Values(two)))
}

// members says that the group has so many, whose guests run and answer; gives them.
func (s stacks) members(count int) map[string]string {
	s.t.Helper()
	ids := map[string]string{}
	for _, row := range s.list("stack", "resource", "list", "-n", "1", "many") {
		name, status := row["resource_name"].(string), row["resource_status"].(string)
		if name == "servers" {
			if row["stack_name"] != "many" || row["resource_type"] != "OS::Heat::ResourceGroup" {
				s.t.Errorf("the group is %v", row)
			}
			continue
		}
		if row["resource_type"] != "OS::Nova::Server" || status != "CREATE_COMPLETE" || !strings.HasPrefix(row["stack_name"].(string), "many-servers-") {
			s.t.Errorf("a member of the group is %v", row)
		}
		ids[name] = row["physical_resource_id"].(string)
	}
	want := []string{}
	var refs []any
	for i := range count {
		want = append(want, fmt.Sprint(i))
		refs = append(refs, ids[fmt.Sprint(i)])
	}
	if got := slices.Sorted(maps.Keys(ids)); !slices.Equal(got, want) {
		s.t.Fatalf("the members are %v, want %v", got, want)
	}
	if got := s.output("many", "servers"); !reflect.DeepEqual(got, refs) {
		s.t.Errorf("the output servers is %v, want %v", got, refs)
	}
	private := s.show("network", "show", "private")["id"].(string)
	running := s.cloud.domains("--state-running")
	addresses := s.output("many", "addresses").([]any)
	for name, id := range ids {
		g := guest{client: s.client, name: id, id: id}
		if server := s.show("server", "show", id); server["status"] != "ACTIVE" || server["name"] != "many-"+name {
			s.t.Errorf("the member %s is %v, called %v", name, server["status"], server["name"])
		}
		if !slices.Contains(running, g.domain()) {
			s.t.Errorf("%s doesn't run, but %v", g.domain(), running)
		}
		s.console(id, "ready: ")
		of := addresses[number(s.t, name)].(map[string]any)["private"].([]any)
		g.answers(private, of[0].(string))
	}
	return ids
}

const (
	// unmade can't be made: no flavor has room for its guest.
	unmade = `
heat_template_version: 2021-04-16
resources:
  port: {type: OS::Neutron::Port, properties: {network: private}}
  inside: {type: "inside.yaml", depends_on: port}
`
	inside = `
heat_template_version: 2021-04-16
resources:
  server:
    type: OS::Nova::Server
    properties: {image: holdfast-test, flavor: m1.nano, networks: [{network: private}], availability_zone: nowhere}
`
	// waiting has a user of its own, and goes on when that has said so.
	waiting = `
heat_template_version: 2021-04-16
resources:
  port: {type: OS::Neutron::Port, properties: {network: private}}
  handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: CFN_SIGNAL}}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 600}}
`
)

// failures has a stack that can't be made, which says why, one that is taken back
// because of that, and one that is cut short while it waits.
func failures(s stacks) {
	without := s.file("unmade.yaml", strings.Replace(unmade, "inside.yaml", s.file("inside.yaml", inside), 1))
	s.refused("CREATE_FAILED", "stack", "create", "--wait", "-t", without, "unmade")
	if got, want := s.statuses("unmade"), map[string]string{"port": "CREATE_COMPLETE", "inside": "CREATE_FAILED"}; !reflect.DeepEqual(got, want) {
		s.t.Errorf("the resources are %v, want %v", got, want)
	}
	said := s.run("stack", "failures", "list", "--long", "unmade")
	for _, line := range []string{"unmade.inside.server:\n", "  resource_type: OS::Nova::Server\n", "  status: CREATE_FAILED\n", "The requested availability zone is not available"} {
		if !strings.Contains(said, line) {
			s.t.Errorf("the failures lack %q:\n%s", line, said)
		}
	}
	if strings.Contains(said, "unmade.port") {
		s.t.Errorf("the port has not failed:\n%s", said)
	}
	s.run("stack", "create", "-t", s.file("waiting.yaml", waiting), "waiting")
	admin := stacks{s.cloud.shell(s.t, "admin", newest)}
	s.until("the condition waits", func() bool { return s.statuses("waiting")["wait"] == "CREATE_IN_PROGRESS" })
	if users := admin.listed()["user"]; len(users) != 2 {
		s.t.Errorf("the users of stacks are %v, want one and their administrator", users)
	}
	s.run("stack", "cancel", "--no-rollback", "waiting")
	s.until("the create is cut short", func() bool { return s.show("stack", "show", "waiting")["stack_status"] == "CREATE_FAILED" })
	s.removed("unmade", "waiting")
}
