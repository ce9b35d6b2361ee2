package baremetal

// The table of operations (contracts/baremetal/operations.json).

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/identity"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store"
)

// API is the bare metal service.
type API struct {
	DB *store.DB
	// Policy holds the service's rules (schemas/policies/baremetal.yaml).
	Policy rest.Enforcer
	// ServiceProject is the name of the project whose services the rules favour; empty is
	// none.
	ServiceProject string
	// Secrets seals what nodes' BMCs and instances are entered with.
	Secrets *secrets.Box
	// Hardware is what nodes can be.
	Hardware *hardware.Enabled
	// AgentNetworks are those in which ramdisks are reached; none are all but
	// loopback and link local ones.
	AgentNetworks []netip.Prefix
	// PlainAgents are ramdisks without TLS, which are refused otherwise.
	PlainAgents bool
	// Engine accepts operations on nodes, and Starter starts them.
	Engine  *engine.Engine
	Starter Starter
	// Conductors answers questions about nodes.
	Conductors Conductors
	// PowerTimeout is how long a node may take to come to another power, and
	// SoftPowerTimeout how long its own system may, where a request says nothing.
	PowerTimeout, SoftPowerTimeout time.Duration
	// Images tells of Glance's images in callers' own names; nil asks nobody.
	Images Images
	// Networks are those that nodes are on for their ramdisks, and Neutron has them; nil
	// asks nobody.
	Networks nodes.Networks
	Neutron  Neutron
	// AutomatedClean has nodes cleaned before they are available that don't say.
	AutomatedClean bool
	// Lessees says who the lessees are of nodes that are deployed; others are nobody's.
	Lessees LesseeSource
	// MaxPageSize is the most rows on a page.
	MaxPageSize int
	// LockAttempts is how often a node that somebody works on is looked at, LockInterval
	// apart, before that is told to who would change it; 0 is once.
	LockAttempts int
	LockInterval time.Duration
}

// Images tells of an image as a caller sees it (internal/openstack).
type Images interface {
	Image(ctx context.Context, who identity.Identity, id string) (*openstack.Image, error)
}

// Neutron tells whether it has a network, in the service user's name (internal/openstack).
type Neutron interface {
	HasNetwork(ctx context.Context, ident, what string) error
}

// Starter starts operations after the commit.
type Starter interface {
	Offer(operationID string)
	// Knock has a running operation look at what is new.
	Knock(operationID string)
}

// Service makes the service for rest.New.
func (a *API) Service() *rest.Service {
	return &rest.Service{
		Name:            "baremetal",
		Mount:           "/baremetal",
		Prefix:          prefix,
		Canonical:       canonical,
		RequestIDHeader: "Openstack-Request-Id",
		Versions:        &Versions,
		Faults:          ironicFaults,
		Policy:          rules{a.Policy, a.ServiceProject},
		MaxBody:         1 << 20,
		BodylessTypes:   true,
		Finite:          true,
		Operations:      a.patient(slices.Concat(documents(), a.nodeOperations(), a.managementOperations(), a.portOperations(), a.portgroupOperations(), a.templateOperations(), a.allocationOperations(), a.runbookOperations(), a.ramdiskOperations(), a.recordOperations(), a.chassisOperations(), a.volumeOperations(), a.driverOperations(), a.conductorOperations())),
	}
}

