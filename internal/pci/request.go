package pci

// What a flavor asks for.

import (
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

// Request is so many devices of an alias.
type Request struct {
	Name  string
	Count int
	Alias
}

// takes says whether a device is one of those that are asked for.
func (r Request) takes(d Device) bool {
	return slices.ContainsFunc(r.Specs, func(s Spec) bool { return s.is(d) })
}

// whole says whether it is whole cards that are asked for.
func (r Request) whole() bool { return r.Specs[0].Type == Physical }

// maxDevices bounds what one flavor may ask for.
const maxDevices = 256

const (
	specAlias      = "pci_passthrough:alias"
	specPolicy     = "hw:pci_numa_affinity_policy"
	propertyPolicy = "hw_pci_numa_affinity_policy"
)

// Wants says whether a flavor asks for any.
func Wants(extraSpecs map[string]string) bool { return extraSpecs[specAlias] != "" }

// Read reads the extra spec pci_passthrough:alias, "gpu:1,nic:2", and how near the
// devices have to be. Errors: Invalid or Forbidden, with the original's text.
func (a Aliases) Read(extraSpecs, image map[string]string) ([]Request, error) {
	policy, err := readPolicy(extraSpecs, image)
	if err != nil || extraSpecs[specAlias] == "" {
		return nil, err
	}
	var all []Request
	for one := range strings.SplitSeq(extraSpecs[specAlias], ",") {
		name, count, _ := strings.Cut(one, ":")
		name = strings.TrimSpace(name)
		alias, known := a[name]
		n, err := strconv.Atoi(strings.TrimSpace(count))
		switch {
		case !known:
			return nil, faults.New(faults.Invalid, "PciRequestAliasNotDefined", "PCI alias %s is not defined", name)
		case err != nil || n < 1 || n > maxDevices:
			return nil, faults.New(faults.Invalid, "PciInvalidAlias", "Invalid PCI alias definition: '%s' is no number of devices", count)
		}
		if policy != "" {
			alias.Policy = policy
		}
		all = append(all, Request{Name: name, Count: n, Alias: alias})
	}
	return all, nil
}

func readPolicy(extraSpecs, image map[string]string) (Policy, error) {
	flavor, property := Policy(extraSpecs[specPolicy]), Policy(image[propertyPolicy])
	policy := flavor
	if flavor == "" {
		policy = property
	}
	switch {
	case flavor != "" && property != "" && flavor != property:
		return "", faults.New(faults.Forbidden, "ImagePCINUMAPolicyForbidden",
			"Image property 'hw_pci_numa_affinity_policy' is not permitted to override the 'hw:pci_numa_affinity_policy' flavor extra spec.")
	case !slices.Contains(policies, policy):
		return "", faults.New(faults.Invalid, "InvalidPCINUMAAffinity", "Invalid PCI NUMA affinity configured: %s", policy)
	}
	return policy, nil
}
