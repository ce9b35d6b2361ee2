package companions_test

// What the servers call, as the contract lists it for Nova, Heat and Ironic: each
// text of the contract has the requests that it stands for.

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// request is one of them, with what it must get.
type request struct {
	service, method, path, body string // a service "identity as demo" is asked by that user, else by the administrator
	status                      int
	has                         string      // members of the answer, "attachment.connection_info", several by blanks
	header                      http.Header // those of tokens name users
}

func get(service, path, has string) request {
	return request{service: service, method: "GET", path: path, status: 200, has: has}
}

func put(service, path, body string, status int, has string) request {
	return request{service: service, method: "PUT", path: path, body: body, status: status, has: has}
}

func send(service, path, body string, status int, has string) request {
	return request{service: service, method: "POST", path: path, body: body, status: status, has: has}
}

func remove(service, path string, status int) request {
	return request{service: service, method: "DELETE", path: path, status: status}
}

// action is one of a volume.
func action(body string, status int) request {
	return send("block-storage", "/volumes/{volume}/action", body, status, "")
}

// elsewhere is what no companion is asked: the reason stands beside it.
var elsewhere = map[string]string{
	"nova: placement_note": "Placement is Holdfast's own",
	"heat: nova":           "the compute API is Holdfast's own", "ironic: nova": "the compute API is Holdfast's own",
	"heat: heat":  "the orchestration API is Holdfast's own",
	"heat: swift": "the development cloud's catalog has no object store", "ironic: swift": "the development cloud's catalog has no object store",
	"heat: other": "the development cloud's catalog has none of them",
	"nova: auth":  "no call", "heat: auth": "no call", "ironic: auth": "no call",
}

var password = `{"auth":{"identity":{"methods":["password"],"password":{"user":{"id":"{demo_user}","password":"{demo_password}"}}},"scope":{"project":{"id":"{demo_project}"}}}}`

var subject = http.Header{"X-Subject-Token": {"admin"}}

// byService is what a service's requests in a user's name carry.
var byService = http.Header{"X-Service-Token": {"holdfast"}}

