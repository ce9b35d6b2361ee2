package scheduler

// The hints of a request (os:scheduler_hints).

import (
	"encoding/json"
	"net/netip"
	"strings"

	"holdfast.dev/internal/faults"
)

// Hints are what a request says of where its servers may run. SameHost and
// DifferentHost are ids of servers; nil is no such hint.
type Hints struct {
	Group                   string
	SameHost, DifferentHost []string
	Near                    netip.Prefix
	Query                   *Query
}

// ReadHints reads hints whose types the request's schema has checked; unknown
// ones are nobody's. faults.Invalid: a network or a query that is none.
func ReadHints(hints map[string]any) (h Hints, err error) {
	if groups := texts(hints["group"]); len(groups) > 0 {
		h.Group = groups[0]
	}
	h.SameHost, h.DifferentHost = texts(hints["same_host"]), texts(hints["different_host"])
	if h.Near, err = network(hints); err != nil {
		return h, err
	}
	switch query := hints["query"].(type) {
	case string:
		if query != "" {
			h.Query, err = ParseQuery(query)
		}
	case map[string]any:
		// The schema lets an object through, which was never a query.
		text, _ := json.Marshal(query)
		h.Query, err = ParseQuery(string(text))
	}
	return h, err
}

// texts reads a text or a list of them; nil if there are none.
func texts(value any) (all []string) {
	switch v := value.(type) {
	case string:
		if v != "" {
			all = append(all, v)
		}
	case []any:
		for _, item := range v {
			if t, ok := item.(string); ok {
				all = append(all, t)
			}
		}
	}
	return all
}

// network reads build_near_host_ip and cidr, which is /24 unless said.
func network(hints map[string]any) (netip.Prefix, error) {
	address, _ := hints["build_near_host_ip"].(string)
	if address == "" {
		return netip.Prefix{}, nil
	}
	length, _ := hints["cidr"].(string)
	if length == "" {
		length = "/24"
	}
	near, err := netip.ParsePrefix(address + "/" + strings.TrimPrefix(length, "/"))
	if err != nil {
		return netip.Prefix{}, faults.Wrap(err, faults.Invalid, "InvalidHint", "the scheduler hints build_near_host_ip and cidr make no network: %s%s", address, length)
	}
	return near.Masked(), nil
}
