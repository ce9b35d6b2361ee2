package walk

// The main job, as its user does it.

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/dev/image"
)

// The microversions that are walked at: the first, one that has networks "none"
// and "auto", the last.
const (
	oldest = "2.1"
	middle = "2.37"
	newest = "2.104"
)

const (
	publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPZk0s5c0xGQxH1i2vYB4v2M3m0q8o3Q8d9Ww2j4r6tA walk@example"
	userData  = "#!/bin/sh\nfor the walk at "
	// records is what the guest writes numbers for.
	records = "with records"
	// pressed is what the guest says when its power button ends it.
	pressed = "power button: the guest ends\n"
)

func TestWalk(t *testing.T) {
	c := newCloud(t)
	c.start()
	tried := c.emulatorsTried()
	t.Run("versions", func(t *testing.T) {
		for _, version := range []string{newest, middle, oldest} {
			t.Run(version, func(t *testing.T) {
				t.Parallel()
				w := newWalker(t, c, version)
				w.create()
				w.look()
				if w.long {
					w.power()
					w.morePower()
					w.change()
				}
				w.networks()
				w.events()
				w.remove()
			})
		}
	})
	admin := c.as(t, "admin", newest)
	for _, row := range [][]string{{"server", "list", "--all-projects"}, {"port", "list", "--device-owner", "compute:nova"}} {
		if left := admin.list(row...); len(left) > 0 {
			t.Errorf("%v: %v are left", row, left)
		}
	}
	if used := admin.show("hypervisor", "show", admin.list("hypervisor", "list")[0]["Hypervisor Hostname"].(string)); used["state"] != "up" {
		t.Errorf("the hypervisor is %v", used)
	}
	if again := c.emulatorsTried(); !maps.Equal(again, tried) {
		t.Errorf("libvirtd has tried its emulators anew: %v, %v when the cloud was up", again, tried)
	}
	c.clean()
	c.interrupt()
}

// walker is a user at one microversion, and the servers it makes: one is told
// about itself by a config drive, on the long way another one by the metadata
// service.
type walker struct {
	*client
	key            string
	drive, service string
	long           bool
}

const flavor = "m1.tiny"

func newWalker(t *testing.T, c *cloud, version string) *walker {
	name := "w" + strings.ReplaceAll(version, ".", "-")
	return &walker{client: c.as(t, "demo", version), key: name, drive: name + "-drive", service: name + "-service", long: full || version == newest}
}

// create makes a key pair and the servers.
func (w *walker) create() {
	w.t.Helper()
	w.run("keypair", "create", "--public-key", w.file("key.pub", publicKey), w.key)
	command := func(server, data string, more ...string) []string {
		return append([]string{"server", "create", "--image", "holdfast-test", "--flavor", flavor, "--network", "private",
			"--key-name", w.key, "--user-data", w.file("user-data", data), server}, more...)
	}
	if w.long {
		w.run(command(w.service, userData+w.service)...)
	}
	made := w.show(command(w.drive, userData+w.drive+records, "--config-drive", "True", "--wait")...)
	if made["status"] != "ACTIVE" || made["adminPass"] == "" {
		w.t.Errorf("the server that was waited for is %v", made)
	}
	if w.long {
		w.becomes(w.service, "ACTIVE")
	}
}

