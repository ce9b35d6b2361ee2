package config

// docs/configuration.md is the table of keys, as people read it.

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

func TestDocumentation(t *testing.T) {
	t.Parallel()
	const path = "../../docs/configuration.md"
	var doc strings.Builder
	doc.WriteString(`# Configuration

One YAML file, named by ` + "`--config` or `HOLDFAST_CONFIG`" + `. Every key is also an environment variable: ` + "`database.dsn` is `HOLDFAST_DATABASE_DSN`" + `. Unknown
keys are refused. This page is written by ` + "`go test ./internal/config -run TestDocumentation -update`" + `.

| Key | Default | What it is |
| --- | --- | --- |
`)
	for _, key := range Keys() {
		value := fmt.Sprint(key.Default)
		if value == "" || value == "[]" {
			value = "none"
		}
		fmt.Fprintf(&doc, "| `%s` | %s | %s |\n", key.Name, value, key.Doc)
	}
	if *update {
		if err := os.WriteFile(path, []byte(doc.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != doc.String() {
		t.Errorf("docs/configuration.md is not the table of keys (%v): run this test with -update", err)
	}
}
