package compute_test

// The samples and how to ask for their like.

// sampleFolders are those of what is served.
var sampleFolders = []string{"extension-info", "flavor-access", "flavor-extra-specs", "flavor-manage", "flavors", "limits", "os-aggregates", "os-availability-zone",
	"os-console-output", "os-create-backup", "os-hosts", "os-hypervisors", "os-instance-actions", "os-keypairs", "os-lock-server", "os-migrations", "os-multiple-create", "os-pause-server",
	"os-quota-class-sets", "os-quota-sets", "os-server-external-events", "os-server-groups", "os-server-password", "os-server-tags", "os-services", "os-suspend-server",
	"server-ips", "server-metadata", "server-migrations", "servers", "servers-sort", "versions"}

const (
	newServer   = `{"server": {"name": "new", "flavorRef": "1", "imageRef": "` + image + `", "networks": "none"}}`
	olderServer = `{"server": {"name": "new", "flavorRef": "1", "imageRef": "` + image + `"}}`
	newFlavor   = `{"flavor": {"name": "{unique}", "id": "{unique}", "ram": 64, "vcpus": 1, "disk": 1}}`
	publicKey   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBHYe2CvYYcGSyhQWNXGKoHmOYJ5QpqwHfSDjAv3xGHI k"
	service     = `{"host": "host-1", "binary": "nova-compute"`
)

func get(paths ...string) []sampleRequest {
	all := make([]sampleRequest, len(paths))
	for i, p := range paths {
		all[i] = sampleRequest{method: "GET", path: p}
	}
	return all
}

func rootGets(path string) []sampleRequest {
	return []sampleRequest{{token: "root", method: "GET", path: path}}
}

func one(method, path, body string) []sampleRequest {
	return []sampleRequest{{method: method, path: path, body: body}}
}

func bobDoes(method, path, body string) []sampleRequest {
	return []sampleRequest{{token: "bob", method: method, path: path, body: body}}
}

func rootDoes(method, path, body string) []sampleRequest {
	return []sampleRequest{{token: "root", method: method, path: path, body: body}}
}

var (
	historyOf         = "/servers/{server}/os-instance-actions"
	searchHypervisors = []sampleRequest{
		{token: "root", method: "GET", path: "/os-hypervisors/host/search"},
		{from: 53, token: "root", method: "GET", path: "/os-hypervisors?hypervisor_hostname_pattern=host"},
	}
	serversOfHypervisors = []sampleRequest{
		{token: "root", method: "GET", path: "/os-hypervisors/host/servers"},
		{from: 53, token: "root", method: "GET", path: "/os-hypervisors?with_servers=true&hypervisor_hostname_pattern=host"},
	}
)

// changeService is the same request before and since services have UUIDs.
func changeService(verb, more, since string) []sampleRequest {
	return []sampleRequest{
		{token: "root", method: "PUT", path: "/os-services/" + verb, body: service + more + "}"},
		{from: 53, token: "root", method: "PUT", path: "/os-services/{host}", body: since},
	}
}

