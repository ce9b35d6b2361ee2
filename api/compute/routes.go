package compute

// The table of operations (contracts/compute/operations.json).

import (
	"context"
	"slices"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store"
)

// Engine is what the handlers ask of internal/engine.
type Engine interface {
	Accept(context.Context, store.Tx, engine.Request) (engine.Accepted, error)
	Put(context.Context, store.Tx, engine.Event) (operationID string, err error)
	Get(ctx context.Context, q store.Queryer, id string) (engine.Operation, error)
	Await(ctx context.Context, q store.Queryer, id string, longest time.Duration, enough func() (bool, error)) (engine.Operation, error)
	RequestCancel(ctx context.Context, tx store.Tx, operationID, by string) (engine.Operation, error)
	Operations(context.Context, store.Queryer, engine.Filter) ([]engine.Operation, error)
	Events(ctx context.Context, q store.Queryer, operationIDs ...string) ([]engine.OperationEvent, error)
}

// Starter is offered operations that have been accepted, and knocks at those
// that have something in their inbox; it never blocks.
type Starter interface {
	Offer(operationID string)
	Knock(operationID string)
}

// API is the compute service.
type API struct {
	DB      *store.DB
	Engine  Engine
	Starter Starter
	// Policy holds the service's rules (schemas/policies/compute.yaml).
	Policy rest.Enforcer
	// Secrets seals what guests are told; Neighbours are the services beside,
	// nil if there are none.
	Secrets    *secrets.Box
	Neighbours Neighbours
	// Consoles reads guests' consoles from their hosts.
	Consoles Consoles
	// HostDownAfter is the silence after which a host counts as down.
	HostDownAfter time.Duration
	// MaxPageSize is the most servers on a page.
	MaxPageSize int
	// Aliases are what flavors call devices of hosts.
	Aliases pci.Aliases
	// ResizeOnSameHost lets a resized server stay on its host.
	ResizeOnSameHost bool
	// SoftDelete keeps what users delete until it is reclaimed.
	SoftDelete bool
	// OffloadShelved takes servers that are shelved off their hosts at once.
	OffloadShelved bool
	// WaitsFor is how long a request waits for its operation where the original
	// does; zero is 30 s.
	WaitsFor time.Duration
}

// Versions are the microversions served (contracts: microversions.json).
var Versions = microversion.Scheme{
	Service: "compute",
	Legacy:  "X-OpenStack-Nova-API-Version",
	Min:     microversion.V(2, 1),
	Max:     microversion.V(2, 104),
	Default: microversion.V(2, 1),
}

// Service makes the service for rest.New.
func (a *API) Service() *rest.Service {
	return &rest.Service{
		Name:            "compute",
		Mount:           "/compute",
		Prefix:          "/v2.1",
		ProjectInPath:   true,
		RequestIDHeader: "X-Compute-Request-Id",
		Versions:        &Versions,
		Schemas:         requestSchemas,
		Faults:          novaFaults,
		Policy:          a.Policy,
		Operations:      slices.Concat(documents(), a.operations(), removedOperations()),
	}
}

// documents are for strangers too.
func documents() []rest.Operation {
	return []rest.Operation{
		{Method: "GET", Path: "/", Success: 200, Anonymous: true, Handler: listVersions},
		{Method: "GET", Path: "/v2.1", Success: 200, Anonymous: true, Handler: showVersion},
	}
}

// operations is the table, one folder of paths after the other.
func (a *API) operations() []rest.Operation {
	return slices.Concat(a.serverOperations(), a.actionOperations(), a.flavorOperations(), a.keypairOperations(), a.hostOperations(), a.aggregateOperations(), a.serverGroupOperations(), a.quotaOperations())
}

