package walk

// A run of `holdfast dev`.

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clouds "holdfast.dev/integration/cloud"
	"holdfast.dev/internal/testenv"
)

// cloud is one that runs, or has run, in a folder.
type cloud struct {
	t      *testing.T
	dir    string
	args   []string
	env    []string // added to this process's
	cmd    *exec.Cmd
	said   bytes.Buffer
	Config string `json:"config"`
	Clouds string `json:"clouds_yaml"`
	// Libvirt is what virsh connects to, by host.
	Libvirt []string `json:"libvirt"`
}

// newCloud makes a folder for one, with the test image in it; args are more of
// the command.
func newCloud(t *testing.T, args ...string) *cloud {
	t.Helper()
	c := &cloud{t: t, dir: filepath.Join(testenv.Folder(t), "cloud"), args: args}
	t.Cleanup(func() {
		if t.Failed() {
			c.printLogs()
		}
	})
	from := os.Getenv(imageKey)
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Join(c.dir, "test-image"), 0o755)
	}
	if err == nil {
		// Without one the folder would be refused as something else's.
		err = os.WriteFile(filepath.Join(c.dir, "lock"), nil, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "test-image", filepath.Base(from)), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start runs the command until all is up.
func (c *cloud) start() {
	c.t.Helper()
	c.cmd = exec.Command(os.Getenv(binaryKey), append([]string{"dev", "--dir", c.dir, "--free-ports", "--json"}, c.args...)...)
	c.cmd.Env = append(os.Environ(), c.env...)
	c.said.Reset()
	c.cmd.Stderr = &c.said
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.NewDecoder(out).Decode(c); err != nil {
		c.t.Fatalf("holdfast dev --json: %v\n%s", err, &c.said)
	}
}

// interrupt is Ctrl-C. The command ends without an error, and nothing of the
// cloud goes on.
func (c *cloud) interrupt() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("after an interrupt: %v\n%s", err, &c.said)
	}
	if left := processes(c.t); len(left) > 0 {
		c.t.Errorf("after an interrupt these run on:\n%s", strings.Join(left, "\n"))
	}
	for _, pattern := range []string{"/run/netns/*", "/sys/class/net/brq*", "/sys/class/net/tap*", "/sys/class/net/hf*"} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			c.t.Errorf("after an interrupt there are %v, %v", left, err)
		}
	}
}

// kill ends the command as the kernel does when there is no memory left.
func (c *cloud) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	_ = c.cmd.Wait() // says that it was killed
}

// processes are the command lines of all but the tests' own, which are to end.
func processes(t *testing.T) []string {
	t.Helper()
	// A child that its parent has killed takes a moment.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		lines := running(t)
		if len(lines) == 0 || time.Now().After(deadline) {
			return lines
		}
	}
}

// running are the command lines of all processes but the tests' own, each with its
// number before it.
func running(t *testing.T) (lines []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == 1 || pid == os.Getpid() {
			continue
		}
		text, err := os.ReadFile(file)
		line := strings.ReplaceAll(string(text), "\x00", " ")
		// One that has just ended has no command line.
		if err == nil && line != "" && !strings.Contains(line, "shell.py") {
			lines = append(lines, strconv.Itoa(pid)+" "+line)
		}
	}
	return lines
}

// domains are the names of those that virsh lists on all hosts.
func (c *cloud) domains(args ...string) (names []string) {
	c.t.Helper()
	for host := range c.Libvirt {
		names = append(names, c.domainsOn(host, args...)...)
	}
	return names
}

// domainsOn are those of one host.
func (c *cloud) domainsOn(host int, args ...string) []string {
	c.t.Helper()
	out, err := exec.Command("virsh", append([]string{"--connect", c.Libvirt[host], "list", "--name"}, args...)...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("virsh list: %v: %s", err, out)
	}
	return strings.Fields(string(out))
}

// audit asks `holdfast audit`, which has nothing to say.
func (c *cloud) audit() {
	c.t.Helper()
	var out []byte
	var err error
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		out, err = exec.Command(os.Getenv(binaryKey), "--config", c.Config, "audit").CombinedOutput()
		if err == nil && len(out) == 0 {
			return
		}
		if time.Now().After(deadline) {
			c.t.Errorf("holdfast audit: %v\n%s", err, out)
			return
		}
	}
}

// clean says that nothing of any server is left.
func (c *cloud) clean() {
	c.t.Helper()
	if left := c.domains("--all"); len(left) > 0 {
		c.t.Errorf("domains are left: %v", left)
	}
	guests := "guests"
	if len(c.Libvirt) > 1 {
		guests = "*/guests"
	}
	left, err := filepath.Glob(filepath.Join(c.dir, "hosts", guests, "*"))
	if err != nil || len(left) > 0 {
		c.t.Errorf("disks are left: %v, %v", left, err)
	}
	if taps, err := filepath.Glob("/sys/class/net/tap*"); err != nil || len(taps) > 0 {
		c.t.Errorf("taps are left: %v, %v", taps, err)
	}
	c.audit()
}

// printLogs shows what is wrong in the cloud's logs.
func (c *cloud) printLogs() {
	said := c.said.String()
	c.t.Logf("holdfast dev, its last lines:\n%s", said[max(0, len(said)-2000):])
	files, _ := filepath.Glob(filepath.Join(c.dir, "logs", "*.log"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		c.t.Logf("%s, its last troubles:\n%s", filepath.Base(file), clouds.Trouble(string(text)))
	}
}

// emulatorsTried says when libvirtd wrote down what it had found each emulator
// to be good for, by file.
func (c *cloud) emulatorsTried() map[string]time.Time {
	c.t.Helper()
	cache := filepath.Join("libvirt", "cache")
	if len(c.Libvirt) > 1 {
		cache = "libvirt-cache"
	}
	files, err := filepath.Glob(filepath.Join(c.dir, cache, "qemu", "capabilities", "*.xml"))
	if err != nil || len(files) == 0 {
		c.t.Fatalf("libvirtd's emulators: %v, %v", files, err)
	}
	tried := map[string]time.Time{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			c.t.Fatal(err)
		}
		tried[file] = info.ModTime()
	}
	return tried
}
