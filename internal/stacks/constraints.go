package stacks

// Custom constraints: those that are about a value alone. Whether there is what a
// value names is found out when it is needed, by whoever owns the stack.

import (
	"encoding/json"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// Constraints are the custom constraints that no service is asked for.
var Constraints hot.Constraints = constraints{}

type constraints struct{}

// asked are the constraints that a service decides, by the services.
var asked = map[string][]string{
	"barbican":  {"container", "secret"},
	"blazar":    {"reservation"},
	"cinder":    {"backup", "qos_specs", "snapshot", "volume", "vtype"},
	"designate": {"zone"},
	"glance":    {"image"},
	"ironic":    {"node", "portgroup"},
	"keystone":  {"domain", "group", "project", "region", "role", "service", "user"},
	"magnum":    {"cluster_template"},
	"manila":    {"share_network", "share_snapshot", "share_type"},
	"mistral":   {"workflow"},
	"neutron":   {"address_scope", "flow_classifier", "lbaas.listener", "lbaas.loadbalancer", "lbaas.pool", "lbaas.provider", "network", "port", "port_pair", "port_pair_group", "qos_policy", "router", "security_group", "segment", "subnet", "subnetpool", "taas.tap_flow", "taas.tap_service"},
	"nova":      {"flavor", "host", "keypair", "server"},
	"octavia":   {"availabilityzone", "availabilityzoneprofile", "flavor", "flavorprofile", "l7policy", "listener", "loadbalancer", "pool"},
	"trove":     {"flavor"},
	"zaqar":     {"queue"},
}

// local are those that a value alone decides.
var local = map[string]func(v any) string{
	"test_constr": anything, "nova.network": anything,
	"ip_addr": text(ipAddress), "mac_addr": text(macAddress), "net_cidr": text(netCIDR), "ip_or_cidr": text(ipOrCIDR),
	"dns_name": text(dnsName), "rel_dns_name": text(relativeName), "dns_domain": text(dnsDomain),
	"cron_expression": text(cronExpression), "expiration": text(expiration), "iso_8601": text(isoTime),
	"json_string": text(jsonString), "timezone": text(timezone),
}

// Known implements hot.Constraints.
func (constraints) Known(name string) bool {
	if local[name] != nil {
		return true
	}
	service, what, _ := strings.Cut(name, ".")
	for _, one := range asked[service] {
		if one == what {
			return true
		}
	}
	return false
}

// Check implements hot.Constraints.
func (constraints) Check(name string, v any) error {
	check := local[name]
	if check == nil {
		return nil
	}
	if why := check(v); why != fine {
		return faults.New(faults.Invalid, hot.ValidationFailed, "%s", strings.TrimPrefix(why, unsaid))
	}
	return nil
}

const (
	// fine is what a check says of a good value, and unsaid of a bad one where the
	// original says no more.
	fine   = ""
	unsaid = "-"
)

func anything(any) string { return fine }

// text is a check of texts: nothing else is right.
func text(check func(string) string) func(any) string {
	return func(v any) string {
		s, ok := v.(string)
		if !ok {
			s = value.Str(v)
		}
		return check(s)
	}
}

func ipAddress(s string) string {
	if address, err := netip.ParseAddr(s); err != nil || address.Zone() != "" {
		return "Invalid IP address"
	}
	return fine
}

// macForms are the notations of hardware addresses beside those that Go reads.
var macForms = regexp.MustCompile(`^(?:[0-9A-Fa-f]{1,2}([:-])(?:[0-9A-Fa-f]{1,2}[:-]){4}[0-9A-Fa-f]{1,2}|[0-9A-Fa-f]{12}|[0-9A-Fa-f]{6}-[0-9A-Fa-f]{6})$`)

func macAddress(s string) string {
	if hw, err := net.ParseMAC(s); err == nil && len(hw) == 6 || macForms.MatchString(s) {
		return fine
	}
	return "Invalid MAC address."
}

func netCIDR(s string) string {
	whole := s
	if address, bits, ok := strings.Cut(s, "/"); ok && strings.Count(address, ".") < 3 && !strings.Contains(address, ":") {
		whole = address + strings.Repeat(".0", 3-strings.Count(address, ".")) + "/" + bits
	}
	prefix, err := netip.ParsePrefix(whole)
	if err != nil {
		if _, err := netip.ParseAddr(s); err == nil {
			return "'" + value.Clip(s, maxShown) + "' is not a valid IP subnet"
		}
		return "Invalid net cidr invalid IPNetwork " + value.Clip(s, maxShown) + " "
	}
	if prefix.Masked() != prefix {
		return "'" + value.Clip(s, maxShown) + "' isn't a recognized IP subnet cidr, '" + prefix.Masked().String() + "' is recommended"
	}
	return fine
}

func ipOrCIDR(s string) string {
	if strings.Contains(s, "/") {
		return netCIDR(s)
	}
	if ipAddress(s) != fine {
		return "'" + value.Clip(s, maxShown) + "' is not a valid IP address"
	}
	return fine
}

// Bounds of names in the DNS.
const (
	maxName  = 255
	maxLabel = 63
)

var (
	label       = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)
	numberLabel = regexp.MustCompile(`^[0-9]+$`)
)

