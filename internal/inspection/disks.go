package inspection

// Which of a machine's disks is its root: what its ramdisk says, or what the hints in
// its node's properties say.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

// sorted are the names in a map, in order.
func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// whole is a whole number that somebody has said, be it as a text.
func whole(said any) (int64, bool) {
	switch said := said.(type) {
	case float64:
		return int64(said), said == math.Trunc(said) && math.Abs(said) < 1<<53
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(said), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// rootDevice keeps which disk is the root, and how large it is.
func (w *work) rootDevice() error {
	if hints, _ := w.made.Properties["root_device"].(map[string]any); len(hints) > 0 {
		disk, err := w.hinted(hints)
		if err != nil {
			return failure("No disks could be found using root device hints %s for node %s because they failed to validate. Error: %s", printed(hints), w.node, faults.As(err).Message)
		}
		if disk == nil {
			return failure("No disks satisfied root device hints for node %s", w.node)
		}
		w.Plugin["root_disk"] = disk
	}
	gib := int64(0)
	if root, _ := w.Plugin["root_disk"].(map[string]any); root != nil {
		size, _ := whole(root["size"])
		if gib = size / giga; gib > 0 && w.Spacing {
			gib--
		}
	}
	w.Plugin["local_gb"], w.made.Properties["local_gb"] = gib, gib
	return nil
}

// giga is a GiB, in which disks are measured.
const giga = 1 << 30

// hinted is the first of the disks that all hints fit, unless it is to be skipped.
func (w *work) hinted(hints map[string]any) (map[string]any, error) {
	disks, _ := w.Inventory["disks"].([]any)
	skip, _ := w.made.Properties["skip_block_devices"].([]any)
	for _, item := range disks {
		disk, _ := item.(map[string]any)
		skipped := false
		for _, s := range skip {
			not, _ := s.(map[string]any)
			fits, err := fitting(disk, not)
			if err != nil {
				return nil, err
			}
			skipped = skipped || fits
		}
		fits, err := fitting(disk, hints)
		if err != nil || fits && !skipped {
			return disk, err
		}
	}
	return nil, nil
}

// hintTypes are the hints that there are, in the original's order: texts, a number of
// GiB, and a truth.
var (
	hintTypes = map[string]string{"size": "int", "model": "str", "wwn": "str", "serial": "str", "vendor": "str", "wwn_with_extension": "str",
		"wwn_vendor_extension": "str", "name": "str", "rotational": "bool", "hctl": "str", "by_path": "str"}
	hintNames = []string{"size", "model", "wwn", "serial", "vendor", "wwn_with_extension", "wwn_vendor_extension", "name", "rotational", "hctl", "by_path"}
)

// fitting says whether all hints fit a disk. Errors: Invalid, they are none.
func fitting(disk, hints map[string]any) (bool, error) {
	fits := len(hints) > 0
	for _, name := range sorted(hints) {
		var ok bool
		var err error
		switch hintTypes[name] {
		case "str":
			ok, err = fitsText(name, disk[name], hints[name])
		case "int":
			ok, err = fitsSize(disk[name], hints[name])
		case "bool":
			want, valid := truth(hints[name])
			if !valid {
				return false, badHint(`Root device hint "%s" is not a Boolean value. Current value: %s`, name, printed(hints[name]))
			}
			is, said := truth(disk[name])
			ok = said && is == want
		default:
			return false, badHint(`The hints "%s" are invalid. Valid hints are: "%s"`, name, strings.Join(hintNames, ", "))
		}
		if err != nil {
			return false, err
		}
		fits = fits && ok
	}
	return fits, nil
}

func badHint(format string, args ...any) error {
	return faults.New(faults.Invalid, "ValueError", format, args...)
}

func truth(said any) (is, valid bool) {
	switch strings.ToLower(strings.TrimSpace(fmt.Sprint(said))) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}

// comparisons are the operators of hints, longer ones first, and what they want of the
// order of what is and what is wanted. Those that begin with s compare texts.
var comparisons = []struct {
	op   string
	want func(order int) bool
}{
	{"s==", func(o int) bool { return o == 0 }}, {"s!=", func(o int) bool { return o != 0 }}, {"s>=", func(o int) bool { return o >= 0 }},
	{"s<=", func(o int) bool { return o <= 0 }}, {"s>", func(o int) bool { return o > 0 }}, {"s<", func(o int) bool { return o < 0 }},
	{"==", func(o int) bool { return o == 0 }}, {"!=", func(o int) bool { return o != 0 }}, {">=", func(o int) bool { return o >= 0 }},
	{"<=", func(o int) bool { return o <= 0 }}, {"=", func(o int) bool { return o >= 0 }}, {">", func(o int) bool { return o > 0 }}, {"<", func(o int) bool { return o < 0 }},
}

// fitsText says whether a text of a disk is what a hint says.
func fitsText(name string, is, hint any) (bool, error) {
	said, ok := hint.(string)
	if !ok {
		return false, badHint(`Root device hint "%s" is not a string value. Hint expression: %s`, name, printed(hint))
	}
	value := strings.ToLower(strings.TrimSpace(text(is)))
	said = strings.ToLower(strings.TrimSpace(said))
	if said == "" {
		return false, badHint(`Root device hint "%s" expression is empty`, name)
	}
	if value == "" {
		return false, nil
	}
	switch {
	case strings.HasPrefix(said, "<in>"):
		return strings.Contains(value, strings.TrimSpace(said[len("<in>"):])), nil
	case strings.HasPrefix(said, "<or>"):
		for _, one := range strings.Split(said, "<or>") {
			if one = strings.TrimSpace(one); one != "" && one == value {
				return true, nil
			}
		}
		return false, nil
	}
	for _, c := range comparisons {
		if rest, is := strings.CutPrefix(said, c.op); is {
			return c.want(cmp.Compare(value, strings.TrimSpace(rest))), nil
		}
	}
	return value == said, nil
}

// fitsSize says whether a disk's bytes are as many GiB as a hint says.
func fitsSize(is, hint any) (bool, error) {
	bytes, known := whole(is)
	gib := float64(bytes) / giga
	said := strings.TrimSpace(fmt.Sprint(hint))
	want := func(text string) (float64, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		switch {
		case err != nil:
			return 0, badHint(`Root device hint "size" is not an integer value. Current value: %s`, said)
		case n <= 0:
			return 0, badHint(`Root device hint "size" should be a positive integer. Current value: %s`, said)
		}
		return float64(n), nil
	}
	if rest, is := strings.CutPrefix(said, "<or>"); is {
		for _, one := range strings.Split(rest, "<or>") {
			n, err := want(one)
			if err != nil || n == gib {
				return known && err == nil, err
			}
		}
		return false, nil
	}
	if rest, is := strings.CutPrefix(said, "<range-in>"); is {
		words := strings.Fields(rest)
		if len(words) != 4 {
			return false, badHint(`Root device hint "size" is not a range. Current value: %s`, said)
		}
		low, errLow := strconv.ParseFloat(words[1], 64)
		high, errHigh := strconv.ParseFloat(words[2], 64)
		if errLow != nil || errHigh != nil || low > high || !strings.Contains("[(", words[0]) || !strings.Contains("])", words[3]) {
			return false, badHint(`Root device hint "size" is not a range. Current value: %s`, said)
		}
		return known && (gib > low || words[0] == "[" && gib == low) && (gib < high || words[3] == "]" && gib == high), nil
	}
	for _, c := range comparisons {
		if rest, is := strings.CutPrefix(said, c.op); is {
			n, err := want(rest)
			return known && err == nil && c.want(cmp.Compare(gib, n)), err
		}
	}
	n, err := want(said)
	return known && err == nil && gib == n, err
}

// raidDevice finds the one disk that was not there when the machine was inspected
// before, which is the root.
func (w *work) raidDevice() error {
	if w.made.Properties["root_device"] != nil || w.last == nil {
		return nil
	}
	before := serials(w.last)
	var fresh []string
	for _, s := range serials(w.Inventory) {
		if !slices.Contains(before, s) {
			fresh = append(fresh, s)
		}
	}
	if len(fresh) == 1 {
		w.made.Properties["root_device"] = map[string]any{"serial": fresh[0]}
	}
	return nil
}

func serials(inventory map[string]any) (all []string) {
	disks, _ := inventory["disks"].([]any)
	for _, item := range disks {
		disk, _ := item.(map[string]any)
		if serial := text(disk["serial"]); serial != "" {
			all = append(all, serial)
		}
	}
	return all
}