// patient has what changes nodes wait for a moment for who works on one, as the
// original's conductors do. A handler that was refused has changed nothing.
func (a *API) patient(rows []rest.Operation) []rest.Operation {
	for i, row := range rows {
		if row.Method == "GET" {
			continue
		}
		rows[i].Handler = func(r *rest.Request) (response *rest.Response, err error) {
			for attempt := 1; ; attempt++ {
				response, err = row.Handler(r)
				if !provision.IsLocked(err) || attempt >= a.LockAttempts {
					return response, err
				}
				select {
				case <-r.Context().Done():
					return nil, err
				case <-time.After(a.LockInterval):
				}
			}
		}
	}
	return rows
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
		o.Versions, o.Targeted = from(37), true
		switch o.Method {
		case "GET":
			o.TooOld = notAcceptable()
		case "PUT":
			o.TooOld = rest.NewRoutingFault(405, "")
		default:
			o.TooOld = notThere()
		}
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
		{Method: "PUT", Path: one + "/states/power", Policy: rule + "set_power_state", Targeted: true, Success: 202, Handler: a.setPower},
		{Method: "PUT", Path: one + "/states/provision", Policy: rule + "set_provision_state", Targeted: true, Success: 202, Handler: a.setProvision},
		{Method: "PUT", Path: one + "/maintenance", Policy: rule + "set_maintenance", Targeted: true, Success: 202, Handler: a.setMaintenance},
		{Method: "DELETE", Path: one + "/maintenance", Policy: rule + "clear_maintenance", Targeted: true, Success: 202, Handler: a.clearMaintenance},
		traits(rest.Operation{Method: "GET", Path: one + "/traits", Policy: rule + "traits:list", Success: 200, Handler: a.listTraits}),
		traits(rest.Operation{Method: "PUT", Path: one + "/traits", Policy: rule + "traits:set", Success: 204, Handler: a.setTraits}),
		traits(rest.Operation{Method: "DELETE", Path: one + "/traits", Policy: rule + "traits:delete", Success: 204, Handler: a.removeTraits}),
		traits(rest.Operation{Method: "PUT", Path: one + "/traits/{trait}", Policy: rule + "traits:set", Success: 204, Handler: a.addTrait}),
		traits(rest.Operation{Method: "DELETE", Path: one + "/traits/{trait}", Policy: rule + "traits:delete", Success: 204, Handler: a.removeTraits}),
		{Method: "GET", Path: one + "/children", Versions: from(83), TooOld: notSupported(), Policy: rule + "get", Targeted: true, Success: 200, Handler: a.showChildren},
		{Method: "GET", Path: one + "/ports", Policy: "baremetal:port:get", Targeted: true, Success: 200, Handler: ports.lister(a, false)},
		{Method: "GET", Path: one + "/ports/detail", Policy: "baremetal:port:get", Targeted: true, Success: 200, Handler: ports.lister(a, true)},
	}
}

// managementOperations are what a node's BMC is told and asked.
func (a *API) managementOperations() []rest.Operation {
	const node, rule = "/nodes/{node}", "baremetal:node:"
	const states, one, vendor = node + "/states", node + "/management", rule + "vendor_passthru"
	rows := []rest.Operation{
		{Method: "GET", Path: one + "/boot_device", Policy: rule + "get_boot_device", Success: 200, Handler: a.showBootDevice},
		{Method: "PUT", Path: one + "/boot_device", Policy: rule + "set_boot_device", Success: 204, Handler: a.setBootDevice},
		{Method: "GET", Path: one + "/boot_device/supported", Policy: rule + "get_boot_device", Success: 200, Handler: a.listBootDevices},
		{Method: "PUT", Path: one + "/inject_nmi", Policy: rule + "inject_nmi", Success: 204, Handler: a.injectNMI, Versions: from(29),
			TooOld: notThere()},
		{Method: "GET", Path: one + "/indicators", Policy: rule + "get_indicator_state", Success: 200, Handler: a.listIndicators},
		{Method: "PUT", Path: states + "/boot_mode", Policy: rule + "set_boot_mode", Success: 202, Handler: a.setBootMode},
		{Method: "PUT", Path: states + "/secure_boot", Policy: rule + "set_secure_boot", Success: 202, Handler: a.setSecureBoot},
		{Method: "GET", Path: states + "/console", Policy: rule + "get_console", Success: 200, Handler: a.showConsole},
		{Method: "PUT", Path: states + "/console", Policy: rule + "set_console_state", Success: 202, Handler: a.setConsole},
		{Method: "PUT", Path: states + "/raid", Policy: rule + "set_raid_state", Success: 204, Handler: a.setRAID, Versions: from(12), TooOld: notAcceptable()},
		{Method: "GET", Path: node + "/validate", Policy: rule + "validate", Success: 200, Handler: a.validateNode},
		{Method: "GET", Path: node + "/vendor_passthru/methods", Policy: vendor, Success: 200, Handler: a.listVendorMethods},
	}
	for _, path := range []string{one + "/indicators/{indicator}", one + "/indicators/{indicator}/{name}"} {
		rows = append(rows, rest.Operation{Method: "GET", Path: path, Policy: rule + "get_indicator_state", Success: 200, Handler: a.showIndicator},
			rest.Operation{Method: "PUT", Path: path, Policy: rule + "set_indicator_state", Success: 204, Handler: a.setIndicator})
	}
	return targeted(append(rows, passthru(node, vendor, a.callVendor)...))
}

