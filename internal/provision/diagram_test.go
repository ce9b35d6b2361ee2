package provision_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/provision"
)

var update = flag.Bool("update", false, "write docs/provision.md anew")

func TestPageIsDrawnFromTheTables(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "provision.md")
	if *update {
		if err := os.WriteFile(path, []byte(provision.Page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != provision.Page() {
		t.Error("docs/provision.md is not what the tables say: go test ./internal/provision -run Page -update")
	}
}
