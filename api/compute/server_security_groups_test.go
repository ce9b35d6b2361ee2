package compute_test

import (
	"context"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/openstack"
)

func (neighbour) AddSecurityGroup(_ context.Context, who identity.Identity, serverID, group string) error {
	switch group {
	case "web":
		return nil
	case "twice":
		return faults.New(faults.Conflict, "NoUniqueMatch", "two of %s", group)
	case "portless":
		return faults.New(faults.Invalid, "SecurityGroupCannotBeApplied", "a port of %s", serverID)
	}
	return openstack.NoSecurityGroup(group, who.ProjectID)
}

func (n neighbour) RemoveSecurityGroup(ctx context.Context, who identity.Identity, serverID, group string) error {
	return n.AddSecurityGroup(ctx, who, serverID, group)
}

// Groups are given and taken in any state; what Neutron refuses is said in the
// original's words.
func TestServerSecurityGroupsAreChanged(t *testing.T) {
	t.Parallel()
	c := newWorld(t)
	id := c.fresh()
	path := "/servers/" + id + "/action"
	for _, action := range []string{"addSecurityGroup", "removeSecurityGroup"} {
		ask := func(who, group string, status int, want string) {
			t.Helper()
			for _, version := range []string{"2.1", "2.104"} {
				c.play(step{who, version, "POST", path, `{"` + action + `": {"name": "` + group + `"}}`, status, want})
			}
		}
		ask("alice+", "web", 202, "")
		ask("alice+", "none", 404, fault("itemNotFound", "404", "Security group none is not found for project a11ce"))
		ask("alice+", "twice", 409, fault("conflictingRequest", "409", "two of twice"))
		ask("alice+", "portless", 400, fault("badRequest", "400", "a port of "+id))
		ask("alice+", " ", 400, fault("badRequest", "400", "Security group name cannot be empty"))
		ask("alice+", "", 400, "")
		ask("alice", "web", 404, fault("itemNotFound", "404", "Security group web is not found for project a11ce"))
		ask("bob+", "web", 404, fault("itemNotFound", "404", "Instance "+id+" could not be found."))
		ask("reader+", "web", 403, "")
		c.play(step{"alice+", "2.1", "POST", path, `{"` + action + `": {"name": "web", "x": 1}}`, 400, ""},
			step{"alice+", "2.1", "POST", path, `{"` + action + `": null}`, 400, ""})
	}
	c.play(step{"alice+", "2.1", "POST", path, `{"lock": null}`, 202, ""},
		step{"alice+", "2.1", "POST", path, `{"addSecurityGroup": {"name": "web"}}`, 202, ""})
}