// served has the requests by server, service and text of the contract.
var served = map[string][]request{
	"nova keystone GET /v3/projects/{id}":                                   {get("identity", "/projects/{project}", "project.id"), {service: "identity", method: "GET", path: "/projects/nowhere", status: 404}},
	"nova keystone token validation GET /v3/auth/tokens":                    {{service: "identity", method: "GET", path: "/auth/tokens", header: subject, status: 200, has: "token.user.domain.id token.project.domain.name token.roles token.catalog token.expires_at token.issued_at token.audit_ids token.methods"}},
	"nova keystone GET /v3/limits, /v3/registered_limits, /v3/limits/model": {get("identity", "/limits", "limits"), get("identity", "/registered_limits", "registered_limits"), get("identity", "/limits/model", "model.name")},
	"nova keystone POST /v3/auth/tokens":                                    {send("identity", "/auth/tokens", password, 201, "token.catalog token.is_domain")},

	"nova glance GET /v2/images/{id}":         {get("image", "/images/{image}", "id status size os_distro")},
	"nova glance GET /v2/images":              {get("image", "/images?limit=5&sort_key=created_at&sort_dir=asc&visibility=public", "images first schema")},
	"nova glance GET /v2/images/{id}/file":    {get("image", "/images/{image}/file", "")},
	"nova glance POST /v2/images":             {send("image", "/images", `{"name":"snap","disk_format":"qcow2","container_format":"bare","visibility":"private","image_type":"snapshot","base_image_ref":"{image}"}`, 201, "id image_type status")},
	"nova glance PATCH /v2/images/{id}":       {{service: "image", method: "PATCH", path: "/images/{image}", body: `[{"op":"replace","path":"/name","value":"n"},{"op":"add","path":"/instance_uuid","value":"u"}]`, header: http.Header{"Content-Type": {"application/openstack-images-v2.1-json-patch"}}, status: 200, has: "instance_uuid"}},
	"nova glance PUT /v2/images/{id}/file":    {{service: "image", method: "PUT", path: "/images/{queued_image}/file", body: "bytes", header: octets, status: 204}},
	"nova glance DELETE /v2/images/{id}":      {remove("image", "/images/{image}", 204)},
	"nova glance GET /v2/images/{id}/members": {send("image", "/images/{image}/members", `{"member":"{demo_project}"}`, 200, "member_id status"), get("image", "/images/{image}/members", "members schema")},
	"nova glance POST /v2/images/{id}/import": {send("image", "/images/{image}/import", `{"method":{"name":"copy-image"},"all_stores":true}`, 202, ""), get("image", "/info/stores", "stores"), get("image", "/info/import", "import-methods.value")},
	"nova glance GET /v2/schemas/image":       {get("image", "/schemas/image", "name properties.id properties.visibility additionalProperties links")},

	"nova neutron GET /v2.0/extensions": {get("network", "/extensions", "extensions")},
	"nova neutron GET /v2.0/networks?id=..|tenant_id=..|shared=True|router:external=True": {
		get("network", "/networks?id={network}", "networks"), get("network", "/networks?tenant_id={admin_project}", "networks"),
		get("network", "/networks?shared=True", "networks"), get("network", "/networks?router:external=True", "networks")},
	"nova neutron GET /v2.0/networks/{id}":               {get("network", "/networks/{network}", "network.subnets network.mtu network.provider:network_type")},
	"nova neutron GET /v2.0/ports?device_id=&tenant_id=": {get("network", "/ports?device_id={device}&tenant_id={admin_project}", "ports")},
	"nova neutron GET /v2.0/ports/{id}":                  {get("network", "/ports/{port}?fields=binding:vnic_type&fields=network_id", "port.binding:vnic_type port.network_id")},
	"nova neutron POST /v2.0/ports":                      {send("network", "/ports", `{"port":{"network_id":"{network}","device_id":"{device}","device_owner":"compute:nova","binding:host_id":"one","tenant_id":"{demo_project}","admin_state_up":true,"security_groups":[],"binding:profile":{}}}`, 201, "port.mac_address port.binding:vif_type port.status")},
	"nova neutron PUT /v2.0/ports/{id}":                  {put("network", "/ports/{port}", `{"port":{"binding:host_id":"one","device_id":"{device}","device_owner":"compute:nova"}}`, 200, "port.binding:vif_type"), put("network", "/ports/{port}", `{"port":{"binding:host_id":null,"device_id":"","device_owner":"","binding:profile":{}}}`, 200, "port.id")},
	"nova neutron DELETE /v2.0/ports/{id}":               {remove("network", "/ports/{port}", 204)},
	"nova neutron GET|POST|DELETE /v2.0/ports/{id}/bindings[/{host}], PUT .../activate": {
		put("network", "/ports/{port}", `{"port":{"binding:host_id":"one"}}`, 200, ""),
		send("network", "/ports/{port}/bindings", `{"binding":{"host":"two","vnic_type":"normal","profile":{}}}`, 201, "binding.host binding.status binding.vif_type"),
		get("network", "/ports/{port}/bindings", "bindings"), get("network", "/ports/{port}/bindings/two", "binding.status"),
		put("network", "/ports/{port}/bindings/two/activate", "", 200, "binding.status"), remove("network", "/ports/{port}/bindings/one", 204)},
	"nova neutron GET /v2.0/subnets?id=&network_id=": {get("network", "/subnets?id={subnet}&network_id={network}", "subnets")},
	"nova neutron GET /v2.0/subnets/{id}":            {get("network", "/subnets/{subnet}", "subnet.cidr subnet.gateway_ip subnet.dns_nameservers subnet.host_routes")},
	"nova neutron GET /v2.0/floatingips?port_id=|fixed_ip_address=": {
		get("network", "/floatingips?port_id={routed_port}", "floatingips"), get("network", "/floatingips?fixed_ip_address=10.9.0.7", "floatingips")},
	"nova neutron PUT /v2.0/floatingips/{id}": {put("network", "/floatingips/{floatingip}", `{"floatingip":{"port_id":"{routed_port}"}}`, 200, "floatingip.fixed_ip_address floatingip.router_id"), put("network", "/floatingips/{floatingip}", `{"floatingip":{"port_id":null}}`, 200, "floatingip.status")},
	"nova neutron GET|POST|PUT|DELETE /v2.0/security-groups, /v2.0/security-group-rules": {
		get("network", "/security-groups?fields=id&fields=name&tenant_id={admin_project}", "security_groups"),
		put("network", "/security-groups/{security_group}", `{"security_group":{"description":"d"}}`, 200, "security_group.security_group_rules"),
		get("network", "/security-group-rules?security_group_id={security_group}", "security_group_rules"),
		remove("network", "/security-group-rules/{security_group_rule}", 204), remove("network", "/security-groups/{security_group}", 204)},
	"nova neutron GET /v2.0/segments":        {get("network", "/segments?network_id={network}", "segments")},
	"nova neutron GET /v2.0/quotas/{tenant}": {get("network", "/quotas/{demo_project}", "quota.port quota.floatingip quota.security_group")},

	"nova cinder GET /v3/volumes/{id}":    {get("block-storage", "/volumes/{volume}", "volume.status volume.bootable volume.multiattach volume.volume_image_metadata")},
	"nova cinder POST /v3/volumes":        {send("block-storage", "/volumes", `{"volume":{"size":1,"imageRef":"{image}","name":"","metadata":{},"availability_zone":"nova"}}`, 202, "volume.id"), send("block-storage", "/volumes", `{"volume":{"size":1,"snapshot_id":"{snapshot}"}}`, 202, "volume.snapshot_id")},
	"nova cinder DELETE /v3/volumes/{id}": {remove("block-storage", "/volumes/{volume}", 202)},
	"nova cinder POST /v3/attachments (3.44)": {send("block-storage", "/attachments", `{"attachment":{"volume_uuid":"{volume}","instance_uuid":"{device}"}}`, 200, "attachment.id attachment.status"),
		get("block-storage", "/volumes/{volume}", "volume.status")},
	"nova cinder PUT /v3/attachments/{id} (3.44)":                         {put("block-storage", "/attachments/{attachment}", `{"attachment":{"connector":{"host":"one","initiator":"i","ip":"127.0.0.1","mountpoint":"/dev/vdb"}}}`, 200, "attachment.connection_info")},
	`nova cinder POST /v3/attachments/{id}/action {"os-complete"} (3.44)`: {send("block-storage", "/attachments/{connected}/action", `{"os-complete":null}`, 204, "")},
	"nova cinder DELETE /v3/attachments/{id}":                             {{service: "block-storage", method: "DELETE", path: "/attachments/{connected}", header: byService, status: 200, has: "attachments"}},
	"nova cinder GET /v3/attachments/{id}":                                {get("block-storage", "/attachments/{attachment}", "attachment.connection_info attachment.volume_id attachment.instance")},
	"nova cinder POST /v3/volumes/{id}/action": {
		action(`{"os-reserve":null}`, 202), action(`{"os-unreserve":null}`, 202), action(`{"os-reserve":null}`, 202),
		action(`{"os-initialize_connection":{"connector":{"host":"one"}}}`, 200), action(`{"os-attach":{"instance_uuid":"{device}","mountpoint":"/dev/vdb","mode":"rw"}}`, 202),
		action(`{"os-begin_detaching":null}`, 202), action(`{"os-roll_detaching":null}`, 202), action(`{"os-begin_detaching":null}`, 202),
		action(`{"os-terminate_connection":{"connector":{"host":"one"}}}`, 202), action(`{"os-detach":{}}`, 202),
		action(`{"os-migrate_volume_completion":{"new_volume":"{new_volume}","error":false}}`, 200), action(`{"os-reimage":{"image_id":"{image}","reimage_reserved":false}}`, 202)},
	"nova cinder GET /v3/volumes/{id}/encryption":                           {get("block-storage", "/volumes/{volume}/encryption", "")},
	"nova cinder GET /v3/types":                                             {get("block-storage", "/types", "volume_types")},
	"nova cinder POST /v3/snapshots (force), GET|DELETE /v3/snapshots/{id}": {send("block-storage", "/snapshots", `{"snapshot":{"volume_id":"{volume}","force":true,"name":"s"}}`, 202, "snapshot.id"), get("block-storage", "/snapshots/{snapshot}", "snapshot.status"), remove("block-storage", "/snapshots/{snapshot}", 202)},
	"nova cinder GET /v3/limits":                                            {get("block-storage", "/limits", "limits.absolute.totalVolumesUsed limits.absolute.maxTotalVolumes")},
	"nova cinder GET /v3/ version document":                                 {get("block-storage", "/", "versions")},

	"heat keystone POST /v3/auth/tokens": {send("identity", "/auth/tokens", password, 201, "token.user")},
	"heat keystone POST /v3/OS-TRUST/trusts, DELETE .../{id}, GET .../{id}": {
		{service: "identity as demo", method: "POST", path: "/OS-TRUST/trusts", body: `{"trust":{"trustor_user_id":"{demo_user}","trustee_user_id":"{admin_user}","project_id":"{demo_project}","impersonation":true,"allow_redelegation":false,"roles":[{"name":"member"}]}}`, status: 201, has: "trust.id trust.roles trust.expires_at trust.remaining_uses trust.redelegation_count"},
		{service: "identity as demo", method: "GET", path: "/OS-TRUST/trusts/{made}", status: 200, has: "trust.trustor_user_id"}, {service: "identity as demo", method: "DELETE", path: "/OS-TRUST/trusts/{made}", status: 204}},
	"heat keystone GET /v3/roles?name=":   {get("identity", "/roles?name=member", "roles")},
	"heat keystone GET /v3/domains?name=": {get("identity", "/domains?name=Default", "domains")},
	"heat keystone POST|GET|DELETE /v3/projects[/{id}]": {
		send("identity", "/projects", `{"project":{"name":"stack","domain_id":"{domain}","description":"Heat stack user project"}}`, 201, "project.domain_id"),
		get("identity", "/projects/{made}", "project.id"), remove("identity", "/projects/{made}", 204)},
	"heat keystone POST|PATCH|GET|DELETE /v3/users[/{id}]": {
		send("identity", "/users", `{"user":{"name":"stack-user","domain_id":"{domain}","password":"s3cret","default_project_id":"{project}"}}`, 201, "user.default_project_id"),
		{service: "identity", method: "PATCH", path: "/users/{made}", body: `{"user":{"enabled":false}}`, status: 200, has: "user.enabled"},
		get("identity", "/users/{made}", "user.domain_id"), remove("identity", "/users/{made}", 204)},
	"heat keystone PUT /v3/projects/{p}/users/{u}/roles/{r}": {put("identity", "/projects/{project}/users/{user}/roles/{member_role}", "", 204, ""), {service: "identity", method: "HEAD", path: "/projects/{project}/users/{user}/roles/{member_role}", status: 204}},
	"heat keystone POST|GET|DELETE /v3/credentials": {
		send("identity", "/credentials", `{"credential":{"user_id":"{user}","project_id":"{project}","type":"ec2","blob":"{\"access\":\"{name}\",\"secret\":\"s\"}"}}`, 201, "credential.id credential.blob credential.links.self"),
		get("identity", "/credentials/{made}", "credential.blob"), get("identity", "/users/{user}/credentials/OS-EC2/{name}", "credential.secret"), remove("identity", "/credentials/{made}", 204)},
	"heat keystone GET /v3/auth/catalog or token catalog": {get("identity", "/auth/catalog", "catalog")},
	"heat keystone GET /v3/regions/{id}":                  {get("identity", "/regions/{region}", "region.id")},

	"heat glance GET /v2/images/{id}":                           {get("image", "/images/{image}", "id")},
	"heat glance GET /v2/images?name=":                          {get("image", "/images?name=queued", "images")},
	"heat glance POST /v2/images etc. for OS::Glance::WebImage": {send("image", "/images", `{"name":"web","disk_format":"raw","container_format":"bare","min_disk":1,"min_ram":2,"protected":false,"tags":["a"]}`, 201, "id tags")},
	"heat neutron CRUD of every OS::Neutron::* type through /v2.0/{collection}[/{id}]": {
		get("network", "/networks", "networks"), get("network", "/subnets", "subnets"), get("network", "/ports", "ports"), get("network", "/routers/{router}", "router.external_gateway_info"),
		get("network", "/floatingips", "floatingips"), get("network", "/security-groups", "security_groups"),
		put("network", "/networks/{network}", `{"network":{"name":"other"}}`, 200, "network.name"), put("network", "/subnets/{subnet}", `{"subnet":{"name":"other"}}`, 200, "subnet.name"),
		put("network", "/routers/{router}", `{"router":{"name":"other"}}`, 200, "router.name"), remove("network", "/routers/{router}", 204), remove("network", "/subnets/{subnet}", 204), remove("network", "/networks/{network}", 204)},
	"heat neutron name lookups GET /v2.0/{collection}?name=": {get("network", "/networks?name=n&fields=id", "networks"), get("network", "/subnets?name=n&fields=id", "subnets"), get("network", "/routers?name=n&fields=id", "routers")},
	"heat neutron GET /v2.0/extensions":                      {get("network", "/extensions", "extensions")},
	"heat neutron PUT /v2.0/routers/{id}/add_router_interface|remove_router_interface": {
		put("network", "/routers/{router}/add_router_interface", `{"subnet_id":"{subnet}"}`, 200, "port_id subnet_id"), put("network", "/routers/{router}/remove_router_interface", `{"subnet_id":"{subnet}"}`, 200, "port_id")},
	"heat cinder volumes, snapshots, backups, volume types, qos specs": {
		get("block-storage", "/volumes", "volumes"), get("block-storage", "/snapshots", "snapshots"), get("block-storage", "/types/{type}", "volume_type.extra_specs"),
		send("block-storage", "/backups", `{"backup":{"volume_id":"{volume}","name":"b"}}`, 202, "backup.id"), get("block-storage", "/backups", "backups"), get("block-storage", "/backups/detail", "backups"),
		send("block-storage", "/qos-specs", `{"qos_specs":{"name":"{name}","consumer":"front-end","total_iops_sec":"10"}}`, 200, "qos_specs.id"), get("block-storage", "/qos-specs", "qos_specs")},
	"heat cinder GET /v3/extensions": {get("block-storage", "/extensions", "extensions")},

	"ironic keystone token validation":                                   {{service: "identity", method: "GET", path: "/auth/tokens", header: subject, status: 200, has: "token.user"}},
	"ironic neutron GET /v2.0/networks/{name or id}":                     {get("network", "/networks/{network}", "network.id"), get("network", "/networks?name=provisioning", "networks")},
	"ironic neutron POST /v2.0/ports":                                    {send("network", "/ports", `{"port":{"network_id":"{network}","admin_state_up":true,"binding:vnic_type":"baremetal","device_owner":"baremetal:none","binding:host_id":"{device}","device_id":"{device}","mac_address":"52:54:00:11:22:33","binding:profile":{"local_link_information":[{"switch_id":"aa","port_id":"p0","switch_info":"s"}]}}}`, 201, "port.fixed_ips port.binding:profile")},
	"ironic neutron GET /v2.0/ports?network_id=&mac_address=|device_id=": {get("network", "/ports?network_id={network}&mac_address=52:54:00:11:22:33", "ports"), get("network", "/ports?device_id={device}", "ports")},
	"ironic neutron GET|PUT|DELETE /v2.0/ports/{id}":                     {get("network", "/ports/{port}", "port.id"), put("network", "/ports/{port}", `{"port":{"binding:vnic_type":"baremetal","binding:host_id":"{device}","binding:profile":{}}}`, 200, "port.status"), remove("network", "/ports/{port}", 204)},
	"ironic neutron GET /v2.0/subnets/{id}":                              {get("network", "/subnets/{subnet}", "subnet.cidr")},
	"ironic neutron GET /v2.0/agents?binary=":                            {get("network", "/agents?binary=neutron-openvswitch-agent", "agents")},
	"ironic glance GET /v2/images/{id}":                                  {get("image", "/images/{image}", "checksum os_hash_algo os_hash_value")},
	"ironic glance GET /v2/images/{id}/file":                             {get("image", "/images/{image}/file", "")},
	"ironic glance GET /v2/images/{id}/members":                          {get("image", "/images/{image}/members", "members")},
	"ironic cinder GET /v3/volumes/{id}":                                 {get("block-storage", "/volumes/{volume}", "volume.attachments")},
	"ironic cinder POST /v3/volumes/{id}/action": {
		action(`{"os-reserve":null}`, 202), action(`{"os-unreserve":null}`, 202), action(`{"os-initialize_connection":{"connector":{"ip":"127.0.0.1","host":"one"}}}`, 200),
		action(`{"os-attach":{"instance_uuid":"{device}","mountpoint":"ironic_mountpoint","mode":"rw"}}`, 202), action(`{"os-begin_detaching":null}`, 202),
		action(`{"os-terminate_connection":{"connector":{}}}`, 202), action(`{"os-detach":{}}`, 202),
		action(`{"os-set_image_metadata":{"metadata":{"a":"b"}}}`, 200), send("block-storage", "/volumes/{volume}/metadata", `{"metadata":{"ironic_node_uuid":"n"}}`, 200, "metadata")},
}