// look reads what there is to read of the servers.
func (w *walker) look() {
	w.t.Helper()
	server := w.show("server", "show", w.drive)
	for field, want := range map[string]any{
		"name": w.drive, "status": "ACTIVE", "key_name": w.key, "config_drive": "True",
		"OS-EXT-STS:power_state": 1.0, "OS-EXT-STS:vm_state": "active", "OS-EXT-STS:task_state": nil,
		"OS-EXT-AZ:availability_zone": "nova", "OS-DCF:diskConfig": "MANUAL", "properties": map[string]any{},
		"volumes_attached": []any{},
	} {
		if !reflect.DeepEqual(server[field], want) {
			w.t.Errorf("server show: %s is %v, want %v", field, server[field], want)
		}
	}
	id := server["id"].(string)
	if name := server["image"]; !strings.HasPrefix(name.(string), "holdfast-test (") {
		w.t.Errorf("server show: image is %v", name)
	}
	addresses, _ := server["addresses"].(map[string]any)
	if list, _ := addresses["private"].([]any); len(list) != 1 || !strings.HasPrefix(list[0].(string), "192.168.233.") {
		w.t.Errorf("server show: addresses are %v", addresses)
	}
	w.differences(server)

	row := find(w.list("server", "list", "--long"), "Name", w.drive)
	for field, want := range map[string]any{"ID": id, "Status": "ACTIVE", "Task State": nil, "Power State": 1.0, "Image Name": "holdfast-test",
		"Availability Zone": "nova", "Properties": map[string]any{}, "Networks": server["addresses"]} {
		if !reflect.DeepEqual(row[field], want) {
			w.t.Errorf("server list --long: %s is %v, want %v", field, row[field], want)
		}
	}

	w.reads(w.drive, "config drive", userData+w.drive+records)
	w.console(w.drive, "record: 10\n")
	if w.long {
		w.reads(w.service, "metadata service", userData+w.service)
	}
	if domain := "instance-" + id[:8]; !slices.Contains(w.cloud.domains(), domain) {
		w.t.Errorf("virsh list has no %s: %v", domain, w.cloud.domains())
	}
}

// reads says that a guest has read what it was told, and from where.
func (w *walker) reads(name, source, data string) {
	w.t.Helper()
	log := w.console(name, "ready: ")
	for _, line := range []string{
		image.Banner, "source: " + source, "hostname: " + name + ".novalocal", "key: " + publicKey,
		"user data: " + strings.ReplaceAll(data, "\n", "|"), "instance: " + w.show("server", "show", name)["id"].(string),
	} {
		if !strings.Contains(log, line) {
			w.t.Errorf("the console of %s lacks the line %q:\n%s", name, line, log)
		}
	}
}

// differences are the fields that a microversion has, and in which form.
func (w *walker) differences(server map[string]any) {
	w.t.Helper()
	wants := map[string]map[string]any{
		oldest: {"locked": nil, "description": nil, "OS-EXT-SRV-ATTR:hostname": nil, "locked_reason": nil, "tags": []any{}},
		middle: {"locked": false, "OS-EXT-SRV-ATTR:hostname": nil, "tags": []any{}},
		newest: {"locked": false, "OS-EXT-SRV-ATTR:hostname": w.drive, "locked_reason": nil, "tags": []any{}},
	}[w.version]
	for field, want := range wants {
		if !reflect.DeepEqual(server[field], want) {
			w.t.Errorf("server show at %s: %s is %v, want %v", w.version, field, server[field], want)
		}
	}
	// Embedded since 2.47.
	if w.version == newest {
		if embedded, _ := server["flavor"].(map[string]any); embedded["original_name"] != flavor || embedded["ram"] != 512.0 {
			w.t.Errorf("server show at %s: flavor is %v", w.version, server["flavor"])
		}
	} else if server["flavor"] != flavor+" (1)" {
		w.t.Errorf("server show at %s: flavor is %v", w.version, server["flavor"])
	}
}

// power turns a server off and on.
func (w *walker) power() {
	w.t.Helper()
	w.run("server", "stop", w.drive)
	w.becomes(w.drive, "SHUTOFF")
	w.console(w.drive, pressed) // the guest ended by itself
	if state := w.show("server", "show", w.drive)["OS-EXT-STS:power_state"]; state != 4.0 {
		w.t.Errorf("a stopped server's power state is %v", state)
	}
	w.refused("Cannot 'pause' instance", "server", "pause", w.drive)
	w.run("server", "start", w.drive)
	w.becomes(w.drive, "ACTIVE")
	w.console(w.drive, "ready: ")
}

