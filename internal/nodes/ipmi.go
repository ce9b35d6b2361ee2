package nodes

// What driver_info says of a BMC that speaks IPMI.

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/ipmi"
	"holdfast.dev/internal/pyjson"
)

// IPMI is how a node's BMC is reached.
type IPMI struct {
	// Address is host and port.
	Address            string
	Username, Password string
	// Kg is the BMC's own key, if it has one.
	Kg []byte
	// Suites are the cipher suites that it may be talked to with, best first.
	Suites    []ipmi.Suite
	Privilege ipmi.Privilege
	// KeepsBootDevice has the BMC be told not to forget after a minute what its machine is
	// to start from.
	KeepsBootDevice bool
}

// privileges are what sessions may be allowed, by their names.
var privileges = map[string]ipmi.Privilege{"ADMINISTRATOR": ipmi.Administrator, "CALLBACK": ipmi.Callback, "OPERATOR": ipmi.Operator, "USER": ipmi.User}

// hostname is what a name of a host may be.
var hostname = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.?$`)

// ipmiPort is where BMCs listen.
const ipmiPort = 623

// IPMI reads it. Errors: Invalid.
func (i Info) IPMI() (IPMI, error) {
	if !i.given("ipmi_address") {
		return IPMI{}, faults.New(faults.Invalid, "MissingParameterValue", "Missing the following IPMI credentials in node's driver_info: ['ipmi_address'].")
	}
	b := IPMI{Username: i.printed("ipmi_username"), Password: i.printed("ipmi_password"), Privilege: ipmi.Administrator,
		Suites: []ipmi.Suite{ipmi.SHA256, ipmi.SHA1}, KeepsBootDevice: true}
	host := i.text("ipmi_address")
	if _, err := netip.ParseAddr(host); err != nil && (len(host) > 255 || !hostname.MatchString(host)) {
		return IPMI{}, i.invalid("Invalid IPMI address \"%s\" for node %s. Must be a valid IP address or hostname.", i.word("ipmi_address"), i.node.UUID)
	}
	port := ipmiPort
	if i.get("ipmi_port") != nil {
		var err error
		if port, err = strconv.Atoi(i.word("ipmi_port")); err != nil || port < 0 || port > 65535 {
			return IPMI{}, i.invalid("ipmi_port \"%s\" is not a valid port.", i.word("ipmi_port"))
		}
	}
	b.Address = net.JoinHostPort(host, strconv.Itoa(port))
	for _, read := range []func(*IPMI) error{i.protocol, i.bridging, i.privilege, i.kg, i.cipherSuite, i.lengths, i.bootTimeout} {
		if err := read(&b); err != nil {
			return IPMI{}, err
		}
	}
	return b, nil
}

// protocol refuses all but IPMI 2.0: sessions of 1.5 are not encrypted.
func (i Info) protocol(*IPMI) error {
	if i.get("ipmi_protocol_version") == nil {
		return nil
	}
	switch version := i.word("ipmi_protocol_version"); version {
	case "2.0":
		return nil
	case "1.5":
		if i.get("ipmi_cipher_suite") != nil {
			return i.invalid("Cipher suites cannot be used with IPMI 1.5")
		}
		return i.invalid("this release talks IPMI 2.0 alone, not 1.5")
	default:
		return i.invalid("Invalid IPMI protocol version value %s, the valid value can be one of 2.0, 1.5", version)
	}
}

// bridging refuses BMCs that are reached by way of another one.
func (i Info) bridging(*IPMI) error {
	if i.get("ipmi_bridging") == nil {
		return nil
	}
	needs := []string{"ipmi_target_channel", "ipmi_target_address"}
	switch kind := i.word("ipmi_bridging"); kind {
	case "no":
		return nil
	case "dual":
		needs = append(needs, "ipmi_transit_channel", "ipmi_transit_address")
	case "single":
	default:
		return i.invalid("Invalid value for ipmi_bridging: %s, the valid value can be one of: ['single', 'dual', 'no']", kind)
	}
	var missing []string
	for _, name := range needs {
		if i.get(name) == nil {
			missing = append(missing, fmt.Sprintf("'%s'", name))
		}
	}
	if len(missing) > 0 {
		return faults.New(faults.Invalid, "MissingParameterValue", "[%s] not provided", strings.Join(missing, ", "))
	}
	return i.invalid("this release reaches no BMC by way of another one (ipmi_bridging)")
}

func (i Info) privilege(b *IPMI) error {
	if i.get("ipmi_priv_level") == nil {
		return nil
	}
	level, known := privileges[i.text("ipmi_priv_level")]
	if !known {
		return i.invalid("Invalid privilege level value:%s, the valid value can be one of ADMINISTRATOR, CALLBACK, OPERATOR, USER", i.word("ipmi_priv_level"))
	}
	b.Privilege = level
	return nil
}

func (i Info) kg(b *IPMI) (err error) {
	if !i.given("ipmi_hex_kg_key") {
		return nil
	}
	text := i.word("ipmi_hex_kg_key")
	if len(text)%2 != 0 {
		return i.invalid("Number of ipmi_hex_kg_key characters is not even")
	}
	if b.Kg, err = hex.DecodeString(text); err != nil || len(b.Kg) > ipmi.MaxPassword {
		return i.invalid("ipmi_hex_kg_key on node %s is not a key of up to %d bytes in hexadecimal digits", i.node.UUID, ipmi.MaxPassword)
	}
	return nil
}

func (i Info) cipherSuite(b *IPMI) error {
	if i.get("ipmi_cipher_suite") == nil {
		return nil
	}
	number, err := strconv.Atoi(i.word("ipmi_cipher_suite"))
	if err != nil {
		return i.invalid("Invalid cipher suite %s, expected a number", i.word("ipmi_cipher_suite"))
	}
	at := slices.IndexFunc(b.Suites, func(s ipmi.Suite) bool { return int(s) == number })
	if at < 0 {
		return i.invalid("this release has the cipher suites 3 and 17, not %d", number)
	}
	b.Suites = b.Suites[at : at+1]
	return nil
}

// printed is a value as it is printed; empty if there is none.
func (i Info) printed(name string) string {
	if i.get(name) == nil {
		return ""
	}
	return i.word(name)
}

// lengths refuses what no BMC can know.
func (i Info) lengths(b *IPMI) error {
	switch {
	case len(b.Username) > ipmi.MaxUsername:
		return i.invalid("ipmi_username on node %s is longer than %d bytes", i.node.UUID, ipmi.MaxUsername)
	case len(b.Password) > ipmi.MaxPassword:
		return i.invalid("ipmi_password on node %s is longer than %d bytes", i.node.UUID, ipmi.MaxPassword)
	}
	return nil
}

func (i Info) bootTimeout(b *IPMI) error {
	if value := i.get("ipmi_disable_boot_timeout"); value != nil {
		b.KeepsBootDevice = truths[strings.ToLower(strings.TrimSpace(pyjson.Str(value)))]
	}
	return nil
}
