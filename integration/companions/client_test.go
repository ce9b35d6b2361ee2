//go:build real

package companions

// The client, and what it is asked to do at the network and volume services.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/integration/venv"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// cloud is all companions, and the client.
type cloud struct {
	*companiontest.Cloud
	t      *testing.T
	client string
	// folder is where the client runs.
	folder string
}

func start(t *testing.T) *cloud {
	t.Helper()
	return &cloud{Cloud: companiontest.Start(t), t: t, client: venv.Program(t, "clients", "openstack"), folder: t.TempDir()}
}

// try runs the client as a user.
func (c *cloud) try(user string, args ...string) (out, stderr string, err error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, c.client, args...)
	command.Dir = c.folder
	command.Env = append(os.Environ(), c.Environment(user)...)
	var errors strings.Builder
	command.Stderr = &errors
	text, err := command.Output()
	return strings.TrimSpace(string(text)), errors.String(), err
}

// openstack runs the client, which must succeed.
func (c *cloud) openstack(user string, args ...string) string {
	c.t.Helper()
	out, stderr, err := c.try(user, args...)
	if err != nil {
		c.t.Fatalf("openstack %s: %v: %s", strings.Join(args, " "), err, stderr)
	}
	return out
}

// refused runs the client, which must fail and say so.
func (c *cloud) refused(text, user string, args ...string) {
	c.t.Helper()
	out, stderr, err := c.try(user, args...)
	if err == nil || !strings.Contains(stderr, text) {
		c.t.Errorf("openstack %s: %v, %q, %q; it should say %q", strings.Join(args, " "), err, out, stderr, text)
	}
}

func (c *cloud) wants(want, user string, args ...string) {
	c.t.Helper()
	if got := c.openstack(user, args...); got != want {
		c.t.Errorf("openstack %s: %q, want %q", strings.Join(args, " "), got, want)
	}
}

// holds says that a command's output has a text in it.
func (c *cloud) holds(want, user string, args ...string) {
	c.t.Helper()
	if got := c.openstack(user, args...); !strings.Contains(got, want) {
		c.t.Errorf("openstack %s: %q lacks %q", strings.Join(args, " "), got, want)
	}
}

func (c *cloud) value(user, column string, args ...string) string {
	c.t.Helper()
	return c.openstack(user, append(args, value(column)...)...)
}

func (c *cloud) wantsValue(want, user, column string, args ...string) {
	c.t.Helper()
	c.wants(want, user, append(slices.Clone(args), value(column)...)...)
}

func value(column string) []string { return []string{"-f", "value", "-c", column} }

