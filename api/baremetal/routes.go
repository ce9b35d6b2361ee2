package baremetal

// The table of operations (contracts/baremetal/operations.json).

import (
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store"
)

// API is the bare metal service.
type API struct {
	DB *store.DB
	// Policy holds the service's rules (schemas/policies/baremetal.yaml).
	Policy rest.Enforcer
	// Secrets seals what nodes' BMCs and instances are entered with.
	Secrets *secrets.Box
	// Hardware is what nodes can be.
	Hardware *hardware.Enabled
	// MaxPageSize is the most rows on a page.
	MaxPageSize int
}

// Service makes the service for rest.New.
func (a *API) Service() *rest.Service {
	return &rest.Service{
		Name:            "baremetal",
		Mount:           "/baremetal",
		Prefix:          "/v1",
		RequestIDHeader: "Openstack-Request-Id",
		Versions:        &Versions,
		Faults:          ironicFaults,
		Policy:          wording{a.Policy},
		MaxBody:         1 << 20,
		BodylessTypes:   true,
		Operations:      slices.Concat(documents(), a.nodeOperations(), a.portOperations(), a.portgroupOperations(), a.templateOperations(), a.chassisOperations(), a.driverOperations()),
	}
}

// documents are for strangers too.
func documents() []rest.Operation {
	return []rest.Operation{
		{Method: "GET", Path: "/", Success: 200, Anonymous: true, Versioned: true, Handler: showRoot},
		{Method: "GET", Path: "/v1", Success: 200, Anonymous: true, Versioned: true, Handler: showVersion},
	}
}

func (a *API) nodeOperations() []rest.Operation {
	const one, rule = "/nodes/{node}", "baremetal:node:"
	traits := func(o rest.Operation) rest.Operation {
		o.Versions, o.TooOld, o.Targeted = from(37), notAcceptable(), true
		return o
	}
	return []rest.Operation{
		{Method: "GET", Path: "/nodes", Policy: rule + "list", Targeted: true, Success: 200, Handler: a.listNodes(false)},
		{Method: "POST", Path: "/nodes", Policy: rule + "create", Targeted: true, Success: 201, Handler: a.createNode},
		{Method: "GET", Path: "/nodes/detail", Policy: rule + "list", Targeted: true, Success: 200, Handler: a.listNodes(true)},
		{Method: "GET", Path: one, Policy: rule + "get", Targeted: true, Success: 200, Handler: a.showNode},
		{Method: "PATCH", Path: one, Policy: rule + "update", Targeted: true, Success: 200, Handler: a.updateNode},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Targeted: true, Success: 204, Handler: a.deleteNode},
		{Method: "GET", Path: one + "/states", Policy: rule + "get_states", Targeted: true, Success: 200, Handler: a.showStates},
		{Method: "PUT", Path: one + "/maintenance", Policy: rule + "set_maintenance", Targeted: true, Success: 202, Handler: a.setMaintenance},
		{Method: "DELETE", Path: one + "/maintenance", Policy: rule + "clear_maintenance", Targeted: true, Success: 202, Handler: a.clearMaintenance},
		traits(rest.Operation{Method: "GET", Path: one + "/traits", Policy: rule + "traits:list", Success: 200, Handler: a.listTraits}),
		traits(rest.Operation{Method: "PUT", Path: one + "/traits", Policy: rule + "traits:set", Success: 204, Handler: a.setTraits}),
		traits(rest.Operation{Method: "DELETE", Path: one + "/traits", Policy: rule + "traits:delete", Success: 204, Handler: a.removeTraits}),
		traits(rest.Operation{Method: "PUT", Path: one + "/traits/{trait}", Policy: rule + "traits:set", Success: 204, Handler: a.addTrait}),
		traits(rest.Operation{Method: "DELETE", Path: one + "/traits/{trait}", Policy: rule + "traits:delete", Success: 204, Handler: a.removeTraits}),
		{Method: "GET", Path: one + "/children", Versions: from(83), TooOld: notSupported(), Policy: rule + "get", Targeted: true, Success: 200, Handler: a.showChildren},
		{Method: "GET", Path: one + "/ports", Policy: "baremetal:port:get", Targeted: true, Success: 200, Handler: a.listPorts(false)},
		{Method: "GET", Path: one + "/ports/detail", Policy: "baremetal:port:get", Targeted: true, Success: 200, Handler: a.listPorts(true)},
	}
}

func (a *API) portOperations() []rest.Operation {
	const one, rule = "/ports/{port}", "baremetal:port:"
	return []rest.Operation{
		{Method: "GET", Path: "/ports", Policy: rule + "list", Targeted: true, Success: 200, Handler: a.listPorts(false)},
		{Method: "POST", Path: "/ports", Policy: rule + "create", Targeted: true, Success: 201, Handler: a.createPort},
		{Method: "GET", Path: "/ports/detail", Policy: rule + "list", Targeted: true, Success: 200, Handler: a.listPorts(true)},
		{Method: "GET", Path: one, Policy: rule + "get", Targeted: true, Success: 200, Handler: a.showPort},
		{Method: "PATCH", Path: one, Policy: rule + "update", Targeted: true, Success: 200, Handler: a.updatePort},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Targeted: true, Success: 204, Handler: a.deletePort},
	}
}

