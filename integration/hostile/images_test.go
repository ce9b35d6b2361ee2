package hostile

// Images that no guest may be made of, through the image service, the API, a
// control worker and a host with libvirt: the server says why, and nothing of it
// is left.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/libvirt"
	"holdfast.dev/integration/cloud"
)

// drawn has qemu-img make an image of 1 MiB and gives its bytes.
func drawn(t *testing.T, args ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "other"), strings.Repeat("\x00", 1<<20))
	cmd := exec.CommandContext(t.Context(), "qemu-img", append(append([]string{"create", "-q"}, args...), "image", "1M")...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("qemu-img (of the package qemu-utils): %v: %s", err, said)
	}
	data, err := os.ReadFile(filepath.Join(dir, "image"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// badImage is one, and what its server says; of one that was spoilt, what its
// operation says.
type badImage struct {
	name, format string
	data         []byte
	// spoil changes the file in the image service's folder.
	spoil func(data []byte) []byte
	says  string
}

func badImages(t *testing.T) []badImage {
	const content, safety = "Image IMAGE is unacceptable: Image content does not match disk_format", "Image IMAGE is unacceptable: Image does not pass safety check"
	raw, qcow2, vmdk := make([]byte, 1<<20), drawn(t, "-f", "qcow2"), drawn(t, "-f", "vmdk")
	changed := func(data []byte, change func([]byte)) []byte {
		data = bytes.Clone(data)
		change(data)
		return data
	}
	const virtualSize = 24 // where a qcow2 header has it
	return []badImage{
		{name: "backing file", format: "qcow2", data: drawn(t, "-f", "qcow2", "-b", "other", "-F", "raw"), says: safety},
		{name: "data file", format: "qcow2", data: drawn(t, "-f", "qcow2", "-o", "data_file=data"), says: safety},
		{name: "extent elsewhere", format: "vmdk", data: bytes.Replace(vmdk, []byte(`SPARSE "image"`), []byte(`FLAT "/etc/s" `), 1), says: safety},
		{name: "raw as qcow2", format: "qcow2", data: raw, says: content},
		{name: "qcow2 as raw", format: "raw", data: qcow2, says: content},
		{name: "vmdk as qcow2", format: "qcow2", data: vmdk, says: content},
		{name: "cut in its header", format: "qcow2", data: qcow2[:40], says: content},
		{name: "negative size", format: "qcow2", data: changed(qcow2, func(d []byte) { binary.BigEndian.PutUint64(d[virtualSize:], 1<<63) }), says: content},
		{name: "larger than the flavor", format: "qcow2", data: changed(qcow2, func(d []byte) { binary.BigEndian.PutUint64(d[virtualSize:], 1<<40) }),
			says: "Flavor's disk is too small for requested image. Flavor disk is 1073741824 bytes, image is 1099511627776 bytes."},
		{name: "another hash", format: "raw", data: raw, spoil: func(d []byte) []byte { return changed(d, func(d []byte) { d[1000] = 1 }) }, says: "the hash of image IMAGE is not what the image service has"},
		{name: "cut in the store", format: "raw", data: raw, spoil: func(d []byte) []byte { return d[:1<<19] }, says: "image IMAGE has 1048576 bytes, 524288 were downloaded"},
	}
}

func TestBadImages(t *testing.T) {
	t.Parallel()
	others := companiontest.Start(t)
	admin, _, _ := others.Login(t, "admin")
	member, _, _ := others.Login(t, "demo")
	l := hypervisor(t)
	state := filepath.Join(l.Dir, "host")
	w := &world{t: t, Cloud: cloud.Start(t, cloud.Options{Hosts: 1, Config: map[string]any{
		"dev.static_tokens":  []any{},
		"openstack.auth_url": others.Identity, "openstack.username": "holdfast", "openstack.password": others.Password("holdfast"),
		"host.driver": "libvirt", "host.libvirt_socket": l.Socket(), "host.state_dir": state,
		// A libvirtd that has just started takes its time to describe the host.
		"compute.host_down_after": "60s",
	}})}
	images := others.At(t, others.Image)
	w.refusesImages(images, admin, member)

	for _, bad := range badImages(t) {
		image := uploaded(images, admin, bad.name, bad.format, bad.data)
		if bad.spoil != nil {
			if err := os.WriteFile(filepath.Join(others.Images, image), bad.spoil(bad.data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		id := w.made(member, asking(bad.name, image), "ERROR")
		fault := w.must(member, "GET", "/servers/"+id, "")["server"].(map[string]any)["fault"].(map[string]any)
		want := "Exceeded maximum number of retries. Exhausted all hosts available for retrying build failures for instance " + id + "."
		if bad.spoil == nil {
			want = strings.ReplaceAll(bad.says, "IMAGE", image)
		}
		if fault["message"] != want {
			t.Errorf("%s: %v, want %q", bad.name, fault, want)
		}
		// Another host might have had better luck: that is all the user is told.
		if ops, err := w.Operations(t.Context(), id); err != nil || len(ops) != 1 || !strings.Contains(w.CLI("operations", "show", ops[0].ID, "--json"), strings.ReplaceAll(bad.says, "IMAGE", image)) {
			t.Errorf("%s: the operator isn't told %q: %v", bad.name, bad.says, err)
		}
		if guests := virsh(t, l); guests != "" {
			t.Errorf("%s: there are guests: %s", bad.name, guests)
		}
		files(t, state)(func(path string, content []byte) {
			if strings.Contains(path, "/images/") || strings.Contains(path, "/guests/") {
				t.Errorf("%s: %s is left on the host, %d bytes", bad.name, path, len(content))
			}
		})
		w.must(member, "DELETE", "/servers/"+id, "")
	}
	// A good one of the same making is no fault.
	image := uploaded(images, admin, "good", "qcow2", drawn(t, "-f", "qcow2"))
	id := w.made(member, asking("good", image), "ACTIVE")
	w.must(member, "DELETE", "/servers/"+id, "")
	w.Audit()
}

// refusesImages asks for servers of images that the API itself knows no good of.
func (w *world) refusesImages(images *companiontest.Client, admin, member string) {
	w.t.Helper()
	images.Header.Set("Content-Type", "application/json")
	made := func(more string) string {
		return images.Want(201, admin, "POST", "/v2/images", `{"name": "x", "disk_format": "raw", "container_format": "bare", "visibility": "public"`+more+`}`).TextAt("id")
	}
	queued, hungry := made(""), made(`, "min_ram": 100000`)
	images.Header.Set("Content-Type", "application/octet-stream")
	images.Want(204, admin, "PUT", "/v2/images/"+hungry+"/file", "x")
	images.Header.Set("Content-Type", "application/json")
	for image, says := range map[string]string{
		queued:                                 "Image " + queued + " is not active.",
		hungry:                                 "Flavor's memory is too small for requested image.",
		"00000000-0000-4000-8000-00000000dead": "Can not find requested image",
	} {
		answer, text, err := w.Ask(w.t.Context(), member, "POST", "/v2.1/servers", map[string][]string{"Content-Type": {"application/json"}}, []byte(asking("x", image)))
		var body map[string]struct{ Message string }
		if err != nil || answer.StatusCode != 400 || json.Unmarshal(text, &body) != nil || body["badRequest"].Message != says {
			w.t.Errorf("%v, %s, want 400 %s", err, text, says)
		}
	}
}

// hypervisor is a libvirtd of the test's own.
func hypervisor(t *testing.T) *libvirt.Libvirt {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-hostile-")
	if err != nil {
		t.Fatal(err)
	}
	l := &libvirt.Libvirt{Dir: dir, LogFile: filepath.Join(dir, "libvirtd.log")}
	process := l.Process()
	t.Cleanup(func() {
		for _, end := range []func() error{process.Kill, l.StopVirtlogd, func() error { return os.RemoveAll(dir) }} {
			if err := end(); err != nil {
				t.Error(err)
			}
		}
	})
	// QEMU's account passes through.
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := process.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

func virsh(t *testing.T, l *libvirt.Libvirt) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "virsh", "-c", l.URI(), "list", "--all", "--name").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// uploaded is a public image with these bytes.
func uploaded(images *companiontest.Client, admin, name, format string, data []byte) (id string) {
	images.Header.Set("Content-Type", "application/json")
	id = images.Want(201, admin, "POST", "/v2/images",
		fmt.Sprintf(`{"name": %q, "disk_format": %q, "container_format": "bare", "visibility": "public"}`, name, format)).TextAt("id")
	images.Header.Set("Content-Type", "application/octet-stream")
	images.Want(204, admin, "PUT", "/v2/images/"+id+"/file", string(data))
	return id
}

func asking(name, image string) string {
	return fmt.Sprintf(`{"server": {"name": %q, "flavorRef": %q, "imageRef": %q}}`, name, cloud.Flavor, image)
}
