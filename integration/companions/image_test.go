//go:build real

package companions

// What the client is asked to do at the image and identity services.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImage(t *testing.T) {
	t.Parallel()
	c := start(t)
	data := "an image" + strings.Repeat("\x00", 4096)
	c.boot("demo", "cirros", data)
	id := c.value("demo", "id", "image", "show", "cirros")
	c.wantsValue("active", "demo", "status", "image", "show", id)
	c.openstack("demo", "image", "create", "--property", "os_distro=debian", "--min-ram", "64", "--tag", "small", "empty")
	c.wantsValue("active", "demo", "status", "image", "show", "empty")
	c.wants("cirros\nempty", "demo", "image", "list", "--sort", "name:asc", "-f", "value", "-c", "Name")
	c.wants("empty", "demo", "image", "list", "--tag", "small", "-f", "value", "-c", "Name")

	c.openstack("demo", "image", "set", "--property", "hw_rng_model=virtio", "--name", "cirros2", "--tag", "tried", id)
	c.holds("'hw_rng_model': 'virtio'", "demo", "image", "show", "cirros2", "-f", "value", "-c", "properties")
	c.openstack("demo", "image", "unset", "--property", "hw_rng_model", "--tag", "tried", id)
	file := filepath.Join(c.folder, "saved")
	c.openstack("demo", "image", "save", "--file", file, "cirros2")
	if got, err := os.ReadFile(file); err != nil || string(got) != data {
		t.Errorf("the image came back with %d bytes, %v", len(got), err)
	}

	// Strangers see it as members only, and list it once they have accepted.
	c.refused("No Image found", "other", "image", "show", id)
	c.openstack("demo", "image", "set", "--shared", id)
	_, _, other := c.Login(t, "other")
	c.openstack("demo", "image", "add", "project", id, other)
	c.wantsValue("cirros2", "other", "name", "image", "show", id)
	c.wants("", "other", "image", "list", "-f", "value", "-c", "Name")
	c.openstack("other", "image", "set", "--accept", "--project", other, id)
	c.wants("cirros2", "other", "image", "list", "-f", "value", "-c", "Name")
	c.holds(other, "demo", "image", "member", "list", id, "-f", "value")
	c.openstack("demo", "image", "remove", "project", id, other)
	c.refused("No Image found", "other", "image", "show", id)

	c.openstack("demo", "image", "set", "--protected", id)
	c.refused("protected", "demo", "image", "delete", id)
	c.openstack("demo", "image", "set", "--unprotected", id)
	c.openstack("demo", "image", "delete", id, "empty")
	c.wants("", "demo", "image", "list", "-f", "value")
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	c := start(t)
	_, userID, projectID := c.Login(t, "demo")
	c.wantsValue(projectID, "demo", "project_id", "token", "issue")
	c.holds("glance", "demo", "catalog", "list", "-f", "value")
	c.holds("demo", "admin", "project", "list", "-f", "value", "-c", "Name")
	c.wantsValue(userID, "admin", "id", "user", "show", "demo")
	c.holds("demo@Default", "admin", "role", "assignment", "list", "--names", "--project", "demo", "-f", "value")
	c.wants("demo", "demo", "federation", "project", "list", "-f", "value", "-c", "Name")

	// What Heat keeps its stack users in.
	c.openstack("admin", "domain", "create", "orchestra")
	c.openstack("admin", "user", "create", "--domain", "orchestra", "--password", "s3cret", "stack_admin")
	c.openstack("admin", "role", "add", "--domain", "orchestra", "--user-domain", "orchestra", "--user", "stack_admin", "admin")
	c.wants("stack_admin", "admin", "user", "list", "--domain", "orchestra", "-f", "value", "-c", "Name")
	c.openstack("admin", "project", "create", "--domain", "orchestra", "stack")
	c.openstack("admin", "role", "add", "--project-domain", "orchestra", "--project", "stack", "--user-domain", "orchestra", "--user", "stack_admin", "member")
	c.holds("stack@orchestra", "admin", "role", "assignment", "list", "--names", "--user", "stack_admin", "--user-domain", "orchestra", "-f", "value")

	c.openstack("demo", "application", "credential", "create", "--secret", "s3cret", "--role", "reader", "mine")
	c.wants("mine", "demo", "application", "credential", "list", "-f", "value", "-c", "Name")
	c.openstack("demo", "application", "credential", "delete", "mine")
	access := c.value("demo", "access", "ec2", "credentials", "create")
	c.holds(access, "demo", "ec2", "credentials", "list", "-f", "value")
	c.openstack("demo", "ec2", "credentials", "delete", access)
	c.openstack("admin", "credential", "create", "--type", "ec2", "--project", "demo", "demo", `{"access":"a1","secret":"s1"}`)
	c.holds("a1", "demo", "ec2", "credentials", "list", "-f", "value")
	_, adminID, _ := c.Login(t, "admin")
	member := c.value("admin", "id", "role", "show", "member") // a member may not look it up
	trust := c.value("demo", "id", "trust", "create", "--project", projectID, "--role", member, "--impersonate", userID, adminID)
	c.holds(trust, "demo", "trust", "list", "--trustor", userID, "-f", "value")
	c.openstack("demo", "trust", "delete", trust)
	c.wants("admin manager\nmanager member\nmember reader", "admin", "implied", "role", "list", "-f", "value", "-c", "Prior Role Name", "-c", "Implied Role Name")

	c.openstack("admin", "domain", "set", "--disable", "orchestra")
	c.openstack("admin", "domain", "delete", "orchestra")
	c.refused("No User found", "admin", "user", "show", "--domain", "default", "stack_admin")
}
