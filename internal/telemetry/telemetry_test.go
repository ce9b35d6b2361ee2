package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"reflect"
	"testing"
)

func TestLinesCarryTheContextsIDs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := NewLogger(&out, "info", "json").With("role", "api")
	ctx := With(context.Background(), IDs{Request: "req-1"})
	ctx = With(ctx, IDs{Operation: "server/x/build/y"})
	log.DebugContext(ctx, "not shown")
	log.InfoContext(ctx, "accepted")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", out.String(), err)
	}
	delete(line, "time")
	want := map[string]any{"level": "INFO", "msg": "accepted", "role": "api", "request_id": "req-1", "operation": "server/x/build/y"}
	if !reflect.DeepEqual(line, want) {
		t.Errorf("got %v, want %v", line, want)
	}
}

func TestHealthcheckSaysWhatIsDown(t *testing.T) {
	t.Parallel()
	fine := Probe{Name: "database", Vital: true, Run: func(context.Context) error { return nil }}
	temporal := Probe{Name: "temporal", Run: func(context.Context) error { return errors.New("dial tcp 10.0.0.1: secret") }}
	hosts := Probe{Name: "hosts", Run: func(context.Context) error { return Noticef("%d hosts are down", 2) }}
	dead := Probe{Name: "database", Vital: true, Run: func(context.Context) error { return errors.New("no") }}
	for _, c := range []struct {
		probes []Probe
		code   int
		body   string
	}{
		{[]Probe{fine}, 200, `{"status":"ok","checks":[{"name":"database","ok":true,"vital":true}]}`},
		{[]Probe{fine, temporal, hosts}, 200, `{"status":"degraded","checks":[{"name":"database","ok":true,"vital":true},` +
			`{"name":"temporal","ok":false,"vital":false,"reason":"can't be reached; the log says why"},` +
			`{"name":"hosts","ok":false,"vital":false,"reason":"2 hosts are down"}]}`},
		{[]Probe{dead}, 503, `{"status":"down","checks":[{"name":"database","ok":false,"vital":true,"reason":"can't be reached; the log says why"}]}`},
	} {
		answer := httptest.NewRecorder()
		health := NewHealth(NewLogger(&bytes.Buffer{}, "error", "json"), c.probes...)
		Handler(NewRegistry(), health).ServeHTTP(answer, httptest.NewRequest("GET", "/healthcheck", nil))
		if answer.Code != c.code || answer.Body.String() != c.body+"\n" {
			t.Errorf("%d %s, want %d %s", answer.Code, answer.Body, c.code, c.body)
		}
	}
}
