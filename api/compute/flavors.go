package compute

// GET /flavors, /flavors/detail, /flavors/{id}, and what is shown of a flavor.

import (
	"strconv"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/store/compute"
)

// flavorView is a flavor about to be shown to somebody.
type flavorView struct {
	*compute.Flavor
	request *rest.Request
}

// flavorField is one row of the table of fields.
type flavorField struct {
	name     string
	versions microversion.Range
	policy   string
	value    func(flavorView) any
}

const policyFlavorExtraSpecs = "os_compute_api:os-flavor-extra-specs:index"

var flavorFields = []flavorField{
	{name: "id", value: func(v flavorView) any { return v.ID }},
	{name: "name", value: func(v flavorView) any { return v.Name }},
	{name: "ram", value: func(v flavorView) any { return v.MemoryMB }},
	{name: "disk", value: func(v flavorView) any { return v.RootGB }},
	{name: "swap", versions: microversion.Until(74), value: func(v flavorView) any { return emptyIfZero(v.SwapMB) }},
	{name: "swap", versions: microversion.From(75), value: func(v flavorView) any { return v.SwapMB }},
	{name: "OS-FLV-EXT-DATA:ephemeral", value: func(v flavorView) any { return v.EphemeralGB }},
	{name: "OS-FLV-DISABLED:disabled", versions: microversion.Until(101), value: func(v flavorView) any { return v.Disabled }},
	{name: "vcpus", value: func(v flavorView) any { return v.VCPUs }},
	{name: "os-flavor-access:is_public", value: func(v flavorView) any { return v.Public }},
	{name: "rxtx_factor", versions: microversion.Until(101), value: func(v flavorView) any { return v.RXTXFactor }},
	{name: "links", value: func(v flavorView) any { return selfLinks(v.request, "flavors", v.ID) }},
	{name: "description", versions: microversion.From(55), value: func(v flavorView) any { return v.Description }},
	{name: "extra_specs", versions: microversion.From(61), policy: policyFlavorExtraSpecs, value: func(v flavorView) any { return orEmpty(v.ExtraSpecs) }},
}

// detail is the flavor as shown alone and in detailed lists.
func (v flavorView) detail() map[string]any {
	shown := make(map[string]any, len(flavorFields))
	for _, f := range flavorFields {
		if f.versions.Has(v.request.Version) && (f.policy == "" || v.request.Allows(f.policy, nil)) {
			shown[f.name] = f.value(v)
		}
	}
	return shown
}

// summary is the flavor as shown in plain lists.
func (v flavorView) summary() map[string]any {
	shown := map[string]any{"id": v.ID, "name": v.Name, "links": selfLinks(v.request, "flavors", v.ID)}
	if v.request.Has(55) {
		shown["description"] = v.Description
	}
	return shown
}

func (a *API) listFlavors(r *rest.Request) (*rest.Response, error) {
	return a.flavorPage(r, "flavors", flavorView.summary)
}

func (a *API) listFlavorsDetail(r *rest.Request) (*rest.Response, error) {
	return a.flavorPage(r, "flavors/detail", flavorView.detail)
}

func (a *API) flavorPage(r *rest.Request, path string, show func(flavorView) map[string]any) (*rest.Response, error) {
	filter, err := a.flavorFilter(r)
	if err != nil {
		return nil, err
	}
	page, err := compute.ListFlavors(r.Context(), a.DB.Pool, filter)
	if err != nil {
		return nil, err
	}
	shown := make([]map[string]any, len(page))
	for i, flavor := range page {
		shown[i] = show(flavorView{flavor, r})
	}
	body := map[string]any{"flavors": shown}
	if len(page) > 0 {
		if links := nextLinks(r, path, len(page), filter.Limit, page[len(page)-1].ID); links != nil {
			body["flavors_links"] = links
		}
	}
	return rest.JSON(body), nil
}

// flavorFilter reads the query. Others than administrators see what is public
// or theirs, and nothing disabled.
func (a *API) flavorFilter(r *rest.Request) (f compute.FlavorFilter, err error) {
	if f.Limit, err = pageSize(r.Query, a.MaxPageSize); err != nil {
		return f, err
	}
	public := true
	f.ProjectID, f.Public = r.Identity.ProjectID, &public
	if r.Identity.IsAdmin {
		f.Disabled = true
		if f.Public, err = publicFilter(r.Query.Get("is_public")); err != nil {
			return f, err
		}
		if f.Public == nil || !*f.Public {
			f.ProjectID = ""
		}
	}
	if f.MinMemoryMB, err = leastFilter(r, "minRam"); err != nil {
		return f, err
	}
	if f.MinRootGB, err = leastFilter(r, "minDisk"); err != nil {
		return f, err
	}
	if f.Marker = r.Query.Get("marker"); f.Marker == "" && r.Query.Has("marker") {
		return f, faults.New(faults.Invalid, "MarkerNotFound", "marker [] not found")
	}
	f.SortKey = r.Query.Get("sort_key")
	f.Descending = r.Query.Get("sort_dir") == "desc"
	if r.Has(102) {
		f.Name = r.Query.Get("name")
	}
	return f, nil
}

// publicFilter reads "is_public": public ones if not sent, all for "none".
func publicFilter(word string) (*bool, error) {
	if word == "" {
		word = "true"
	}
	if word == "None" || word == "none" {
		return nil, nil
	}
	public, ok := parseTruth(word)
	if !ok {
		return nil, faults.New(faults.Invalid, "InvalidFilter", "Invalid is_public filter [%s]", word)
	}
	return &public, nil
}

// leastFilter reads a lower bound.
func leastFilter(r *rest.Request, name string) (int64, error) {
	word := r.Query.Get(name)
	if word == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return 0, faults.New(faults.Invalid, "InvalidFilter", "Invalid %s filter [%s]", name, word)
	}
	return n, nil
}

func (a *API) showFlavor(r *rest.Request) (*rest.Response, error) {
	flavor, err := compute.GetFlavor(r.Context(), a.DB.Pool, r.Identity.Scope(), r.Param("id"))
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"flavor": flavorView{flavor, r}.detail()}), nil
}

// emptyIfZero is "" for none, as swap was shown before 2.75.
func emptyIfZero(n int64) any {
	if n == 0 {
		return ""
	}
	return n
}
