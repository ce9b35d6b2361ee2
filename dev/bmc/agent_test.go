package bmc_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/internal/iso"
)

func start(t *testing.T) (*bmc.Service, *bmc.Machine) {
	t.Helper()
	s, err := bmc.Start(bmc.Options{Machines: 1, Dir: t.TempDir(), User: "admin", Password: "s3cret", Pace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, s.Machines[0]
}

// ask sends a request and gives its status and answer.
func ask(t *testing.T, client *http.Client, method, to, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("admin", "s3cret")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]any{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatalf("%s %s: %s", method, to, text)
		}
	}
	return resp.StatusCode, answer
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not so: %s", what)
		}
	}
}

// medium makes the image of a ramdisk that is told something, and serves it after a while,
// with an image for disks.
func medium(t *testing.T, told string) (*httptest.Server, string) {
	t.Helper()
	dir := t.TempDir()
	err := iso.Write(filepath.Join(dir, "boot.iso"), iso.Image{Label: "VMEDIA_BOOT_ISO", Files: map[string]iso.Source{
		"boot/grub/grub.cfg": {Content: []byte("menuentry boot {\n linux /vmlinuz nofb " + told + "\n initrd /initrd\n}\n")}, "vmlinuz": {}, "initrd": {}}})
	if err != nil {
		t.Fatal(err)
	}
	disk := []byte(strings.Repeat("disk", 1000))
	mux := http.NewServeMux()
	var reads atomic.Int32
	mux.HandleFunc("GET /boot.iso", func(w http.ResponseWriter, r *http.Request) {
		if reads.Add(1) < 200 {
			http.Error(w, "whoever serves it is away", http.StatusServiceUnavailable)
			return
		}
		http.ServeFile(w, r, filepath.Join(dir, "boot.iso"))
	})
	mux.HandleFunc("GET /disk.raw", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(disk) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	sum := sha256.Sum256(disk)
	return server, hex.EncodeToString(sum[:])
}

// A machine that is told to start from the medium in its drive runs the ramdisk on
// it, once; that is told what the medium says, and does what it is told.
func TestARamdisk(t *testing.T) {
	t.Parallel()
	s, m := start(t)
	api := bmctest.Start(t, "******")
	files, sum := medium(t, "ipa-api-url="+api.URL+" ipa-agent-token="+bmctest.Token)
	redfish := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	system, drive := s.URL()+"/redfish/v1/Systems/1", s.URL()+"/redfish/v1/Managers/1/VirtualMedia/Cd"
	for _, r := range []struct{ method, to, body string }{
		{"POST", drive + "/Actions/VirtualMedia.InsertMedia", fmt.Sprintf(`{"Image": %q}`, files.URL+"/boot.iso")},
		{"PATCH", system, `{"Boot": {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}}`},
		{"POST", system + "/Actions/ComputerSystem.Reset", `{"ResetType": "On"}`},
	} {
		if status, answer := ask(t, redfish, r.method, r.to, r.body); status != http.StatusNoContent {
			t.Fatalf("%s: %d %v", r.to, status, answer)
		}
	}
	beat := api.Await(t, 0)
	agent := m.Agent()
	if m.Runs() != bmc.Ramdisk || m.Boot().Enabled != "Disabled" || m.Medium() == "" || agent.Told()["ipa-api-url"] != api.URL || m.BootFailure() != nil {
		t.Errorf("it runs %q (%v), and starts from %+v", m.Runs(), m.BootFailure(), m.Boot())
	}
	if beat["agent_token"] != bmctest.Token || beat["agent_version"] != "13.0.0" || beat["callback_url"] != agent.Address() || api.Asked()[0] != m.MAC+" at 1.62" {
		t.Errorf("%v, %v", beat, api.Asked())
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(beat["agent_verify_ca"]))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	commands := agent.Address() + "/v1/commands/?wait=true&agent_token="
	if status, answer := ask(t, client, "GET", commands+"x", ""); status != 401 || answer["faultstring"] != "401 Unauthorized: Token invalid." {
		t.Errorf("%d %v", status, answer)
	}
	for _, c := range []struct {
		name, params string
		status       int
		want         string
	}{
		{"clean.get_clean_steps", `{"node": {}, "ports": []}`, 200, "SUCCEEDED"},
		{"clean.execute_clean_step", `{"step": {"step": "erase_devices_metadata"}, "node": {}, "ports": [], "clean_version": {"generic_hardware_manager": "1.2"}}`, 200, "SUCCEEDED"},
		{"clean.execute_clean_step", `{"step": {"step": "erase_devices_metadata"}, "clean_version": {"generic_hardware_manager": "1"}}`, 200, "CLEAN_VERSION_MISMATCH"},
		{"clean.execute_clean_step", `{"step": {"step": "dance"}}`, 200, "FAILED"},
		{"clean.dance", `{}`, 400, "Invalid command: Unknown command: dance"},
		{"dance.dance", `{}`, 404, "Not found: Extension with id dance not found."},
		{"standby.prepare_image", `{"image_info": {"id": "i", "urls": ["x"]}}`, 400, "Image checksum is not available"},
		{"standby.prepare_image", fmt.Sprintf(`{"image_info": {"id": "i", "urls": [%q], "checksum": %q}}`, files.URL+"/disk.raw", strings.Repeat("0", 64)), 200, "Image failed to verify"},
		{"deploy.execute_deploy_step", fmt.Sprintf(`{"step": {"step": "write_image", "args": {"image_info": {"id": "i", "urls": [%q], "checksum": %q}}}}`, files.URL+"/disk.raw", sum), 200, "SUCCEEDED"},
		{"standby.power_off", `{}`, 200, ""},
	} {
		status, answer := ask(t, client, "POST", commands+bmctest.Token, fmt.Sprintf(`{"name": %q, "params": %s}`, c.name, c.params))
		if said := fmt.Sprint(answer); status != c.status || !strings.Contains(said, c.want) {
			t.Errorf("%s: %d %s", c.name, status, said)
		}
	}
	eventually(t, "it is off", func() bool { return m.Power() == bmc.Off && m.Runs() == bmc.Nothing })
	if did := m.Did(); !slices.Equal(did, []string{"erase_devices_metadata", "write_image"}) || m.Content().SHA256 != sum {
		t.Errorf("%v, %+v", did, m.Content())
	}
	if status, _ := ask(t, redfish, "POST", system+"/Actions/ComputerSystem.Reset", `{"ResetType": "On"}`); status != http.StatusNoContent {
		t.Errorf("turned on: %d", status)
	}
	eventually(t, "it runs its disk", func() bool { return m.Runs() == bmc.Disk })
}

// behind is an API that is away for some requests.
func behind(t *testing.T, api *bmctest.API, away func(*http.Request) bool) (at string) {
	t.Helper()
	to, err := url.Parse(api.URL)
	if err != nil {
		t.Fatal(err)
	}
	through := httputil.NewSingleHostReverseProxy(to)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away(r) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A ramdisk whose seconds are short asks which node it is on for as long as others do.
func TestARamdiskAsksForLong(t *testing.T) {
	t.Parallel()
	_, m := start(t)
	api := bmctest.Start(t, "******")
	var asked atomic.Int32
	m.Put(bmc.On)
	m.StartRamdisk(map[string]string{"ipa-agent-token": bmctest.Token,
		"ipa-api-url": behind(t, api, func(r *http.Request) bool { return r.URL.Path == "/v1/lookup" && asked.Add(1) < 100 })})
	api.Await(t, 0)
}

// A ramdisk that was told no version of the API, because that was away, asks again, and
// shows its token from then on.
func TestARamdiskAsksTheVersionAgain(t *testing.T) {
	t.Parallel()
	_, m := start(t)
	api := bmctest.Start(t, "******")
	var asked atomic.Int32
	away := behind(t, api, func(r *http.Request) bool { return r.URL.Path == "/" && asked.Add(1) < 3 })
	m.Put(bmc.On)
	m.StartRamdisk(map[string]string{"ipa-api-url": away, "ipa-agent-token": bmctest.Token})
	then := api.Await(t, 1)
	if first := api.Beats()[0]; first["agent_token"] != "" || then["agent_token"] != bmctest.Token || api.Asked()[0] != m.MAC+" at 1.31" {
		t.Errorf("%v, %v, %v", first, then, api.Asked())
	}
}

// A machine's ramdisks listen at a port that none of the system's own connections takes
// while none of them runs.
func TestRamdisksKeepTheirAddress(t *testing.T) {
	t.Parallel()
	_, m := start(t)
	api := bmctest.Start(t, "******")
	m.Put(bmc.On)
	m.StartRamdisk(map[string]string{"ipa-api-url": api.URL, "ipa-agent-token": bmctest.Token})
	eventually(t, "the ramdisk listens", func() bool { return m.Agent() != nil && m.Agent().Address() != "" })
	at, err := url.Parse(m.Agent().Address())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	var port, lowest int
	if _, err := fmt.Sscan(at.Port()+" "+string(text), &port, &lowest); err != nil || port == 0 || port >= lowest {
		t.Errorf("it listens at port %d; connections take those from %d on (%v)", port, lowest, err)
	}
}

// A ramdisk without a token that somebody else has been given serves nobody; and a
// machine whose medium is nothing to boot runs nothing.
func TestRamdisksThatDoNothing(t *testing.T) {
	t.Parallel()
	_, m := start(t)
	api := bmctest.Start(t, "******")
	m.Put(bmc.On)
	m.StartRamdisk(map[string]string{"ipa-api-url": api.URL})
	eventually(t, "it says that it has no token", func() bool {
		a := m.Agent()
		return a != nil && strings.Contains(strings.Join(a.Refused(), " "), "somebody else has the token")
	})
	if len(api.Beats()) > 0 || m.Agent().Address() != "" {
		t.Error("it serves")
	}
	m.Put(bmc.Off)
	if m.Runs() != bmc.Nothing || m.Agent() != nil {
		t.Error("it runs on")
	}
}

// What is in a drive goes only when it is ejected, and what the machine starts from
// is what it knows.
func TestMediaAreRefused(t *testing.T) {
	t.Parallel()
	s, m := start(t)
	redfish := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	system, drive := s.URL()+"/redfish/v1/Systems/1", s.URL()+"/redfish/v1/Managers/1/VirtualMedia/Cd"
	for _, r := range []struct {
		method, to, body string
		status           int
	}{
		{"POST", drive + "/Actions/VirtualMedia.InsertMedia", `{"Image": "nowhere"}`, 400},
		{"POST", drive + "/Actions/VirtualMedia.InsertMedia", `{"Image": "http://127.0.0.1/a"}`, 204},
		{"POST", drive + "/Actions/VirtualMedia.InsertMedia", `{"Image": "http://127.0.0.1/b"}`, 400},
		{"GET", drive, ``, 200},
		{"POST", drive + "/Actions/VirtualMedia.EjectMedia", `{}`, 204},
		{"PATCH", system, `{"Boot": {"BootSourceOverrideTarget": "Moon"}}`, 400},
		{"PATCH", system, `{}`, 400},
	} {
		if status, answer := ask(t, redfish, r.method, r.to, r.body); status != r.status {
			t.Errorf("%s: %d %v", r.to, status, answer)
		}
	}
	if m.Medium() != "" || m.Boot().Target != "None" {
		t.Errorf("%q, %+v", m.Medium(), m.Boot())
	}
}