// texts are the contract's by server and service: a list of calls as objects or
// as texts.
func texts(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var entries []json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil // a sentence
	}
	var all []string
	for _, entry := range entries {
		var text string
		var one struct{ Call string }
		if json.Unmarshal(entry, &text) != nil {
			if err := json.Unmarshal(entry, &one); err != nil {
				t.Fatal(err)
			}
			text, _, _ = strings.Cut(one.Call, ": {")
			text = strings.TrimSuffix(text, ":")
		}
		all = append(all, text)
	}
	return all
}

func TestCallsOfTheServers(t *testing.T) {
	t.Parallel()
	c := readContract(t)
	cloud, tokens := start(t)
	asked := map[string]bool{}
	t.Run("calls", func(t *testing.T) {
		for server, raw := range c.ServerSide {
			var services map[string]json.RawMessage
			if err := json.Unmarshal(raw, &services); err != nil {
				t.Fatal(err)
			}
			for service, calls := range services {
				if elsewhere[server+": "+service] != "" {
					continue
				}
				for _, text := range texts(t, calls) {
					name := server + " " + service + " " + text
					requests, ok := served[name]
					if !ok {
						t.Errorf("nothing is asked for %q", name)
						continue
					}
					asked[name] = true
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						w := newWorld(t, cloud, tokens)
						w.made["demo_password"] = cloud.Password("demo")
						for _, r := range requests {
							w.send(r)
						}
					})
				}
			}
		}
	})
	for name := range served {
		if !asked[name] {
			t.Errorf("%q is not in the contract", name)
		}
	}
}

