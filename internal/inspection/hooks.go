package inspection

// Hooks: what is made of what a node's ramdisk has found, one after the other.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
)

// KeepPorts says which ports a node keeps.
type KeepPorts string

const (
	KeepAll KeepPorts = "all"
	// KeepPresent: those of interfaces that were found.
	KeepPresent KeepPorts = "present"
	// KeepAdded: those of interfaces that are worth a port.
	KeepAdded KeepPorts = "added"
)

// Options are what is made of what was found, by configuration.
type Options struct {
	// Hooks are their names, in their order.
	Hooks []string
	Add   AddPorts
	Keep  KeepPorts
	// Booting says whose word counts on which ports a node is booted by.
	Booting Word
	// Spacing keeps a GiB of the root disk for partitions.
	Spacing bool
	// Aliases are what capabilities call PCI devices, by the ids of their vendors and
	// products.
	Aliases map[[2]string]string
	// Accelerators are the PCI devices that are known as such.
	Accelerators []Accelerator
	// Networks are those that ports are in by the addresses of their interfaces.
	Networks []PhysicalNetwork
}

// usual are the hooks that there are without being named.
var usual = []string{"ramdisk-error", "validate-interfaces", "ports", "architecture"}

// byInterface are those that look at the interfaces that are valid.
var byInterface = []string{"ports", "local-link-connection", "physical-network"}

// HookNames reads a list of hooks, in which $default_hooks are the usual ones. Errors:
// Invalid, one isn't there, or comes before what it needs.
func HookNames(list []string) ([]string, error) {
	var names []string
	for _, name := range list {
		switch {
		case name == "$default_hooks":
			names = append(names, usual...)
		case hooks[name].after == nil && hooks[name].before == nil:
			return nil, faults.New(faults.Invalid, "InvalidConfiguration", "The following hook(s) are missing or failed to load: %s", name)
		default:
			names = append(names, name)
		}
	}
	for i, name := range names {
		if slices.Contains(byInterface, name) && !slices.Contains(names[:i], "validate-interfaces") {
			return nil, faults.New(faults.Invalid, "InvalidConfiguration", "Some hooks failed to load due to dependency problems: "+
				"Hook %s requires these missing hooks to be enabled before it: validate-interfaces", name)
		}
	}
	return names, nil
}

// ReadAliases reads what capabilities call PCI devices, an object each. Errors: Invalid.
func ReadAliases(entries []string) (map[[2]string]string, error) {
	aliases := map[[2]string]string{}
	for _, entry := range entries {
		var said map[string]string
		if err := json.Unmarshal([]byte(entry), &said); err != nil || len(said) != 3 || said["vendor_id"] == "" || said["product_id"] == "" || said["name"] == "" {
			return nil, faults.New(faults.Invalid, "InvalidConfiguration", `The "pci_device_alias" entry should contain exactly the "vendor_id", "product_id" and "name" keys.`)
		}
		aliases[[2]string{said["vendor_id"], said["product_id"]}] = said["name"]
	}
	return aliases, nil
}

// work is what was found while hooks look at it.
type work struct {
	Options
	Found
	node string
	made *Made
	// worth are the interfaces that are worth a port, last what an inspection has found
	// before; nil if there was none.
	worth []Port
	last  map[string]any
}

// hook is what is done before anything is made of what was found, and after.
type hook struct{ before, after func(*work) error }

var hooks = map[string]hook{
	"ramdisk-error":         {before: (*work).ramdiskError},
	"validate-interfaces":   {before: (*work).interfaces},
	"ports":                 {after: (*work).ports},
	"local-link-connection": {after: (*work).linked},
	"physical-network":      {after: (*work).physicalNetworks},
	"architecture":          {after: (*work).processor},
	"boot-mode":             {after: (*work).bootMode},
	"cpu-capabilities":      {after: (*work).processorFlags},
	"cpus":                  {after: (*work).processorCount},
	"memory":                {after: (*work).memory},
	"root-device":           {after: (*work).rootDevice},
	"raid-device":           {after: (*work).raidDevice},
	"pci-devices":           {after: (*work).pciDevices},
	"extra-hardware":        {after: (*work).extraHardware},
	"parse-lldp":            {after: (*work).parsedLLDP},
	"accelerators":          {after: (*work).accelerators},
}

// Digest says what a node with these properties becomes by what its ramdisk has found,
// of which the plugins' part is changed; last is the inventory from before. Errors:
// Invalid in the original's words.
func Digest(node string, before map[string]any, f Found, last map[string]any, o Options) (Made, error) {
	w := &work{Options: o, Found: f, node: node, last: last, made: &Made{Properties: cloned(before), Booting: Row}}
	var wrong []string
	for _, name := range o.Hooks {
		if hooks[name].before == nil {
			continue
		}
		switch fault := faults.As(hooks[name].before(w)); {
		case fault == nil:
		case fault.Code == inspectionFailure:
			wrong = append(wrong, fmt.Sprintf("Error in preprocess hook %s: %s", name, fault.Message))
		default:
			wrong = append(wrong, fmt.Sprintf("Unexpected exception %s during preprocess hook %s: %s", fault.Code, name, fault.Message))
		}
	}
	if len(wrong) > 0 {
		return *w.made, unhooked(failure("The following failures happened while running preprocess hooks for node %s:\n%s", node, strings.Join(wrong, "\n")))
	}
	for _, name := range o.Hooks {
		if hooks[name].after == nil {
			continue
		}
		switch fault := faults.As(hooks[name].after(w)); {
		case fault == nil:
		case fault.Code == inspectionFailure:
			return *w.made, unhooked(fault)
		default:
			return *w.made, unhooked(failure("Unexpected exception %s during processing for node: %s. Error: %s", fault.Code, node, fault.Message))
		}
	}
	return *w.made, nil
}

