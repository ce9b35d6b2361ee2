package config

// The table of keys.

import (
	"strings"
	"time"
)

// Key is one key of the configuration.
type Key struct {
	// Name is the path in the YAML file, "database.dsn".
	Name string
	// Default also fixes the type of the value.
	Default any
	// Doc is a sentence for docs/configuration.md.
	Doc string
}

// Env is the environment variable of the key, "HOLDFAST_DATABASE_DSN".
func (k Key) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
}

// Keys gives every key in the order of the documentation.
func Keys() []Key { return append([]Key(nil), keys...) }

var keys = []Key{
	{"database.dsn", "", "Address of the PostgreSQL database, as a URL or in libpq's key=value form."},
	{"database.max_connections", 0, "Most connections of one process; 0 takes the driver's default (4 or the number of CPUs)."},

	{"temporal.address", "127.0.0.1:7233", "Host and port of Temporal's frontend."},
	{"temporal.namespace", "holdfast", "Temporal namespace that the operations run in."},

	{"api.listen", "127.0.0.1:8774", "Address on which the service APIs are served."},
	{"api.public_url", "", "Scheme, host and port that links show; empty takes them from each request."},
	{"api.trust_forwarded", false, "Believe the Forwarded and X-Forwarded-* headers; only behind a proxy that sets them (oslo_middleware/enable_proxy_headers_parsing)."},
	{"api.cors_origins", []any{}, "Origins whose pages may ask the service APIs; * for every origin (cors/allowed_origin)."},
	{"api.cors_credentials", true, "Browsers may send credentials to the service APIs (cors/allow_credentials)."},
	{"api.cors_max_age", 3600 * time.Second, "How long browsers may remember what an origin may do (cors/max_age)."},
	{"api.max_body_bytes", 114688, "Longest request body (oslo_middleware/max_request_body_size)."},
	{"api.request_timeout", 60 * time.Second, "Longest time for a request, from its first byte to the last of the answer."},
	{"api.starter_queue", 1000, "Accepted operations that may wait for their start; more are left to the dispatcher."},
	{"api.starter_workers", 8, "Operations started at the same time by one API process."},
	{"api.max_page_size", 1000, "Most entries on a page of a list (api/max_limit)."},
	{"api.shutdown_patience", 5 * time.Second, "How long a stopping process finishes requests and starts what it accepted."},

	{"compute.host_down_after", 60 * time.Second, "A host not heard of for this long is down (service_down_time)."},

	{"compute.listen", "", "Address on which the compute service is served alone, its version document at /, as on its traditional port 8774; empty for none."},
	{"compute.policy_file", "", "Policy file of the compute service, YAML; its rules stand on top of the defaults, and it is read again when it changes."},
	{"compute.vif_plugging_timeout", 300 * time.Second, "How long a build waits for Neutron to plug its ports; 0 doesn't wait (vif_plugging_timeout)."},
	{"compute.volume_patience", 180 * time.Second, "How long a build waits for Cinder to make its volumes (block_device_allocate_retries times its interval)."},
	{"compute.vif_plugging_is_fatal", true, "A build whose ports are not plugged in time fails (vif_plugging_is_fatal)."},

	{"compute.sync_power_state_interval", 600 * time.Second, "Time between two comparisons of servers' power with what their hosts report; 0 compares never (sync_power_state_interval)."},
	{"compute.resize_confirm_window", time.Duration(0), "How long a resized or migrated server waits before it is confirmed of itself; 0 waits for ever (resize_confirm_window)."},
	{"compute.allow_resize_to_same_host", false, "A resized server may stay on its host (allow_resize_to_same_host)."},
	{"compute.reclaim_instance_interval", time.Duration(0), "How long a deleted server can be restored before it is reclaimed; 0 deletes at once (reclaim_instance_interval)."},
	{"compute.shelved_offload_time", time.Duration(0), "How long a shelved server stays on its host; 0 takes it off at once, -1s never (shelved_offload_time)."},
	{"compute.heal_instance_info_cache_interval", 600 * time.Second, "Time between two looks at servers' addresses in Neutron, whose events about them may be lost; 0 never looks (heal_instance_info_cache_interval)."},
	{"orchestration.policy_file", "", "Policy file of the orchestration service, YAML, as compute.policy_file."},
	{"orchestration.max_stacks_per_tenant", 512, "How many stacks a project may have; less than 0 is no bound (max_stacks_per_tenant)."},
	{"orchestration.max_software_configs_per_tenant", 4096, "How many software configs a project may have; less than 0 is no bound (max_software_configs_per_tenant)."},
	{"orchestration.max_resources_per_stack", 1000, "How many resources a stack may have; less than 0 is no bound (max_resources_per_stack)."},
	{"orchestration.max_snapshots_per_stack", 32, "How many snapshots a stack may have; less than 0 is no bound (max_snapshots_per_stack)."},
	{"orchestration.enable_stack_abandon", false, "Stacks may be exported, with whatever is secret of them, and deleted without what they have made (enable_stack_abandon)."},
	{"orchestration.enable_stack_adopt", false, "Stacks may be made of what is there already, as an abandoned stack has left it (enable_stack_adopt)."},
	{"orchestration.template_networks", []any{}, "Networks that templates are read from by their URLs, as prefixes; empty for every one but loopback, link-local and private ones."},
	{"orchestration.template_fetch_timeout", 30 * time.Second, "Longest time that a request waits for all templates that it names by URL (template_fetch_timeout)."},
	{"orchestration.guest_url", "", "Where guests reach the Orchestration API, without its version, as https://cloud/orchestration; empty is below api.public_url."},
	{"orchestration.cfn_guest_url", "", "Where guests reach the CloudFormation API, without its version, as https://cloud/cloudformation; empty is below api.public_url. Signed URLs for signals begin with it."},
	{"orchestration.stack_user_domain_id", "", "Id of the Keystone domain of users that stacks make for signals (stack_user_domain_id)."},
	{"orchestration.stack_user_domain_name", "", "Name of that domain, where its id isn't set (stack_user_domain_name)."},
	{"orchestration.stack_domain_admin", "", "Name of the domain's administrator; empty has stacks make no users (stack_domain_admin)."},
	{"orchestration.stack_domain_admin_password", "", "Password of the domain's administrator (stack_domain_admin_password)."},
	{"orchestration.resource_types", "", "Folder with types of resources beside those of Holdfast, a YAML file each: see [resource-types.md](resource-types.md)."},

	{"baremetal.policy_file", "", "Policy file of the bare metal service, YAML; its rules stand on top of the defaults, and it is read again when it changes."},
	{"baremetal.service_project", "", "Name of the project whose users with the role service may do to every node what the default rules let services, as building servers on nodes needs; empty for none (rbac_service_project_name, with rbac_service_role_elevated_access)."},
	{"baremetal.enabled_hardware_types", []any{"ipmi", "redfish"}, "Hardware types that nodes may have: fake-hardware, ipmi, manual-management, redfish (enabled_hardware_types)."},
	{"baremetal.enabled_boot_interfaces", []any{"ipxe", "pxe", "redfish-virtual-media"}, "Boot interfaces that nodes may have: http, http-ipxe, ipxe, pxe, redfish-virtual-media (enabled_boot_interfaces)."},
	{"baremetal.enabled_rescue_interfaces", []any{"no-rescue"}, "Rescue interfaces that nodes may have: agent, no-rescue (enabled_rescue_interfaces)."},
	{"baremetal.enabled_inspect_interfaces", []any{"no-inspect", "redfish"}, "Inspect interfaces that nodes may have: agent, no-inspect, redfish (enabled_inspect_interfaces)."},
	{"baremetal.enabled_firmware_interfaces", []any{"no-firmware"}, "Firmware interfaces that nodes may have: no-firmware, redfish (enabled_firmware_interfaces)."},
	{"baremetal.enabled_network_interfaces", []any{"flat", "noop"}, "Network interfaces that nodes may have: flat, neutron, noop (enabled_network_interfaces)."},
	{"baremetal.default_network_interface", "", "The one that nodes have which don't say; empty is the first of flat, neutron and noop that is enabled (default_network_interface)."},
	{"baremetal.agent_networks", []any{}, "Networks in which ramdisks are reached, as 192.0.2.0/24; none are all but loopback and link local ones."},
	{"baremetal.agent_require_tls", true, "Ramdisks that don't speak TLS are refused ([agent]require_tls)."},

	{"conductor.name", "", "What a conductor worker is called; empty is the machine's name (host)."},
	{"conductor.group", "", "Nodes of this group are a conductor worker's (conductor/conductor_group)."},
	{"conductor.networks", []any{}, "Networks that BMCs are reached in, as prefixes; empty for every one but the machine's own and link-local ones."},
	{"conductor.image_networks", []any{}, "Networks that kernels and ramdisks are read from, as prefixes; empty for every one but the machine's own and link-local ones."},
	{"conductor.boot_listen", "", "Where a conductor worker serves what nodes are booted from by HTTP; empty serves nothing, and nodes can't be booted."},
	{"conductor.boot_dir", "", "Folder in which a conductor worker makes that ([deploy]http_root)."},
	{"conductor.boot_url", "", "Where BMCs and machines read what boot_listen serves ([deploy]http_url)."},
	{"conductor.tftp_listen", "", "Where a conductor worker serves boot loaders, and what they ask for, by TFTP, as 192.0.2.1:69; empty serves nothing by it."},
	{"conductor.tftp_root", "", "Folder of the boot loaders that machines begin with when they are booted by the network, served by TFTP and HTTP; empty has none ([pxe]tftp_root)."},
	{"conductor.dhcp_provider", "neutron", "Who tells machines that are booted by the network where to begin: neutron, by the options of their ports there (network interfaces flat and neutron), or none, a DHCP server of the site's ([dhcp]dhcp_provider)."},
	{"conductor.tftp_server", "", "Address that these options give of the server by TFTP; empty is the host of boot_url ([pxe]tftp_server)."},
	{"conductor.ipxe_bootfile_name", "undionly.kpxe", "iPXE as BIOSes begin with it ([pxe]ipxe_bootfile_name)."},
	{"conductor.uefi_ipxe_bootfile_name", "snponly.efi", "The same of UEFI ([pxe]uefi_ipxe_bootfile_name)."},
	{"conductor.ipxe_bootfile_name_by_arch", []any{}, "The same of machines whose cpu_arch says so, whatever they start by, as aarch64:snponly-arm64.efi ([pxe]ipxe_bootfile_name_by_arch)."},
	{"conductor.pxe_bootfile_name", "pxelinux.0", "The boot loader that BIOSes begin with whose nodes don't have iPXE ([pxe]pxe_bootfile_name)."},
	{"conductor.uefi_pxe_bootfile_name", "bootx64.efi", "The same of UEFI ([pxe]uefi_pxe_bootfile_name)."},
	{"conductor.pxe_bootfile_name_by_arch", []any{}, "The same of machines whose cpu_arch says so, as ipxe_bootfile_name_by_arch ([pxe]pxe_bootfile_name_by_arch)."},
	{"conductor.callback_url", "", "Where ramdisks find the bare metal API ([deploy]external_callback_url)."},
	{"conductor.deploy_kernel", "", "Kernel of the ramdisks of nodes that don't name one ([conductor]deploy_kernel)."},
	{"conductor.deploy_ramdisk", "", "Its initial file system ([conductor]deploy_ramdisk)."},
	{"conductor.bootloader", "", "Image of an EFI system partition that starts it from a medium ([conductor]bootloader)."},
	{"conductor.kernel_append_params", "nofb vga=normal", "What its kernel is told beside what it needs ([redfish]kernel_append_params, [pxe]kernel_append_params)."},
	{"conductor.link_listen", "127.0.0.1:0", "Address on which a conductor worker answers the API's questions, as host.link_listen."},
	{"conductor.heartbeat_interval", 10 * time.Second, "Time between two signs of life of a conductor worker (conductor/heartbeat_interval)."},
	{"conductor.heartbeat_timeout", 60 * time.Second, "A conductor worker not heard of for this long gets no new work (conductor/heartbeat_timeout)."},
	{"conductor.power_state_change_timeout", 60 * time.Second, "How long a node may take to come to another power (conductor/power_state_change_timeout)."},
	{"conductor.soft_power_off_timeout", 600 * time.Second, "How long a node's own system may take for it (conductor/soft_power_off_timeout)."},
	{"conductor.sync_power_state_interval", 120 * time.Second, "Time between two comparisons of nodes' power with their rows; 0 compares never (conductor/sync_power_state_interval)."},
	{"conductor.power_failure_recovery_interval", 300 * time.Second, "Time between two looks at nodes in maintenance because of their power; 0 looks never (conductor/power_failure_recovery_interval)."},
	{"conductor.power_state_sync_max_retries", 3, "How often in a row a node's power may be out of step before the node is in maintenance (conductor/power_state_sync_max_retries)."},
	{"conductor.force_power_state_during_sync", true, "Nodes whose power is out of step are brought to what their rows say; otherwise the rows are (conductor/force_power_state_during_sync)."},
	{"conductor.verify_bmc_clock", false, "BMCs whose clocks are wrong are set right when their nodes are verified ([redfish]enable_verify_bmc_clock)."},
	{"conductor.sync_power_state_workers", 100, "How many BMCs a conductor worker asks for their power at a time (conductor/sync_power_state_workers)."},
	{"conductor.node_locked_retry_attempts", 3, "How often a node is looked at that somebody works on, before that is told to who would change it (conductor/node_locked_retry_attempts)."},
	{"conductor.node_locked_retry_interval", time.Second, "Time between two of those looks (conductor/node_locked_retry_interval)."},
	{"conductor.automatic_lessee_source", "instance", "Who the lessee is of a node that is deployed and has none, until it is undeployed: instance, the project that its instance_info names as project_id; request; none (conductor/automatic_lessee_source)."},
	{"conductor.automated_clean", true, "Nodes that don't say are cleaned before they are available (conductor/automated_clean)."},
	{"conductor.erase_devices_priority", -1, "Priority at which automated cleaning has a ramdisk erase disks; 0 never does, less is as the ramdisk says ([deploy]erase_devices_priority)."},
	{"conductor.erase_devices_metadata_priority", -1, "The same of erasing what disks say of partitions and file systems ([deploy]erase_devices_metadata_priority)."},
	{"conductor.cleaning_network", "", "Name or id of the network of Neutron that nodes are on while their ramdisks clean them, as driver_info/cleaning_network of one; flat and neutron need it ([neutron]cleaning_network)."},
	{"conductor.provisioning_network", "", "The same while they are deployed, which neutron needs ([neutron]provisioning_network)."},
	{"conductor.rescuing_network", "", "The same while their rescue begins, which neutron needs for it ([neutron]rescuing_network)."},
	{"conductor.inspection_network", "", "The same while they are inspected; empty leaves them where they are ([neutron]inspection_network)."},
	{"conductor.servicing_network", "", "The same while they are serviced, which neutron needs for it ([neutron]servicing_network)."},
	{"conductor.cleaning_network_security_groups", []any{}, "Ids of the security groups of the ports there, of the network interface neutron; none are Neutron's default ([neutron]cleaning_network_security_groups)."},
	{"conductor.provisioning_network_security_groups", []any{}, "The same of the provisioning network ([neutron]provisioning_network_security_groups)."},
	{"conductor.rescuing_network_security_groups", []any{}, "The same of the rescuing network ([neutron]rescuing_network_security_groups)."},
	{"conductor.inspection_network_security_groups", []any{}, "The same of the inspection network ([neutron]inspection_network_security_groups)."},
	{"conductor.servicing_network_security_groups", []any{}, "The same of the servicing network ([neutron]servicing_network_security_groups)."},
	{"conductor.add_all_ports", false, "On these networks a node that boots by PXE has a port for each of its own, not only for those that boot; the others have no address ([neutron]add_all_ports)."},
	{"conductor.fail_on_port_binding_failure", true, "A node whose network interface is neutron fails if one of its ports can't be bound ([neutron]fail_on_port_binding_failure)."},
	{"conductor.allow_disabling_power_off", false, "Nodes that are never turned off may have the network interface neutron ([neutron]allow_disabling_power_off)."},

	{"inspection.hooks", []any{"$default_hooks"}, "What is done with what a ramdisk finds, in this order; $default_hooks are ramdisk-error, validate-interfaces, ports and architecture, others boot-mode, cpu-capabilities, cpus, memory, root-device, raid-device, pci-devices, extra-hardware, local-link-connection, physical-network, parse-lldp, accelerators ([inspector]hooks)."},
	{"inspection.kernel_params", "", "What the kernel of a ramdisk that inspects is told beside what it needs ([inspector]extra_kernel_params)."},
	{"inspection.add_ports", "pxe", "Which interfaces get ports: all, active, pxe, disabled ([inspector]add_ports)."},
	{"inspection.keep_ports", "all", "Which ports a node keeps: all, present, added ([inspector]keep_ports)."},
	{"inspection.update_pxe_enabled", true, "Ports say by which of them the machine was booted ([inspector]update_pxe_enabled)."},
	{"inspection.pre_create_ports", true, "The interfaces that the BMC tells get ports, too ([inspector]pre_create_ports)."},
	{"inspection.disk_partitioning_spacing", true, "A GiB of the root disk is kept for partitions ([inspector]disk_partitioning_spacing)."},
	{"inspection.pci_device_alias", []any{}, "What capabilities call PCI devices, as {\"vendor_id\": \"8086\", \"product_id\": \"1520\", \"name\": \"nic\"} ([inspector]pci_device_alias)."},
	{"inspection.known_accelerators", []any{}, "PCI devices that the hook accelerators finds, as {\"vendor_id\": \"10de\", \"device_id\": \"1eb8\", \"type\": \"GPU\", \"device_info\": \"T4\"}; empty for those that are known without ([inspector]known_accelerators, a file)."},
	{"inspection.physical_network_cidr_map", []any{}, "The physical networks that ports are in by the addresses of their interfaces, as 192.0.2.0/24:physnet1, for the hook physical-network ([inspector]physical_network_cidr_map)."},
	{"inspection.mask_secrets", "always", "Inspection rules don't see secrets of what was found: always, never, or sensitive, but for sensitive rules ([inspection_rules]mask_secrets)."},
	{"inspection.rule_networks", []any{}, "Networks that the requests of inspection rules go to, as prefixes; empty for every one but the machine's own and link-local ones."},

	{"retention.interval", time.Hour, "Time between two purges of what is old; 0 purges never."},
	{"retention.deleted_servers", 720 * time.Hour, "How long deleted servers and stacks are kept, with their operations; 0 for ever."},
	{"retention.operations", 8760 * time.Hour, "How long finished operations of servers that live are kept, and shown as their actions; 0 for ever."},

	{"policy.enforce_scope", true, "Refuse tokens whose scope (project, domain, system) a rule isn't for (oslo_policy/enforce_scope)."},
	{"policy.enforce_new_defaults", true, "Only the present defaults of rules count, not also their deprecated ones (oslo_policy/enforce_new_defaults)."},

	{"openstack.auth_url", "", "Keystone's address, for calls to Neutron, Cinder and Glance; empty for none."},
	{"openstack.username", "nova", "Name of the service user."},
	{"openstack.user_domain", "Default", "Name of the service user's domain."},
	{"openstack.password", "", "Password of the service user."},
	{"openstack.project", "service", "Name of the project that the service user is an admin of."},
	{"openstack.project_domain", "Default", "Name of that project's domain."},
	{"openstack.region", "", "Region whose services are called; empty takes the first of the catalog."},

	{"keystone.www_authenticate_uri", "", "Where clients are told to get tokens, with every 401; empty takes openstack.auth_url (www_authenticate_uri)."},
	{"keystone.token_cache_time", 300 * time.Second, "How long a valid token is believed without asking again, and so the longest time that a revoked one still works (token_cache_time)."},
	{"keystone.token_cache_size", 10000, "Most tokens that are remembered."},
	{"keystone.timeout", 10 * time.Second, "Longest time for a call to Keystone."},
	{"keystone.cafile", "", "File with certificates to trust beside the system's; empty for none (cafile)."},

	{"hostlink.url", "http://127.0.0.1:8775", "Where hosts reach the host link of the API."},
	{"hostlink.listen", "127.0.0.1:8775", "Address on which the API serves the host link."},
	{"hostlink.key_file", "", "File with the deployment's host link key."},

	{"compute.pci_alias", []any{}, "What flavors call devices of hosts, each as JSON with name, vendor_id and product_id, and perhaps device_type and numa_policy (pci/alias)."},
	{"compute.weight_multipliers", []any{}, "How much each weigher of the scheduler counts, where not as in the original, an entry name=number each, as ram_weight_multiplier=2; an aggregate's metadata may say otherwise (filter_scheduler/*_weight_multiplier)."},
	{"compute.image_props_weight_setting", []any{}, "Which properties of a server's image weigh that servers of a host have too, an entry property=ratio each; empty is all alike. It counts where image_props_weight_multiplier is not 0 (filter_scheduler/image_props_weight_setting)."},
	{"secrets.key_file", "", "File with the keys that secrets are encrypted with at rest, a line each: an id and 64 hex digits; the first one encrypts. It is made if it is missing."},

	{"metadata.listen", "", "Address on which the metadata service answers Neutron's proxy; empty for none."},
	{"metadata.proxy_shared_secret", "", "Secret that the proxy signs with (metadata_proxy_shared_secret)."},
	{"metadata.dhcp_domain", "novalocal", "Domain behind the hostnames that servers are told; empty for none (dhcp_domain)."},

	{"host.name", "", "Name of this host; empty takes the machine's."},
	{"host.state_dir", "", "Folder in which a host keeps its identity and, with the simulated driver, its guests."},
	{"host.driver", "libvirt", "What runs guests: libvirt, simulated, or ironic, with which each node of the bare metal service is a host (needs openstack.*)."},
	{"host.link_listen", "127.0.0.1:0", "Address on which a host serves reads to the API, which is told it: no 0.0.0.0, and a name that resolves to this machine will do. Port 0 takes a free one."},
	{"host.libvirt_socket", "/run/libvirt/libvirt-sock", "Where this host's libvirtd listens."},
	{"host.image_cache_gb", 20, "Room for images that no guest on the host uses at the moment, in GiB."},
	{"host.cpu_shared_set", "", "CPUs on which guests float, as 0-3,^2; empty is none beside a cpu_dedicated_set, and all without (compute/cpu_shared_set)."},
	{"host.cpu_dedicated_set", "", "CPUs that guests' CPUs are pinned to, one each; empty for none (compute/cpu_dedicated_set)."},
	{"host.reserved_huge_pages", []any{}, "Pages that no guest gets, an entry node:0,size:2048,count:64 for each cell and size (reserved_huge_pages)."},
	{"host.provider_config", "", "File with custom resource classes and traits of the hosts of this machine, as Nova's provider.yaml; it is read when the worker starts; empty for none (compute/provider_config_location)."},
	{"host.pci_device_spec", []any{}, "Devices that guests may have, each as JSON with vendor_id, product_id or address, whose parts may be * (pci/device_spec)."},
	{"host.live_migration_uri", "qemu+tls://%s/system", "How other hosts' libvirtds reach this host's; %s stands for its inbound address."},
	{"host.live_migration_inbound_addr", "", "Where this host takes the memory and the disks of guests that come from others; empty is host.name."},
	{"host.live_migration_completion_timeout", 800 * time.Second, "How long a live migration may take for each GiB that it moves, 2 at least; 0 is for ever."},
	{"host.live_migration_timeout_action", "abort", "What follows: abort, or force_complete."},
	{"host.live_migration_permit_post_copy", false, "Whether a migration that is forced to complete may start the guest on the other host before its memory is there; it is paused otherwise."},
	{"host.live_migration_permit_auto_converge", false, "Whether a guest may be slowed down that writes faster than its memory is moved."},
	{"host.report_interval", 10 * time.Second, "Time between two heartbeats of a host or a control worker (report_interval)."},

	{"log.level", "info", "Least level that is logged: debug, info, warn or error."},
	{"log.format", "json", "Form of the log: json or text."},

	{"telemetry.api_listen", "127.0.0.1:9174", "Address of /metrics and /healthcheck of the API; empty for none."},
	{"telemetry.control_listen", "127.0.0.1:9175", "The same of a control worker."},
	{"telemetry.host_listen", "127.0.0.1:9176", "The same of a host worker."},
	{"telemetry.conductor_listen", "127.0.0.1:9177", "The same of a conductor worker."},
	{"telemetry.otlp_endpoint", "", "URL of an OpenTelemetry collector (OTLP over HTTP) that gets traces; empty for none."},

	{"dev.static_tokens", []any{}, "Tokens that are always valid, each with token, user, project and roles. For the development cloud and tests; never on a network."},
	{"dev.hold_dir", "", "Folder of orders to stop operations at named points, for tests; empty for none."},
}