func (a *API) serverOperations() []rest.Operation {
	return []rest.Operation{
		{Method: "GET", Path: "/servers", Policy: "os_compute_api:servers:index", Success: 200, Handler: a.listServers},
		{Method: "POST", Path: "/servers", Policy: "os_compute_api:servers:create", Success: 202, Handler: a.createServer},
		{Method: "GET", Path: "/servers/detail", Policy: "os_compute_api:servers:detail", Success: 200, Handler: a.listServersDetail},
		{Method: "GET", Path: "/servers/{id}", Policy: "os_compute_api:servers:show", Success: 200, Handler: a.showServer},
		{Method: "PUT", Path: "/servers/{id}", Policy: "os_compute_api:servers:update", Success: 200, Handler: a.updateServer},
		{Method: "DELETE", Path: "/servers/{id}", Policy: "os_compute_api:servers:delete", Success: 204, Handler: a.deleteServer},
		{Method: "GET", Path: "/servers/{server_id}/ips", Policy: "os_compute_api:ips:index", Success: 200, Handler: a.listIPs},
		{Method: "GET", Path: "/servers/{server_id}/ips/{id}", Policy: "os_compute_api:ips:show", Success: 200, Handler: a.showIPs},
		{Method: "GET", Path: "/servers/{server_id}/metadata", Policy: "os_compute_api:server-metadata:index", Success: 200, Handler: a.listMetadata},
		{Method: "POST", Path: "/servers/{server_id}/metadata", Policy: "os_compute_api:server-metadata:create", Success: 200, Handler: a.addMetadata},
		{Method: "PUT", Path: "/servers/{server_id}/metadata", Policy: "os_compute_api:server-metadata:update_all", Success: 200, Handler: a.replaceMetadata},
		{Method: "GET", Path: "/servers/{server_id}/metadata/{id}", Policy: "os_compute_api:server-metadata:show", Success: 200, Handler: a.showMetadataItem},
		{Method: "PUT", Path: "/servers/{server_id}/metadata/{id}", Policy: "os_compute_api:server-metadata:update", Success: 200, Handler: a.setMetadataItem},
		{Method: "DELETE", Path: "/servers/{server_id}/metadata/{id}", Policy: "os_compute_api:server-metadata:delete", Success: 204, Handler: a.deleteMetadataItem},
		{Method: "GET", Path: "/servers/{server_id}/tags", Versions: microversion.From(26), Policy: "os_compute_api:os-server-tags:index", Success: 200, Handler: a.listTags},
		{Method: "PUT", Path: "/servers/{server_id}/tags", Versions: microversion.From(26), Policy: "os_compute_api:os-server-tags:update_all", Success: 200, Handler: a.setTags},
		{Method: "DELETE", Path: "/servers/{server_id}/tags", Versions: microversion.From(26), Policy: "os_compute_api:os-server-tags:delete_all", Success: 204, Handler: a.deleteTags},
		{Method: "GET", Path: "/servers/{server_id}/tags/{id}", Versions: microversion.From(26), Policy: "os_compute_api:os-server-tags:show", Success: 204, Handler: a.showTag},
		{Method: "PUT", Path: "/servers/{server_id}/tags/{id}", Versions: microversion.From(26), Policy: "os_compute_api:os-server-tags:update", Success: 201, Handler: a.addTag},
		{Method: "DELETE", Path: "/servers/{server_id}/tags/{id}", Versions: microversion.From(26), Policy: "os_compute_api:os-server-tags:delete", Success: 204, Handler: a.deleteTag},
		{Method: "GET", Path: "/servers/{server_id}/os-security-groups", Policy: securityGroupRule + "list", Success: 200, Handler: a.listServerSecurityGroups},
		{Method: "GET", Path: "/servers/{server_id}/os-interface", Policy: interfaceRule + "list", Success: 200, Handler: a.listInterfaces},
		{Method: "GET", Path: "/servers/{server_id}/os-interface/{id}", Policy: interfaceRule + "show", Success: 200, Handler: a.showInterface},
		{Method: "GET", Path: "/servers/{server_id}/os-volume_attachments", Policy: "os_compute_api:os-volumes-attachments:index", Success: 200, Handler: a.listAttachments},
		{Method: "GET", Path: "/servers/{server_id}/os-volume_attachments/{id}", Policy: "os_compute_api:os-volumes-attachments:show", Success: 200, Handler: a.showAttachment},
		{Method: "POST", Path: "/servers/{server_id}/os-interface", Policy: interfaceRule + "create", Success: 200, Handler: a.attachInterface},
		{Method: "DELETE", Path: "/servers/{server_id}/os-interface/{id}", Policy: interfaceRule + "delete", Success: 202, Handler: a.detachInterface},
		{Method: "POST", Path: "/servers/{server_id}/os-volume_attachments", Versions: microversion.From(withoutBody), Policy: "os_compute_api:os-volumes-attachments:create", Success: 202, Handler: a.attachVolume},
		{Method: "POST", Path: "/servers/{server_id}/os-volume_attachments", Versions: microversion.Between(1, withoutBody-1), Policy: "os_compute_api:os-volumes-attachments:create", Success: 200, Handler: a.attachVolume},
		{Method: "PUT", Path: "/servers/{server_id}/os-volume_attachments/{id}", Policy: "os_compute_api:os-volumes-attachments:update", Success: 202, Handler: a.updateAttachment},
		{Method: "DELETE", Path: "/servers/{server_id}/os-volume_attachments/{id}", Policy: "os_compute_api:os-volumes-attachments:delete", Success: 202, Handler: a.detachVolume},
		{Method: "GET", Path: "/servers/{server_id}/os-instance-actions", Policy: "os_compute_api:os-instance-actions:list", Success: 200, Handler: a.listInstanceActions},
		{Method: "GET", Path: "/servers/{server_id}/os-instance-actions/{id}", Policy: "os_compute_api:os-instance-actions:show", Success: 200, Handler: a.showInstanceAction},
		{Method: "GET", Path: "/servers/{server_id}/migrations", Versions: microversion.From(23), Policy: "os_compute_api:servers:migrations:index", Success: 200, Handler: a.listServerMigrations},
		{Method: "GET", Path: "/servers/{server_id}/migrations/{id}", Versions: microversion.From(23), Policy: "os_compute_api:servers:migrations:show", Success: 200, Handler: a.showServerMigration},
		{Method: "DELETE", Path: "/servers/{server_id}/migrations/{id}", Versions: microversion.From(24), Policy: "os_compute_api:servers:migrations:delete", Success: 202, Handler: a.abortMigration},
		{Method: "POST", Path: "/servers/{server_id}/migrations/{id}/action", Action: "force_complete", Versions: microversion.From(22), Policy: "os_compute_api:servers:migrations:force_complete", Success: 202, Handler: a.forceComplete},
		{Method: "GET", Path: "/os-migrations", Policy: policyMigrations, Success: 200, Handler: a.listMigrations},
		{Method: "GET", Path: "/servers/{server_id}/diagnostics", Policy: policyDiagnostics, Success: 200, Handler: a.showDiagnostics},
		{Method: "GET", Path: "/servers/{server_id}/topology", Versions: microversion.From(78), Policy: policyTopology, Success: 200, Handler: a.showTopology},
		{Method: "GET", Path: "/servers/{server_id}/os-server-password", Policy: policyShowPassword, Success: 200, Handler: a.showPassword},
		{Method: "DELETE", Path: "/servers/{server_id}/os-server-password", Policy: policyClearPassword, Success: 204, Handler: a.clearPassword},
		{Method: "POST", Path: "/os-server-external-events", Policy: "os_compute_api:os-server-external-events:create", Success: 200, Handler: a.acceptEvents},
	}
}

