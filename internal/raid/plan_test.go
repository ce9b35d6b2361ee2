package raid

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/faults"
)

// drives are n of a size in GiB and a kind.
func drives(prefix string, n int, gib int64, media string) (all []Drive) {
	for i := range n {
		all = append(all, Drive{fmt.Sprintf("%s%d", prefix, i), "c" + prefix, gib << 30, media, "SAS"})
	}
	return all
}

func TestPlan(t *testing.T) {
	t.Parallel()
	some := slices.Concat(drives("h", 4, 100, "HDD"), drives("s", 2, 50, "SSD"), drives("x", 1, 30, "SMR"), drives("y", 1, 30, "SMR"))
	for _, c := range []struct{ wanted, made string }{
		{`{"size_gb": 40, "raid_level": "1"}`, "1 of h0 h1 by ch"},
		{`{"size_gb": 40, "raid_level": "1", "disk_type": "ssd"}`, "1 of s0 s1 by cs"},
		{`{"size_gb": 40, "raid_level": "1", "interface_type": "sata"}`, "failed to find matching physical disks for all logical disks"},
		{`{"size_gb": 150, "raid_level": "5"}`, "5 of h0 h1 h2 by ch"},
		{`{"size_gb": 250, "raid_level": "5"}`, "5 of h0 h1 h2 h3 by ch"},
		{`{"size_gb": 250, "raid_level": "5", "number_of_physical_disks": 3}`, "failed to find matching physical disks for all logical disks"},
		{`{"size_gb": 150, "raid_level": "1+0"}`, "1+0 of h0 h1 h2 h3 by ch"},
		{`{"size_gb": 10, "raid_level": "6+0"}`, "failed to find matching physical disks for all logical disks"},
		{`{"size_gb": "MAX", "raid_level": "0", "physical_disks": ["h2", "h3"], "controller": "x"}`, "0 of h2 h3 by ch"},
		{`{"size_gb": "MAX", "raid_level": "0"}`, "create_configuration called with invalid target_raid_configuration: 'physical_disks' is missing from logical_disk while 'size_gb'='MAX' was requested"},
		{`{"size_gb": 10, "raid_level": "1", "physical_disks": ["moon"]}`, "none of the physical disks moon is there"},
		{`{"size_gb": 10, "raid_level": "1", "physical_disks": ["h0"]}`, "The number of physical drives (1) is too few for the required number of overhead drives (1)"},
		{`{"size_gb": 10, "raid_level": "1+0", "physical_disks": ["h0", "h1", "h2"]}`, "Spanned RAID volumes cannot contain a single span"},
		{`{"size_gb": 200, "raid_level": "1", "physical_disks": ["h0", "h1"]}`, "The physical disk space (107374182400 bytes) is not enough for the size of the logical disk (214748364800 bytes)"},
		{`{"size_gb": 10, "raid_level": "JBOD"}`, "RAID level JBOD is not supported by the driver. Supported RAID levels: 0, 1, 5, 6, 1+0, 5+0, 6+0"},
		{`{"size_gb": 10, "raid_level": "1", "interface_type": "scsi"}`, "interface type `scsi` not supported by Redfish RAID"},
		{`{"size_gb": 1.5, "raid_level": "1"}`, "RAID config validation error: size_gb 1.5 is no size"},
		// A volume is one controller's.
		{`{"size_gb": 10, "raid_level": "1", "disk_type": "smr"}`, "failed to find matching physical disks for all logical disks"},
		{`{"size_gb": 10, "raid_level": "1", "physical_disks": ["x0", "y0"]}`, "the physical disks x0, y0 are not of one controller"},
		// The second takes what the first leaves; one that doesn't share has drives of its own.
		{`{"size_gb": 40, "raid_level": "1", "share_physical_disks": true}, {"size_gb": 60, "raid_level": "1", "share_physical_disks": true}`, "1 of h0 h1 by ch, 1 of h0 h1 by ch"},
		{`{"size_gb": 40, "raid_level": "1"}, {"size_gb": 60, "raid_level": "1"}`, "1 of h0 h1 by ch, 1 of h2 h3 by ch"},
		// One that could have the drives of another gives way to it.
		{`{"size_gb": 40, "raid_level": "1"}, {"size_gb": 250, "raid_level": "5"}`, "1 of s0 s1 by cs, 5 of h0 h1 h2 h3 by ch"},
		{`{"size_gb": 40, "raid_level": "1"}, {"size_gb": 10, "raid_level": "0", "physical_disks": ["h0"]}`, "1 of h1 h2 by ch, 0 of h0 by ch"},
		// What is to have as much as can be is chosen last.
		{`{"size_gb": "MAX", "raid_level": "0", "physical_disks": ["h0", "h1", "h2", "h3"], "share_physical_disks": true}, {"size_gb": 60, "raid_level": "1"}`,
			"0 of h0 h1 h2 h3 by ch, 1 of h0 h1 by ch"},
		{`{"size_gb": "MAX", "raid_level": "0", "physical_disks": ["h0", "h1"]}, {"size_gb": "MAX", "raid_level": "0", "physical_disks": ["h0", "h1"]}`, "size set to 'MAX' but could not allocate physical disk space"},
	} {
		disks, err := Read(json.RawMessage(`{"logical_disks": [` + c.wanted + `]}`))
		if err == nil {
			disks, err = Plan(disks, some)
		}
		var made []string
		for _, d := range disks {
			made = append(made, fmt.Sprintf("%s of %s by %s", d.Level, strings.Join(d.Drives, " "), d.Controller))
		}
		got := strings.Join(made, ", ")
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "Redfish exception occurred. Error: ")
		}
		if got != c.made {
			t.Errorf("%s:\n %s, want\n %s", c.wanted, got, c.made)
		}
	}
	for _, target := range []string{`{}`, `[]`, `{"logical_disks": []}`, `{"logical_disks": [5]}`} {
		if _, err := Read(json.RawMessage(target)); err == nil || !strings.HasPrefix(err.Error(), "RAID config validation error") {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// Drives are told apart by their controllers, where those have the same ids.
func TestDrivesOfTheSameID(t *testing.T) {
	t.Parallel()
	var some []Drive
	for _, controller := range []string{"a", "b"} {
		for i := range 3 {
			some = append(some, Drive{fmt.Sprint(i), controller, 100 << 30, "HDD", "SAS"})
		}
	}
	some = append(some, Drive{"3", "b", 100 << 30, "HDD", "SAS"})
	for _, c := range []struct{ wanted, made string }{
		{`{"size_gb": 10, "raid_level": "1", "physical_disks": ["1", "2"], "controller": "b"}`, "[{b [1 2]}]"},
		{`{"size_gb": 10, "raid_level": "1", "physical_disks": ["1", "3"], "controller": "none"}`, "[{b [1 3]}]"},
		{`{"size_gb": 10, "raid_level": "1", "physical_disks": ["1", "2"], "controller": "none"}`, "the physical disks 1, 2 are not of one controller"},
		{`{"size_gb": 10, "raid_level": "1", "physical_disks": ["0", "1"], "controller": "a"}, {"size_gb": 10, "raid_level": "0", "physical_disks": ["0"], "controller": "b"}, {"size_gb": 10, "raid_level": "1"}`,
			"[{a [0 1]} {b [0]} {b [1 2]}]"},
		{`{"size_gb": 100, "raid_level": "0"}, {"size_gb": 100, "raid_level": "0"}, {"size_gb": 100, "raid_level": "0"}, {"size_gb": 100, "raid_level": "0"}`, "[{a [0]} {a [1]} {a [2]} {b [0]}]"},
	} {
		disks, err := Read(json.RawMessage(`{"logical_disks": [` + c.wanted + `]}`))
		if err == nil {
			disks, err = Plan(disks, some)
		}
		type on struct {
			controller string
			drives     []string
		}
		var made []on
		for _, d := range disks {
			made = append(made, on{d.Controller, d.Drives})
		}
		got := fmt.Sprint(made)
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "Redfish exception occurred. Error: ")
		}
		if got != c.made {
			t.Errorf("%s:\n %s, want\n %s", c.wanted, got, c.made)
		}
	}
}

// What could be made in more ways than can be tried, and in none, is given up.
func TestTooManyWays(t *testing.T) {
	t.Parallel()
	var wanted []Disk
	for range 40 {
		wanted = append(wanted, Disk{Level: "0", Bytes: 1 << 30, Shares: true})
	}
	wanted = append(wanted, Disk{Level: "1", Bytes: 1 << 50})
	var some []Drive
	for i := range 10 {
		some = append(some, Drive{fmt.Sprint(i), "c", int64(100+i) << 30, "HDD", "SAS"})
	}
	_, err := Plan(wanted, some)
	if f := faults.As(err); f.Kind != faults.Invalid || !strings.Contains(f.Message, "in 10000 tries; name the physical disks of some of them") {
		t.Errorf("%v", err)
	}
}
