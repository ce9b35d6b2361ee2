// Package requests turns a contract's request-schemas.json into the compact
// form that the product embeds: the same operations and schemas, one a line,
// without what only the legacy /v2 mode uses.
package requests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// contract is the source's form.
type contract struct {
	Body, Query []operation
	Schemas     map[string]json.RawMessage
}

type operation struct {
	Method  string
	Path    string
	Action  string
	Schemas []struct {
		Min, Max string
		Schema   struct {
			Ref string `json:"$ref"`
		}
	}
}

// legacy is the version by which the contract names the /v2 mode.
const legacy = "2.0"

// Compute gives the text of schemas/compute/requests.json.
func Compute(contracts string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(contracts, "compute", "request-schemas.json"))
	if err != nil {
		return nil, fmt.Errorf("set HOLDFAST_CONTRACTS to the folder of the contract data: %w", err)
	}
	var c contract
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	var b bytes.Buffer
	b.WriteString("{\"body\": [\n")
	writeOperations(&b, c.Body, used)
	b.WriteString("],\n\"query\": [\n")
	writeOperations(&b, c.Query, used)
	b.WriteString("],\n\"schemas\": {\n")
	if err := writeSchemas(&b, c.Schemas, used); err != nil {
		return nil, err
	}
	b.WriteString("}}\n")
	return b.Bytes(), nil
}

// writeOperations writes a line each and notes the schemas that they use.
func writeOperations(b *bytes.Buffer, operations []operation, used map[string]bool) {
	var lines []string
	for _, o := range operations {
		var bound []string
		for _, s := range o.Schemas {
			if s.Max == legacy {
				continue
			}
			name := strings.TrimPrefix(s.Schema.Ref, "#/schemas/")
			used[name] = true
			bound = append(bound, fmt.Sprintf(`{"min": %q, "max": %q, "schema": %q}`, s.Min, s.Max, name))
		}
		lines = append(lines, fmt.Sprintf(`{"method": %q, "path": %q, "action": %q, "schemas": [%s]}`,
			o.Method, o.Path, o.Action, strings.Join(bound, ", ")))
	}
	writeLines(b, lines)
}

// writeSchemas keeps each schema's own order of keys, which decides the first
// error that a user reads.
func writeSchemas(b *bytes.Buffer, schemas map[string]json.RawMessage, used map[string]bool) error {
	var lines []string
	for name := range used {
		var compact bytes.Buffer
		if err := json.Compact(&compact, schemas[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		lines = append(lines, fmt.Sprintf("%q: %s", name, compact.Bytes()))
	}
	slices.Sort(lines)
	writeLines(b, lines)
	return nil
}

func writeLines(b *bytes.Buffer, lines []string) {
	b.WriteString(strings.Join(lines, ",\n"))
	b.WriteByte('\n')
}
