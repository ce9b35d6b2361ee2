package domain

// What flavor and image ask for, by name.

import (
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

// Properties are a flavor's extra specs and an image's properties.
type Properties struct{ image, flavor map[string]string }

// legacy are names that are read when the newer one is absent (contracts:
// image-properties.json, legacy_aliases).
var legacy = map[string]string{
	"img_hide_hypervisor_id":    "hide_hypervisor_id",
	"hw_vif_multiqueue_enabled": "vif_multiqueue_enabled",
	"os_type":                   "os_type",
	"hw_architecture":           "architecture",
}

// ofImage gives an image's property.
func (p Properties) ofImage(name string) (string, bool) {
	value, ok := p.image[name]
	if !ok {
		value, ok = p.image[legacy[name]]
	}
	return value, ok && value != ""
}

// flavorFirst gives the flavor's word, or else the image's.
func (p Properties) flavorFirst(spec, property string) (string, bool) {
	if value, ok := p.flavor[spec]; ok && value != "" {
		return value, true
	}
	return p.ofImage(property)
}

// oneOf gives an image's property if it is one of the allowed, and otherwise
// when it isn't set.
func (p Properties) oneOf(name, otherwise string, allowed ...string) (string, error) {
	value, ok := p.ofImage(name)
	if !ok {
		return otherwise, nil
	}
	if !slices.Contains(allowed, value) {
		return "", invalid(name, value, "one of "+strings.Join(allowed, ", "))
	}
	return value, nil
}

// number gives a whole number of at least 1; 0 if it isn't set.
func (p Properties) number(spec, property string) (int, error) {
	value, ok := p.flavorFirst(spec, property)
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, invalid(property, value, "a number of at least 1")
	}
	return n, nil
}

// flag gives a truth value as oslo reads it; false if it isn't set.
func (p Properties) flag(spec, property string) (bool, error) {
	value, ok := p.flavorFirst(spec, property)
	if !ok {
		return false, nil
	}
	return Bool(property, value)
}

// Bool reads a truth value as oslo's strict bool does.
func Bool(name, value string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, nil
	case "0", "f", "false", "off", "n", "no":
		return false, nil
	}
	return false, invalid(name, value, "a truth value")
}

func invalid(name, value, want string) error {
	return faults.New(faults.Invalid, "InvalidImageProperty", "Invalid image metadata. Error: %s is %q; it must be %s", name, value, want)
}
