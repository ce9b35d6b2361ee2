package hostile

// Secrets are sent wherever requests and configuration have room for one, through
// all that can become of a server, and then looked for where nobody should read
// them. Servers' own secrets are kept sealed in compute.boot_data; a config drive
// on a hypervisor's disk holds them in clear, and these hosts make none.

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/ports"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/hostlink"
)

// canaries are secrets by what they are.
type canaries map[string][]byte

// text makes one that can be told from everything else.
func (c canaries) text(what string) string {
	text := "cAnArY" + rand.Text()
	c[what] = []byte(text)
	return text
}

// key makes one of 32 bytes and gives its hexadecimal digits.
func (c canaries) key(what string) string {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	c[what] = key
	return hex.EncodeToString(key)
}

func TestSecretsAreFoundNowhere(t *testing.T) {
	t.Parallel()
	secrets := canaries{}
	others := companiontest.Start(t)
	member, _, project := others.Login(t, "demo")
	admin, _, _ := others.Login(t, "admin")
	secrets["member's token"], secrets["administrator's token"] = []byte(member), []byte(admin)
	secrets["service user's password"] = []byte(others.Password("holdfast"))
	image := uploaded(others.At(t, others.Image), admin, "image", "raw", make([]byte, 512))

	keys := t.TempDir()
	proxySecret := secrets.text("metadata proxy's secret")
	writeFile(t, filepath.Join(keys, "hostlink.key"), secrets.key("host link's key"))
	writeFile(t, filepath.Join(keys, "secrets.keys"), "1 "+secrets.key("key of secrets"))
	link, metadata := address(t), address(t)
	w := &world{t: t, Cloud: cloud.Start(t, cloud.Options{Hosts: 2, Config: map[string]any{
		"log.level":          "debug",
		"dev.static_tokens":  []any{},
		"openstack.auth_url": others.Identity, "openstack.username": "holdfast", "openstack.password": others.Password("holdfast"),
		"hostlink.key_file": filepath.Join(keys, "hostlink.key"), "hostlink.listen": link, "hostlink.url": "http://" + link,
		"secrets.key_file": filepath.Join(keys, "secrets.keys"),
		"metadata.listen":  metadata, "metadata.proxy_shared_secret": proxySecret,
	}})}
	database, err := url.Parse(w.DSN())
	if err != nil {
		t.Fatal(err)
	}
	password, ok := database.User.Password()
	if !ok {
		t.Fatal("the database has no password")
	}
	secrets["database's password"] = []byte(password)
	private := w.must(member, "POST", "/os-keypairs", `{"keypair": {"name": "made"}}`)["keypair"].(map[string]any)["private_key"].(string)
	block, _ := pem.Decode([]byte(private))
	if block == nil {
		t.Fatalf("no private key: %s", private)
	}
	// The first bytes are every key's.
	secrets["private key"] = block.Bytes[len(block.Bytes)/2 : len(block.Bytes)/2+40]

	failing := map[string]string{"refused": "build.start=invalid", "again": "build.define=unavailable:1", "elsewhere": "build.start=unavailable:1"}
	for flavor, rule := range failing {
		w.must(admin, "POST", "/flavors", fmt.Sprintf(`{"flavor": {"id": %q, "name": %[1]q, "ram": 64, "vcpus": 1, "disk": 1}}`, flavor))
		w.must(admin, "POST", "/flavors/"+flavor+"/os-extra_specs", fmt.Sprintf(`{"extra_specs": {"simulated:fail": %q}}`, rule))
	}
	full := func(name, flavor string) string {
		return fmt.Sprintf(`{"server": {"name": %q, "flavorRef": %q, "imageRef": %q, "key_name": "made", "config_drive": true, "adminPass": %q,
			"user_data": %q, "personality": [{"path": "/etc/secret", "contents": %q}]}}`, name, flavor, image, secrets.text("password of "+name),
			encoded(secrets.text("user data of "+name)), encoded("abc"+secrets.text("file of "+name)))
	}
	id := w.made(member, full("canary-server", cloud.Flavor), "ACTIVE")
	w.made(member, full("elsewhere", "elsewhere"), "ACTIVE")
	failed := w.made(member, full("refused", "refused"), "ERROR")
	w.made(member, full("again", "again"), "ACTIVE")
	answer := w.must(member, "POST", "/servers", fmt.Sprintf(`{"server": {"name": "drawn", "flavorRef": %q, "imageRef": %q}}`, cloud.Flavor, image))
	secrets["password that was drawn"] = []byte(answer["server"].(map[string]any)["adminPass"].(string))

	for _, act := range []struct{ action, status string }{
		{`{"os-stop": null}`, "SHUTOFF"}, {`{"os-start": null}`, "ACTIVE"}, {`{"reboot": {"type": "SOFT"}}`, "ACTIVE"}, {`{"reboot": {"type": "HARD"}}`, "ACTIVE"},
		{`{"pause": null}`, "PAUSED"}, {`{"unpause": null}`, "ACTIVE"}, {`{"suspend": null}`, "SUSPENDED"}, {`{"resume": null}`, "ACTIVE"},
	} {
		w.must(member, "POST", "/servers/"+id+"/action", act.action)
		w.is(id, act.status)
	}
	w.must(member, "POST", "/servers/"+id+"/action", `{"os-getConsoleOutput": {}}`)
	w.refusals(secrets, member, image)
	w.guest(metadata, proxySecret, id, project, string(secrets["user data of canary-server"]))
	w.host(link, filepath.Join(keys, "hostlink.key"), id)
	search(t, secrets, w.places("canary-server", id, failed, true))

	w.outage(member, full("too early", cloud.Flavor))
	for _, server := range w.must(member, "GET", "/servers", "")["servers"].([]any) {
		w.must(member, "DELETE", "/servers/"+server.(map[string]any)["id"].(string), "")
	}
	w.Audit()
	search(t, secrets, w.places("canary-server", id, failed, false))
}

