package cloud

// Simulated machines, the conductors that work on them, and their nodes as their
// administrator sees them.

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
)

// Who enters the machines' BMC.
const (
	BMCUser     = "admin"
	BMCPassword = "password-of-the-bmc"
)

// OtherConductor is the one beside Conductor (Options.TwoConductors).
const OtherConductor Name = "other conductor"

// simulate starts the BMCs of the machines and describes their conductors.
func (c *Cloud) simulate(o Options) {
	c.t.Helper()
	if o.Machines > 0 || o.Conductor {
		c.processes[Conductor] = c.process(Conductor, c.configFile(), "worker", "--role", "conductor")
	}
	if o.Machines == 0 {
		return
	}
	service, err := bmc.Start(bmc.Options{Machines: o.Machines, Apart: o.MachinesApart, Dir: c.dir, User: BMCUser, Password: BMCPassword, Delay: 200 * time.Millisecond, Pace: 50 * time.Millisecond})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := service.Close(); err != nil {
			c.t.Error(err)
		}
	})
	c.BMC = service
	if err := bmc.WriteLoaders(c.config["conductor.tftp_root"].(string)); err != nil {
		c.t.Fatal(err)
	}
	url, tftp := c.Serves()
	service.OfferIPXE(tftp, url)
	if o.TwoConductors {
		c.otherConductor()
	}
	if o.Fleet {
		c.fleet()
	}
}

// Serves is where Conductor serves what machines are booted from, by HTTP and by TFTP.
func (c *Cloud) Serves() (url, tftp string) {
	return c.config["conductor.boot_url"].(string), c.config["conductor.tftp_listen"].(string)
}

// otherConductor describes its process: it has another name, and serves what machines are
// booted from elsewhere.
func (c *Cloud) otherConductor() {
	c.t.Helper()
	images := c.address()
	c.processes[OtherConductor] = c.another(OtherConductor, "conductor", map[string]any{"conductor.name": "conductor-2",
		"conductor.boot_listen": images, "conductor.tftp_listen": images, "conductor.boot_url": "http://" + images, "conductor.boot_dir": filepath.Join(c.dir, "boot-2")}, "worker", "--role", "conductor")
}

// awaitConductor waits until requests about machines have somebody to go to.
func (c *Cloud) awaitConductor() {
	c.t.Helper()
	if c.processes[Conductor] == nil {
		return
	}
	c.Eventually("a conductor is there", Patience, func(ctx context.Context) error {
		var there int
		err := c.DB.Pool.QueryRow(ctx, `SELECT count(*) FROM baremetal.conductors`).Scan(&there)
		if err == nil && there == 0 {
			err = fmt.Errorf("none is")
		}
		return err
	})
}

// BootFiles are what conductors have to boot machines from.
func (c *Cloud) BootFiles() []string {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(c.dir, "boot*", "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	return files
}

// Files serves what machines are booted from and what is written to them, until the test
// ends: each file is its own name, over and over.
func Files(t testing.TB) (url string, sum func(name string) string) {
	t.Helper()
	content := func(name string) string { return strings.Repeat("/"+name, 10_000) }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, content(strings.TrimPrefix(r.URL.Path, "/"))) // who has asked sees it
	}))
	t.Cleanup(s.Close)
	return s.URL, func(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content(name)))) }
}

// Node is what its administrator is shown of a node.
type Node struct {
	UUID         string         `json:"uuid"`
	State        string         `json:"provision_state"`
	Power        string         `json:"power_state"`
	LastError    string         `json:"last_error"`
	Reservation  string         `json:"reservation"`
	Maintenance  bool           `json:"maintenance"`
	Instance     string         `json:"instance_uuid"`
	InstanceInfo map[string]any `json:"instance_info"`
	Internal     map[string]any `json:"driver_internal_info"`
}

// Baremetal asks the bare metal service, as an administrator of the whole system, and
// decodes the answer into out, if that isn't nil. Errors: *StatusError for an answer that
// refuses, or the transport's.
func (c *Cloud) Baremetal(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = text
	}
	header := http.Header{"X-Openstack-Ironic-Api-Version": {"1.115"}, "Content-Type": {"application/json"}}
	answer, said, err := c.Ask(ctx, SystemToken, method, "/baremetal/v1"+path, header, body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return &StatusError{answer.StatusCode, string(said)}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(said, out)
}

// Enroll makes a node of the machine at a place, which is booted from what is served at
// an address, and gives its id.
func (c *Cloud) Enroll(ctx context.Context, i int, files string) (id string, err error) {
	m := c.BMC.Machines[i]
	info := map[string]string{"redfish_address": c.BMC.URLOf(i), "redfish_system_id": "/redfish/v1/Systems/" + m.ID, "redfish_username": BMCUser,
		"redfish_password": BMCPassword, "redfish_verify_ca": c.BMC.CAFile, "bootloader": files + "/esp"}
	for _, ramdisk := range []string{"deploy", "rescue"} {
		info[ramdisk+"_kernel"], info[ramdisk+"_ramdisk"] = files+"/kernel", files+"/ramdisk"
	}
	var made Node
	err = c.Baremetal(ctx, http.MethodPost, "/nodes", map[string]any{"name": "machine-" + m.ID, "driver": "redfish", "boot_interface": "redfish-virtual-media",
		"deploy_interface": "direct", "inspect_interface": "redfish", "rescue_interface": "agent", "resource_class": MetalClass, "driver_info": info}, &made)
	if err == nil {
		// By its address a ramdisk says which node it is.
		err = c.Baremetal(ctx, http.MethodPost, "/ports", map[string]string{"node_uuid": made.UUID, "address": m.MAC}, nil)
	}
	return made.UUID, err
}

// SetState asks for a node to come to a state; more is what the request says beside that.
func (c *Cloud) SetState(ctx context.Context, node, target string, more map[string]any) error {
	in := map[string]any{"target": target}
	maps.Copy(in, more)
	return c.Baremetal(ctx, http.MethodPut, "/nodes/"+node+"/states/provision", in, nil)
}

// SetImage says what is written to a node when it is deployed: the file of a name.
func (c *Cloud) SetImage(ctx context.Context, node, files, name, sum string) error {
	return c.Baremetal(ctx, http.MethodPatch, "/nodes/"+node, []map[string]any{{"op": "replace", "path": "/instance_info", "value": map[string]string{
		"image_source": strings.TrimSuffix(files, "/") + "/" + name, "image_os_hash_algo": "sha256", "image_os_hash_value": sum}}}, nil)
}

// ShowNode shows a node.
func (c *Cloud) ShowNode(ctx context.Context, id string) (n Node, err error) {
	err = c.Baremetal(ctx, http.MethodGet, "/nodes/"+id, nil, &n)
	return n, err
}