var sampleRequests = map[string][]sampleRequest{
	"extension-info/extensions-get-resp":                 get("/extensions/os-agents"),
	"extension-info/extensions-list-resp":                get("/extensions"),
	"extension-info/extensions-list-resp-v21-compatible": get("/extensions"),

	"flavors/flavor-get-resp":     get("/flavors/1"),
	"flavors/flavors-list-resp":   get("/flavors"),
	"flavors/flavors-detail-resp": get("/flavors/detail"),

	"flavor-manage/flavor-create-post-resp": rootDoes("POST", "/flavors", newFlavor),
	"flavor-manage/flavor-update-resp":      rootDoes("PUT", "/flavors/1", `{"flavor": {"description": "d"}}`),

	"flavor-access/flavor-access-list-resp":          rootGets("/flavors/private/os-flavor-access"),
	"flavor-access/flavor-access-add-tenant-resp":    rootDoes("POST", "/flavors/private/action", `{"addTenantAccess": {"tenant": "{unique}"}}`),
	"flavor-extra-specs/flavor-extra-specs-get-resp": rootGets("/flavors/1/os-extra_specs/hw:numa_nodes"),
	"flavor-extra-specs/flavor-extra-specs-list-resp": rootGets(
		"/flavors/1/os-extra_specs"),
	"flavor-extra-specs/flavor-extra-specs-create-resp": rootDoes("POST", "/flavors/1/os-extra_specs", `{"extra_specs": {"hw:numa_nodes": "1"}}`),
	"flavor-extra-specs/flavor-extra-specs-update-resp": rootDoes("PUT", "/flavors/1/os-extra_specs/hw:numa_nodes", `{"hw:numa_nodes": "1"}`),

	"limits/limit-get-resp": get("/limits"),

	"os-aggregates/aggregate-post-resp":           rootDoes("POST", "/os-aggregates", `{"aggregate": {"name": "{unique}", "availability_zone": "london"}}`),
	"os-aggregates/aggregate-update-post-resp":    rootDoes("PUT", "/os-aggregates/{aggregate}", `{"aggregate": {"name": "{unique}"}}`),
	"os-aggregates/aggregates-get-resp":           rootGets("/os-aggregates/{aggregate}"),
	"os-aggregates/aggregates-metadata-post-resp": rootDoes("POST", "/os-aggregates/{aggregate}/action", `{"set_metadata": {"metadata": {"key": "{unique}"}}}`),

	"os-availability-zone/availability-zone-list-resp":   get("/os-availability-zone"),
	"os-availability-zone/availability-zone-detail-resp": rootGets("/os-availability-zone/detail"),
	"os-console-output/console-output-post-resp":         one("POST", "/servers/{server}/action", `{"os-getConsoleOutput": {}}`),

	"os-hosts/hosts-list-resp":           rootGets("/os-hosts"),
	"os-hosts/host-get-resp":             rootGets("/os-hosts/host-1"),
	"os-hosts/host-put-maintenance-resp": rootDoes("PUT", "/os-hosts/host-1", `{"status": "enable", "maintenance_mode": "disable"}`),

	"os-hypervisors/hypervisors-list-resp":                rootGets("/os-hypervisors"),
	"os-hypervisors/hypervisors-detail-resp":              rootGets("/os-hypervisors/detail"),
	"os-hypervisors/hypervisors-detail-with-servers-resp": rootGets("/os-hypervisors/detail?with_servers=true&hypervisor_hostname_pattern=host"),
	"os-hypervisors/hypervisors-show-resp":                rootGets("/os-hypervisors/{id of host}"),
	"os-hypervisors/hypervisors-show-with-servers-resp":   rootGets("/os-hypervisors/{id of host}?with_servers=true"),
	"os-hypervisors/hypervisors-search-resp":              searchHypervisors,
	"os-hypervisors/hypervisors-with-servers-resp":        serversOfHypervisors,
	"os-hypervisors/hypervisors-without-servers-resp": {{token: "root", method: "GET", path: "/os-hypervisors/empty/servers"},
		{from: 53, token: "root", method: "GET", path: "/os-hypervisors?with_servers=true&hypervisor_hostname_pattern=empty"}},
	"os-hypervisors/hypervisors-statistics-resp": rootGets("/os-hypervisors/statistics"),
	"os-hypervisors/hypervisors-uptime-resp":     rootGets("/os-hypervisors/{id of host}/uptime"),

	"os-migrations/migrations-get":                                  rootGets("/os-migrations"),
	"os-migrations/migrations-get-with-changes-since":               rootGets("/os-migrations?migration_type=resize&changes-since=2020-01-01T00:00:00Z"),
	"os-migrations/migrations-get-with-changes-before":              rootGets("/os-migrations?status=running&changes-before=2120-01-01T00:00:00Z"),
	"os-migrations/migrations-get-with-limit":                       rootGets("/os-migrations"),
	"os-migrations/migrations-get-with-marker":                      rootGets("/os-migrations?marker={second migration}"),
	"os-migrations/migrations-get-with-user-or-project-id":          rootGets("/os-migrations?project_id=a11ce&user_id=alice&migration_type=live-migration"),
	"os-instance-actions/instance-actions-list-resp":                get(historyOf),
	"os-instance-actions/instance-actions-list-with-changes-since":  get(historyOf + "?changes-since=2020-01-01T00:00:00Z"),
	"os-instance-actions/instance-actions-list-with-changes-before": get(historyOf + "?changes-before=2120-01-01T00:00:00Z"),
	"os-instance-actions/instance-actions-list-with-limit-resp":     get(historyOf),
	"os-instance-actions/instance-actions-list-with-marker-resp":    get(historyOf + "?marker={newest request}"),
	"os-instance-actions/instance-action-get-resp":                  rootGets(historyOf + "/{request}"),
	"os-instance-actions/instance-action-get-non-admin-resp":        get(historyOf + "/{request}"),

	"os-keypairs/keypairs-list-resp":        get("/os-keypairs"),
	"os-keypairs/keypairs-list-user1-resp":  rootGets("/os-keypairs?user_id=alice"),
	"os-keypairs/keypairs-list-user2-resp":  rootGets("/os-keypairs?user_id=alice"),
	"os-keypairs/keypairs-get-resp":         get("/os-keypairs/key"),
	"os-keypairs/keypairs-post-resp":        one("POST", "/os-keypairs", `{"keypair": {"name": "{unique}"}}`),
	"os-keypairs/keypairs-import-post-resp": one("POST", "/os-keypairs", `{"keypair": {"name": "{unique}", "public_key": "`+publicKey+`"}}`),

	"os-multiple-create/multiple-create-post-resp":         bobDoes("POST", "/servers", `{"server": {"name": "new", "flavorRef": "1", "imageRef": "`+image+`", "max_count": 2, "return_reservation_id": true}}`),
	"os-multiple-create/multiple-create-no-resv-post-resp": bobDoes("POST", "/servers", `{"server": {"name": "new", "flavorRef": "1", "imageRef": "`+image+`", "max_count": 2}}`),

	"os-quota-class-sets/quota-classes-show-get-resp":    rootGets("/os-quota-class-sets/default"),
	"os-quota-class-sets/quota-classes-update-post-resp": rootDoes("PUT", "/os-quota-class-sets/default", `{"quota_class_set": {"ram": 9999999}}`),
	"os-quota-sets/quotas-show-defaults-get-resp":        get("/os-quota-sets/a11ce/defaults"),
	"os-quota-sets/quotas-show-get-resp":                 get("/os-quota-sets/a11ce"),
	"os-quota-sets/quotas-show-detail-get-resp":          get("/os-quota-sets/a11ce/detail"),
	"os-quota-sets/quotas-update-post-resp":              rootDoes("PUT", "/os-quota-sets/a11ce", `{"quota_set": {"cores": 999}}`),
	"os-quota-sets/quotas-update-force-post-resp":        rootDoes("PUT", "/os-quota-sets/a11ce", `{"quota_set": {"force": true, "cores": 999}}`),
	"os-quota-sets/user-quotas-show-get-resp":            get("/os-quota-sets/a11ce?user_id=alice"),
	"os-quota-sets/user-quotas-update-post-resp":         rootDoes("PUT", "/os-quota-sets/a11ce?user_id=alice", `{"quota_set": {"force": "True", "cores": 999}}`),

	"os-server-password/get-password-resp": get("/servers/{server}/os-server-password"),

	"os-server-external-events/event-create-resp": rootDoes("POST", "/os-server-external-events", `{"events": [{"name": "network-changed", "server_uuid": "{server}", "tag": "p", "status": "completed"}]}`),

	"os-server-groups/server-groups-get-resp":  get("/os-server-groups/{group}"),
	"os-server-groups/server-groups-list-resp": get("/os-server-groups"),
	"os-server-groups/server-groups-post-resp": {
		{method: "POST", path: "/os-server-groups", body: `{"server_group": {"name": "{unique}", "policies": ["affinity"]}}`},
		{from: 64, method: "POST", path: "/os-server-groups", body: `{"server_group": {"name": "{unique}", "policy": "anti-affinity", "rules": {"max_server_per_host": 3}}}`}},

	"os-server-tags/server-tags-index-resp":        get("/servers/{server}/tags"),
	"os-server-tags/server-tags-put-all-resp":      one("PUT", "/servers/{server}/tags", `{"tags": ["a", "b"]}`),
	"os-server-tags/server-tags-show-details-resp": get("/servers/{server}"),
	"os-server-tags/servers-tags-details-resp":     get("/servers/detail"),

	"os-services/services-list-get-resp":       rootGets("/os-services"),
	"os-services/service-enable-put-resp":      changeService("enable", "", `{"status": "enabled"}`),
	"os-services/service-disable-put-resp":     changeService("disable", "", `{"status": "disabled"}`),
	"os-services/service-disable-log-put-resp": changeService("disable-log-reason", `, "disabled_reason": "r"`, `{"status": "disabled", "disabled_reason": "r"}`),
	"os-services/service-force-down-put-resp":  changeService("force-down", `, "forced_down": true`, `{"forced_down": true}`),

	"server-ips/server-ips-resp":               get("/servers/{server}/ips"),
	"server-ips/server-ips-network-resp":       get("/servers/{server}/ips/private"),
	"server-metadata/server-metadata-all-resp": get("/servers/{server}/metadata"),
	"server-migrations/migrations-get":         rootGets("/servers/{moving}/migrations/{under way}"),
	"server-migrations/migrations-index":       rootGets("/servers/{moving}/migrations"),
	"server-metadata/server-metadata-resp":     get("/servers/{server}/metadata/My%20Server%20Name"),

	"servers/server-get-resp":                     get("/servers/{server}"),
	"servers/servers-list-resp":                   get("/servers"),
	"servers/servers-list-status-resp":            get("/servers?status=ACTIVE"),
	"servers/servers-details-resp":                get("/servers/detail"),
	"servers/servers-details-with-changes-before": get("/servers/detail?changes-before=2120-01-01T00:00:00Z"),
	"servers/servers-list-with-changes-before":    get("/servers?changes-before=2120-01-01T00:00:00Z"),
	"servers/server-create-resp":                  {{token: "bob", method: "POST", path: "/servers", body: olderServer}, {from: 37, token: "bob", method: "POST", path: "/servers", body: newServer}},
	"servers/server-update-resp":                  one("PUT", "/servers/{server}", `{"server": {"name": "other", "accessIPv4": "192.0.2.10"}}`),
	"servers/server-put-resp":                     one("PUT", "/servers/{server}", `{"server": {"name": "other", "description": "e"}}`),
	"servers-sort/server-sort-keys-list-resp":     get("/servers?sort_key=display_name&sort_dir=asc"),
}

