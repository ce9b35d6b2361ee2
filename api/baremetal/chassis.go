package baremetal

// Chassis: groups of nodes.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store/baremetal"
)

var chassis = kind[baremetal.Chassis]{
	resource: &chassisResource, table: baremetal.AllChassis, rule: "baremetal:chassis:", param: "chassis", misnamed: "Expected UUID for chassis_uuid: %s", what: "chassis",
	schema: "chassis_create",
	// The links to its nodes are a list in a list, as the original has them.
	dress: func(r *rest.Request, c *baremetal.Chassis, wanted []string, shown map[string]any) {
		if wanted == nil {
			shown["nodes"] = [][]rest.Link{links(r, "chassis", c.UUID, "nodes")}
		}
	},
}
