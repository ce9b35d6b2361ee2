package nodes

// What the step firmware.update is to make of a machine's firmware.

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
)

// Components that have firmware; of network adapters each has a name of its own behind
// NICFirmware.
const (
	BIOSFirmware = "bios"
	BMCFirmware  = "bmc"
	NICFirmware  = "nic:"
)

// Firmware is what one of them is to run.
type Firmware struct {
	Component, URL string
	// Wait is how long nobody looks what becomes of it.
	Wait time.Duration
}

// maxFirmware bounds what one step changes, and maxFirmwareWait how long it waits for each.
const (
	maxFirmware     = 64
	maxFirmwareWait = time.Hour
)

// WantedFirmware reads the settings of the step. Errors: Invalid.
func WantedFirmware(settings any) ([]Firmware, error) {
	wrong := func(format string, args ...any) error {
		return faults.New(faults.Invalid, "InvalidParameterValue", "Invalid firmware update. Errors: %s", fmt.Sprintf(format, args...))
	}
	list, ok := settings.([]any)
	if !ok || len(list) == 0 || len(list) > maxFirmware {
		return nil, wrong("settings are a list of 1 to %d components", maxFirmware)
	}
	wanted := make([]Firmware, len(list))
	for i, one := range list {
		said, ok := one.(map[string]any)
		if !ok {
			return nil, wrong("each component is an object")
		}
		for _, name := range slices.Sorted(maps.Keys(said)) {
			switch value := said[name]; name {
			case "component":
				wanted[i].Component, _ = value.(string)
			case "url":
				wanted[i].URL, _ = value.(string)
			case "wait":
				seconds, number := value.(float64)
				if !number || seconds != math.Trunc(seconds) || seconds < 1 || seconds > maxFirmwareWait.Seconds() {
					return nil, wrong("wait is a number of seconds, from 1 to %d", int(maxFirmwareWait.Seconds()))
				}
				wanted[i].Wait = time.Duration(seconds) * time.Second
			default:
				return nil, wrong("Additional properties are not allowed ('%s' was unexpected)", name)
			}
		}
		w := wanted[i]
		if w.Component != BIOSFirmware && w.Component != BMCFirmware && !strings.HasPrefix(w.Component, NICFirmware) {
			return nil, wrong("component is '%s', '%s' or '%s' and the name of a network adapter", BIOSFirmware, BMCFirmware, NICFirmware)
		}
		if at, err := url.Parse(w.URL); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			return nil, wrong("the url of %s is none of http or https", w.Component)
		}
	}
	return wanted, nil
}
