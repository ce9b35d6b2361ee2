package network

// Names of ports as DNS would give them, and what else a port shows that no part
// of this service decides.

import (
	"context"
	"net/netip"
	"regexp"
	"strings"
)

// namesEnd with it, as Neutron's dns_domain does without configuration.
const namesEnd = "openstacklocal."

var (
	label  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	domain = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+$`)
)

// dnsName is one label, or none.
func dnsName(value any) (any, error) {
	s, ok := value.(string)
	if !ok || s != "" && !label.MatchString(strings.TrimSuffix(s, ".")) {
		return nil, reason("'%.100v' not a valid PQDN or FQDN. Reason: a label has from 1 to 63 letters, digits and hyphens.", value)
	}
	return strings.TrimSuffix(s, "."), nil
}

// dnsDomain is a whole name with its last dot, or none.
func dnsDomain(value any) (any, error) {
	s, ok := value.(string)
	if !ok || len(s) > longText || s != "" && !domain.MatchString(s) {
		return nil, reason("'%.100v' is not a valid FQDN.", value)
	}
	return s, nil
}

// portNames shows what a port's addresses are called.
func portNames(_ context.Context, _ querier, docs []document) error {
	for _, port := range docs {
		name, assigned := port.text("dns_name"), []any{}
		for _, ip := range port.objects("fixed_ips") {
			host := name
			if address, err := netip.ParseAddr(ip.text("ip_address")); host == "" && err == nil {
				host = "host-" + strings.NewReplacer(".", "-", ":", "-").Replace(address.StringExpanded())
			}
			assigned = append(assigned, map[string]any{"ip_address": ip["ip_address"], "hostname": host, "fqdn": host + "." + namesEnd})
		}
		port["dns_name"], port["dns_assignment"] = name, assigned
		port["qos_policy_id"], port["resource_request"] = nil, nil
	}
	return nil
}
