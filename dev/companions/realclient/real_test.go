//go:build real

package realclient_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ct "holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/network"
	"holdfast.dev/dev/companions/service"
	"holdfast.dev/dev/companions/volume"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// cloud has what the client needs of a cloud: a login that takes any password,
// one image, and the two companions.
type cloud struct {
	t      *testing.T
	auth   string
	client string
}

const imageID = "4c1c5e6e-6f1d-4f51-9d44-a3f0a7c0f0aa"

func start(t *testing.T) *cloud {
	t.Helper()
	if out, err := exec.Command("./venv.sh").CombinedOutput(); err != nil {
		t.Fatalf("make .venv/clients: %v: %s", err, out)
	}
	client, err := filepath.Abs("../../../.venv/clients/bin/openstack")
	if err != nil {
		t.Fatal(err)
	}
	images := ct.Serve(t, http.HandlerFunc(image))
	dir := t.TempDir()
	volumes, err := volume.New(volume.Config{Pool: ct.Pool(t, "volume", volume.Migrations()), Auth: ct.Callers{}, Log: ct.Log(t), Dir: dir,
		Images: &volume.Images{URL: images.Base, Token: func(context.Context) (string, error) { return "admin", nil }}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- volumes.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	networks := ct.Serve(t, network.New(network.Config{Pool: ct.Pool(t, "network", network.Migrations()), Auth: ct.Callers{}, Log: ct.Log(t)}))
	volumeAPI := ct.Serve(t, volumes)
	identity := httptest.NewUnstartedServer(nil)
	identity.Config.Handler = login(map[string]string{"network": networks.Base, "block-storage": volumeAPI.Base + "/v3", "image": images.Base,
		"identity": "http://" + identity.Listener.Addr().String() + "/v3"})
	identity.Start()
	t.Cleanup(identity.Close)
	return &cloud{t: t, auth: identity.URL + "/v3", client: client}
}

// image is an image service with one image.
func image(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		_ = service.JSON(w, http.StatusMultipleChoices, map[string]any{"versions": []any{map[string]any{"id": "v2.17", "status": "CURRENT",
			"links": []any{map[string]any{"rel": "self", "href": "http://" + r.Host + "/v2/"}}}}})
	case "/v2/images/" + imageID:
		_ = service.JSON(w, http.StatusOK, map[string]any{"id": imageID, "name": "cirros", "status": "active", "size": 8, "min_disk": 0, "disk_format": "raw"})
	case "/v2/images/" + imageID + "/file":
		_, _ = w.Write([]byte("bootable" + strings.Repeat("\x00", 504)))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// login gives the user's name as its token, with a catalog.
func login(catalog map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v3/auth/tokens" {
			_ = service.JSON(w, http.StatusOK, map[string]any{"version": map[string]any{"id": "v3.14", "status": "stable",
				"links": []any{map[string]any{"rel": "self", "href": "http://" + r.Host + "/v3/"}}}})
			return
		}
		var body struct {
			Auth struct {
				Identity struct {
					Password struct {
						User struct{ Name string }
					}
				}
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		name := body.Auth.Identity.Password.User.Name
		caller, err := ct.Callers{}.Authenticate(r.Context(), name)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		services := []any{}
		for kind, url := range catalog {
			services = append(services, map[string]any{"type": kind, "name": kind, "id": kind, "endpoints": []any{
				map[string]any{"id": kind, "interface": "public", "region": "RegionOne", "region_id": "RegionOne", "url": url}}})
		}
		domain := service.Ref{ID: "default", Name: "Default"}
		caller.User.Domain, caller.Project.Domain = domain, domain
		w.Header().Set("X-Subject-Token", name)
		_ = service.JSON(w, http.StatusCreated, map[string]any{"token": map[string]any{"user": caller.User, "project": caller.Project, "roles": caller.Roles,
			"catalog": services, "methods": []string{"password"}, "issued_at": "2026-01-01T00:00:00.000000Z", "expires_at": "2099-01-01T00:00:00.000000Z"}})
	})
}

// openstack runs the client, which must succeed.
func (c *cloud) openstack(user string, args ...string) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, c.client, args...)
	command.Env = append(os.Environ(), "OS_AUTH_URL="+c.auth, "OS_USERNAME="+user, "OS_PASSWORD=any", "OS_PROJECT_NAME="+user,
		"OS_USER_DOMAIN_ID=default", "OS_PROJECT_DOMAIN_ID=default", "OS_IDENTITY_API_VERSION=3", "OS_REGION_NAME=RegionOne")
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		c.t.Fatalf("openstack %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func (c *cloud) wants(want, user string, args ...string) {
	c.t.Helper()
	if got := c.openstack(user, args...); got != want {
		c.t.Errorf("openstack %s: %q, want %q", strings.Join(args, " "), got, want)
	}
}

func value(column string) []string { return []string{"-f", "value", "-c", column} }

func (c *cloud) value(user, column string, args ...string) string {
	c.t.Helper()
	return c.openstack(user, append(args, value(column)...)...)
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.openstack("admin", "network", "create", "--external", "--share", "public")
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
	c.openstack("demo", "volume", "create", "--size", "1", "--image", imageID, "boot")
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