// actionOperations are the rows of POST /servers/{id}/action.
func (a *API) actionOperations() []rest.Operation {
	rows := []rest.Operation{
		{Action: "reboot", Policy: policyReboot, Success: 202, Handler: a.reboot},
		{Action: createImage.key, Policy: createImage.policy, Success: 202, Handler: a.createImage},
		{Action: createBackup.key, Policy: createBackup.policy, Success: 202, Handler: a.createBackup},
		{Action: "lock", Policy: policyLock, Success: 202, Handler: a.lockServer},
		{Action: "unlock", Policy: policyUnlock, Success: 202, Handler: a.unlockServer},
		{Action: "os-migrateLive", Policy: policyMigrateLive, Success: 202, Handler: a.liveMigrate},
		{Action: "forceDelete", Policy: "os_compute_api:os-deferred-delete:force", Success: 202, Handler: a.forceDelete},
		{Action: crashDump.key, Versions: microversion.From(17), Policy: crashDump.policy, Success: 202, Handler: a.act(crashDump)},
		{Action: "rescue", Policy: policyRescue, Success: 200, Handler: a.rescue},
		{Action: "rebuild", Policy: policyRebuild, Success: 202, Handler: a.rebuild},
		{Action: shelve.key, Policy: shelve.policy, Success: 202, Handler: a.shelve},
		{Action: shelveOffload.key, Policy: shelveOffload.policy, Success: 202, Handler: a.act(shelveOffload)},
		{Action: unshelve.key, Policy: unshelve.policy, Success: 202, Handler: a.unshelve},
		{Action: evacuate.key, Policy: evacuate.policy, Success: 200, Handler: a.evacuate},
		{Action: "resize", Policy: policyResize, Success: 202, Handler: a.resize},
		{Action: "migrate", Policy: policyMigrate, Success: 202, Handler: a.migrate},
		{Action: "confirmResize", Policy: policyConfirmResize, Success: 204, Handler: a.confirmResize},
		{Action: "revertResize", Policy: policyRevertResize, Success: 202, Handler: a.revertResize},
		{Action: "restore", Policy: policyRestore, Success: 202, Handler: a.restoreServer},
		{Action: "os-resetState", Policy: policyResetState, Success: 202, Handler: a.resetState},
		{Action: "injectNetworkInfo", Policy: policyInjectNetwork, Success: 202, Handler: a.injectNetworkInfo},
		{Action: "addFixedIp", Versions: untilMultinic, Policy: multinicRule + "add", Success: 202, Handler: a.addFixedIP},
		{Action: "removeFixedIp", Versions: untilMultinic, Policy: multinicRule + "remove", Success: 202, Handler: a.removeFixedIP},
		{Action: "addSecurityGroup", Policy: securityGroupRule + "add", Success: 202, Handler: a.addSecurityGroup},
		{Action: "removeSecurityGroup", Policy: securityGroupRule + "remove", Success: 202, Handler: a.removeSecurityGroup},
		{Action: "os-getConsoleOutput", Policy: "os_compute_api:os-console-output", Success: 200, Handler: a.consoleOutput},
	}
	for _, action := range powerActions {
		rows = append(rows, rest.Operation{Action: action.key, Policy: action.policy, Success: 202, Handler: a.act(action)})
	}
	for i := range rows {
		rows[i].Method, rows[i].Path = "POST", "/servers/{id}/action"
	}
	return rows
}

