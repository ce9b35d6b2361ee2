package config

// The typed configuration. Each field's key, default and meaning stand in keys.go.

import (
	"net/netip"
	"time"
)

// Config is the whole configuration of a Holdfast process.
type Config struct {
	Database      Database      `koanf:"database"`
	Temporal      Temporal      `koanf:"temporal"`
	API           API           `koanf:"api"`
	Compute       Compute       `koanf:"compute"`
	Baremetal     Baremetal     `koanf:"baremetal"`
	Conductor     Conductor     `koanf:"conductor"`
	Inspection    Inspection    `koanf:"inspection"`
	Orchestration Orchestration `koanf:"orchestration"`
	Retention     Retention     `koanf:"retention"`
	Policy        Policy        `koanf:"policy"`
	OpenStack     OpenStack     `koanf:"openstack"`
	Keystone      Keystone      `koanf:"keystone"`
	Hostlink      Hostlink      `koanf:"hostlink"`
	Secrets       Secrets       `koanf:"secrets"`
	Metadata      Metadata      `koanf:"metadata"`
	Host          Host          `koanf:"host"`
	Log           Log           `koanf:"log"`
	Telemetry     Telemetry     `koanf:"telemetry"`
	Dev           Dev           `koanf:"dev"`
}

// Database is where Holdfast's own data lives.
type Database struct {
	DSN            string `koanf:"dsn"`
	MaxConnections int32  `koanf:"max_connections"`
}

// Temporal is the engine that carries operations out.
type Temporal struct {
	Address   string `koanf:"address"`
	Namespace string `koanf:"namespace"`
}

// API is the HTTP server of the service APIs.
type API struct {
	Listen string `koanf:"listen"`
	// PublicURL is the scheme, host and port that links show; empty takes them
	// from each request.
	PublicURL        string        `koanf:"public_url"`
	TrustForwarded   bool          `koanf:"trust_forwarded"`
	CORSOrigins      []string      `koanf:"cors_origins"`
	CORSCredentials  bool          `koanf:"cors_credentials"`
	CORSMaxAge       time.Duration `koanf:"cors_max_age"`
	MaxBodyBytes     int64         `koanf:"max_body_bytes"`
	RequestTimeout   time.Duration `koanf:"request_timeout"`
	StarterQueue     int           `koanf:"starter_queue"`
	StarterWorkers   int           `koanf:"starter_workers"`
	MaxPageSize      int           `koanf:"max_page_size"`
	ShutdownPatience time.Duration `koanf:"shutdown_patience"`
}

// Baremetal is what the bare metal service does by configuration.
type Baremetal struct {
	PolicyFile string `koanf:"policy_file"`
	// ServiceProject is that of services which may work with every node.
	ServiceProject string `koanf:"service_project"`
	// EnabledHardwareTypes are what nodes may be.
	EnabledHardwareTypes []string `koanf:"enabled_hardware_types"`
	// EnabledBootInterfaces are what they may be booted by.
	EnabledBootInterfaces []string `koanf:"enabled_boot_interfaces"`
	// EnabledRescueInterfaces are what they may be rescued by.
	EnabledRescueInterfaces []string `koanf:"enabled_rescue_interfaces"`
	// EnabledInspectInterfaces are what they may be inspected by.
	EnabledInspectInterfaces []string `koanf:"enabled_inspect_interfaces"`
	// EnabledFirmwareInterfaces are what their firmware may be looked at by.
	EnabledFirmwareInterfaces []string `koanf:"enabled_firmware_interfaces"`
	// EnabledNetworkInterfaces are what their networks may be changed by, and
	// DefaultNetworkInterface is the one of those that don't say; empty is the best of them.
	EnabledNetworkInterfaces []string `koanf:"enabled_network_interfaces"`
	DefaultNetworkInterface  string   `koanf:"default_network_interface"`
	// AgentNetworks are those in which ramdisks are reached.
	AgentNetworks []netip.Prefix `koanf:"agent_networks"`
	// AgentRequireTLS refuses ramdisks without TLS.
	AgentRequireTLS bool `koanf:"agent_require_tls"`
}