// made makes a server and waits for what becomes of it.
func (w *world) made(token, body, status string) (id string) {
	w.t.Helper()
	id = w.must(token, "POST", "/servers", body)["server"].(map[string]any)["id"].(string)
	w.is(id, status)
	return id
}

// is waits until a server is in the status.
func (w *world) is(id, status string) {
	w.t.Helper()
	states := map[string]string{"ACTIVE": "active", "ERROR": "error", "SHUTOFF": "stopped", "PAUSED": "paused", "SUSPENDED": "suspended"}
	w.Eventually(id+" is "+status, cloud.Patience, func(ctx context.Context) error {
		var state string
		err := w.DB.Pool.QueryRow(ctx, `SELECT vm_state || coalesce(task_state, '') FROM compute.servers WHERE id = $1`, id).Scan(&state)
		if err == nil && state != states[status] {
			err = fmt.Errorf("it is %q", state)
		}
		return err
	})
}

// refusals sends secrets in what can't be done.
func (w *world) refusals(secrets canaries, member, image string) {
	w.t.Helper()
	server := func(fields string) string {
		return fmt.Sprintf(`{"server": {"name": "x", "flavorRef": %q, "imageRef": %q, %s}}`, cloud.Flavor, image, fields)
	}
	for _, r := range []struct {
		status      int
		token, body string
	}{
		{401, secrets.text("unknown token"), server(`"adminPass": "x"`)},
		{400, member, server(`"adminPass": ["` + secrets.text("password in a list") + `"]`)},
		{400, member, server(`"adminPass": "` + secrets.text("password beside an unknown key") + `", "nosuch": 1`)},
		{400, member, server(`"user_data": "` + secrets.text("user data that isn't base64") + `x"`)},
		{400, member, server(`"user_data": {"a": "` + secrets.text("user data that is an object") + `"}`)},
		{400, member, server(`"personality": [{"path": "/a", "contents": "` + secrets.text("file that isn't base64") + `x"}]`)},
		{400, member, server(`"personality": "` + secrets.text("file without a list") + `"`)},
		{400, member, `{"server": {"adminPass": "` + secrets.text("password in a broken body")},
		{400, member, server(`"networks": [{"uuid": "00000000-0000-4000-8000-00000000dead"}], "adminPass": "` + secrets.text("password without a network") + `"`)},
		{403, member, server(`"min_count": 200, "user_data": "` + encoded(secrets.text("user data over the quota")) + `"`)},
	} {
		answer, text, err := w.Ask(w.t.Context(), r.token, "POST", "/v2.1/servers", http.Header{"Content-Type": {"application/json"}}, []byte(r.body))
		if err != nil {
			w.t.Fatal(err)
		}
		if answer.StatusCode != r.status {
			w.t.Errorf("%s: %d %s, want %d", r.body, answer.StatusCode, text, r.status)
		}
	}
}