// passthru are the rows of vendor methods: of every method of HTTP, by the path or by
// the query.
func passthru(one, policy string, call func(method string) rest.Handler) (rows []rest.Operation) {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		for _, path := range []string{"/vendor_passthru", "/vendor_passthru/{method}"} {
			rows = append(rows, rest.Operation{Method: method, Path: one + path, Policy: policy, Success: 200, Handler: call(method), Bodied: true})
		}
	}
	return rows
}

func (a *API) portOperations() []rest.Operation {
	const one, rule = "/ports/{port}", "baremetal:port:"
	return []rest.Operation{
		{Method: "GET", Path: "/ports", Policy: rule + "list", Targeted: true, Success: 200, Handler: ports.lister(a, false)},
		{Method: "POST", Path: "/ports", Policy: rule + "create", Targeted: true, Success: 201, Handler: ports.maker(a)},
		{Method: "GET", Path: "/ports/detail", Policy: rule + "list", Targeted: true, Success: 200, Handler: ports.lister(a, true)},
		{Method: "GET", Path: one, Policy: rule + "get", Targeted: true, Success: 200, Handler: ports.shower(a)},
		{Method: "PATCH", Path: one, Policy: rule + "update", Targeted: true, Success: 200, Handler: ports.patcher(a)},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Targeted: true, Success: 204, Handler: a.deletePort},
	}
}

func (a *API) portgroupOperations() []rest.Operation {
	const one, rule = "/portgroups/{portgroup}", "baremetal:portgroup:"
	rows := []rest.Operation{
		{Method: "GET", Path: "/portgroups", Policy: rule + "list", Success: 200, Handler: portgroups.lister(a, false)},
		{Method: "POST", Path: "/portgroups", Policy: rule + "create", Success: 201, Handler: portgroups.maker(a)},
		{Method: "GET", Path: "/portgroups/detail", Policy: rule + "list", Success: 200, Handler: portgroups.lister(a, true)},
		{Method: "GET", Path: one, Policy: rule + "get", Success: 200, Handler: portgroups.shower(a)},
		{Method: "PATCH", Path: one, Policy: rule + "update", Success: 200, Handler: portgroups.patcher(a)},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Success: 204, Handler: portgroups.remover(a)},
		{Method: "GET", Path: "/nodes/{node}/portgroups", Versions: from(24), TooOld: rest.NewRoutingFault(404, ""), Policy: rule + "get", Success: 200, Handler: portgroups.lister(a, false)},
		{Method: "GET", Path: "/nodes/{node}/portgroups/detail", Versions: from(24), TooOld: rest.NewRoutingFault(404, ""), Policy: rule + "get", Success: 200, Handler: portgroups.lister(a, true)},
		{Method: "GET", Path: one + "/ports", Versions: from(24), Policy: "baremetal:port:get", Success: 200, Handler: ports.lister(a, false)},
		{Method: "GET", Path: one + "/ports/detail", Versions: from(24), Policy: "baremetal:port:get", Success: 200, Handler: ports.lister(a, true)},
	}
	for i := range rows {
		rows[i].Targeted = true
		if rows[i].Versions.Min.IsZero() {
			rows[i].Versions = from(23)
		}
		if rows[i].TooOld == nil {
			rows[i].TooOld = notSupported()
		}
	}
	return rows
}

func (a *API) templateOperations() []rest.Operation {
	const all, one, rule = "/deploy_templates", "/deploy_templates/{template}", "baremetal:deploy_template:"
	rows := []rest.Operation{
		{Method: "GET", Path: all, Policy: rule + "get", Success: 200, Handler: deployTemplates.lister(a, false)},
		{Method: "POST", Path: all, Policy: rule + "create", Success: 201, Handler: deployTemplates.maker(a)},
		{Method: "GET", Path: one, Policy: rule + "get", Success: 200, Handler: deployTemplates.shower(a)},
		{Method: "PATCH", Path: one, Policy: rule + "update", Success: 200, Handler: deployTemplates.patcher(a)},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Success: 204, Handler: deployTemplates.remover(a)},
	}
	since(rows, 55, rest.NewRoutingFault, "The API version does not allow deploy templates")
	return append(rows, rest.Operation{Method: "GET", Path: "/shards", Versions: from(82), Policy: "baremetal:shards:get", Success: 200, Handler: a.listShards,
		TooOld: faults.New(faults.NotFound, "NotFound", "The API version does not allow shards")})
}