// Conductor is what works on nodes; the API reads how long it may be silent, and
// how long nodes may take.
type Conductor struct {
	// Name is what it is called; empty is the machine's name. Group are the nodes
	// that it works on.
	Name  string `koanf:"name"`
	Group string `koanf:"group"`
	// Networks are those that BMCs are reached in, ImageNetworks those that kernels
	// and ramdisks are read from.
	Networks      []netip.Prefix `koanf:"networks"`
	ImageNetworks []netip.Prefix `koanf:"image_networks"`
	// BootListen serves what nodes are booted from by HTTP, from BootDir, and BootURL is
	// where it is read; TFTPListen serves it by TFTP, and TFTPRoot has the boot loaders.
	// CallbackURL is where ramdisks find the API. What nodes are booted from that don't
	// say it themselves are DeployKernel, DeployRamdisk and Bootloader.
	BootListen         string `koanf:"boot_listen"`
	BootDir            string `koanf:"boot_dir"`
	BootURL            string `koanf:"boot_url"`
	TFTPListen         string `koanf:"tftp_listen"`
	TFTPRoot           string `koanf:"tftp_root"`
	CallbackURL        string `koanf:"callback_url"`
	DeployKernel       string `koanf:"deploy_kernel"`
	DeployRamdisk      string `koanf:"deploy_ramdisk"`
	Bootloader         string `koanf:"bootloader"`
	KernelAppendParams string `koanf:"kernel_append_params"`
	// DHCPProvider tells machines that are booted by the network where to begin: TFTPServer is
	// who serves that by TFTP, and the others are the boot loaders, nodes.ReadLoaders.
	DHCPProvider      string   `koanf:"dhcp_provider"`
	TFTPServer        string   `koanf:"tftp_server"`
	IPXELoader        string   `koanf:"ipxe_bootfile_name"`
	UEFIIPXELoader    string   `koanf:"uefi_ipxe_bootfile_name"`
	IPXELoadersByArch []string `koanf:"ipxe_bootfile_name_by_arch"`
	PXELoader         string   `koanf:"pxe_bootfile_name"`
	UEFIPXELoader     string   `koanf:"uefi_pxe_bootfile_name"`
	PXELoadersByArch  []string `koanf:"pxe_bootfile_name_by_arch"`

	// LinkListen answers the API's questions about nodes.
	LinkListen string `koanf:"link_listen"`

	HeartbeatInterval       time.Duration `koanf:"heartbeat_interval"`
	HeartbeatTimeout        time.Duration `koanf:"heartbeat_timeout"`
	PowerStateChangeTimeout time.Duration `koanf:"power_state_change_timeout"`
	SoftPowerOffTimeout     time.Duration `koanf:"soft_power_off_timeout"`
	// SyncPowerStateInterval is the time between two comparisons of nodes' power with
	// their rows, PowerFailureRecoveryInterval that between two looks at those that could
	// not be brought into step.
	SyncPowerStateInterval       time.Duration `koanf:"sync_power_state_interval"`
	PowerFailureRecoveryInterval time.Duration `koanf:"power_failure_recovery_interval"`
	PowerStateSyncMaxRetries     int           `koanf:"power_state_sync_max_retries"`
	ForcePowerStateDuringSync    bool          `koanf:"force_power_state_during_sync"`
	VerifyBMCClock               bool          `koanf:"verify_bmc_clock"`
	SyncPowerStateWorkers        int           `koanf:"sync_power_state_workers"`
	// NodeLockedRetryAttempts is how often a node is looked at that somebody works on,
	// before that is told to who would change it.
	NodeLockedRetryAttempts int           `koanf:"node_locked_retry_attempts"`
	NodeLockedRetryInterval time.Duration `koanf:"node_locked_retry_interval"`
	// AutomatedClean has nodes cleaned before they are available.
	AutomatedClean bool `koanf:"automated_clean"`
	// EraseDevicesPriority and EraseDevicesMetadataPriority are those of the two ways to
	// erase disks before that; 0 is never, and less is as the ramdisk says.
	EraseDevicesPriority         int `koanf:"erase_devices_priority"`
	EraseDevicesMetadataPriority int `koanf:"erase_devices_metadata_priority"`
	// The networks of Neutron, by their ids or names, that nodes are on for their ramdisks,
	// and the security groups of their ports there.
	CleaningNetwork       string   `koanf:"cleaning_network"`
	ProvisioningNetwork   string   `koanf:"provisioning_network"`
	RescuingNetwork       string   `koanf:"rescuing_network"`
	InspectionNetwork     string   `koanf:"inspection_network"`
	ServicingNetwork      string   `koanf:"servicing_network"`
	CleaningNetworkSG     []string `koanf:"cleaning_network_security_groups"`
	ProvisioningNetworkSG []string `koanf:"provisioning_network_security_groups"`
	RescuingNetworkSG     []string `koanf:"rescuing_network_security_groups"`
	InspectionNetworkSG   []string `koanf:"inspection_network_security_groups"`
	ServicingNetworkSG    []string `koanf:"servicing_network_security_groups"`
	// AddAllPorts gives nodes ports there for all of their own; FailOnPortBindingFailure
	// fails those whose ports can't be bound, and AllowDisablingPowerOff lets those have
	// networks that are never turned off.
	AddAllPorts              bool `koanf:"add_all_ports"`
	FailOnPortBindingFailure bool `koanf:"fail_on_port_binding_failure"`
	AllowDisablingPowerOff   bool `koanf:"allow_disabling_power_off"`
	// AutomaticLesseeSource says who the lessees are of nodes that are deployed.
	AutomaticLesseeSource string `koanf:"automatic_lessee_source"`
}

