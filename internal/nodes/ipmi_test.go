package nodes

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/ipmi"
	"holdfast.dev/internal/store/baremetal"
)

// What driver_info says of a BMC that speaks IPMI, and what it must not say.
func TestIPMI(t *testing.T) {
	t.Parallel()
	both := []ipmi.Suite{ipmi.SHA256, ipmi.SHA1}
	for info, want := range map[string]IPMI{
		`{"ipmi_address": "192.0.2.7"}`: {Address: "192.0.2.7:623", Suites: both, Privilege: ipmi.Administrator, KeepsBootDevice: true},
		`{"ipmi_address": "fd00::7", "ipmi_port": "6230", "ipmi_username": "root", "ipmi_password": 1234, "ipmi_priv_level": "OPERATOR", "ipmi_cipher_suite": "3",
			"ipmi_hex_kg_key": "0aFF", "ipmi_disable_boot_timeout": "no", "ipmi_protocol_version": 2.0, "ipmi_bridging": "no"}`: {
			Address: "[fd00::7]:6230", Username: "root", Password: "1234", Suites: []ipmi.Suite{ipmi.SHA1}, Privilege: ipmi.Operator, Kg: []byte{0x0a, 0xff}},
		`{"ipmi_address": "bmc-7.example.org", "ipmi_port": 1, "ipmi_cipher_suite": 17, "ipmi_disable_boot_timeout": true}`: {
			Address: "bmc-7.example.org:1", Suites: []ipmi.Suite{ipmi.SHA256}, Privilege: ipmi.Administrator, KeepsBootDevice: true},
	} {
		if got, err := ipmiOf(t, info); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", info, got, err)
		}
	}
	for more, says := range map[string]string{
		`"ipmi_address": ""`:                                     "Missing the following IPMI credentials in node's driver_info: ['ipmi_address'].",
		`"ipmi_address": "a b"`:                                  `Invalid IPMI address "a b" for node n. Must be a valid IP address or hostname.`,
		`"ipmi_address": 7`:                                      `Invalid IPMI address "7" for node n. Must be a valid IP address or hostname.`,
		`"ipmi_address": "h:623"`:                                `Invalid IPMI address "h:623" for node n. Must be a valid IP address or hostname.`,
		`"ipmi_port": 65536`:                                     `ipmi_port "65536" is not a valid port.`,
		`"ipmi_port": "ssh"`:                                     `ipmi_port "ssh" is not a valid port.`,
		`"ipmi_protocol_version": "3"`:                           "Invalid IPMI protocol version value 3, the valid value can be one of 2.0, 1.5",
		`"ipmi_protocol_version": 1.5`:                           "this release talks IPMI 2.0 alone, not 1.5",
		`"ipmi_bridging": "triple"`:                              "Invalid value for ipmi_bridging: triple, the valid value can be one of: ['single', 'dual', 'no']",
		`"ipmi_bridging": "single"`:                              "['ipmi_target_channel', 'ipmi_target_address'] not provided",
		`"ipmi_priv_level": "ROOT"`:                              "Invalid privilege level value:ROOT, the valid value can be one of ADMINISTRATOR, CALLBACK, OPERATOR, USER",
		`"ipmi_hex_kg_key": "abc"`:                               "Number of ipmi_hex_kg_key characters is not even",
		`"ipmi_hex_kg_key": "secret"`:                            "ipmi_hex_kg_key on node n is not a key of up to 20 bytes in hexadecimal digits",
		`"ipmi_cipher_suite": "best"`:                            "Invalid cipher suite best, expected a number",
		`"ipmi_cipher_suite": 0`:                                 "this release has the cipher suites 3 and 17, not 0",
		`"ipmi_username": "seventeen letters"`:                   "ipmi_username on node n is longer than 16 bytes",
		`"ipmi_password": "twenty-one characters"`:               "ipmi_password on node n is longer than 20 bytes",
		`"ipmi_protocol_version": "1.5", "ipmi_cipher_suite": 3`: "Cipher suites cannot be used with IPMI 1.5",
		`"ipmi_bridging": "dual", "ipmi_target_channel": 0, "ipmi_target_address": 0, "ipmi_transit_channel": 0, "ipmi_transit_address": 0`: "this release reaches no BMC by way of another one (ipmi_bridging)",
	} {
		if _, err := ipmiOf(t, fmt.Sprintf(`{"ipmi_address": "h", %s}`, more)); !faults.Is(err, faults.Invalid) || faults.As(err).Message != says {
			t.Errorf("%s: %v", more, err)
		}
	}
}

func ipmiOf(t *testing.T, driverInfo string) (IPMI, error) {
	t.Helper()
	info, err := DriverInfo(nil, &baremetal.Node{UUID: "n", DriverInfo: json.RawMessage(driverInfo)})
	if err != nil {
		t.Fatal(err)
	}
	return info.IPMI()
}
