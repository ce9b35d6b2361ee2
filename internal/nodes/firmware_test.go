package nodes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
)

// What firmware is to be is read, and what can't be is told what is wrong with it.
func TestWantedFirmware(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		`[{"component": "bios", "url": "http://h/b"}, {"component": "nic:0", "url": "https://h/n", "wait": 5}]`: "[{bios http://h/b 0s} {nic:0 https://h/n 5s}]",
		`{}`:                                    "settings are a list of 1 to 64 components",
		`[]`:                                    "settings are a list of 1 to 64 components",
		`[` + strings.Repeat(`{},`, 64) + `{}]`: "settings are a list of 1 to 64 components",
		`["bios"]`:                              "each component is an object",
		`[{"url": "http://h/b"}]`:               "component is 'bios', 'bmc' or 'nic:' and the name of a network adapter",
		`[{"component": "disk", "url": "http://h/b"}]`:                 "component is 'bios', 'bmc' or 'nic:' and the name of a network adapter",
		`[{"component": "bmc"}]`:                                       "the url of bmc is none of http or https",
		`[{"component": "bmc", "url": "file:///etc/passwd"}]`:          "the url of bmc is none of http or https",
		`[{"component": "bmc", "url": 5}]`:                             "the url of bmc is none of http or https",
		`[{"component": "bmc", "url": "http://h/b", "wait": 0}]`:       "wait is a number of seconds, from 1 to 3600",
		`[{"component": "bmc", "url": "http://h/b", "wait": 1.5}]`:     "wait is a number of seconds, from 1 to 3600",
		`[{"component": "bmc", "url": "http://h/b", "wait": 1e9}]`:     "wait is a number of seconds, from 1 to 3600",
		`[{"component": "bmc", "url": "http://h/b", "checksum": "x"}]`: "Additional properties are not allowed ('checksum' was unexpected)",
	} {
		var said any
		if err := json.Unmarshal([]byte(settings), &said); err != nil {
			t.Fatal(err)
		}
		wanted, err := WantedFirmware(said)
		got := fmt.Sprint(wanted)
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "Invalid firmware update. Errors: ")
		}
		if got != want || err != nil && !faults.Is(err, faults.Invalid) {
			t.Errorf("%.80s: %s", settings, got)
		}
	}
}
