package orchestration_test

// Control workers are engines, to those who may see them.

import (
	"testing"
	"time"
)

func TestServices(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.api.ReportInterval = 10 * time.Second
	if status, answer, _ := c.ask("root", "GET", "/v1/admin/services", ""); status != 503 || answer["error"].(map[string]any)["message"] != "All heat engines are down." {
		t.Errorf("%d %v", status, answer)
	}
	if status, answer, _ := c.ask("alice", "GET", "/services", ""); status != 403 || answer["error"].(map[string]any)["message"] != "You are not authorized to use service:index." {
		t.Errorf("%d %v", status, answer)
	}
	_, err := c.db.Pool.Exec(t.Context(), `INSERT INTO compute.services (host, "binary", last_seen) VALUES
		('one', 'nova-conductor', now()), ('one', 'nova-scheduler', now()), ('two', 'nova-conductor', now() - interval '21 seconds')`)
	if err != nil {
		t.Fatal(err)
	}
	status, answer, _ := c.ask("root", "GET", "/v1/admin/services", "")
	services, _ := answer["services"].([]any)
	if status != 200 || len(services) != 2 {
		t.Fatalf("%d %v", status, answer)
	}
	for i, want := range []map[string]any{{"host": "one", "status": "up"}, {"host": "two", "status": "down"}} {
		got := services[i].(map[string]any)
		for key, v := range map[string]any{"host": want["host"], "hostname": want["host"], "status": want["status"], "binary": "heat-engine", "topic": "engine", "report_interval": 10.0, "deleted_at": nil} {
			if got[key] != v {
				t.Errorf("%s of %v is %v", key, want["host"], got[key])
			}
		}
		if len(got) != 11 || got["engine_id"] != got["id"] || got["id"] == "" || len(got["created_at"].(string)) != 26 {
			t.Errorf("%v", got)
		}
	}
	for _, method := range []string{"POST", "OPTIONS"} {
		if status, answer, _ := c.ask("root", method, "/v1/admin/services", ""); status != 404 || answer["code"] != "404 Not Found" {
			t.Errorf("%s: %d %v", method, status, answer)
		}
	}
}
