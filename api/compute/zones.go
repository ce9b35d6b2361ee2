package compute

// GET /os-availability-zone and /os-availability-zone/detail

import (
	"maps"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store/compute"
)

// zone is an availability zone: its services that are enabled. It is available
// if there are any.
type zone []*compute.Service

// listZones leaves out the zone of the control plane.
func (a *API) listZones(r *rest.Request) (*rest.Response, error) {
	return a.zones(r, compute.HostBinary, func(zone) any { return nil })
}

func (a *API) listZonesDetail(r *rest.Request) (*rest.Response, error) {
	return a.zones(r, "", func(z zone) any {
		if len(z) == 0 {
			return nil
		}
		hosts := map[string]map[string]any{}
		for _, s := range z {
			if hosts[s.Host] == nil {
				hosts[s.Host] = map[string]any{}
			}
			hosts[s.Host][s.Binary] = map[string]any{"active": true, "available": s.Up(a.HostDownAfter), "updated_at": microsecond(s.LastSeen)}
		}
		return hosts
	})
}

// zones answers the zones of services by name, the available ones first.
func (a *API) zones(r *rest.Request, binary string, hosts func(zone) any) (*rest.Response, error) {
	services, err := compute.ListServices(r.Context(), a.DB.Pool, "", binary)
	if err != nil {
		return nil, err
	}
	zones := map[string]zone{}
	for _, s := range services {
		z := zones[s.Zone]
		if !s.Disabled {
			z = append(z, s)
		}
		zones[s.Zone] = z
	}
	shown := []map[string]any{}
	for _, available := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(zones)) {
			if z := zones[name]; len(z) > 0 == available {
				shown = append(shown, map[string]any{"zoneName": name, "zoneState": map[string]bool{"available": available}, "hosts": hosts(z)})
			}
		}
	}
	return rest.JSON(map[string]any{"availabilityZoneInfo": shown}), nil
}