// since gives rows the version that has them: to those that read, older ones say
// that nothing is there, to others that nothing can be done; fault makes it, of a
// status and a text.
func since(rows []rest.Operation, minor int, fault func(int, string) error, text string) {
	for i := range rows {
		status := 405
		if rows[i].Method == "GET" {
			status = 404
		}
		if rows[i].TooOld == nil {
			rows[i].Versions, rows[i].TooOld = from(minor), fault(status, text)
		}
	}
}

func (a *API) allocationOperations() []rest.Operation {
	const all, one, rule, text = "/allocations", "/allocations/{allocation}", "baremetal:allocation:", "The API version does not allow allocations"
	rows := []rest.Operation{
		{Method: "GET", Path: all, Policy: rule + "list", Success: 200, Handler: allocations.lister(a, false)},
		{Method: "POST", Path: all, Policy: rule + "create", Success: 201, Handler: allocations.maker(a)},
		{Method: "GET", Path: one, Policy: rule + "get", Success: 200, Handler: allocations.shower(a)},
		{Method: "PATCH", Path: one, Versions: from(57), TooOld: refusal(405, "The API version does not allow updating allocations"),
			Policy: rule + "update", Success: 200, Handler: allocations.patcher(a)},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Success: 204, Handler: allocations.remover(a)},
		{Method: "GET", Path: "/nodes/{node}/allocation", Policy: rule + "get", Success: 200, Handler: a.showNodesAllocation,
			Versions: from(52), TooOld: rest.NewRoutingFault(404, text)},
		{Method: "DELETE", Path: "/nodes/{node}/allocation", Policy: rule + "delete", Success: 204, Handler: a.deleteNodesAllocation,
			Versions: from(52), TooOld: rest.NewRoutingFault(404, text)},
	}
	since(rows, 52, refusal, text)
	return targeted(rows)
}

// targeted rows ask their rules of what they find.
func targeted(rows []rest.Operation) []rest.Operation {
	for i := range rows {
		rows[i].Targeted = true
	}
	return rows
}

func (a *API) runbookOperations() []rest.Operation {
	const all, one, rule = "/runbooks", "/runbooks/{runbook}", "baremetal:runbook:"
	books := targeted([]rest.Operation{
		{Method: "GET", Path: all, Policy: rule + "list", Success: 200, Handler: runbooks.lister(a, false)},
		{Method: "GET", Path: one, Policy: rule + "get", Success: 200, Handler: runbooks.shower(a)},
		{Method: "PATCH", Path: one, Policy: rule + "update", Success: 200, Handler: runbooks.patcher(a)},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Success: 204, Handler: runbooks.remover(a)},
	})
	books = append(books, rest.Operation{Method: "POST", Path: all, Policy: rule + "create", Success: 201, Handler: runbooks.maker(a)})
	since(books, 92, rest.NewRoutingFault, "The API version does not allow runbooks")
	traits := targeted([]rest.Operation{
		{Method: "GET", Path: one + "/traits", Policy: rule + "get", Success: 200, Handler: a.listRunbookTraits},
		{Method: "PUT", Path: one + "/traits", Policy: rule + "update", Success: 204, Handler: a.setRunbookTraits},
		{Method: "DELETE", Path: one + "/traits", Policy: rule + "update", Success: 204, Handler: a.removeRunbookTraits},
		{Method: "PUT", Path: one + "/traits/{trait}", Policy: rule + "update", Success: 204, Handler: a.addRunbookTrait},
		{Method: "DELETE", Path: one + "/traits/{trait}", Policy: rule + "update", Success: 204, Handler: a.removeRunbookTraits},
	})
	for i := range traits {
		traits[i].Versions, traits[i].TooOld = from(112), rest.NewRoutingFault(404, "The API version does not allow runbook traits")
	}
	const rules, ruleOne, of = "/inspection_rules", "/inspection_rules/{rule}", "baremetal:inspection_rule:"
	inspections := []rest.Operation{
		{Method: "GET", Path: rules, Policy: of + "get", Success: 200, Handler: inspectionRules.lister(a, false)},
		{Method: "POST", Path: rules, Policy: of + "create", Success: 201, Handler: inspectionRules.maker(a)},
		{Method: "GET", Path: ruleOne, Policy: of + "get", Success: 200, Handler: inspectionRules.shower(a)},
		{Method: "PATCH", Path: ruleOne, Policy: of + "update", Success: 200, Handler: inspectionRules.patcher(a)},
		{Method: "DELETE", Path: ruleOne, Policy: of + "delete", Success: 204, Handler: inspectionRules.remover(a)},
	}
	since(inspections, 96, refusal, "The API version does not allow inspection rules")
	return slices.Concat(books, traits, inspections)
}