// send asks one request; "{made}" is what the last one of them made.
func (w *world) send(r request) {
	w.t.Helper()
	service, user, as := strings.Cut(r.service, " as ")
	if !as {
		user = "admin"
	}
	header := r.header.Clone()
	for _, name := range []string{"X-Subject-Token", "X-Service-Token"} {
		if of := header.Get(name); of != "" {
			header.Set(name, w.tokens[of])
		}
	}
	if service == "block-storage" && strings.HasPrefix(r.path, "/volumes/") {
		w.idle() // what went before may be at work
	}
	path := w.fill(r.path)
	answer := w.ask(user, service, "3.71", r.method, path, w.fill(r.body), header)
	if answer.Status != r.status {
		w.t.Fatalf("%s %s: status %d, want %d: %s", r.method, path, answer.Status, r.status, answer.Text)
	}
	for one := range answer.Body {
		if id := answer.TextAt(one, "id"); id != "" && r.method == http.MethodPost {
			w.made["made"] = id
		}
	}
	for _, path := range strings.Fields(r.has) {
		var value any = answer.Body
		for _, step := range strings.Split(path, ".") {
			object, _ := value.(map[string]any)
			inner, ok := object[step]
			if !ok {
				w.t.Errorf("%s %s lacks %q: %s", r.method, r.path, path, answer.Text)
				break
			}
			value = inner
		}
	}
}

// idle waits until nothing is at work on the world's volume.
func (w *world) idle() {
	w.t.Helper()
	id := w.thing("volume")
	w.until("/volumes/"+id, "volume", func(status string) bool {
		return status != "downloading" && status != "creating" && status != "uploading"
	})
}