func dnsName(s string) string {
	wrong := func(why string) string {
		return "'" + value.Clip(s, maxShown) + "' not in valid format. Reason: " + why
	}
	if s == "" {
		return fine
	}
	if len(s) > maxName {
		return wrong("'" + value.Clip(s, maxShown) + "' exceeds the " + strconv.Itoa(maxName) + " character FQDN limit")
	}
	labels := strings.Split(strings.TrimSuffix(s, "."), ".")
	for _, one := range labels {
		switch {
		case one == "":
			return wrong("Encountered an empty component")
		case len(one) > maxLabel || !label.MatchString(one):
			return wrong("Name '" + value.Clip(one, maxShown) + "' must be 1-63 characters long, each of which can only be alphanumeric or a hyphen.")
		}
	}
	if last := labels[len(labels)-1]; len(labels) > 1 && numberLabel.MatchString(last) {
		return wrong("TLD '" + value.Clip(last, maxShown) + "' must not be all numeric.")
	}
	return fine
}

func relativeName(s string) string {
	const beside = 3 // the least that a domain adds
	switch {
	case strings.HasSuffix(s, "."):
		return "'" + value.Clip(s, maxShown) + "' is a FQDN. It should be a relative domain name."
	case len(s) > maxName-beside:
		return "'" + value.Clip(s, maxShown) + "' contains '" + strconv.Itoa(len(s)) +
			"' characters. Adding a domain name will cause it to exceed the maximum length of a FQDN of '255'."
	}
	return dnsName(s)
}

func dnsDomain(s string) string {
	if why := dnsName(s); why != fine {
		return why
	}
	if s != "" && !strings.HasSuffix(s, ".") {
		return "'" + value.Clip(s, maxShown) + "' must end with '.'."
	}
	return fine
}

// cronField is one field of a cron expression.
var cronField = regexp.MustCompile(`^(?:\*|\?|[0-9A-Za-z]+(?:-[0-9A-Za-z]+)?|[Ll]|[0-9A-Za-z]+#[0-9])(?:/[0-9]+)?(?:,(?:\*|[0-9A-Za-z]+(?:-[0-9A-Za-z]+)?)(?:/[0-9]+)?)*$`)

func cronExpression(s string) string {
	fields := strings.Fields(s)
	if s == "" || strings.HasPrefix(s, "@") && len(fields) == 1 {
		return fine
	}
	if len(fields) != 5 && len(fields) != 6 {
		return "Invalid CRON expression: Exactly 5, 6 or 7 columns has to be specified for iterator expression."
	}
	for _, one := range fields {
		if !cronField.MatchString(one) {
			return "Invalid CRON expression: [" + value.Clip(s, maxShown) + "] is not acceptable"
		}
	}
	return fine
}

// times are the forms of times that are read.
var times = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05-0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
	"2006-01-02 15:04:05", "2006-01-02", "20060102T150405Z0700", "20060102T150405"}

func parseTime(s string) (time.Time, bool) {
	for _, form := range times {
		if at, err := time.Parse(form, s); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

func isoTime(s string) string {
	if _, ok := parseTime(s); !ok {
		return unsaid
	}
	return fine
}

func expiration(s string) string {
	if s == "" {
		return fine
	}
	at, ok := parseTime(strings.TrimSpace(s))
	if !ok {
		return "Expiration " + value.Clip(s, maxShown) + " is invalid: Unable to parse date string '" + value.Clip(s, maxShown) + "'"
	}
	if !at.After(time.Now()) {
		return "Expiration " + value.Clip(s, maxShown) + " is invalid: Expiration time is out of date."
	}
	return fine
}

func jsonString(s string) string {
	if s == "" || json.Valid([]byte(s)) {
		return fine
	}
	return "JSON string error: Expecting value"
}

func timezone(s string) string {
	if s == "" {
		return fine
	}
	if _, err := time.LoadLocation(s); err != nil || s == "Local" {
		return "Invalid timezone: '" + value.Clip(s, maxShown) + "'"
	}
	return fine
}
