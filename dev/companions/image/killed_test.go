package image_test

// What a service that was killed leaves, and what the next one makes of it.

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/dev/companions/image"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestKilled(t *testing.T) {
	dir := t.TempDir()
	s, err := image.New(image.Config{Pool: companiontest.Pool(t, "image", image.Migrations()), Auth: companiontest.Callers{}, Log: companiontest.Log(t), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client := companiontest.Serve(t, s)
	send := func(method, path, kind, body string, want int) companiontest.Answer {
		t.Helper()
		client.Header = http.Header{"Content-Type": {kind}}
		return client.Want(want, "demo", method, path, body)
	}
	const data, json = "application/octet-stream", "application/json"
	create := func(way string) string {
		t.Helper()
		id := send("POST", "/v2/images", json, `{"name": "one", "disk_format": "raw", "container_format": "bare"}`, 201).TextAt("id")
		send("PUT", "/v2/images/"+id+way, data, "its data", 204)
		return id
	}
	whole, staged, moved := create("/file"), create("/stage"), create("/stage")

	// Killed while an import was being committed, while data came, and when a row
	// had been deleted.
	err = os.Rename(filepath.Join(dir, moved+".staged"), filepath.Join(dir, moved))
	for _, name := range []string{staged + ".part-1", "11111111-1111-4111-8111-111111111111", "11111111-1111-4111-8111-111111111111.staged"} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), nil, 0o600)
		}
	}
	if err == nil {
		err = s.Sweep(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{whole, staged + ".staged", moved}
	slices.Sort(want)
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("%v are left, %v; want %v", left, err, want)
	}
	for _, id := range []string{staged, moved} {
		send("POST", "/v2/images/"+id+"/import", json, `{"method": {"name": "glance-direct"}}`, 202)
		send("GET", "/v2/images/"+id+"/file", json, "", 200)
	}
}
