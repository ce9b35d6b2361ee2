package image

// The image boots, with and without KVM, and tells what it was told.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	metaData = `{"uuid": "5e0c9d25-7a54-4a4e-8b9a-0c2a47c2f6a1", "hostname": "vm1.novalocal",
"public_keys": {"k": "ssh-ed25519 AAAAC3Nz k@example\n"}, "name": "vm1"}`
	userData = "#!/bin/sh\nrecords please\n"
)

func TestBoots(t *testing.T) {
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
	drive := configDrive(t)
	console := boot(t, image, drive, "record: 10\n")
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
}

// configDrive makes an ISO with the label and the files of one.
func configDrive(t *testing.T) string {
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
	return iso
}

// boot runs the image under emulation, without KVM so that the slow case is the
// one that is tested, until its console says the last words.
func boot(t *testing.T, image, drive, last string) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "console")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-M", "q35,accel=tcg", "-cpu", "qemu64", "-m", "128",
		"-nodefaults", "-display", "none", "-serial", "file:"+log, "-snapshot",
		"-drive", "if=virtio,format=qcow2,file="+image,
		"-device", "virtio-scsi-pci", "-drive", "if=none,id=cd,media=cdrom,format=raw,file="+drive, "-device", "scsi-cd,drive=cd")
	if err := cmd.Start(); err != nil {
		t.Fatalf("qemu-system-x86_64: %v: install the packages in dev/packages.txt", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { cancel(); <-ended }()
	for {
		text, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		console := strings.ReplaceAll(string(text), "\r", "")
		if strings.Contains(console, last) {
			return console
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the guest ended: %v:\n%s", err, console)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