// Inspection is what is made of what ramdisks find on nodes.
type Inspection struct {
	// Hooks are what is done with it, in their order, and KernelParams what the ramdisk's
	// kernel is told beside where it is told.
	Hooks        []string `koanf:"hooks"`
	KernelParams string   `koanf:"kernel_params"`
	// AddPorts says which interfaces get ports, KeepPorts which ports a node keeps;
	// UpdatePXEEnabled has ports say by which of them the machine was booted, and
	// PreCreatePorts gives those that the BMC tells ports, too.
	AddPorts         string `koanf:"add_ports"`
	KeepPorts        string `koanf:"keep_ports"`
	UpdatePXEEnabled bool   `koanf:"update_pxe_enabled"`
	PreCreatePorts   bool   `koanf:"pre_create_ports"`
	// DiskPartitioningSpacing keeps a GiB of the root disk for partitions, and
	// PCIDeviceAlias are what capabilities call PCI devices.
	DiskPartitioningSpacing bool     `koanf:"disk_partitioning_spacing"`
	PCIDeviceAlias          []string `koanf:"pci_device_alias"`
	// KnownAccelerators are PCI devices that are known as such; empty for the usual ones.
	KnownAccelerators []string `koanf:"known_accelerators"`
	// PhysicalNetworkCIDRMap are the physical networks of ports, by their addresses.
	PhysicalNetworkCIDRMap []string `koanf:"physical_network_cidr_map"`
	// MaskSecrets says which rules see secrets: always none, never none, or sensitive ones.
	// RuleNetworks are those that rules make requests in.
	MaskSecrets  string         `koanf:"mask_secrets"`
	RuleNetworks []netip.Prefix `koanf:"rule_networks"`
}

