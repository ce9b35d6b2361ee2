package hardware

// Enabled: the types and interfaces that a deployment has, and what a node gets
// by them.

import (
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
)

// Interface is one of the ways in which a node is handled; each has
// implementations that a hardware type supports.
type Interface string

// The interfaces.
const (
	BIOS       Interface = "bios"
	Boot       Interface = "boot"
	Console    Interface = "console"
	Deploy     Interface = "deploy"
	Firmware   Interface = "firmware"
	Inspect    Interface = "inspect"
	Management Interface = "management"
	Network    Interface = "network"
	Power      Interface = "power"
	RAID       Interface = "raid"
	Rescue     Interface = "rescue"
	Storage    Interface = "storage"
	Vendor     Interface = "vendor"
)

// Interfaces gives every interface.
func Interfaces() []Interface {
	return []Interface{BIOS, Boot, Console, Deploy, Firmware, Inspect, Management, Network, Power, RAID, Rescue, Storage, Vendor}
}

// fake is the implementation of every interface that does nothing, and the type
// that has it.
const (
	fake     = "fake"
	fakeType = "fake-hardware"
)

// Type is a hardware type: what a node's driver names.
type Type struct {
	Name     string
	Supports map[Interface][]string
}

// Enabled are the types and the implementations that nodes may have.
type Enabled struct {
	types []Type
	impls map[Interface][]string
	// usual are the implementations that nodes have which name none, where that isn't the
	// best of the enabled ones.
	usual map[Interface]string
}

// Enable gives what is there with the named types: the original's stock
// implementations, of power and management those that the types prefer, and the
// fake ones with fake-hardware. Errors: Invalid, a type that there is not.
func Enable(names []string) (*Enabled, error) {
	e := &Enabled{impls: map[Interface][]string{}, usual: map[Interface]string{}}
	for i, all := range stock {
		e.impls[i] = slices.Clone(all)
	}
	for _, name := range names {
		at := slices.IndexFunc(types, func(t Type) bool { return t.Name == name })
		if at < 0 {
			return nil, faults.New(faults.Invalid, "InvalidConfiguration", "configuration: there is no hardware type %q", name)
		}
		e.types = append(e.types, types[at])
		for _, i := range []Interface{Management, Power} {
			e.add(i, types[at].Supports[i][0])
		}
		if name == fakeType {
			for i, all := range types[at].Supports {
				if slices.Contains(all, fake) {
					e.add(i, fake)
				}
			}
		}
	}
	slices.SortFunc(e.types, func(a, b Type) int { return strings.Compare(a.Name, b.Name) })
	return e, nil
}

// EnableInterfaces has nodes have these implementations of an interface, in the place of
// the stock ones; what fake-hardware brings stays. Errors: Invalid, one that there is not.
func (e *Enabled) EnableInterfaces(i Interface, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(types, func(t Type) bool { return slices.Contains(t.Supports[i], name) }) {
			return faults.New(faults.Invalid, "InvalidConfiguration", "configuration: there is no %s interface %q", i, name)
		}
	}
	before := e.impls[i]
	e.impls[i] = slices.Clone(names)
	if slices.Contains(before, fake) {
		e.add(i, fake)
	}
	return nil
}

// Prefer has nodes that name none have this implementation of an interface; empty is the
// best that is enabled. Errors: Invalid, one that isn't.
func (e *Enabled) Prefer(i Interface, name string) error {
	if name != "" && !slices.Contains(e.impls[i], name) {
		return faults.New(faults.Invalid, "InvalidConfiguration", "configuration: the %s interface %q isn't enabled", i, name)
	}
	e.usual[i] = name
	return nil
}

func (e *Enabled) add(i Interface, name string) {
	if !slices.Contains(e.impls[i], name) {
		e.impls[i] = append(e.impls[i], name)
	}
}

// Types are the names of the enabled types, in their order.
func (e *Enabled) Types() []string {
	names := make([]string, len(e.types))
	for i, t := range e.types {
		names[i] = t.Name
	}
	return names
}

// Type finds an enabled type. Errors: NotFound.
func (e *Enabled) Type(name string) (Type, error) {
	for _, t := range e.types {
		if t.Name == name {
			return t, nil
		}
	}
	return Type{}, faults.New(faults.NotFound, "DriverNotFound", "Could not find the following driver(s) or hardware type(s): %s.", name)
}

// Choices are the implementations of an interface that nodes of a type may have,
// best first.
func (e *Enabled) Choices(t Type, i Interface) []string {
	choices := []string{}
	for _, name := range t.Supports[i] {
		if slices.Contains(e.impls[i], name) {
			choices = append(choices, name)
		}
	}
	return choices
}

// Default is the implementation that a node of a type gets if it names none;
// empty if there is none.
func (e *Enabled) Default(t Type, i Interface) string {
	choices := e.Choices(t, i)
	switch usual := e.usual[i]; {
	case usual != "" && slices.Contains(choices, usual):
		return usual
	case usual != "" || len(choices) == 0:
		return ""
	}
	return choices[0]
}

// Choose gives the implementation that a node of a type has when it asks for
// one, empty for any. Errors: Invalid in the original's words.
func (e *Enabled) Choose(t Type, i Interface, asked string) (string, error) {
	switch {
	case asked == "":
		if asked = e.Default(t, i); asked == "" {
			return "", faults.New(faults.Invalid, "NoValidDefaultForInterface", "For hardware type '%s', no default value found for %s interface could be determined. "+
				"Please ensure the interfaces are enabled.", t.Name, i)
		}
	case !slices.Contains(e.impls[i], asked):
		return "", faults.New(faults.Invalid, "InterfaceNotFoundInEntrypoint", "Could not find the following interface in the '%s' entrypoint: %s. Valid interfaces are %s.",
			"ironic.hardware.interfaces."+string(i), asked, pythonList(e.impls[i]))
	case !slices.Contains(t.Supports[i], asked):
		return "", faults.New(faults.Invalid, "IncompatibleInterface", "%s interface implementation '%s' is not supported by hardware type %s.", i, asked, t.Name)
	}
	return asked, nil
}

// Properties are what the default interfaces of a type read of driver_info, and
// what each is for.
func (e *Enabled) Properties(t Type) map[string]string {
	all := map[string]string{}
	for _, i := range Interfaces() {
		for _, name := range listed[i][e.Default(t, i)] {
			all[name] = meanings[name]
		}
	}
	return all
}

// Unsupported is the answer to who asks for what this release's drivers don't do.
func Unsupported(driver, what string) error {
	return faults.New(faults.Invalid, "UnsupportedDriverExtension", "Driver %s does not support %s (disabled or not implemented).", driver, what)
}

func pythonList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = "'" + name + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
