package compute

// GET /os-availability-zone and /os-availability-zone/detail

import (
	"maps"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store/compute"
)

// zone is an availability zone and the hosts in it.
type zone struct {
	hosts []*compute.Host
	// available: one of its hosts at least takes servers.
	available bool
}

func (a *API) listZones(r *rest.Request) (*rest.Response, error) {
	return a.zones(r, func(zone) any { return nil })
}

func (a *API) listZonesDetail(r *rest.Request) (*rest.Response, error) {
	return a.zones(r, func(z zone) any {
		if !z.available {
			return nil
		}
		shown := map[string]any{}
		for _, h := range z.hosts {
			shown[h.Name] = map[string]any{computeBinary: map[string]any{
				"active": !h.Disabled, "available": h.Up(a.HostDownAfter), "updated_at": microsecond(h.LastSeen),
			}}
		}
		return shown
	})
}

// zones answers the zones by name, those that take servers first.
func (a *API) zones(r *rest.Request, hosts func(zone) any) (*rest.Response, error) {
	all, err := compute.ListHosts(r.Context(), a.DB.Pool, compute.HostFilter{})
	if err != nil {
		return nil, err
	}
	zones := map[string]zone{}
	for _, h := range all {
		z := zones[h.AvailabilityZone]
		zones[h.AvailabilityZone] = zone{append(z.hosts, h), z.available || !h.Disabled}
	}
	shown := []map[string]any{}
	for _, available := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(zones)) {
			if z := zones[name]; z.available == available {
				shown = append(shown, map[string]any{"zoneName": name, "zoneState": map[string]bool{"available": available}, "hosts": hosts(z)})
			}
		}
	}
	return rest.JSON(map[string]any{"availabilityZoneInfo": shown}), nil
}