// Compute is what the compute service does by configuration.
type Compute struct {
	HostDownAfter time.Duration `koanf:"host_down_after"`
	Listen        string        `koanf:"listen"`
	PolicyFile    string        `koanf:"policy_file"`
	// PCIAlias is what flavors call devices: internal/pci.ReadAliases.
	PCIAlias []string `koanf:"pci_alias"`
	// WeightMultipliers and ImageWeights are what the scheduler prefers:
	// internal/scheduler.New.
	WeightMultipliers []string `koanf:"weight_multipliers"`
	ImageWeights      []string `koanf:"image_props_weight_setting"`
	// VIFPluggingTimeout is how long a build waits for Neutron to plug its ports.
	VIFPluggingTimeout time.Duration `koanf:"vif_plugging_timeout"`
	VIFPluggingIsFatal bool          `koanf:"vif_plugging_is_fatal"`
	// VolumePatience is how long a build waits for Cinder to make its volumes.
	VolumePatience time.Duration `koanf:"volume_patience"`
	// SyncPowerStateInterval is the time between two looks at guests' power.
	SyncPowerStateInterval time.Duration `koanf:"sync_power_state_interval"`
	// ReclaimInstanceInterval is how long a deleted server can be restored; 0
	// deletes at once.
	ReclaimInstanceInterval time.Duration `koanf:"reclaim_instance_interval"`
	// ShelvedOffloadTime is how long shelved servers stay on their hosts; 0 takes
	// them off at once, less than 0 never.
	ShelvedOffloadTime time.Duration `koanf:"shelved_offload_time"`
	// ResizeConfirmWindow is how long a resized server waits to be confirmed before
	// that is done for its owner; 0 waits for ever.
	ResizeConfirmWindow time.Duration `koanf:"resize_confirm_window"`
	// AllowResizeToSameHost lets a resized server stay on its host.
	AllowResizeToSameHost bool `koanf:"allow_resize_to_same_host"`
	// HealInstanceInfoCacheInterval is the time between two looks at addresses.
	HealInstanceInfoCacheInterval time.Duration `koanf:"heal_instance_info_cache_interval"`
}

// Orchestration is what the orchestration service does by configuration.
type Orchestration struct {
	PolicyFile string `koanf:"policy_file"`
	// MaxStacks is how many stacks a project may have, MaxConfigs how many software
	// configs, MaxResources how many resources a stack; less than 0 is no bound.
	MaxStacks    int `koanf:"max_stacks_per_tenant"`
	MaxConfigs   int `koanf:"max_software_configs_per_tenant"`
	MaxResources int `koanf:"max_resources_per_stack"`
	// MaxSnapshots is how many snapshots a stack may have; less than 0 is no bound.
	MaxSnapshots int `koanf:"max_snapshots_per_stack"`
	// Abandon allows stacks to be exported, and deleted without what they have made.
	Abandon bool `koanf:"enable_stack_abandon"`
	// Adopt allows stacks to be made of what is there already.
	Adopt bool `koanf:"enable_stack_adopt"`
	// TemplateNetworks are those in which templates are read by their URLs,
	// TemplateTimeout is how long a request waits for all of its.
	TemplateNetworks []netip.Prefix `koanf:"template_networks"`
	TemplateTimeout  time.Duration  `koanf:"template_fetch_timeout"`
	// GuestURL is where guests reach the Orchestration API, without its version;
	// empty is below api.public_url.
	GuestURL string `koanf:"guest_url"`
	// CFNGuestURL is where they reach the CloudFormation API, likewise.
	CFNGuestURL string `koanf:"cfn_guest_url"`
	// StackDomain is the domain of users that stacks make, by its id or its name.
	StackDomainID   string `koanf:"stack_user_domain_id"`
	StackDomainName string `koanf:"stack_user_domain_name"`
	// StackDomainAdmin is whoever administers it; empty is nobody, and then stacks make
	// no users.
	StackDomainAdmin    string `koanf:"stack_domain_admin"`
	StackDomainPassword string `koanf:"stack_domain_admin_password"`
	// ResourceTypes is a folder with types of resources beside those of Holdfast.
	ResourceTypes string `koanf:"resource_types"`
}

// Retention is how long what is over is kept; 0 is for ever.
type Retention struct {
	Interval       time.Duration `koanf:"interval"`
	DeletedServers time.Duration `koanf:"deleted_servers"`
	Operations     time.Duration `koanf:"operations"`
}

// Policy is how the services' rules are enforced.
type Policy struct {
	EnforceScope       bool `koanf:"enforce_scope"`
	EnforceNewDefaults bool `koanf:"enforce_new_defaults"`
}

// OpenStack is the service user that Neutron, Cinder and Glance are called as.
type OpenStack struct {
	AuthURL       string `koanf:"auth_url"`
	Username      string `koanf:"username"`
	UserDomain    string `koanf:"user_domain"`
	Password      string `koanf:"password"`
	Project       string `koanf:"project"`
	ProjectDomain string `koanf:"project_domain"`
	Region        string `koanf:"region"`
}

