package image

// The image boots without KVM, tells what it was told, keeps what it writes, and
// ends when its power button is pressed.

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/diskfs/go-diskfs/partition/gpt"

	"holdfast.dev/dev/debian"
)

const (
	metaData = `{"uuid": "5e0c9d25-7a54-4a4e-8b9a-0c2a47c2f6a1", "hostname": "vm1.novalocal",
"public_keys": {"k": "ssh-ed25519 AAAAC3Nz k@example\n"}, "name": "vm1"}`
	userData = "#!/bin/sh\nrecords please\n"
)

// folder is where images are made, and found made.
const folder = "../../.dev/image"

// built makes the image, once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	return Build(context.Background(), dir)
})

func TestBuildsOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	image, err := Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Build(t.Context(), dir)
	if err != nil || again != image {
		t.Fatalf("a second build gave %q, %v; want the first one's %q", again, err, image)
	}
}

// The image for EFI has a table of its own, whose first partition EFI starts from.
func TestBuildsForEFI(t *testing.T) {
	t.Parallel()
	if _, err := built(); err != nil { // the packages are there then
		t.Fatal(err)
	}
	dir, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	path, err := BuildEFI(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	raw := filepath.Join(t.TempDir(), "raw")
	if out, err := exec.Command("qemu-img", "convert", "-O", "raw", path, raw).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	disk, err := os.Open(raw)
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	table, err := gpt.Read(disk, sector, sector)
	if err != nil || table.Partitions[0].Type != gpt.EFISystemPartition || table.Partitions[1].Type != gpt.LinuxFilesystem {
		t.Fatalf("%+v, %v", table, err)
	}
	content := make([]byte, bootSize)
	if _, err := disk.ReadAt(content, table.Partitions[0].GetStart()); err != nil {
		t.Fatal(err)
	}
	partition := filepath.Join(t.TempDir(), "partition")
	if err := os.WriteFile(partition, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"EFI/BOOT/BOOTX64.EFI", "boot/grub/grub.cfg", "vmlinuz", "initrd.gz"} {
		if err := debian.Run(t.Context(), t.TempDir(), "mtype", "-i", partition, "::"+file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestConfigDrive(t *testing.T) {
	t.Parallel()
	disk, drive := overlay(t), configDrive(t)
	g := boot(t, disk, drive...)
	console := g.says("record: 10\n")
	for _, line := range []string{
		Banner,
		"source: config drive",
		"hostname: vm1.novalocal",
		"instance: 5e0c9d25-7a54-4a4e-8b9a-0c2a47c2f6a1",
		"key: ssh-ed25519 AAAAC3Nz k@example",
		"user data: #!/bin/sh|records please|",
	} {
		if !strings.Contains(console, line+"\n") {
			t.Errorf("the console lacks the line %q:\n%s", line, console)
		}
	}
	if strings.Contains(console, "module failed") || strings.Contains(console, "missing") {
		t.Errorf("the guest is not whole:\n%s", console)
	}
	g.pressButton()
	// The second life goes on with the records of the first.
	again := boot(t, disk, drive...)
	if console := again.says("record: "); !strings.Contains(console, Banner) || strings.Contains(console, "record: 10\n") {
		t.Errorf("after another boot the records begin anew:\n%s", console)
	}
	again.pressButton()
}

func TestMetadataService(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answers, lines map[string]string }{
		"OpenStack": {
			map[string]string{"/openstack/latest/meta_data.json": metaData, "/openstack/latest/user_data": userData},
			map[string]string{"source": "metadata service", "hostname": "vm1.novalocal", "key": "ssh-ed25519 AAAAC3Nz k@example",
				"instance": "5e0c9d25-7a54-4a4e-8b9a-0c2a47c2f6a1", "user data": "#!/bin/sh|records please|"},
		},
		"EC2": {map[string]string{"/latest/meta-data/instance-id": "i-00000001"}, map[string]string{"source": "EC2 metadata", "ec2 instance": "i-00000001"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			console := boot(t, overlay(t), metadataService(t, c.answers)...).says("ready: ")
			for name, value := range c.lines {
				if !strings.Contains(console, name+": "+value+"\n") {
					t.Errorf("the console lacks the line %q:\n%s", name+": "+value, console)
				}
			}
		})
	}
}

// overlay makes a disk of the guest's own.
func overlay(t *testing.T) string {
	t.Helper()
	image, err := built()
	if err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join(t.TempDir(), "disk")
	out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", image, disk).CombinedOutput()
	if err != nil {
		t.Fatalf("qemu-img: %v: %s", err, out)
	}
	return disk
}

// metadataService gives QEMU's arguments for a network with an address by DHCP
// and a metadata service that gives these answers.
func metadataService(t *testing.T, answers map[string]string) []string {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(service.Close)
	host, port, err := net.SplitHostPort(service.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"-netdev", fmt.Sprintf("user,id=net,net=169.254.0.0/16,dhcpstart=169.254.10.15,guestfwd=tcp:169.254.169.254:80-cmd:busybox nc %s %s", host, port),
		"-device", "virtio-net-pci,netdev=net,romfile=",
	}
}

// configDrive gives QEMU's arguments for an ISO with the label and the files of one.
func configDrive(t *testing.T) []string {
	t.Helper()
	root := t.TempDir()
	latest := filepath.Join(root, "openstack/latest")
	if err := os.MkdirAll(latest, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"meta_data.json": metaData, "user_data": userData} {
		if err := os.WriteFile(filepath.Join(latest, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	iso := filepath.Join(t.TempDir(), "config.iso")
	out, err := exec.Command("genisoimage", "-quiet", "-J", "-r", "-V", "config-2", "-o", iso, root).CombinedOutput()
	if err != nil {
		t.Fatalf("genisoimage: %v: %s", err, out)
	}
	return []string{"-device", "virtio-scsi-pci", "-drive", "if=none,id=cd,media=cdrom,format=raw,file=" + iso, "-device", "scsi-cd,drive=cd"}
}

// guest is one that runs.
type guest struct {
	t       *testing.T
	console string // file
	monitor string // socket
	ended   chan error
}

// boot runs a disk under emulation, without KVM so that the slow case is the one
// that is tested.
func boot(t *testing.T, disk string, devices ...string) *guest {
	t.Helper()
	dir := t.TempDir()
	g := &guest{t: t, console: filepath.Join(dir, "console"), monitor: filepath.Join(dir, "monitor"), ended: make(chan error, 1)}
	cmd := exec.Command("qemu-system-x86_64", append([]string{"-M", "q35,accel=tcg", "-cpu", "qemu64", "-m", "128",
		"-nodefaults", "-display", "none", "-serial", "file:" + g.console,
		"-chardev", "socket,id=monitor,server=on,wait=off,path=" + g.monitor, "-mon", "monitor",
		"-drive", "if=none,id=root,format=qcow2,file=" + disk, "-device", "virtio-blk-pci,drive=root,bootindex=1"}, devices...)...)
	if err := cmd.Start(); err != nil {
		t.Fatalf("qemu-system-x86_64: %v: install the packages in dev/packages.txt", err)
	}
	go func() { g.ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		g.ended <- <-g.ended
	})
	return g
}

// patience is for a machine that does much else.
const patience = 4 * time.Minute

// says waits until the console has the words, and gives all of it.
func (g *guest) says(words string) string {
	g.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		text, err := os.ReadFile(g.console)
		if err != nil && !os.IsNotExist(err) {
			g.t.Fatal(err)
		}
		console := strings.ReplaceAll(string(text), "\r", "")
		if strings.Contains(console, words) {
			return console
		}
		select {
		case err := <-g.ended:
			g.ended <- err
			g.t.Fatalf("the guest ended: %v:\n%s", err, console)
		case <-time.After(100 * time.Millisecond):
			if time.Now().After(deadline) {
				g.t.Fatalf("the guest never said %q:\n%s", words, console)
			}
		}
	}
}

// pressButton presses the power button, and the guest ends by itself.
func (g *guest) pressButton() {
	g.t.Helper()
	g.says("ready: ")
	monitor, err := net.Dial("unix", g.monitor)
	if err == nil {
		defer monitor.Close()
		_, err = monitor.Write([]byte("system_powerdown\n"))
	}
	if err != nil {
		g.t.Fatal(err)
	}
	select {
	case err := <-g.ended:
		g.ended <- err
		if err != nil {
			g.t.Errorf("the guest ended with %v", err)
		}
	case <-time.After(patience):
		g.t.Fatal("the guest doesn't mind its power button")
	}
	if console := g.says("power button: the guest ends\n"); !strings.Contains(console, Banner) {
		g.t.Errorf("the console is\n%s", console)
	}
}