// recordOperations tell what is known of a node beside its row, and which
// virtual interfaces and media are attached to it.
func (a *API) recordOperations() []rest.Operation {
	const one, rule = "/nodes/{node}", "baremetal:node:"
	at := func(minor int, tooOld error, o rest.Operation) rest.Operation {
		o.Versions, o.TooOld = from(minor), tooOld
		return o
	}
	gone := rest.NewRoutingFault(404, "")
	return targeted([]rest.Operation{
		at(78, gone, rest.Operation{Method: "GET", Path: one + "/history", Policy: rule + "history:get", Success: 200, Handler: a.listHistory}),
		at(78, gone, rest.Operation{Method: "GET", Path: one + "/history/{event}", Policy: rule + "history:get", Success: 200, Handler: a.showHistory}),
		at(81, gone, rest.Operation{Method: "GET", Path: one + "/inventory", Policy: rule + "inventory:get", Success: 200, Handler: a.showInventory}),
		at(40, notSupported(), rest.Operation{Method: "GET", Path: one + "/bios", Policy: rule + "bios:get", Success: 200, Handler: a.listBIOS}),
		at(40, notSupported(), rest.Operation{Method: "GET", Path: one + "/bios/{setting}", Policy: rule + "bios:get", Success: 200, Handler: a.showBIOS}),
		at(86, refusal(404, "The API version does not allow node firmware"), rest.Operation{Method: "GET", Path: one + "/firmware", Policy: rule + "firmware:get",
			Success: 200, Handler: a.listFirmware}),
		at(28, gone, rest.Operation{Method: "GET", Path: one + "/vifs", Policy: rule + "vif:list", Success: 200, Handler: a.listVIFs}),
		at(28, gone, rest.Operation{Method: "POST", Path: one + "/vifs", Policy: rule + "vif:attach", Success: 204, Handler: a.attachVIF}),
		at(28, gone, rest.Operation{Method: "DELETE", Path: one + "/vifs/{vif}", Policy: rule + "vif:detach", Success: 204, Handler: a.detachVIF}),
		at(93, refusal(404, "The resource could not be found."), rest.Operation{Method: "GET", Path: one + "/vmedia", Policy: rule + "vmedia:get", Success: 200, Handler: a.listMedia}),
		at(89, gone, rest.Operation{Method: "POST", Path: one + "/vmedia", Policy: rule + "vmedia:attach", Success: 204, Handler: a.attachMedia}),
		at(89, gone, rest.Operation{Method: "DELETE", Path: one + "/vmedia", Policy: rule + "vmedia:detach", Success: 204, Handler: a.detachMedia}),
	})
}

// ramdiskOperations are for ramdisks, which have no tokens of users.
func (a *API) ramdiskOperations() []rest.Operation {
	const inspected = "/continue_inspection"
	tooOld := faults.New(faults.NotFound, "NotFound", "API version 1.84 or newer is required")
	data := rest.Operation{Method: "POST", Path: inspected, Policy: "baremetal:driver:ipa_continue_inspection", TooOld: tooOld, Success: 202, Handler: a.continueInspection}
	inspector, current := data, data
	inspector.Versions, current.Versions = microversion.Range{Min: v(1), Max: v(1)}, from(84)
	rows := []rest.Operation{
		{Method: "GET", Path: "/lookup", Versions: from(22), TooOld: nowhere(), Policy: "baremetal:driver:ipa_lookup", Success: 200, Handler: a.lookup},
		{Method: "POST", Path: "/heartbeat/{node}", Versions: from(22), TooOld: nowhere(), Policy: "baremetal:node:ipa_heartbeat", Success: 202, Handler: a.heartbeat},
		inspector, current,
	}
	for i := range rows {
		rows[i].Public = true
	}
	return rows
}