// Keystone is how tokens are checked, by the service user of OpenStack.
type Keystone struct {
	WWWAuthenticateURI string        `koanf:"www_authenticate_uri"`
	TokenCacheTime     time.Duration `koanf:"token_cache_time"`
	TokenCacheSize     int           `koanf:"token_cache_size"`
	Timeout            time.Duration `koanf:"timeout"`
	CAFile             string        `koanf:"cafile"`
}

// Hostlink is the connection between hosts and the API.
type Hostlink struct {
	URL     string `koanf:"url"`
	Listen  string `koanf:"listen"`
	KeyFile string `koanf:"key_file"`
}

// Secrets is how secrets are kept at rest.
type Secrets struct {
	KeyFile string `koanf:"key_file"`
}

// Metadata is the service that servers ask about themselves.
type Metadata struct {
	Listen            string `koanf:"listen"`
	ProxySharedSecret string `koanf:"proxy_shared_secret"`
	DHCPDomain        string `koanf:"dhcp_domain"`
}

// Host is a worker beside a hypervisor.
type Host struct {
	Name     string `koanf:"name"`
	StateDir string `koanf:"state_dir"`
	Driver   string `koanf:"driver"`
	// LinkListen is where it serves reads.
	LinkListen string `koanf:"link_listen"`
	// ReportInterval is the time between two heartbeats.
	ReportInterval time.Duration `koanf:"report_interval"`
	// LibvirtSocket is where libvirtd listens.
	LibvirtSocket string `koanf:"libvirt_socket"`
	// ImageCacheGB is GiB for images that no guest uses.
	ImageCacheGB int `koanf:"image_cache_gb"`
	// CPUSharedSet, CPUDedicatedSet and ReservedHugePages say what the host's CPUs
	// and pages are for: internal/numa.ReadSettings.
	CPUSharedSet      string   `koanf:"cpu_shared_set"`
	CPUDedicatedSet   string   `koanf:"cpu_dedicated_set"`
	ReservedHugePages []string `koanf:"reserved_huge_pages"`
	// ProviderConfig is a file of what else hosts have: internal/provider.Read.
	ProviderConfig string `koanf:"provider_config"`
	// PCIDeviceSpec is which of its devices guests may have: internal/pci.ReadLent.
	PCIDeviceSpec []string `koanf:"pci_device_spec"`
	// LiveMigration* are Nova's options of that name.
	LiveMigrationURI                string        `koanf:"live_migration_uri"`
	LiveMigrationInboundAddr        string        `koanf:"live_migration_inbound_addr"`
	LiveMigrationCompletionTimeout  time.Duration `koanf:"live_migration_completion_timeout"`
	LiveMigrationTimeoutAction      string        `koanf:"live_migration_timeout_action"`
	LiveMigrationPermitPostCopy     bool          `koanf:"live_migration_permit_post_copy"`
	LiveMigrationPermitAutoConverge bool          `koanf:"live_migration_permit_auto_converge"`
}

// Log is how the process logs.
type Log struct {
	Level  string `koanf:"level"`
	Format string `koanf:"format"`
}

// Telemetry is where the process shows its state. An empty address serves
// nothing there.
type Telemetry struct {
	APIListen     string `koanf:"api_listen"`
	ControlListen string `koanf:"control_listen"`
	HostListen    string `koanf:"host_listen"`
	// ConductorListen is that of a conductor worker.
	ConductorListen string `koanf:"conductor_listen"`
	// OTLPEndpoint is where traces go, "http://127.0.0.1:4318"; empty for none.
	OTLPEndpoint string `koanf:"otlp_endpoint"`
}

// Dev is for the development cloud and tests only.
type Dev struct {
	// StaticTokens stand in for Keystone. An API without them and without
	// Keystone doesn't start.
	StaticTokens []StaticToken `koanf:"static_tokens"`
	// HoldDir is where tests order operations to stop (internal/hold).
	HoldDir string `koanf:"hold_dir"`
}

// StaticToken is a token that is always valid, and who it speaks for.
type StaticToken struct {
	Token   string `koanf:"token"`
	User    string `koanf:"user"`
	Project string `koanf:"project"`
	// System tokens are of the whole system, and of no project.
	System bool     `koanf:"system"`
	Roles  []string `koanf:"roles"`
}