func (a *API) portgroupOperations() []rest.Operation {
	const one, rule = "/portgroups/{portgroup}", "baremetal:portgroup:"
	rows := []rest.Operation{
		{Method: "GET", Path: "/portgroups", Policy: rule + "list", Success: 200, Handler: a.listPortgroups(false)},
		{Method: "POST", Path: "/portgroups", Policy: rule + "create", Success: 201, Handler: a.createPortgroup},
		{Method: "GET", Path: "/portgroups/detail", Policy: rule + "list", Success: 200, Handler: a.listPortgroups(true)},
		{Method: "GET", Path: one, Policy: rule + "get", Success: 200, Handler: a.showPortgroup},
		{Method: "PATCH", Path: one, Policy: rule + "update", Success: 200, Handler: a.updatePortgroup},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Success: 204, Handler: a.deletePortgroup},
		{Method: "GET", Path: "/nodes/{node}/portgroups", Policy: rule + "get", Success: 200, Handler: a.listPortgroups(false)},
		{Method: "GET", Path: "/nodes/{node}/portgroups/detail", Policy: rule + "get", Success: 200, Handler: a.listPortgroups(true)},
		{Method: "GET", Path: one + "/ports", Versions: from(24), Policy: "baremetal:port:get", Success: 200, Handler: a.listGroupsPorts(false)},
		{Method: "GET", Path: one + "/ports/detail", Versions: from(24), Policy: "baremetal:port:get", Success: 200, Handler: a.listGroupsPorts(true)},
	}
	for i := range rows {
		rows[i].Targeted, rows[i].TooOld = true, notSupported()
		if rows[i].Versions.Min.IsZero() {
			rows[i].Versions = from(23)
		}
	}
	return rows
}

func (a *API) templateOperations() []rest.Operation {
	const all, one, rule = "/deploy_templates", "/deploy_templates/{template}", "baremetal:deploy_template:"
	rows := []rest.Operation{
		{Method: "GET", Path: all, Policy: rule + "get", Success: 200, Handler: a.listDeployTemplates},
		{Method: "POST", Path: all, Policy: rule + "create", Success: 201, Handler: a.createDeployTemplate},
		{Method: "GET", Path: one, Policy: rule + "get", Success: 200, Handler: a.showDeployTemplate},
		{Method: "PATCH", Path: one, Policy: rule + "update", Success: 200, Handler: a.updateDeployTemplate},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Success: 204, Handler: a.deleteDeployTemplate},
	}
	for i := range rows {
		status := 405
		if rows[i].Method == "GET" {
			status = 404
		}
		rows[i].Versions, rows[i].TooOld = from(55), rest.NewRoutingFault(status, "The API version does not allow deploy templates")
	}
	return append(rows, rest.Operation{Method: "GET", Path: "/shards", Versions: from(82), Policy: "baremetal:shards:get", Success: 200, Handler: a.listShards,
		TooOld: faults.New(faults.NotFound, "NotFound", "The API version does not allow shards")})
}

func (a *API) chassisOperations() []rest.Operation {
	const one, rule = "/chassis/{chassis}", "baremetal:chassis:"
	return []rest.Operation{
		{Method: "GET", Path: "/chassis", Policy: rule + "get", Success: 200, Handler: a.listChassis(false)},
		{Method: "POST", Path: "/chassis", Policy: rule + "create", Success: 201, Handler: a.createChassis},
		{Method: "GET", Path: "/chassis/detail", Policy: rule + "get", Success: 200, Handler: a.listChassis(true)},
		{Method: "GET", Path: one, Policy: rule + "get", Success: 200, Handler: a.showChassis},
		{Method: "PATCH", Path: one, Policy: rule + "update", Success: 200, Handler: a.updateChassis},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Success: 204, Handler: a.deleteChassis},
		{Method: "GET", Path: one + "/nodes", Policy: "baremetal:node:list", Targeted: true, Success: 200, Handler: a.listNodes(false)},
		{Method: "GET", Path: one + "/nodes/detail", Policy: "baremetal:node:list", Targeted: true, Success: 200, Handler: a.listNodes(true)},
	}
}

func (a *API) driverOperations() []rest.Operation {
	const one, rule = "/drivers/{driver}", "baremetal:driver:"
	return []rest.Operation{
		{Method: "GET", Path: "/drivers", Policy: rule + "get", Success: 200, Handler: a.listDrivers},
		{Method: "GET", Path: one, Policy: rule + "get", Success: 200, Handler: a.showDriver},
		{Method: "GET", Path: one + "/properties", Policy: rule + "get_properties", Success: 200, Handler: a.showDriverProperties},
	}
}
