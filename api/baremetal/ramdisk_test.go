package baremetal_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/store"
	rows "holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute/computetest"
)

// awaiting makes a node with a port that is in a state, and gives its id.
func (c *cloud) awaiting(name, state, address string) string {
	c.t.Helper()
	id := c.enroll("root", fmt.Sprintf(`{"driver": "fake-hardware", "name": %q}`, name))
	c.play(step{"root", "1.115", "POST", "/v1/ports", fmt.Sprintf(`{"address": %q, "node_uuid": %q}`, address, id), 201, ""})
	c.exec(`UPDATE baremetal.nodes SET provision_state = $2 WHERE uuid = $1`, id, state)
	return id
}

func certificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// A ramdisk finds its node, is told the token once, and says that it is alive as
// ironic-python-agent does; nobody else can.
func TestRamdisks(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.awaiting("n", "wait call-back", "aa:bb:cc:dd:ee:01")
	idle := c.awaiting("idle", "active", "aa:bb:cc:dd:ee:02")
	ask := func(version, query string, status int, fault string) step {
		return step{"", version, "GET", "/v1/lookup" + query, "", status, fault}
	}
	c.play(
		ask("1.62", "", 400, "At least one of 'addresses' and 'node_uuid' parameters is required"),
		ask("1.62", "?addresses=nonsense,xx", 400, "At least one of 'addresses' and 'node_uuid' parameters is required"),
		ask("1.62", "?node_uuid=nonsense", 400, "Expected UUID for node_uuid: nonsense"),
		ask("1.62", "?addresses=aa:bb:cc:dd:ee:99", 404, "Resource could not be found."),
		ask("1.62", "?addresses=aa:bb:cc:dd:ee:02", 404, "Resource could not be found."),
		ask("1.62", "?addresses=aa:bb:cc:dd:ee:01,aa:bb:cc:dd:ee:02", 404, "Resource could not be found."),
		ask("1.62", "?node_uuid="+idle, 404, "Resource could not be found."),
		ask("1.62", "?node_uuid=1be26c0b-03f2-4d2e-ae87-c02d7f33c781", 404, "Resource could not be found."),
		ask("1.21", "?node_uuid="+id, 404, "Resource could not be found."),
		ask("1.61", "?node_uuid="+id, 200, ""),
	)
	first := c.ask("", "1.62", "GET", "/v1/lookup?addresses=AA:BB:CC:DD:EE:01,bad", "").body
	config, node := first["config"].(map[string]any), first["node"].(map[string]any)
	token, _ := config["agent_token"].(string)
	if len(token) != 43 || config["heartbeat_timeout"] != 300.0 || config["agent_token_required"] != true || node["uuid"] != id || node["links"] == nil || len(node) != 7 {
		t.Fatalf("%v", first)
	}
	if again := c.ask("", "1.62", "GET", "/v1/lookup?node_uuid="+id, "").body["config"].(map[string]any); again["agent_token"] != "******" {
		t.Errorf("%v", again)
	}
	pemText, other := certificate(t), certificate(t)
	beat := func(fields string, status int, fault string) step {
		return step{"", "1.72", "POST", "/v1/heartbeat/" + id, fmt.Sprintf(`{"agent_token": %q, "agent_version": "11.0", %s}`, token, fields), status, fault}
	}
	plain := func(version, body string, status int, fault string) step {
		return step{"", version, "POST", "/v1/heartbeat/" + id, body, status, fault}
	}
	quoted := func(text string) string {
		all, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	const url = `"callback_url": "https://192.0.2.7:9999"`
	c.play(
		plain("1.21", `{}`, 404, ""),
		plain("1.35", `{`+url+`, "agent_version": "1"}`, 400, `Field "agent_version" not recognised`),
		plain("1.71", `{`+url+`, "agent_status": "end"}`, 400, `Fields "agent_status" and "agent_status_message" not recognised.`),
		plain("1.67", `{`+url+`, "agent_verify_ca": "x"}`, 400, `Field "agent_verify_ca" not recognised in this version`),
		plain("1.72", `{"agent_token": "x"}`, 400, "Missing mandatory parameter: callback_url"),
		plain("1.72", `{`+url+`, "agent_version": "1"}`, 400, "Agent token is required for heartbeat processing."),
		plain("1.72", `{`+url+`, "agent_token": "x"}`, 400, "Agent did not transmit a version"),
		plain("1.72", `{`+url+`, "agent_token": "x", "agent_version": "1"}`, 400, "Invalid or missing agent token received."),
		plain("1.72", `{`+url+`, "agent_token": "******", "agent_version": "1"}`, 400, "Invalid or missing agent token received."),
		plain("1.72", `{`+url+`, "agent_token": "", "agent_version": "1"}`, 400, "Invalid or missing agent token received."),
		plain("1.72", `{`+url+`, "agent_token": 7}`, 400, "Expected string for agent_token: 7"),
		plain("1.72", `{`+url+`, "more": 7}`, 400, "Unexpected arguments: more"),
		plain("1.72", `[]`, 400, ""),
		plain("1.72", `garbage`, 400, ""),
		step{"", "1.72", "POST", "/v1/heartbeat/" + idle, `{` + url + `, "agent_token": "x", "agent_version": "1"}`, 400, "Invalid or missing agent token received."},
		step{"", "1.72", "POST", "/v1/heartbeat/nobody", `{` + url + `}`, 404, "Node nobody could not be found."},
		beat(`"callback_url": "ftp://192.0.2.7"`, 400, `An issue with the supplied "callback_url" has been detected.`),
		beat(`"callback_url": "https://"`, 400, `An issue with the supplied "callback_url" has been detected.`),
		beat(`"callback_url": "http://192.0.2.7:9999"`, 400, "TLS is required by configuration"),
		beat(`"callback_url": "https://127.0.0.1:9999"`, 400, `An issue with the supplied "callback_url" has been detected.`),
		beat(`"callback_url": "https://localhost:9999"`, 400, `An issue with the supplied "callback_url" has been detected.`),
		beat(`"callback_url": "https://[::1]:9999"`, 400, `An issue with the supplied "callback_url" has been detected.`),
		beat(`"callback_url": "https://[::ffff:127.0.0.1]:9999"`, 400, `An issue with the supplied "callback_url" has been detected.`),
		beat(`"callback_url": "https://169.254.169.254/latest"`, 400, `An issue with the supplied "callback_url" has been detected.`),
		beat(`"callback_url": "https://192.0.2.7:99999"`, 400, `An issue with the supplied "callback_url" has been detected.`),
		beat(url+`, "agent_verify_ca": "garbage"`, 400, "certificate"),
		beat(url+`, "agent_status": "perhaps"`, 400, "Agent status is invalid. Valid states are start,end,error."),
	)
	if info := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body["driver_internal_info"]; fmt.Sprint(info) != "map[agent_secret_token:******]" {
		t.Errorf("what was refused has changed the node: %v", info)
	}
	c.play(
		beat(url+`, "agent_verify_ca": `+quoted(pemText), 202, ""),
		beat(url+`, "agent_verify_ca": `+quoted(pemText), 202, ""),
		beat(url+`, "agent_verify_ca": `+quoted(other), 400, `Detected change in ramdisk provided "agent_verify_ca"`),
		beat(`"callback_url": "https://192.0.2.8:9999"`, 400, `Detected change in ramdisk provided "callback_url"`),
	)
	info := c.ask("root", "1.115", "GET", "/v1/nodes/"+id, "").body["driver_internal_info"].(map[string]any)
	if info["agent_url"] != "https://192.0.2.7:9999" || info["agent_version"] != "11.0" || info["agent_verify_ca"] != pemText || info["agent_secret_token"] != "******" || info["agent_last_heartbeat"] == nil {
		t.Errorf("%v", info)
	}
	var row string
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT n::text FROM baremetal.nodes n WHERE uuid = $1`, id).Scan(&row); err != nil || strings.Contains(row, token) {
		t.Errorf("%v: the token is in the row", err)
	}
	// A patch keeps what the ramdisk has said.
	c.play(step{"root", "1.115", "PATCH", "/v1/nodes/idle", `[{"op": "add", "path": "/driver_internal_info/agent_url", "value": "x"}]`, 400, "Cannot patch"})
}

// A heartbeat knocks at the operation that has the node, waiting or not yet, and is
// in the node's row by then.
func TestAHeartbeatIsHeard(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.conductor("conductor-1", "")
	id := c.awaiting("n", "enroll", "aa:bb:cc:dd:ee:01")
	c.play(step{"root", "1.115", "PUT", "/v1/nodes/n/states/provision", `{"target": "manage"}`, 202, ""})
	c.exec(`UPDATE baremetal.nodes SET provision_state = 'deploying' WHERE uuid = $1`, id)
	token := c.ask("", "1.62", "GET", "/v1/lookup?addresses=aa:bb:cc:dd:ee:01", "").body["config"].(map[string]any)["agent_token"].(string)
	beat := `{"callback_url": "https://192.0.2.7:9999", "agent_token": "` + token + `", "agent_version": "13.0.0"}`
	c.play(step{"", "1.68", "POST", "/v1/heartbeat/" + id, strings.Replace(beat, token, "x", 1), 400, "Invalid or missing agent token received."})
	if knocks := c.door.knocks(); len(knocks) != 0 {
		t.Errorf("who isn't believed knocks at %v", knocks)
	}
	c.play(step{"", "1.68", "POST", "/v1/heartbeat/" + id, beat, 202, ""})
	var holder string
	if err := c.db.Pool.QueryRow(t.Context(), `SELECT operation_id FROM baremetal.nodes WHERE uuid = $1`, id).Scan(&holder); err != nil {
		t.Fatal(err)
	}
	if knocks := c.door.knocks(); !slices.Equal(knocks, []string{holder}) {
		t.Errorf("it knocks at %v, and the node is %s's", knocks, holder)
	}
	brief, err := rows.Brief(t.Context(), c.db.Pool, id)
	if err != nil || time.Since(brief.RamdiskHeard) > time.Minute {
		t.Errorf("%+v, %v", brief, err)
	}
	c.exec(`UPDATE baremetal.nodes SET driver_internal_info = driver_internal_info - 'agent_url' WHERE uuid = $1`, id)
	if brief, err := rows.Brief(t.Context(), c.db.Pool, id); err != nil || !brief.RamdiskHeard.IsZero() {
		t.Errorf("one that was booted since: %+v, %v", brief, err)
	}
}

func TestInspectionData(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.awaiting("n", "inspect wait", "aa:bb:cc:dd:ee:01")
	other := c.awaiting("other", "inspect wait", "aa:bb:cc:dd:ee:02")
	third := c.awaiting("third", "inspect wait", "aa:bb:cc:dd:ee:04")
	c.awaiting("busy", "active", "aa:bb:cc:dd:ee:03")
	for node, known := range map[string]string{id: `["192.0.2.8", "192.0.2.7"]`, other: `["192.0.2.9", "192.0.2.7"]`, third: `[]`} {
		c.exec(`INSERT INTO engine.operations (id, kind, resource_type, resource_id, deadline) VALUES ('node/' || $1::text || '/inspect/1', 'node.inspect', 'node', $1::uuid, now())`, node)
		c.exec(`UPDATE baremetal.nodes SET operation_id = 'node/' || uuid || '/inspect/1', driver_internal_info = jsonb_build_object('lookup_bmc_addresses', $2::jsonb) WHERE uuid = $1`, node, known)
	}
	computetest.InTx(t, c.db, func(tx store.Tx) error {
		return rows.Expect(t.Context(), tx, third, []string{"aa:bb:cc:dd:ee:09"}, nil)
	})
	send := func(version, query, body string, status int, fault string) step {
		return step{"", version, "POST", "/v1/continue_inspection" + query, body, status, fault}
	}
	found := func(address string) string {
		return fmt.Sprintf(`{"inventory": {"interfaces": [{"mac_address": %q}], "cpu": {"count": 4}}, "root_disk": {"name": "/dev/sda"}}`, address)
	}
	beside := func(address, bmc string) string {
		return fmt.Sprintf(`{"inventory": {"interfaces": [{"mac_address": %q}], "bmc_address": "", "bmc_v6address": %q}}`, address, bmc)
	}
	const nowhere = "Resource could not be found."
	c.play(
		send("", "", found("aa:bb:cc:dd:ee:03"), 404, nowhere),
		send("", "", found("aa:bb:cc:dd:ee:99"), 404, nowhere),
		send("", "", found("garbage"), 400, "No lookup information provided"),
		send("", "", `{"inventory": {"interfaces": []}}`, 400, "Schema error for data: [] should be non-empty"),
		send("", "", `{"inventory": {"interfaces": [{"mac_address": 5}]}}`, 400, "5 is not of type 'string'"),
		send("", "", `{"inventory": {"interfaces": [5]}}`, 400, "5 is not of type 'object'"),
		send("", "", `{}`, 400, "'inventory' is a required property"),
		send("", "", ``, 400, ""),
		send("", "", `{"inventory"`, 400, ""),
		send("1.50", "", found("aa:bb:cc:dd:ee:01"), 404, "API version 1.84 or newer is required"),
		send("1.84", "?node_uuid=garbage", found("aa:bb:cc:dd:ee:01"), 400, "Expected UUID for node_uuid: garbage"),
		// Another node's id, or another's BMC, is no way in; nor is a BMC that several have.
		send("1.84", "?node_uuid="+other, found("aa:bb:cc:dd:ee:01"), 404, nowhere),
		send("", "", beside("aa:bb:cc:dd:ee:01", "192.0.2.9"), 404, nowhere),
		send("1.84", "?node_uuid="+id, beside("aa:bb:cc:dd:ee:99", "192.0.2.9"), 404, nowhere),
		send("", "", beside("aa:bb:cc:dd:ee:99", "192.0.2.7"), 404, nowhere),
		send("", "", `{"inventory": {"interfaces": [{"mac_address": "aa:bb:cc:dd:ee:01"}, {"mac_address": "aa:bb:cc:dd:ee:02"}]}}`, 404, nowhere),
		step{"root", "1.115", "GET", "/v1/nodes/n/inventory", "", 404, "Node inventory record for node " + id + " could not be found."},
	)
	if got := c.ask("", "", "POST", "/v1/continue_inspection", `{"inventory": {"interfaces": [{"mac_address": "aa:bb:cc:dd:ee:01"}], "x": "`+strings.Repeat("x", 2<<20)+`"}}`); got.status != 413 {
		t.Errorf("two megabytes: %d", got.status)
	}
	for _, sent := range []struct{ body, node string }{
		{found("aa:bb:cc:dd:ee:01"), id}, {beside("aa:bb:cc:dd:ee:01", "192.0.2.7"), id}, {beside("aa:bb:cc:dd:ee:01", "192.0.2.99"), id}, {beside("garbage", "192.0.2.9"), other},
		{found("aa:bb:cc:dd:ee:09"), third}, {found("aa:bb:cc:dd:ee:01"), id},
	} {
		if got := c.ask("", "", "POST", "/v1/continue_inspection", sent.body); got.status != 202 || len(got.body) != 1 || got.body["uuid"] != sent.node {
			t.Errorf("%s: %d %v", sent.body, got.status, got.body)
		}
	}
	if got := c.ask("", "1.84", "POST", "/v1/continue_inspection?node_uuid="+other, `{"inventory": {"interfaces": [{"mac_address": "aa:bb:cc:dd:ee:08"}], "bmc_address": "192.0.2.9"}}`); got.status != 202 || len(got.body["config"].(map[string]any)["agent_token"].(string)) != 43 {
		t.Errorf("%d %v", got.status, got.body)
	}
	// It is kept beside the node's row until the operation makes something of it.
	if brief, err := rows.Brief(t.Context(), c.db.Pool, id); err != nil || !brief.Found {
		t.Errorf("%+v, %v", brief, err)
	}
	kept, err := rows.FindingsOf(t.Context(), c.db.Pool, id)
	if err != nil || kept == nil || fmt.Sprint(kept.Inventory, kept.Plugin) != `map[cpu:map[count:4] interfaces:[map[mac_address:aa:bb:cc:dd:ee:01]]] map[root_disk:map[name:/dev/sda]]` {
		t.Errorf("%+v, %v", kept, err)
	}
	c.play(step{"root", "1.80", "GET", "/v1/nodes/n/inventory", "", 404, ""}, step{"root", "1.81", "GET", "/v1/nodes/n/inventory", "", 404, ""})
}
