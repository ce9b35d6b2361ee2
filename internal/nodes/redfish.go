package nodes

// What driver_info says of a Redfish service.

import (
	"net/url"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
)

// Redfish is how a node's Redfish service is reached.
type Redfish struct {
	// Address is its scheme and authority.
	Address            string
	SystemID           string
	Username, Password string
	// Verify says that its certificate is checked; CA is a file or folder of those
	// who may have signed it, empty for those that the machine trusts.
	Verify bool
	CA     string
	// Auth is "basic", "session" or "auto".
	Auth string
	// MinTLS is "1.1", "1.2" or "1.3"; empty for what is usual.
	MinTLS string
}

// Ways to enter a Redfish service.
const (
	AuthBasic   = "basic"
	AuthSession = "session"
	AuthAuto    = "auto"
)

// Redfish reads it. Errors: Invalid.
func (i Info) Redfish() (Redfish, error) {
	if !i.given("redfish_address") {
		return Redfish{}, faults.New(faults.Invalid, "MissingParameterValue",
			"Missing the following Redfish properties in node %s driver_info: ['redfish_address']", i.node.UUID)
	}
	r := Redfish{Username: i.text("redfish_username"), Password: i.text("redfish_password"), SystemID: i.text("redfish_system_id"),
		MinTLS: i.text("redfish_tls_minimum_version"), Auth: AuthAuto}
	address := i.text("redfish_address")
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme == "" || parsed.Host == "" {
		parsed, err = url.Parse("https://" + address)
	}
	if err != nil || parsed.Hostname() == "" || parsed.User != nil || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return Redfish{}, i.invalid("Invalid Redfish address %s set in driver_info/redfish_address on node %s", address, i.node.UUID)
	}
	r.Address = parsed.Scheme + "://" + parsed.Host
	if i.given("redfish_system_id") && r.SystemID == "" {
		return Redfish{}, i.invalid("Invalid value \"%s\" set in driver_info/redfish_system_id on node %s. The value should be a path (string) "+
			"to the resource that the driver will interact with. For example: /redfish/v1/Systems/1", pyjson.Repr(i.get("redfish_system_id")), i.node.UUID)
	}
	if i.given("redfish_auth_type") {
		r.Auth = i.text("redfish_auth_type")
	}
	if !slices.Contains([]string{AuthBasic, AuthSession, AuthAuto}, r.Auth) {
		return Redfish{}, i.invalid("Invalid value \"%s\" set in driver_info/redfish_auth_type on node %s. The value should be one of "+
			"\"basic\", \"session\" or \"auto\".", i.word("redfish_auth_type"), i.node.UUID)
	}
	if i.given("redfish_tls_minimum_version") && !slices.Contains([]string{"1.1", "1.2", "1.3"}, r.MinTLS) {
		return Redfish{}, i.invalid("Invalid value \"%s\" set in driver_info/redfish_tls_minimum_version on node %s. The value should be one of "+
			"\"1.1\", \"1.2\", or \"1.3\".", i.word("redfish_tls_minimum_version"), i.node.UUID)
	}
	return r, i.verify(&r)
}

// verify reads whether the service's certificate is checked, and by what.
func (i Info) verify(r *Redfish) error {
	switch value := i.get("redfish_verify_ca").(type) {
	case nil:
		r.Verify = true
	case bool:
		r.Verify = value
	case string:
		if truth, is := truths[strings.ToLower(strings.TrimSpace(value))]; is {
			r.Verify = truth
			break
		}
		if !strings.HasPrefix(value, "/") {
			return i.invalid("Invalid value type set in driver_info/redfish_verify_ca on node %s. The value should be a Boolean or the path "+
				"to a file/directory, not \"%s\"", i.node.UUID, value)
		}
		r.Verify, r.CA = true, value
	default:
		return i.invalid("Invalid value type set in driver_info/redfish_verify_ca on node %s. The value should be a Boolean or the path "+
			"to a file/directory, not \"%s\"", i.node.UUID, pyjson.Repr(value))
	}
	return nil
}

// truths are the words for true and false.
var truths = map[string]bool{"1": true, "t": true, "true": true, "on": true, "y": true, "yes": true,
	"0": false, "f": false, "false": false, "off": false, "n": false, "no": false}

// word is a value as a refusal prints it.
func (i Info) word(name string) string {
	if text, ok := i.get(name).(string); ok {
		return text
	}
	return pyjson.Repr(i.get(name))
}

func (i Info) invalid(format string, args ...any) error {
	return faults.New(faults.Invalid, "InvalidParameterValue", format, args...)
}