func (a *API) flavorOperations() []rest.Operation {
	return []rest.Operation{
		{Method: "GET", Path: "/flavors", Success: 200, Handler: a.listFlavors},
		{Method: "GET", Path: "/flavors/detail", Success: 200, Handler: a.listFlavorsDetail},
		{Method: "GET", Path: "/flavors/{id}", Success: 200, Handler: a.showFlavor},
		{Method: "POST", Path: "/flavors", Policy: "os_compute_api:os-flavor-manage:create", Success: 200, Handler: a.createFlavor},
		{Method: "PUT", Path: "/flavors/{id}", Versions: microversion.From(55), Policy: "os_compute_api:os-flavor-manage:update", Success: 200, Handler: a.updateFlavor},
		{Method: "DELETE", Path: "/flavors/{id}", Policy: "os_compute_api:os-flavor-manage:delete", Success: 202, Handler: a.deleteFlavor},
		{Method: "GET", Path: "/flavors/{flavor_id}/os-flavor-access", Policy: "os_compute_api:os-flavor-access", Success: 200, Handler: a.listFlavorAccess},
		{Method: "POST", Path: "/flavors/{id}/action", Action: "addTenantAccess", Policy: "os_compute_api:os-flavor-access:add_tenant_access", Success: 200, Handler: a.addFlavorAccess},
		{Method: "POST", Path: "/flavors/{id}/action", Action: "removeTenantAccess", Policy: "os_compute_api:os-flavor-access:remove_tenant_access", Success: 200, Handler: a.removeFlavorAccess},
		{Method: "GET", Path: "/flavors/{flavor_id}/os-extra_specs", Policy: policyFlavorExtraSpecs, Success: 200, Handler: a.listExtraSpecs},
		{Method: "POST", Path: "/flavors/{flavor_id}/os-extra_specs", Policy: "os_compute_api:os-flavor-extra-specs:create", Success: 200, Handler: a.createExtraSpecs},
		{Method: "GET", Path: "/flavors/{flavor_id}/os-extra_specs/{id}", Policy: "os_compute_api:os-flavor-extra-specs:show", Success: 200, Handler: a.showExtraSpec},
		{Method: "PUT", Path: "/flavors/{flavor_id}/os-extra_specs/{id}", Policy: "os_compute_api:os-flavor-extra-specs:update", Success: 200, Handler: a.updateExtraSpec},
		{Method: "DELETE", Path: "/flavors/{flavor_id}/os-extra_specs/{id}", Policy: "os_compute_api:os-flavor-extra-specs:delete", Success: 200, Handler: a.deleteExtraSpec},
	}
}

