package baremetal

// Conductors: who is there to work on nodes.

import (
	"cmp"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/baremetal"
)

var conductorResource = resource{
	one: "conductor", many: "conductors", key: "hostname",
	fields: []field{
		{"hostname", 49, listed | sort},
		{"conductor_group", 49, listed | sort},
		{"alive", 49, listed},
		{"drivers", 49, 0},
		{"created_at", 49, sort},
		{"updated_at", 49, sort},
	},
}

// sorted are the columns that conductors are sorted by.
var sorted = map[string]func(a, b *baremetal.Conductor) int{
	"hostname":        func(a, b *baremetal.Conductor) int { return strings.Compare(a.Hostname, b.Hostname) },
	"conductor_group": func(a, b *baremetal.Conductor) int { return strings.Compare(a.Group, b.Group) },
	"created_at":      func(a, b *baremetal.Conductor) int { return a.CreatedAt.Compare(b.CreatedAt) },
	"updated_at":      func(a, b *baremetal.Conductor) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
	"":                func(a, b *baremetal.Conductor) int { return cmp.Compare(a.ID, b.ID) },
}

// listConductors answers GET /conductors. There are no more of them than processes.
func (a *API) listConductors(r *rest.Request) (*rest.Response, error) {
	l, err := conductorResource.listing(r, nil, a.MaxPageSize, false)
	if err != nil {
		return nil, err
	}
	all, err := baremetal.Conductors(r.Context(), a.DB.Pool)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(x, y *baremetal.Conductor) int {
		n := cmp.Or(sorted[l.SortKey](x, y), sorted[""](x, y))
		if l.Descending {
			return -n
		}
		return n
	})
	if l.Marker != "" {
		at := slices.IndexFunc(all, func(c *baremetal.Conductor) bool { return c.Hostname == l.Marker })
		if at < 0 {
			return nil, noConductor(l.Marker)
		}
		all = all[at+1:]
	}
	all = all[:min(len(all), l.Limit)]
	return page(r, &conductorResource, l, all, hostname, conductorView(r, l.wanted)), nil
}

// showConductor answers GET /conductors/{hostname}.
func (a *API) showConductor(r *rest.Request) (*rest.Response, error) {
	if err := conductorResource.expected(r, byFields); err != nil {
		return nil, err
	}
	wanted, err := conductorResource.wanted(r)
	if err != nil {
		return nil, err
	}
	all, err := baremetal.Conductors(r.Context(), a.DB.Pool)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(c *baremetal.Conductor) bool { return c.Hostname == r.Param("conductor") })
	if at < 0 {
		return nil, noConductor(r.Param("conductor"))
	}
	return rest.JSON(conductorView(r, wanted)(all[at])), nil
}

func noConductor(name string) error {
	return faults.New(faults.NotFound, "ConductorNotFound", "Conductor %s could not be found.", name)
}

func hostname(c *baremetal.Conductor) string { return c.Hostname }

func conductorView(r *rest.Request, wanted []string) func(*baremetal.Conductor) map[string]any {
	return func(c *baremetal.Conductor) map[string]any { return view(r, &conductorResource, c, c.Hostname, wanted) }
}
