package validation

// Formats and numbers as Nova takes them (contracts/compute/formats.json).

import (
	"math"
	"math/big"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// format is a checker; message replaces the usual words if set.
type format struct {
	accepts func(any) bool
	message string
}

// strs makes a checker of strings that lets other types pass.
func strs(accepts func(string) bool) func(any) bool {
	return func(v any) bool {
		s, ok := v.(string)
		return !ok || accepts(s)
	}
}

// onlyStrs is strs that refuses other types.
func onlyStrs(accepts func(string) bool) func(any) bool {
	return func(v any) bool {
		s, ok := v.(string)
		return ok && accepts(s)
	}
}

var formats = map[string]format{
	"uuid":      {accepts: strs(isUUID)},
	"date-time": {accepts: strs(func(s string) bool { return dateTime.MatchString(s) })},
	"base64":    {accepts: strs(isBase64)},
	"regex":     {accepts: strs(isRegex)},
	"ipv4":      {accepts: strs(isIPv4)},
	"ipv6":      {accepts: strs(isIPv6)},
	"name": {onlyStrs(func(s string) bool { return IsName(s, "") && isTrimmed(s) }),
		"An invalid 'name' value was provided. The name must be: printable characters. Can not start or end with whitespace."},
	"name_with_leading_trailing_spaces": {onlyStrs(func(s string) bool { return IsName(s, "") && !isBlank(s) }),
		"An invalid 'name' value was provided. The name must be: printable characters with at least one non space character"},
	"az_name": {onlyStrs(func(s string) bool { return IsName(s, ":") && isTrimmed(s) }),
		"An invalid 'name' value was provided. The name must be: printable characters except :.Can not start or end with whitespace."},
	"az_name_with_leading_trailing_spaces": {onlyStrs(func(s string) bool { return IsName(s, ":") && !isBlank(s) }),
		"An invalid 'name' value was provided. The name must be: printable characters except :, with at least one non space character"},
}

var hex32 = regexp.MustCompile(`^[0-9a-fA-F]{32}$`)

// isUUID takes hyphens anywhere or nowhere, and the prefixes and braces that
// Python's uuid module takes.
func isUUID(s string) bool {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "urn:", ""), "uuid:", "")
	return hex32.MatchString(strings.ReplaceAll(strings.Trim(s, "{}"), "-", ""))
}

// dateTime is ISO 8601 as loosely as the iso8601 module reads it: a year, or
// with a month, a day and a time, with and without their separators.
var dateTime = regexp.MustCompile(`^[0-9]{4}(-[0-9]{1,2}(-?[0-9]{1,2}` + clock + `)?|[0-9]{2}-?[0-9]{2}` + clock + `)?$`)

const clock = `([ T][0-9]{2}(:?[0-9]{2})?(:?[0-9]{1,2}([.,][0-9]+)?)?(Z|[-+][0-9]{2}:?([0-9]{2})?)?)?`

// isBase64 skips what isn't of the alphabet and asks for correct padding.
func isBase64(s string) bool {
	place, pads := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '=':
			pads++
			if place >= 2 && place+pads >= 4 {
				return true // Python reads no further
			}
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/':
			pads, place = 0, (place+1)%4
		}
	}
	return place == 0
}

func isRegex(s string) bool {
	if s == "" {
		return false
	}
	_, err := CompilePattern(s)
	return err == nil
}

func isIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

// IsName says whether s is of printable characters of the basic plane only, none
// of them of without. An empty one is: its length is another keyword's.
func IsName(s, without string) bool {
	for _, c := range s {
		if c > 0xFFFE || !unicode.IsGraphic(c) || strings.ContainsRune(without, c) {
			return false
		}
	}
	return true
}

func isTrimmed(s string) bool { return strings.TrimSpace(s) == s }
func isBlank(s string) bool   { return strings.TrimSpace(s) == "" }

// readNumber is Nova's reading for minimum and maximum: strings count if they
// hold a number, booleans are 0 and 1, and fractions of JSON numbers fall away.
func readNumber(v any) (any, bool) {
	switch n := v.(type) {
	case bool:
		if n {
			return big.NewInt(1), true
		}
		return big.NewInt(0), true
	case *big.Int:
		return n, true
	case float64:
		if math.IsInf(n, 0) || math.IsNaN(n) {
			return n, true
		}
		whole, _ := big.NewFloat(n).Int(nil)
		return whole, true
	case string:
		return numberIn(n)
	}
	return nil, false
}

var integer = regexp.MustCompile(`^[-+]?[0-9]+(_[0-9]+)*$`)

func numberIn(s string) (any, bool) {
	s = strings.TrimSpace(s)
	if integer.MatchString(s) && len(s) <= 4300 {
		n, ok := new(big.Int).SetString(strings.ReplaceAll(s, "_", ""), 10)
		return n, ok
	}
	if strings.ContainsAny(s, "xXpP_") {
		return nil, false // Go's, not Python's
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return nil, false
	}
	return f, true
}