// morePower goes through the other states.
func (w *walker) morePower() {
	w.t.Helper()
	w.run("server", "reboot", "--soft", "--wait", w.drive)
	w.becomes(w.drive, "ACTIVE")
	w.console(w.drive, "ready: ")
	w.run("server", "reboot", "--hard", "--wait", w.drive)
	w.becomes(w.drive, "ACTIVE")
	w.console(w.drive, "ready: ")
	for _, c := range []struct {
		action, status string
		power          float64
	}{{"pause", "PAUSED", 3}, {"unpause", "ACTIVE", 1}, {"suspend", "SUSPENDED", 4}, {"resume", "ACTIVE", 1}} {
		w.run("server", c.action, w.drive)
		w.becomes(w.drive, c.status)
		if state := w.show("server", "show", w.drive)["OS-EXT-STS:power_state"]; state != c.power {
			w.t.Errorf("after %s the power state is %v, want %v", c.action, state, c.power)
		}
	}
}

// change locks a server, and gives it other names and properties.
func (w *walker) change() {
	w.t.Helper()
	w.run("server", "lock", w.drive)
	w.refused("is locked", "server", "stop", w.drive)
	w.run("server", "unlock", w.drive)
	w.run("server", "set", "--name", w.drive+"-2", "--property", "a=b", "--property", "c=d", w.drive)
	w.drive += "-2"
	w.run("server", "unset", "--property", "c", w.drive)
	server := w.show("server", "show", w.drive)
	if want := map[string]any{"a": "b"}; server["name"] != w.drive || !reflect.DeepEqual(server["properties"], want) {
		w.t.Errorf("the server's name is %v and its properties are %v", server["name"], server["properties"])
	}
}

// networks asks for none at all, which the oldest API doesn't know.
func (w *walker) networks() {
	w.t.Helper()
	name := w.key + "-alone"
	command := []string{"server", "create", "--image", "holdfast-test", "--flavor", "m1.nano", "--nic", "none", name}
	if w.version == oldest {
		w.refused("--os-compute-api-version 2.37 or greater is required", command...)
		return
	}
	w.run(command...)
	w.becomes(name, "ACTIVE")
	if addresses := w.show("server", "show", name)["addresses"]; !reflect.DeepEqual(addresses, map[string]any{}) {
		w.t.Errorf("a server without networks has the addresses %v", addresses)
	}
	w.run("server", "delete", "--wait", name)
}

// events are what was done with a server.
func (w *walker) events() {
	w.t.Helper()
	want := []string{"create"}
	if w.long {
		want = append(want, "pause", "reboot", "reboot", "resume", "start", "stop", "suspend", "unpause")
	}
	slices.Sort(want)
	var got []string
	var request string
	for _, row := range w.list("server", "event", "list", w.drive) {
		action := row["Action"].(string)
		if action != "lock" && action != "unlock" {
			got = append(got, action)
		}
		if action == "create" {
			request = row["Request ID"].(string)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.t.Errorf("server event list has %v, want %v", got, want)
	}
	reader, server := w.client, w.show("server", "show", w.drive)["id"].(string)
	if w.version != newest {
		// Before 2.51 events are for administrators, and without any the client
		// falls over.
		reader = w.cloud.as(w.t, "admin", w.version)
	}
	event := reader.show("server", "event", "show", server, request)
	events, _ := event["events"].([]any)
	if event["action"] != "create" || event["request_id"] != request || len(events) == 0 {
		w.t.Errorf("server event show: %v", event)
	}
}

// remove deletes what create has made.
func (w *walker) remove() {
	w.t.Helper()
	made := []string{w.drive}
	if w.long {
		made = append(made, w.service)
	}
	w.run(append([]string{"server", "delete", "--wait"}, made...)...)
	w.refused("No Server found for "+w.drive, "server", "show", w.drive)
	w.run("keypair", "delete", w.key)
}

// find gives the row that has a value in a column; nil if none has.
func find(rows []map[string]any, column, value string) map[string]any {
	for _, row := range rows {
		if row[column] == value {
			return row
		}
	}
	return nil
}
