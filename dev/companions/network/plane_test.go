package network_test

// The data plane with the real programs: a guest is a namespace.

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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
	"holdfast.dev/dev/companions/network/dataplane"
	"holdfast.dev/internal/testenv"
)

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// lease is busybox's script: it says what was leased, and takes it.
const lease = `#!/bin/sh
[ "$1" = bound ] || exit 0
echo "leased $ip/$mask router=$router dns=$dns mtu=$mtu routes=$staticroutes"
ip address replace "$ip/$mask" dev "$interface"
set -- $staticroutes
while [ $# -ge 2 ]; do ip route replace "$1" via "$2"; shift 2; done
`

// until waits for a condition that another goroutine brings about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(testenv.Patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, testenv.Patience)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestDataPlane(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("this test makes network namespaces: run it as root")
	}
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"path": r.URL.Path, "instance": r.Header.Get("X-Instance-ID"), "tenant": r.Header.Get("X-Tenant-ID"),
			"signature": r.Header.Get("X-Instance-ID-Signature"), "for": strings.Join(r.Header.Values("X-Forwarded-For"), ",")})
	}))
	t.Cleanup(metadata.Close)
	dir := t.TempDir()
	newPlane := func() *dataplane.Plane {
		return dataplane.New(dataplane.Config{Dir: dir, MetadataURL: metadata.URL, Secret: "shared", Log: ct.Log(t)})
	}
	plane := newPlane()
	s := network.New(network.Config{Pool: ct.Pool(t, "network", network.Migrations()), Auth: ct.Callers{}, Log: ct.Log(t), Changed: func() { plane.Kick() }})
	c := ct.Serve(t, s)
	networkID, _ := newNetwork(t, c, "demo", `,"mtu":1400`, "10.77.0.0/24")
	stop := func(cancel context.CancelFunc, done chan error) {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	run := func(p *dataplane.Plane) (context.CancelFunc, chan error) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx, s.Plan) }()
		return cancel, done
	}
	cancel, done := run(plane)
	running := true
	t.Cleanup(func() {
		if running {
			stop(cancel, done)
		}
	})
	bridge, namespace := network.BridgeName(networkID), "/run/netns/qdhcp-"+networkID
	hosts := filepath.Join(dir, networkID, "hosts")
	until(t, "the network is up", func() bool { return there(namespace) && there(hosts) && there("/sys/class/net/"+bridge) })

	const server = "0b6c5a5e-9f4e-4d0b-8a52-0d7a7f0e5c11"
	mac := "fa:16:3e:77:00:01"
	newPort(c, "demo", networkID, `,"mac_address":"`+mac+`","device_id":"`+server+`","fixed_ips":[{"ip_address":"10.77.0.9"}]`)
	until(t, "the port is among the hosts", func() bool {
		text, err := os.ReadFile(hosts)
		return err == nil && string(text) == mac+",host-10-77-0-9,10.77.0.9\n"
	})

	guest := "hfguest-" + networkID[:8]
	tap := "hfg" + networkID[:11]
	command(t, "ip", "netns", "add", guest)
	unplugged := false
	unplug := func() {
		if !unplugged {
			unplugged = true
			_ = exec.Command("ip", "netns", "delete", guest).Run()
			_ = exec.Command("ip", "link", "delete", tap).Run() // it may have gone with the namespace
		}
	}
	t.Cleanup(unplug)
	command(t, "ip", "link", "add", tap, "type", "veth", "peer", "name", "eth0", "netns", guest)
	command(t, "ip", "link", "set", tap, "master", bridge, "up")
	command(t, "ip", "-n", guest, "link", "set", "eth0", "address", mac, "up")
	script := filepath.Join(t.TempDir(), "lease")
	if err := os.WriteFile(script, []byte(lease), 0o700); err != nil {
		t.Fatal(err)
	}
	out := command(t, "ip", "netns", "exec", guest, "busybox", "udhcpc", "-f", "-n", "-q", "-t", "10", "-T", "1", "-O", "staticroutes", "-O", "mtu", "-i", "eth0", "-s", script)
	if want := "leased 10.77.0.9/24 router=10.77.0.1 dns= mtu=1400 routes=169.254.169.254/32 10.77.0.2 0.0.0.0/0 10.77.0.1"; !strings.Contains(out, want) {
		t.Errorf("udhcpc says %q, want %q in it", out, want)
	}

	// The address of a port that is gone is leased to the next port that has it.
	ports := c.Want(200, "demo", "GET", "/v2.0/ports?mac_address="+mac, "")
	c.Want(204, "demo", "DELETE", "/v2.0/ports/"+ports.TextAt("ports", 0, "id"), "")
	mac = "fa:16:3e:77:00:02"
	newPort(c, "demo", networkID, `,"mac_address":"`+mac+`","device_id":"`+server+`","fixed_ips":[{"ip_address":"10.77.0.9"}]`)
	until(t, "the next port is among the hosts", func() bool {
		text, err := os.ReadFile(hosts)
		return err == nil && string(text) == mac+",host-10-77-0-9,10.77.0.9\n"
	})
	command(t, "ip", "-n", guest, "link", "set", "eth0", "down")
	command(t, "ip", "-n", guest, "link", "set", "eth0", "address", mac, "up")
	out = command(t, "ip", "netns", "exec", guest, "busybox", "udhcpc", "-f", "-n", "-q", "-t", "10", "-T", "1", "-O", "staticroutes", "-i", "eth0", "-s", script)
	if want := "leased 10.77.0.9/24 "; !strings.Contains(out, want) {
		t.Errorf("for the next port udhcpc says %q, want %q in it", out, want)
	}

	get := []string{"netns", "exec", guest, "curl", "-sS", "--max-time", "20", "-H", "X-Instance-ID: mine", "-H", "X-Forwarded-For: 10.0.0.1"}
	text := command(t, "ip", append(get, "http://169.254.169.254/openstack/latest/meta_data.json")...)
	signature := hmac.New(sha256.New, []byte("shared"))
	signature.Write([]byte(server))
	want := map[string]string{"path": "/openstack/latest/meta_data.json", "instance": server, "tenant": ct.DemoProject,
		"signature": hex.EncodeToString(signature.Sum(nil)), "for": "10.77.0.9"}
	got := map[string]string{}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("metadata %q: %v", text, err)
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
	// An address that is no port's is nobody.
	command(t, "ip", "-n", guest, "address", "add", "10.77.0.50/24", "dev", "eth0")
	if text := command(t, "ip", append(get, "--interface", "10.77.0.50", "-o", "/dev/null", "-w", "%{http_code}", "http://169.254.169.254/")...); text != "404" {
		t.Errorf("an unknown address is answered with %s", text)
	}

	// A stop leaves only the bridge that a guest is plugged into.
	stop(cancel, done)
	running = false
	if there(namespace) || !there("/sys/class/net/"+bridge) {
		t.Errorf("after the stop: namespace %v, bridge %v", there(namespace), there("/sys/class/net/"+bridge))
	}
	// What an end left behind is made anew by the next start, and goes with the
	// network.
	if err := os.MkdirAll(filepath.Join(dir, networkID), 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, "ip", "netns", "add", "qdhcp-"+networkID)
	plane = newPlane()
	cancel, done = run(plane)
	running = true
	until(t, "the network is up again", func() bool { return there(hosts) })
	unplug()
	ports = c.Want(200, "demo", "GET", "/v2.0/ports?mac_address="+mac, "")
	c.Want(204, "demo", "DELETE", "/v2.0/ports/"+ports.TextAt("ports", 0, "id"), "")
	c.Want(204, "demo", "DELETE", "/v2.0/networks/"+networkID, "")
	plane.Kick()
	until(t, "nothing is left", func() bool {
		return !there(namespace) && !there("/sys/class/net/"+bridge) && !there(filepath.Join(dir, networkID))
	})
}