// unhooked is the verdict on what nothing can be made of.
func unhooked(err error) error {
	return failure("failed to run inspection hooks: %s", faults.As(err).Message)
}

func (w *work) ramdiskError() error {
	if said := w.Plugin["error"]; said != nil && said != "" {
		return failure("Ramdisk reported error: %s", printed(said))
	}
	return nil
}

// interfaces looks at the network interfaces, and keeps which are valid.
func (w *work) interfaces() (err error) {
	if w.made.All, w.worth, err = w.Found.ports(w.node, w.Add); err != nil {
		return err
	}
	raw, _ := w.Inventory["interfaces"].([]any)
	all, valid, macs := map[string]any{}, map[string]any{}, []any{}
	for _, item := range raw {
		i, _ := item.(map[string]any)
		at := slices.IndexFunc(w.made.All, func(p Port) bool { return p.Name == i["name"] })
		if at < 0 {
			continue
		}
		shown := cloned(i)
		shown["pxe_enabled"] = w.made.All[at].PXE
		if ip, is := shown["ipv6_address"].(string); is {
			shown["ipv6_address"], _, _ = strings.Cut(ip, "%")
		}
		all[w.made.All[at].Name] = shown
		if slices.ContainsFunc(w.worth, func(p Port) bool { return p.Name == i["name"] }) {
			valid[w.made.All[at].Name], macs = shown, append(macs, i["mac_address"])
		}
	}
	w.Plugin["all_interfaces"], w.Plugin["valid_interfaces"], w.Plugin["macs"] = all, valid, macs
	return nil
}

func (w *work) ports() error {
	if w.Add != AddNone {
		w.made.Ports = w.worth
	}
	w.made.Booting = w.Booting
	kept := map[KeepPorts][]Port{KeepPresent: w.made.All, KeepAdded: w.worth}[w.Options.Keep]
	for _, p := range kept {
		w.made.Keep = append(w.made.Keep, p.Address)
	}
	return nil
}

func (w *work) processor() error { return w.architecture(w.node, w.made.Properties) }

func (w *work) bootMode() error {
	if mode, is := w.part("boot")["current_boot_mode"].(string); is {
		return w.capable(map[string]string{"boot_mode": mode})
	}
	return nil
}

// flags are the capabilities that flags of a processor stand for (cpu_capabilities).
var flags = map[string]string{"vmx": "cpu_vt", "svm": "cpu_vt", "aes": "cpu_aes", "pse": "cpu_hugepages", "pdpe1gb": "cpu_hugepages_1g", "smx": "cpu_txt"}

func (w *work) processorFlags() error {
	has, _ := w.part("cpu")["flags"].([]any)
	can := map[string]string{}
	for _, flag := range has {
		if name := flags[text(flag)]; name != "" {
			can[name] = "true"
		}
	}
	if len(has) == 0 {
		return nil
	}
	return w.capable(can)
}

func (w *work) processorCount() error {
	if count, ok := whole(w.part("cpu")["count"]); ok && count > 0 {
		w.made.Properties["cpus"] = count
	}
	return nil
}

func (w *work) memory() error {
	mb, ok := whole(w.part("memory")["physical_mb"])
	if !ok {
		return invalid(w.node, fmt.Sprintf("Inventory has missing memory information: %s for node %s.", printed(w.Inventory["memory"]), w.node))
	}
	w.made.Properties["memory_mb"] = mb
	return nil
}

// pciDevices counts those that have an alias.
func (w *work) pciDevices() error {
	list, _ := w.Plugin["pci_devices"].([]any)
	found := map[string]int{}
	for _, item := range list {
		device, _ := item.(map[string]any)
		if name := w.Aliases[[2]string{text(device["vendor_id"]), text(device["product_id"])}]; name != "" {
			found[name]++
		}
	}
	counts := map[string]string{}
	for name, n := range found {
		counts[name] = fmt.Sprint(n)
	}
	if len(counts) == 0 {
		return nil
	}
	return w.capable(counts)
}

// capable gives the node capabilities, in the place of those that have their names.
func (w *work) capable(more map[string]string) error {
	had := text(w.made.Properties["capabilities"])
	var all []string
	if had != "" {
		all = strings.Split(had, ",")
	}
	for i, c := range all {
		name, _, ok := strings.Cut(c, ":")
		if !ok {
			return faults.New(faults.Invalid, "ValueError", "Invalid capabilities string '%s'.", had)
		}
		if value, is := more[name]; is {
			all[i] = name + ":" + value
			delete(more, name)
		}
	}
	for _, name := range sorted(more) {
		all = append(all, name+":"+more[name])
	}
	w.made.Properties["capabilities"] = strings.Join(all, ",")
	return nil
}

// extraHardware makes objects of what the tool hardware-detect has found.
func (w *work) extraHardware() error {
	list, ok := w.Plugin["data"].([]any)
	if !ok || slices.ContainsFunc(list, func(item any) bool { _, is := item.([]any); return !is }) {
		return nil
	}
	extra := map[string]any{}
	for _, item := range list {
		words := item.([]any)
		if len(words) < 4 {
			continue
		}
		into := extra
		for _, name := range words[:2] {
			inner, is := into[text(name)].(map[string]any)
			if !is {
				inner = map[string]any{}
				into[text(name)] = inner
			}
			into = inner
		}
		value := words[3]
		if n, ok := whole(value); ok {
			value = n
		}
		into[text(words[2])] = value
	}
	w.Plugin["extra"] = extra
	delete(w.Plugin, "data")
	return nil
}
