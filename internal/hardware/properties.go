package hardware

// What interfaces read of driver_info (contracts: drivers.json,
// listed_by_GET_driver_properties), and what it means.

// listed are the names that each implementation of an interface reads.
var listed = map[Interface]map[string][]string{
	BIOS: {
		"redfish": redfishProperties,
	},
	Boot: {
		"ipxe":                  netbootProperties,
		"pxe":                   netbootProperties,
		"redfish-virtual-media": isoProperties,
		"redfish-https":         isoProperties,
		"http":                  netbootProperties,
		"http-ipxe":             netbootProperties,
	},
	Console: {
		"ipmitool-socat":    {"ipmi_address", "ipmi_bridging", "ipmi_cipher_suite", "ipmi_disable_boot_timeout", "ipmi_force_boot_device", "ipmi_hex_kg_key", "ipmi_local_address", "ipmi_password", "ipmi_port", "ipmi_priv_level", "ipmi_protocol_version", "ipmi_target_address", "ipmi_target_channel", "ipmi_terminal_port", "ipmi_transit_address", "ipmi_transit_channel", "ipmi_username"},
		"redfish-graphical": redfishProperties,
	},
	Deploy: {
		"bootc":        agentProperties,
		"custom-agent": agentProperties,
		"direct":       agentProperties,
	},
	Firmware: {
		"redfish": redfishProperties,
	},
	Inspect: {
		"redfish": redfishProperties,
	},
	Management: {
		"ipmitool": ipmiProperties,
		"redfish":  redfishProperties,
	},
	Power: {
		"ipmitool": ipmiProperties,
		"redfish":  redfishProperties,
	},
	RAID: {
		"redfish": redfishProperties,
	},
	Vendor: {
		"fake":        {"B1", "B2"},
		"FakeVendorA": {"A1", "A2"},
		"ipmitool":    ipmiProperties,
	},
}

var (
	redfishProperties = []string{"firmware_update_unresponsive_bmc_wait", "redfish_address", "redfish_auth_type", "redfish_password", "redfish_system_id", "redfish_tls_ciphers", "redfish_tls_minimum_version", "redfish_username", "redfish_verify_ca"}
	netbootProperties = []string{"deploy_kernel", "deploy_ramdisk", "force_persistent_boot_device", "kernel_append_params", "rescue_kernel", "rescue_ramdisk"}
	isoProperties     = []string{"deploy_iso", "deploy_kernel", "deploy_ramdisk"}
	agentProperties   = []string{"agent_verify_ca", "deploy_forces_oob_reboot", "deploy_kernel", "deploy_ramdisk", "image_download_source", "image_http_proxy", "image_https_proxy", "image_no_proxy"}
	ipmiProperties    = []string{"ipmi_address", "ipmi_bridging", "ipmi_cipher_suite", "ipmi_disable_boot_timeout", "ipmi_force_boot_device", "ipmi_hex_kg_key", "ipmi_local_address", "ipmi_password", "ipmi_port", "ipmi_priv_level", "ipmi_protocol_version", "ipmi_target_address", "ipmi_target_channel", "ipmi_transit_address", "ipmi_transit_channel", "ipmi_username"}
)

// meanings say what a property is for.
var meanings = map[string]string{
	"A1":                                    "Means nothing. Required.",
	"A2":                                    "Means nothing. Optional.",
	"B1":                                    "Means nothing. Required.",
	"B2":                                    "Means nothing. Required.",
	"agent_verify_ca":                       "Boolean or CA path for the agent certificate. Optional.",
	"deploy_forces_oob_reboot":              "Power off out of band after deploy; default false. Optional.",
	"deploy_iso":                            "Prebuilt agent ISO; required when kernel and ramdisk are not set (virtual media boots only). Optional.",
	"deploy_kernel":                         "Agent kernel; required unless deploy_iso or conductor default. Optional.",
	"deploy_ramdisk":                        "Agent ramdisk; required unless deploy_iso or conductor default. Optional.",
	"firmware_update_unresponsive_bmc_wait": "Seconds to wait during firmware updates. Optional.",
	"force_persistent_boot_device":          "Default, Always, Never. Optional.",
	"image_download_source":                 "Http (default), local, swift. Optional.",
	"image_http_proxy":                      "Proxy URL for the agent. Optional.",
	"image_https_proxy":                     "Proxy URL for the agent. Optional.",
	"image_no_proxy":                        "No-proxy list. Optional.",
	"ipmi_address":                          "BMC host or IP. Required.",
	"ipmi_bridging":                         "No (default), single, dual. Optional.",
	"ipmi_cipher_suite":                     "3 or 17; not with protocol 1.5. Optional.",
	"ipmi_disable_boot_timeout":             "Override of [ipmi]disable_boot_timeout. Optional.",
	"ipmi_force_boot_device":                "Send the boot device at each power on; default false. Optional.",
	"ipmi_hex_kg_key":                       "Kg key, even number of hex digits. Optional.",
	"ipmi_local_address":                    "Local IPMB address for bridging. Optional.",
	"ipmi_password":                         "Password. Optional.",
	"ipmi_port":                             "RMCP port (default 623). Optional.",
	"ipmi_priv_level":                       "ADMINISTRATOR (default), CALLBACK, OPERATOR, USER. Optional.",
	"ipmi_protocol_version":                 "2.0 (default) or 1.5. Optional.",
	"ipmi_target_address":                   "Needed for single and dual bridging. Optional.",
	"ipmi_target_channel":                   "Needed for single and dual bridging. Optional.",
	"ipmi_terminal_port":                    "Console only. Optional.",
	"ipmi_transit_address":                  "Needed for dual bridging. Optional.",
	"ipmi_transit_channel":                  "Needed for dual bridging. Optional.",
	"ipmi_username":                         "Default NULL user. Optional.",
	"kernel_append_params":                  "Extra kernel parameters; %default% expands to the configured value. Optional.",
	"redfish_address":                       "BMC URL; https assumed when the scheme is missing; a path becomes the service root prefix. Required.",
	"redfish_auth_type":                     "Basic, session or auto; default [redfish]auth_type (auto). Optional.",
	"redfish_password":                      "Account password. Optional.",
	"redfish_system_id":                     "ComputerSystem path; needed only when the BMC manages several systems. Optional.",
	"redfish_tls_ciphers":                   "Cipher list. Optional.",
	"redfish_tls_minimum_version":           "1.1, 1.2 or 1.3. Optional.",
	"redfish_username":                      "Account name. Optional.",
	"redfish_verify_ca":                     "Boolean or CA path; default true. Optional.",
	"rescue_kernel":                         "Rescue kernel. Optional.",
	"rescue_ramdisk":                        "Rescue ramdisk. Optional.",
}