func (a *API) chassisOperations() []rest.Operation {
	const one, rule = "/chassis/{chassis}", "baremetal:chassis:"
	return []rest.Operation{
		{Method: "GET", Path: "/chassis", Policy: rule + "get", Success: 200, Handler: chassis.lister(a, false)},
		{Method: "POST", Path: "/chassis", Policy: rule + "create", Success: 201, Handler: chassis.maker(a)},
		{Method: "GET", Path: "/chassis/detail", Policy: rule + "get", Success: 200, Handler: chassis.lister(a, true)},
		{Method: "GET", Path: one, Policy: rule + "get", Success: 200, Handler: chassis.shower(a)},
		{Method: "PATCH", Path: one, Policy: rule + "update", Success: 200, Handler: chassis.patcher(a)},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Success: 204, Handler: chassis.remover(a)},
		{Method: "GET", Path: one + "/nodes", Policy: "baremetal:node:list", Targeted: true, Success: 200, Handler: a.listNodes(false)},
		{Method: "GET", Path: one + "/nodes/detail", Policy: "baremetal:node:list", Targeted: true, Success: 200, Handler: a.listNodes(true)},
	}
}

func (a *API) volumeOperations() []rest.Operation {
	const rule = "baremetal:volume:"
	rows := []rest.Operation{
		{Method: "GET", Path: "/volume", Policy: rule + "get", Success: 200, Handler: showVolume},
		{Method: "GET", Path: "/nodes/{node}/volume", Policy: rule + "get", Success: 200, Handler: showVolume},
	}
	rows = append(rows, targeted(slices.Concat(volumeRows(a, &volumeConnectors), volumeRows(a, &volumeTargets)))...)
	for i := range rows {
		rows[i].Versions, rows[i].TooOld = from(32), notSupported()
	}
	return rows
}

// volumeRows are those of connectors, or of targets.
func volumeRows[T any](a *API, k *kind[T]) []rest.Operation {
	all := "/" + k.home()
	one := all + "/{" + k.param + "}"
	return []rest.Operation{
		{Method: "GET", Path: all, Policy: k.rule + "list", Success: 200, Handler: k.lister(a, false)},
		{Method: "POST", Path: all, Policy: k.rule + "create", Success: 201, Handler: k.maker(a)},
		{Method: "GET", Path: one, Policy: k.rule + "get", Success: 200, Handler: k.shower(a)},
		{Method: "PATCH", Path: one, Policy: k.rule + "update", Success: 200, Handler: k.patcher(a)},
		{Method: "DELETE", Path: one, Policy: k.rule + "delete", Success: 204, Handler: k.remover(a)},
		{Method: "GET", Path: "/nodes/{node}" + all, Policy: k.rule + "list", Success: 200, Handler: k.lister(a, false)},
	}
}

func (a *API) driverOperations() []rest.Operation {
	const one, rule = "/drivers/{driver}", "baremetal:driver:"
	return append(passthru(one, rule+"vendor_passthru", func(string) rest.Handler { return a.callDriver }), []rest.Operation{
		{Method: "GET", Path: "/drivers", Policy: rule + "get", Success: 200, Handler: a.listDrivers},
		{Method: "GET", Path: one, Policy: rule + "get", Success: 200, Handler: a.showDriver},
		{Method: "GET", Path: one + "/properties", Policy: rule + "get_properties", Success: 200, Handler: a.showDriverProperties},
		{Method: "GET", Path: one + "/vendor_passthru/methods", Policy: rule + "vendor_passthru", Success: 200, Handler: a.listDriverMethods},
		{Method: "GET", Path: one + "/raid/logical_disk_properties", Policy: rule + "get_raid_logical_disk_properties", Success: 200, Handler: a.listDiskProperties,
			Versions: from(12), TooOld: notAcceptable()},
	}...)
}

func (a *API) conductorOperations() []rest.Operation {
	const rule = "baremetal:conductor:get"
	return []rest.Operation{
		{Method: "GET", Path: "/conductors", Versions: from(49), TooOld: notSupported(), Policy: rule, Success: 200, Handler: a.listConductors},
		{Method: "GET", Path: "/conductors/{conductor}", Versions: from(49), TooOld: notSupported(), Policy: rule, Success: 200, Handler: a.showConductor},
	}
}
