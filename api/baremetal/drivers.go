package baremetal

// Drivers: the hardware types that nodes can have.

import (
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/store/baremetal"
)

// interfaceSince are the versions that know an interface of a driver; the others
// came together.
var interfaceSince = map[hardware.Interface]int{hardware.Storage: 33, hardware.Rescue: 38, hardware.BIOS: 40, hardware.Firmware: 86}

// dynamic is the version that knows the interfaces of drivers.
const dynamic = 30

func (a *API) listDrivers(r *rest.Request) (*rest.Response, error) {
	known := []filter{{name: "type", since: dynamic}, {name: "detail", since: dynamic}, {name: "fields", since: 77}}
	if err := nodeResource.expected(r, known); err != nil {
		return nil, err
	}
	kind := r.Query.Get("type")
	if r.Query.Has("type") && kind != "classic" && kind != "dynamic" {
		return nil, invalid("\"type\" filter must be one of \"classic\" or \"dynamic\", if specified.")
	}
	detailed := false
	if value := r.Query.Get("detail"); value != "" {
		var err error
		if detailed, err = boolean("detail", value); err != nil {
			return nil, err
		}
		if detailed && r.Query.Has("fields") {
			return nil, invalid("Can not specify ?detail=True and fields in the same request.")
		}
	}
	hosts, err := baremetal.DriversHosts(r.Context(), a.DB.Pool)
	if err != nil {
		return nil, err
	}
	all := []map[string]any{}
	for _, name := range a.Hardware.Types() {
		t, err := a.Hardware.Type(name)
		if err != nil {
			return nil, err
		}
		if kind != "classic" { // of those there are none any more
			all = append(all, chosen(a.driverView(r, t, hosts[name], detailed), r.Query.Get("fields")))
		}
	}
	return rest.JSON(map[string]any{"drivers": all}), nil
}

// chosen keeps the named keys of a document; no names keep all.
func chosen(document map[string]any, names string) map[string]any {
	if names == "" {
		return document
	}
	wanted := append(strings.Split(strings.ReplaceAll(names, " ", ""), ","), "links")
	for key := range document {
		if !slices.Contains(wanted, key) {
			delete(document, key)
		}
	}
	return document
}

func (a *API) showDriver(r *rest.Request) (*rest.Response, error) {
	if err := nodeResource.expected(r, []filter{{name: "fields", since: 77}}); err != nil {
		return nil, err
	}
	t, err := a.Hardware.Type(r.Param("driver"))
	if err != nil {
		return nil, err
	}
	hosts, err := baremetal.DriversHosts(r.Context(), a.DB.Pool)
	if err != nil {
		return nil, err
	}
	return rest.JSON(chosen(a.driverView(r, t, hosts[t.Name], true), r.Query.Get("fields"))), nil
}

// driverView is what clients are shown of a hardware type. Its hosts are the
// conductors that know it; descriptions of nodes need none to be accepted.
func (a *API) driverView(r *rest.Request, t hardware.Type, hosts []string, detailed bool) map[string]any {
	shown := map[string]any{"name": t.Name, "hosts": presented(hosts), "links": links(r, "drivers", t.Name)}
	if r.At(v(14)) {
		shown["properties"] = links(r, "drivers", t.Name, "properties")
	}
	if !r.At(v(dynamic)) {
		return shown
	}
	shown["type"] = "dynamic"
	for _, i := range hardware.Interfaces() {
		since, apart := interfaceSince[i]
		if detailed && (!apart || r.At(v(since))) {
			shown["default_"+string(i)+"_interface"] = nullable(a.Hardware.Default(t, i))
			shown["enabled_"+string(i)+"_interfaces"] = a.Hardware.Choices(t, i)
		}
	}
	return shown
}

func (a *API) showDriverProperties(r *rest.Request) (*rest.Response, error) {
	name := r.Param("driver")
	t, err := a.Hardware.Type(name)
	if err != nil {
		return nil, faults.New(faults.NotFound, "DriverNotFound", "The driver '%s' is unknown.", name)
	}
	return rest.JSON(a.Hardware.Properties(t)), nil
}