// lastMinors are the last microversions of samples whose operation ends.
var lastMinors = map[string]int{
	"os-hosts/hosts-list-resp": 42, "os-hosts/host-get-resp": 42, "os-hosts/host-put-maintenance-resp": 42,
	"os-hypervisors/hypervisors-without-servers-resp":      74,
	"os-hypervisors/hypervisors-statistics-resp":           87,
	"os-hypervisors/hypervisors-uptime-resp":               87,
	"os-keypairs/keypairs-post-resp":                       91,
	"os-multiple-create/multiple-create-post-resp":         36,
	"os-multiple-create/multiple-create-no-resv-post-resp": 36,
}

// samplesLeft are not asked for, each with why.
var samplesLeft = map[string]string{
	"flavor-access/flavor-access-remove-tenant-resp": "the others of flavors have it",
	"os-aggregates/aggregates-add-host-post-resp":    "TestAggregates",
	"os-aggregates/aggregates-remove-host-post-resp": "TestAggregates",
	"os-aggregates/aggregates-list-get-resp":         "TestAggregates",
	"server-migrations/force_complete":               "a request",
	"server-migrations/live-migrate-server":          "a request",
	"os-hosts/host-get-reboot":                       "no hypervisor here turns its host on or off",
	"os-hosts/host-get-shutdown":                     "the same",
	"os-hosts/host-get-startup":                      "the same",
	"os-lock-server/lock-server":                     "a request",
	"os-lock-server/lock-server-with-reason":         "a request",
	"os-lock-server/unlock-server":                   "a request",
	"os-pause-server/pause-server":                   "a request",
	"os-pause-server/unpause-server":                 "a request",
	"os-suspend-server/server-resume":                "a request",
	"os-suspend-server/server-suspend":               "a request",
	"servers/lock-server-with-reason":                "a request",
	"servers/server-action-reboot":                   "a request",
	"servers/server-action-start":                    "a request",
	"servers/server-action-stop":                     "a request",
	"servers/server-action-confirm-resize":           "a request",
	"servers/server-action-revert-resize":            "a request",
	"servers/server-action-resize":                   "a request",
	"os-create-backup/create-backup-resp":            "TestImagesOfServers",
	"servers/server-action-create-image":             "a request",
	"servers/server-action-create-image-resp":        "TestImagesOfServers",
	"servers/server-action-rebuild":                  "a request",
	"servers/server-action-rebuild-resp":             "TestRebuildAnswers",
	"servers/server-action-trigger-crash-dump":       "a later issue",
	"servers/server-groups-post-resp":                "a later issue",
	"versions/v2-version-get-resp":                   "v2.0 isn't served",
	"versions/v21-version-get-resp":                  "TestVersionDocumentsHaveTheShapeOfTheSamples",
	"versions/versions-get-resp":                     "TestVersionDocumentsHaveTheShapeOfTheSamples",
}
