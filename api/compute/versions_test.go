package compute_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
)

// Version documents are where keystoneauth looks for them, for anybody, with
// links to where they were asked (contracts: client/sdk-discovery.json).
func TestVersionDocuments(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	type version struct {
		ID, Status, Version string
		MinVersion          string `json:"min_version"`
		Links               []struct{ Rel, Href string }
	}
	for path, link := range map[string]string{
		"/": "http://cloud/v2.1/", "/compute": "http://cloud/compute/v2.1/", "/compute/": "http://cloud/compute/v2.1/",
		"/v2.1": "http://cloud/v2.1/", "/v2.1/": "http://cloud/v2.1/",
		"/compute/v2.1": "http://cloud/compute/v2.1/", "/compute/v2.1/": "http://cloud/compute/v2.1/",
	} {
		for _, token := range []string{"", "alice", "no token at all"} {
			r := httptest.NewRequest("GET", "http://cloud"+path, nil)
			r.Header.Set("X-Auth-Token", token)
			answer := httptest.NewRecorder()
			c.ServeHTTP(answer, r)
			var body struct {
				Version  *version
				Versions []version
			}
			if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil || answer.Code != 200 {
				t.Fatalf("%s: %d %s: %v", path, answer.Code, answer.Body, err)
			}
			if body.Version == nil && len(body.Versions) == 1 {
				body.Version = &body.Versions[0]
			}
			v := body.Version
			if v == nil || len(v.Links) == 0 {
				t.Fatalf("%s: %s", path, answer.Body)
			}
			got := fmt.Sprint(v.ID, v.Status, v.MinVersion, v.Version, v.Links[0].Rel, v.Links[0].Href)
			if want := fmt.Sprint("v2.1", "CURRENT", "2.1", "2.104", "self", link); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
	}
	// The legacy v2 isn't served, nor is it listed.
	answer := httptest.NewRecorder()
	c.ServeHTTP(answer, httptest.NewRequest("GET", "http://cloud/compute/v2", nil))
	if answer.Code != 404 {
		t.Errorf("/compute/v2: %d, want 404", answer.Code)
	}
}
