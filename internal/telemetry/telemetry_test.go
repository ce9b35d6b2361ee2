package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
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

// Libraries log errors under names of their own, and some as texts.
func TestErrorsAreLoggedWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "text"} {
		var out strings.Builder
		log := NewLogger(&out, "debug", format).With("with", errors.New("token=cAnArY"))
		log.Warn("refused", "error", fmt.Errorf("ask: %w", errors.New(`401 {"adminPass": "cAnArY"}`)), "why", errors.New("password=cAnArY"), "Error", "secret: cAnArY", "server", "kept")
		if line := out.String(); strings.Contains(line, "cAnArY") || strings.Count(line, "***") != 4 || !strings.Contains(line, "kept") {
			t.Errorf("%s: %s", format, line)
		}
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
