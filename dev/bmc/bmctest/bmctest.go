// Package bmctest has what tests need around a simulated machine: a bare metal API
// that answers the look-ups of ramdisks and keeps what their heartbeats say, and a
// node over the machine, with an operation on it.
//
// Only tests import it.
package bmctest

// API: the bare metal API as ramdisks see it.

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// API is one that runs.
type API struct {
	URL string

	mu    sync.Mutex
	beats []map[string]string
	asked []string
}

// Node is what the API's ramdisks are told that they are on, and Token what they
// share with it.
const (
	Node  = "5f0c8b9e-6a3d-4f43-9a51-0c2b7f0e1d11"
	Token = "a-token-of-more-than-thirty-two-characters"
)

// Start starts one that shows a token at each look-up.
func Start(t testing.TB, token string) *API {
	t.Helper()
	a := &API{}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, body any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Log(err)
		}
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"default_version": map[string]any{"version": "1.115"}})
	})
	mux.HandleFunc("GET /v1/lookup", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.asked = append(a.asked, r.URL.Query().Get("addresses")+" at "+r.Header.Get("X-OpenStack-Ironic-API-Version"))
		a.mu.Unlock()
		answer(w, map[string]any{"node": map[string]any{"uuid": Node}, "config": map[string]any{"heartbeat_timeout": 300, "agent_token": token}})
	})
	mux.HandleFunc("POST /v1/heartbeat/{node}", func(w http.ResponseWriter, r *http.Request) {
		var said map[string]string
		if err := json.NewDecoder(r.Body).Decode(&said); err != nil || r.PathValue("node") != Node {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		a.mu.Lock()
		a.beats = append(a.beats, said)
		a.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

// Beats are what the heartbeats have said.
func (a *API) Beats() []map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]map[string]string(nil), a.beats...)
}

// Asked are the look-ups.
func (a *API) Asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.asked...)
}

// Await waits for more heartbeats than there were, and gives the last.
func (a *API) Await(t testing.TB, more int) map[string]string {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
		if beats := a.Beats(); len(beats) > more {
			return beats[len(beats)-1]
		}
	}
	t.Fatal("the ramdisk isn't heard")
	return nil
}
