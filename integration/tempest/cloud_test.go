//go:build real

package tempest

// The cloud that is tried, and what tempest has to find in it.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	devcloud "holdfast.dev/dev/cloud"
	"holdfast.dev/dev/companions/service"
	"holdfast.dev/internal/testenv"
)

// cloud is a run of `holdfast dev`.
type cloud struct {
	devcloud.Description
	t       *testing.T
	binary  string
	admin   devcloud.Login
	login   *service.Login
	command *exec.Cmd
	said    bytes.Buffer
}

// startCloud makes a cloud that ends with the test.
func startCloud(t *testing.T, binary string) *cloud {
	t.Helper()
	c := &cloud{t: t, binary: binary}
	c.command = exec.Command(binary, "dev", "--dir", filepath.Join(testenv.Folder(t), "cloud"), "--driver", devcloud.DriverSimulated, "--hosts", "2", "--baremetal", "1", "--free-ports", "--json")
	c.command.Stderr = &c.said
	c.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := c.command.StdoutPipe()
	if err == nil {
		err = c.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	if err := json.NewDecoder(out).Decode(&c.Description); err != nil {
		t.Fatalf("holdfast dev --json: %v\n%s", err, &c.said)
	}
	c.admin = c.Users[0]
	c.login = service.NewLogin(c.Endpoints["identity"], c.admin.Name, c.admin.Password, c.admin.Project)
	return c
}

func (c *cloud) stop() {
	err := c.command.Process.Signal(syscall.SIGINT)
	if err == nil {
		err = c.command.Wait()
	}
	if err != nil {
		c.t.Errorf("the cloud's end: %v\n%s", err, &c.said)
	}
}

// ask asks a service as the administrator, which succeeds, and decodes the answer
// into out, if that isn't nil.
func (c *cloud) ask(method, service, path, kind string, body io.Reader, out any) {
	c.t.Helper()
	token, err := c.login.Token(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.Endpoints[service]+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("Content-Type", kind)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%d %s", answer.StatusCode, text)
	}
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, request.URL, err)
	}
}

func (c *cloud) make(service, path, body string, out any) {
	c.t.Helper()
	c.ask(http.MethodPost, service, path, "application/json", strings.NewReader(body), out)
}

// seeded is the image that the cloud has from the start.
func (c *cloud) seeded() string {
	c.t.Helper()
	var found struct{ Images []struct{ ID string } }
	c.ask(http.MethodGet, "image", "/v2/images?name=holdfast-test", "", nil, &found)
	if len(found.Images) != 1 {
		c.t.Fatalf("%d images", len(found.Images))
	}
	return found.Images[0].ID
}

// otherImage makes a public image.
func (c *cloud) otherImage() string {
	c.t.Helper()
	var made struct{ ID string }
	c.make("image", "/v2/images", `{"name": "other", "visibility": "public", "disk_format": "raw", "container_format": "bare"}`, &made)
	c.ask(http.MethodPut, "image", "/v2/images/"+made.ID+"/file", "application/octet-stream", bytes.NewReader(make([]byte, 1<<20)), nil)
	return made.ID
}

// publicNetwork makes one that routers have their gateways in.
func (c *cloud) publicNetwork() string {
	c.t.Helper()
	var made struct{ Network struct{ ID string } }
	c.make("network", "/v2.0/networks", `{"network": {"name": "public", "router:external": true, "is_default": true}}`, &made)
	c.make("network", "/v2.0/subnets", fmt.Sprintf(`{"subnet": {"network_id": %q, "ip_version": 4, "cidr": "192.0.2.0/24", "enable_dhcp": false}}`, made.Network.ID), nil)
	return made.Network.ID
}

// sharedType makes a type of volumes that several servers may have at once.
func (c *cloud) sharedType() string {
	c.t.Helper()
	const name = "shared"
	c.make("volume", "/types", `{"volume_type": {"name": "`+name+`", "extra_specs": {"multiattach": "<is> True"}}}`, nil)
	return name
}

// extensions are those of the network service, by alias.
func (c *cloud) extensions() string {
	c.t.Helper()
	var found struct{ Extensions []struct{ Alias string } }
	c.ask(http.MethodGet, "network", "/v2.0/extensions", "", nil, &found)
	var aliases []string
	for _, e := range found.Extensions {
		aliases = append(aliases, e.Alias)
	}
	return strings.Join(aliases, ",")
}

// settings are what tempest's configuration has of a cloud.
func (c *cloud) settings(folder string) map[string]any {
	c.t.Helper()
	return map[string]any{
		"Folder": folder, "Admin": c.admin, "Endpoints": c.Endpoints,
		"Image": c.seeded(), "OtherImage": c.otherImage(), "Network": c.publicNetwork(), "Extensions": c.extensions(), "SharedType": c.sharedType(),
	}
}

// audit says that nothing is left of anything.
func (c *cloud) audit() {
	c.t.Helper()
	var out []byte
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		out, err = exec.Command(c.binary, "--config", c.Config, "audit").CombinedOutput()
		if err == nil && len(out) == 0 {
			return
		}
	}
	c.t.Errorf("holdfast audit: %v\n%s", err, out)
}
