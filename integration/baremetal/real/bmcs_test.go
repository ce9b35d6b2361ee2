//go:build real

package real

// The software that stands for BMCs.

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/dev/ports"
	"holdfast.dev/dev/supervise"
	"holdfast.dev/integration/venv"
)

// Who enters the BMCs.
const (
	user     = "admin"
	password = "password-of-a-bmc"
)

// run starts a program that ends with the test.
func run(t *testing.T, p *supervise.Process) {
	t.Helper()
	if err := p.Start(t.Context()); err != nil {
		log, _ := os.ReadFile(p.LogFile)
		t.Fatalf("%v\n%s", err, log)
	}
	t.Cleanup(func() {
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		if log, err := os.ReadFile(p.LogFile); err == nil && t.Failed() {
			t.Logf("%s:\n%s", p.Name, log)
		}
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// redfish starts sushy-tools' emulator of all domains, and gives its address.
func redfish(t *testing.T) string {
	t.Helper()
	dir, port := t.TempDir(), freePort(t)
	hash, err := exec.Command(venv.Program(t, "bmc", "python"), "-c", "import bcrypt, sys; print(bcrypt.hashpw(sys.argv[1].encode(), bcrypt.gensalt(4)).decode())", password).Output()
	if err != nil {
		t.Fatal(err)
	}
	auth, config := filepath.Join(dir, "auth"), filepath.Join(dir, "emulator.conf")
	for path, text := range map[string]string{
		auth: user + ":" + strings.TrimSpace(string(hash)) + "\n",
		config: fmt.Sprintf("SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT = %d\nSUSHY_EMULATOR_LIBVIRT_URI = 'qemu:///system'\n"+
			"SUSHY_EMULATOR_AUTH_FILE = %q\nSUSHY_EMULATOR_STATE_DIR = %q\n", port, auth, dir),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := fmt.Sprintf("http://127.0.0.1:%d", port)
	run(t, &supervise.Process{Name: "sushy-emulator", Args: []string{venv.Program(t, "bmc", "sushy-emulator"), "--config", config}, LogFile: filepath.Join(dir, "log"),
		ReadyTimeout: 2 * time.Minute, Ready: func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/redfish/v1/", nil)
			if err != nil {
				return err
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return err
			}
			return answer.Body.Close()
		}})
	return address
}

// ipmi starts virtualbmc for a machine, and gives the port of its BMC.
func ipmi(t *testing.T, m *machine) int {
	t.Helper()
	dir, port := t.TempDir(), freePort(t)
	config := filepath.Join(dir, "virtualbmc.conf")
	if err := os.Mkdir(filepath.Join(dir, m.name), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		config: fmt.Sprintf("[default]\nconfig_dir = %s\npid_file = %s\nserver_port = %d\n", dir, filepath.Join(dir, "pid"), freePort(t)),
		filepath.Join(dir, m.name, "config"): fmt.Sprintf("[VirtualBMC]\nusername = %s\npassword = %s\naddress = 127.0.0.1\nport = %d\ndomain_name = %s\nlibvirt_uri = qemu:///system\nactive = True\n",
			user, password, port, m.name),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// One that listens refuses nobody's packet.
	run(t, &supervise.Process{Name: "vbmcd", Args: []string{venv.Program(t, "bmc", "vbmcd"), "--foreground"}, Env: []string{"VIRTUALBMC_CONFIG=" + config, "HOME=" + dir},
		LogFile: filepath.Join(dir, "log"), ReadyTimeout: 2 * time.Minute, Ready: func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "udp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return err
			}
			defer conn.Close()
			for range 2 { // the second tells of what the first has met
				if _, err = conn.Write([]byte{0}); err != nil {
					return err
				}
				time.Sleep(50 * time.Millisecond)
			}
			return nil
		}})
	return port
}