func (a *API) keypairOperations() []rest.Operation {
	return []rest.Operation{
		{Method: "GET", Path: "/os-keypairs", Policy: "os_compute_api:os-keypairs:index", Success: 200, Handler: a.listKeypairs},
		{Method: "POST", Path: "/os-keypairs", Versions: microversion.Until(1), Policy: "os_compute_api:os-keypairs:create", Success: 200, Handler: a.createKeypair},
		{Method: "POST", Path: "/os-keypairs", Versions: microversion.From(2), Policy: "os_compute_api:os-keypairs:create", Success: 201, Handler: a.createKeypair},
		{Method: "GET", Path: "/os-keypairs/{id}", Policy: "os_compute_api:os-keypairs:show", Success: 200, Handler: a.showKeypair},
		{Method: "DELETE", Path: "/os-keypairs/{id}", Versions: microversion.Until(1), Policy: "os_compute_api:os-keypairs:delete", Success: 202, Handler: a.deleteKeypair},
		{Method: "DELETE", Path: "/os-keypairs/{id}", Versions: microversion.From(2), Policy: "os_compute_api:os-keypairs:delete", Success: 204, Handler: a.deleteKeypair},
	}
}

func (a *API) hostOperations() []rest.Operation {
	return []rest.Operation{
		{Method: "GET", Path: "/os-availability-zone", Policy: "os_compute_api:os-availability-zone:list", Success: 200, Handler: a.listZones},
		{Method: "GET", Path: "/os-availability-zone/detail", Policy: "os_compute_api:os-availability-zone:detail", Success: 200, Handler: a.listZonesDetail},
		{Method: "GET", Path: "/os-services", Policy: "os_compute_api:os-services:list", Success: 200, Handler: a.listServices},
		{Method: "PUT", Path: "/os-services/{id}", Versions: microversion.Until(52), Policy: "os_compute_api:os-services:update", Success: 200, Handler: a.updateServiceByVerb},
		{Method: "PUT", Path: "/os-services/{id}", Versions: microversion.From(53), Policy: "os_compute_api:os-services:update", Success: 200, Handler: a.updateService},
		{Method: "DELETE", Path: "/os-services/{id}", Policy: "os_compute_api:os-services:delete", Success: 204, Handler: a.deleteService},
		{Method: "GET", Path: "/os-hosts", Versions: untilHosts, Policy: hostsRule + "list", Success: 200, Handler: a.listHostServices},
		{Method: "GET", Path: "/os-hosts/{id}", Versions: untilHosts, Policy: hostsRule + "show", Success: 200, Handler: a.showHostUse},
		{Method: "PUT", Path: "/os-hosts/{id}", Versions: untilHosts, Policy: hostsRule + "update", Success: 200, Handler: a.updateHostByName},
		{Method: "GET", Path: "/os-hosts/{id}/startup", Versions: untilHosts, Policy: hostsRule + "start", Success: 200, Handler: a.powerHost},
		{Method: "GET", Path: "/os-hosts/{id}/shutdown", Versions: untilHosts, Policy: hostsRule + "shutdown", Success: 200, Handler: a.powerHost},
		{Method: "GET", Path: "/os-hosts/{id}/reboot", Versions: untilHosts, Policy: hostsRule + "reboot", Success: 200, Handler: a.powerHost},
		{Method: "GET", Path: "/os-hypervisors", Policy: "os_compute_api:os-hypervisors:list", Success: 200, Handler: a.listHypervisors},
		{Method: "GET", Path: "/os-hypervisors/detail", Policy: "os_compute_api:os-hypervisors:list-detail", Success: 200, Handler: a.listHypervisorsDetail},
		{Method: "GET", Path: "/os-hypervisors/statistics", Versions: microversion.Until(87), Policy: "os_compute_api:os-hypervisors:statistics", Success: 200, Handler: a.hypervisorStatistics},
		{Method: "GET", Path: "/os-hypervisors/{id}", Policy: "os_compute_api:os-hypervisors:show", Success: 200, Handler: a.showHypervisor},
		{Method: "GET", Path: "/os-hypervisors/{id}/search", Versions: microversion.Until(52), Policy: "os_compute_api:os-hypervisors:search", Success: 200, Handler: a.searchHypervisors},
		{Method: "GET", Path: "/os-hypervisors/{id}/servers", Versions: microversion.Until(52), Policy: "os_compute_api:os-hypervisors:servers", Success: 200, Handler: a.hypervisorServers},
		{Method: "GET", Path: "/os-hypervisors/{id}/uptime", Versions: microversion.Until(87), Policy: "os_compute_api:os-hypervisors:uptime", Success: 200, Handler: a.hypervisorUptime},
		{Method: "GET", Path: "/extensions", Policy: "os_compute_api:extensions", Success: 200, Handler: a.listExtensions},
		{Method: "GET", Path: "/extensions/{id}", Policy: "os_compute_api:extensions", Success: 200, Handler: a.showExtension},
	}
}

