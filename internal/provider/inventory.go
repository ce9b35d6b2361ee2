package provider

// An amount of a resource class, and what may be promised of it.

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
)

// Inventory is what a host has of a class, in the terms of OpenStack's placement.
type Inventory struct {
	// Total less Reserved, times Ratio, is what may be promised together.
	Total    int64   `json:"total"`
	Reserved int64   `json:"reserved"`
	Ratio    float64 `json:"allocation_ratio"`
	// A single claim is of MinUnit at least, MaxUnit at most, and of whole steps.
	MinUnit  int64 `json:"min_unit"`
	MaxUnit  int64 `json:"max_unit"`
	StepSize int64 `json:"step_size"`
}

// most is the largest amount there can be (placement: db.constants.MAX_INT).
const most = math.MaxInt32

// whole are the fields that are whole numbers, and the least of each.
var whole = []struct {
	key   string
	least int64
	of    func(*Inventory) *int64
}{
	{"total", 1, func(i *Inventory) *int64 { return &i.Total }},
	{"reserved", 0, func(i *Inventory) *int64 { return &i.Reserved }},
	{"min_unit", 1, func(i *Inventory) *int64 { return &i.MinUnit }},
	{"max_unit", 1, func(i *Inventory) *int64 { return &i.MaxUnit }},
	{"step_size", 1, func(i *Inventory) *int64 { return &i.StepSize }},
}

// unsaid is what is so where nothing is said (placement: INVENTORY_DEFAULTS).
var unsaid = Inventory{MinUnit: 1, MaxUnit: most, StepSize: 1, Ratio: 1}

// wrong names the field that can't be so, and says why; empty if all can.
func (i Inventory) wrong() (key, why string) {
	for _, f := range whole {
		if n := *f.of(&i); n < f.least || n > most {
			return f.key, fmt.Sprintf("%d is not from %d to %d", n, f.least, most)
		}
	}
	switch {
	case !(i.Ratio > 0) || i.Ratio > math.MaxFloat32:
		return "allocation_ratio", fmt.Sprintf("%v is no ratio above 0", i.Ratio)
	case i.Reserved > i.Total:
		return "reserved", fmt.Sprintf("%d is more than the total of %d", i.Reserved, i.Total)
	case i.MinUnit > i.MaxUnit:
		return "min_unit", fmt.Sprintf("%d is more than the max_unit of %d", i.MinUnit, i.MaxUnit)
	}
	return "", ""
}

// Fits says whether n more can be promised beside what is used.
func (i Inventory) Fits(used, n int64) bool {
	return n >= i.MinUnit && n <= i.MaxUnit && n%i.StepSize == 0 && float64(used+n) <= float64(i.Total-i.Reserved)*i.Ratio
}

// Have is what one host has.
type Have struct {
	Inventories map[string]Inventory
	Traits      []string
}

// custom are names that operators give (placement: os_traits, os_resource_classes).
var custom = regexp.MustCompile(`^CUSTOM_[A-Z0-9_]{1,248}$`)

// outside is what no custom name has.
var outside = regexp.MustCompile(`[^A-Za-z0-9]+`)

// Custom is the custom name of what is called otherwise, as the bare metal service's
// resource classes are (os_resource_classes.normalize_name).
func Custom(name string) string {
	return "CUSTOM_" + strings.ToUpper(outside.ReplaceAllString(name, "_"))
}

const notCustom = "is no custom name: CUSTOM_ and up to 248 of A-Z, 0-9 and _"

// Check refuses what a file could not have said: faults.Invalid.
func (h Have) Check() error {
	for _, class := range slices.Sorted(maps.Keys(h.Inventories)) {
		if !custom.MatchString(class) {
			return faults.New(faults.Invalid, "InvalidInventory", "resources.%s %s", class, notCustom)
		}
		if key, why := h.Inventories[class].wrong(); key != "" {
			return faults.New(faults.Invalid, "InvalidInventory", "resources.%s.%s %s", class, key, why)
		}
	}
	for _, trait := range h.Traits {
		if !custom.MatchString(trait) {
			return faults.New(faults.Invalid, "InvalidTrait", "traits: %q %s", trait, notCustom)
		}
	}
	return nil
}