// guest asks for its metadata through the proxy.
func (w *world) guest(metadata, proxySecret, id, project, userData string) {
	w.t.Helper()
	mac := hmac.New(sha256.New, []byte(proxySecret))
	mac.Write([]byte(id))
	for signature, want := range map[string]int{hex.EncodeToString(mac.Sum(nil)): 200, "00": 403} {
		r, err := http.NewRequestWithContext(w.t.Context(), "GET", "http://"+metadata+"/openstack/latest/user_data", nil)
		if err != nil {
			w.t.Fatal(err)
		}
		r.Header.Set("X-Instance-ID", id)
		r.Header.Set("X-Tenant-ID", project)
		r.Header.Set("X-Instance-ID-Signature", signature)
		status, text := w.send(r)
		if status != want || want == 200 && text != userData {
			w.t.Errorf("user data by the proxy: %d %s", status, text)
		}
	}
}

// host asks for what the guest is to have, as a hypervisor's host would.
func (w *world) host(link, keyFile, id string) {
	w.t.Helper()
	key, err := hostlink.LoadKey(keyFile)
	if err != nil {
		w.t.Fatal(err)
	}
	var hostID string
	if err := w.DB.Pool.QueryRow(w.t.Context(), `SELECT host_id FROM compute.servers WHERE id = $1`, id).Scan(&hostID); err != nil {
		w.t.Fatal(err)
	}
	transport := hostlink.NewTransport()
	defer transport.CloseIdleConnections()
	client, err := hostlink.NewClient("http://"+link, hostID, key, transport)
	if err != nil {
		w.t.Fatal(err)
	}
	drive, err := client.ConfigDrive(w.t.Context(), id)
	if err != nil || !bytes.Contains(bytes.Join(slices.Collect(maps.Values(drive.Files)), nil), []byte("canary-server")) {
		w.t.Errorf("config drive: %v, %d files", err, len(drive.Files))
	}
	if _, err := client.Image(w.t.Context(), id); err != nil {
		w.t.Errorf("image: %v", err)
	}
	if _, err := client.ConfigDrive(w.t.Context(), "00000000-0000-4000-8000-00000000dead"); err == nil {
		w.t.Error("a server that isn't there has a config drive")
	}
}

// outage asks while the database is down, and lets everybody notice.
func (w *world) outage(token, body string) {
	w.t.Helper()
	w.Kill(cloud.Postgres)
	answer, text, err := w.Ask(w.t.Context(), token, "POST", "/v2.1/servers", http.Header{"Content-Type": {"application/json"}}, []byte(body))
	if err != nil || answer.StatusCode != http.StatusServiceUnavailable {
		w.t.Errorf("create without a database: %v, %s", err, text)
	}
	w.Restart(cloud.Postgres)
	w.AwaitHosts()
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func address(t *testing.T) string {
	t.Helper()
	port, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// send asks something other than the API.
func (w *world) send(r *http.Request) (status int, text string) {
	w.t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func (w *world) get(url string) string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), "GET", url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	_, text := w.send(r)
	return text
}