func (a *API) quotaOperations() []rest.Operation {
	return []rest.Operation{
		{Method: "GET", Path: "/limits", Policy: "os_compute_api:limits", Success: 200, Handler: a.showLimits},
		{Method: "GET", Path: "/os-quota-sets/{id}", Policy: "os_compute_api:os-quota-sets:show", Success: 200, Handler: a.showQuotas},
		{Method: "PUT", Path: "/os-quota-sets/{id}", Policy: "os_compute_api:os-quota-sets:update", Success: 200, Handler: a.updateQuotas},
		{Method: "DELETE", Path: "/os-quota-sets/{id}", Policy: "os_compute_api:os-quota-sets:delete", Success: 202, Handler: a.deleteQuotas},
		{Method: "GET", Path: "/os-quota-sets/{id}/detail", Policy: "os_compute_api:os-quota-sets:detail", Success: 200, Handler: a.showQuotasDetail},
		{Method: "GET", Path: "/os-quota-sets/{id}/defaults", Policy: "os_compute_api:os-quota-sets:defaults", Success: 200, Handler: a.showQuotaDefaults},
		{Method: "GET", Path: "/os-quota-class-sets/{id}", Policy: "os_compute_api:os-quota-class-sets:show", Success: 200, Handler: a.showQuotaClass},
		{Method: "PUT", Path: "/os-quota-class-sets/{id}", Policy: "os_compute_api:os-quota-class-sets:update", Success: 200, Handler: a.updateQuotaClass},
	}
}

// offer hands an accepted operation to the starter, if it may start now.
func (a *API) offer(accepted engine.Accepted) {
	if accepted.Startable {
		a.Starter.Offer(accepted.OperationID)
	}
}
