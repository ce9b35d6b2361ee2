package requests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// baremetalBodies are the schemas of the bare metal service that the product
// reads, by their names in the contract.
var baremetalBodies = []string{"allocation_create", "chassis_create", "continue_inspection_body", "deploy_template_create", "heartbeat_body", "inspection_rule_create",
	"json_patch", "local_link_connection", "node_after_patch", "node_create", "node_traits_put", "port_create", "portgroup_create", "runbook_create_1_112", "runbook_create_1_92_to_1_111",
	"runbook_traits_put", "target_raid_config", "trait", "vif_attach", "vmedia_attach", "volume_connector_create", "volume_target_create"}

// Baremetal gives the text of schemas/baremetal/bodies.json: the schemas, with
// what they refer to in its place. Network data is taken as any object, since
// the format of that is the metadata service's.
func Baremetal(contracts string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(contracts, "baremetal", "schemas.json"))
	if err != nil {
		return nil, fmt.Errorf("set HOLDFAST_CONTRACTS to the folder of the contract data: %w", err)
	}
	var c struct {
		Schemas map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	c.Schemas["network_data"] = json.RawMessage(`{"type": "object"}`)
	var lines []string
	for _, name := range baremetalBodies {
		var compact bytes.Buffer
		if err := json.Compact(&compact, c.Schemas[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		schema := compact.String()
		for other, replaced := range c.Schemas {
			reference := fmt.Sprintf(`{"$ref":"#/schemas/%s"}`, other)
			if !strings.Contains(schema, reference) {
				continue
			}
			var inline bytes.Buffer
			if err := json.Compact(&inline, replaced); err != nil {
				return nil, fmt.Errorf("%s: %w", other, err)
			}
			schema = strings.ReplaceAll(schema, reference, inline.String())
		}
		schema = strings.ReplaceAll(schema, `"$schema":"http://json-schema.org/draft-07/schema#",`, "")
		// The fourth draft's word for what the seventh says in one.
		schema = strings.ReplaceAll(schema, `"$schema":"http://json-schema.org/draft-04/schema#",`, "")
		schema = strings.ReplaceAll(schema, `"minimum":0,"exclusiveMinimum":true`, `"exclusiveMinimum":0`)
		// Which property needs which other one is the handler's to say.
		schema = strings.ReplaceAll(schema, `,"dependencies":{"physical_disks":["controller"]}`, "")
		schema = strings.ReplaceAll(schema, `,"dependentRequired":{"vtep-logical-switch":["vtep-physical-switch"],"vtep-physical-switch":["vtep-logical-switch"]}`, "")
		lines = append(lines, fmt.Sprintf("%q: %s", name, schema))
	}
	var b bytes.Buffer
	b.WriteString("{\n")
	writeLines(&b, lines)
	b.WriteString("}\n")
	return b.Bytes(), nil
}