// boot makes an image of some bytes.
func (c *cloud) boot(user, name, data string) {
	c.t.Helper()
	file := filepath.Join(c.folder, name)
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.openstack(user, "image", "create", "--disk-format", "raw", "--file", file, name)
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.openstack("admin", "network", "create", "--external", "--default", "--share", "public")
	c.openstack("admin", "subnet", "create", "--network", "public", "--subnet-range", "192.0.2.0/24", "--no-dhcp", "public4")
	networkID := c.value("demo", "id", "network", "create", "private")
	c.openstack("demo", "subnet", "create", "--network", "private", "--subnet-range", "10.0.0.0/24", "--dns-nameserver", "192.0.2.53", "private4")
	c.wants("private\npublic", "demo", append([]string{"network", "list", "--sort-column", "Name"}, value("Name")...)...)
	if got := c.value("demo", "id", "network", "show", "private"); got != networkID {
		t.Errorf("network show: %q", got)
	}
	c.wants("[{'end': '10.0.0.254', 'start': '10.0.0.2'}]", "demo", "subnet", "list", "--network", "private", "--long", "-f", "value", "-c", "Allocation Pools")

	c.openstack("demo", "security", "group", "create", "--description", "for the walk", "web")
	c.openstack("demo", "security", "group", "rule", "create", "--protocol", "tcp", "--dst-port", "22", "--remote-ip", "0.0.0.0/0", "web")
	c.openstack("demo", "security", "group", "rule", "create", "--protocol", "icmp", "web")
	portID := c.value("demo", "id", "port", "create", "--network", "private", "--fixed-ip", "subnet=private4,ip-address=10.0.0.77", "--security-group", "web", "--tag", "a", "p")
	c.openstack("demo", "port", "set", "--name", "p2", "--description", "d", "--allowed-address", "ip-address=10.0.0.99", "p")
	if got := c.value("demo", "fixed_ips", "port", "show", "p2"); !strings.Contains(got, "10.0.0.77") {
		t.Errorf("port show: %q", got)
	}
	c.openstack("admin", "port", "set", "--host", "one", portID)
	c.wants("bridge", "admin", append([]string{"port", "show", portID}, value("binding_vif_type")...)...)

	c.openstack("demo", "router", "create", "r")
	c.openstack("demo", "router", "set", "--external-gateway", "public", "r")
	c.openstack("demo", "router", "add", "subnet", "r", "private4")
	floating := c.value("demo", "floating_ip_address", "floating", "ip", "create", "public")
	c.openstack("demo", "floating", "ip", "set", "--port", "p2", floating)
	c.wants("ACTIVE", "demo", append([]string{"floating", "ip", "show", floating}, value("status")...)...)
	c.openstack("demo", "floating", "ip", "unset", "--port", floating)
	c.openstack("demo", "floating", "ip", "delete", floating)
	c.openstack("demo", "router", "remove", "subnet", "r", "private4")
	c.openstack("demo", "router", "delete", "r")
	c.openstack("demo", "port", "delete", "p2")
	c.openstack("demo", "security", "group", "delete", "web")
	c.openstack("demo", "network", "delete", "private")
	c.wants("public", "demo", append([]string{"network", "list"}, value("Name")...)...)
	made := c.value("demo", "id", "network", "auto", "allocated", "topology", "create")
	c.wantsValue("auto_allocated_network", "demo", "name", "network", "show", made)
	c.wantsValue(made, "demo", "id", "network", "auto", "allocated", "topology", "create")
	if got := c.openstack("admin", "extension", "list", "--network", "-f", "value", "-c", "Alias"); !strings.Contains(got, "binding-extended") {
		t.Errorf("extension list: %q", got)
	}
	c.wants("nova\nnova", "demo", "availability", "zone", "list", "--network", "-f", "value", "-c", "Zone Name")
	if got := c.openstack("demo", "quota", "show", "--network", "-f", "value", "-c", "Resource", "-c", "Limit"); !strings.Contains(got, "ports 500") {
		t.Errorf("quota show: %q", got)
	}
}

func TestVolume(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.boot("demo", "cirros", "bootable"+strings.Repeat("\x00", 504))
	wait := func(want string, args ...string) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for {
			got := c.value("demo", "status", args...)
			if got == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v: %q, want %q", args, got, want)
			}
		}
	}
	c.openstack("demo", "volume", "create", "--size", "1", "--image", "cirros", "boot")
	wait("available", "volume", "show", "boot")
	c.wants("True", "demo", append([]string{"volume", "show", "boot"}, value("bootable")...)...)
	c.openstack("demo", "volume", "create", "--size", "1", "--property", "a=b", "data")
	wait("available", "volume", "show", "data")
	c.openstack("demo", "volume", "set", "--size", "2", "data")
	wait("available", "volume", "show", "data")
	c.openstack("demo", "volume", "set", "--name", "data2", "--property", "c=d", "data")
	c.openstack("demo", "volume", "unset", "--property", "a", "data2")
	c.wants("boot\ndata2", "demo", append([]string{"volume", "list", "--sort-column", "Name"}, value("Name")...)...)
	c.openstack("demo", "volume", "snapshot", "create", "--volume", "data2", "snap")
	wait("available", "volume", "snapshot", "show", "snap")
	c.wants("snap", "demo", append([]string{"volume", "snapshot", "list"}, value("Name")...)...)
	c.openstack("demo", "volume", "create", "--snapshot", "snap", "copy")
	wait("available", "volume", "show", "copy")
	c.wants("__DEFAULT__", "demo", append([]string{"volume", "type", "list"}, value("Name")...)...)
	if got := c.openstack("demo", "quota", "show", "--volume", "-f", "value", "-c", "Resource", "-c", "Limit"); !strings.Contains(got, "volumes 10") {
		t.Errorf("quota show: %q", got)
	}
	c.openstack("demo", "volume", "snapshot", "delete", "snap")
	c.openstack("demo", "volume", "delete", "boot", "copy")
}
