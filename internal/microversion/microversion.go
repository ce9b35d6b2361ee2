// Package microversion is the arithmetic of API microversions and their
// negotiation by header, shared by every service that has them. It is pure.
//
// Source: contracts/compute/microversions.json and errors.json.
package microversion

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

// Version is a microversion such as 2.69. The zero Version means "no bound"
// in a Range.
type Version struct{ Major, Minor int }

var syntax = regexp.MustCompile(`^([1-9]\d*)\.([1-9]\d*|0)$`)

// V is a version, written short in tables.
func V(major, minor int) Version { return Version{major, minor} }

// Parse reads "2.69"; faults.Invalid with the original's text otherwise.
func Parse(s string) (Version, error) {
	m := syntax.FindStringSubmatch(s)
	if m == nil {
		return Version{}, faults.New(faults.Invalid, "InvalidAPIVersionString",
			"API Version String %s is of invalid format. Must be of format MajorNum.MinorNum.", s)
	}
	// Atoi gives the greatest int for more digits than it has: above all versions.
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return Version{major, minor}, nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// IsZero says that v is no version.
func (v Version) IsZero() bool { return v == Version{} }

// Less orders versions.
func (v Version) Less(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

// Range is a span of versions, both ends included; a zero end is open.
type Range struct{ Min, Max Version }

// From is the range that begins at 2.minor and is still open.
func From(minor int) Range { return Range{Min: V(2, minor)} }

// Until is the range that ends with 2.minor.
func Until(minor int) Range { return Range{Max: V(2, minor)} }

// Between is the range from 2.first to 2.last.
func Between(first, last int) Range { return Range{Min: V(2, first), Max: V(2, last)} }

// Has says whether v lies in the range.
func (r Range) Has(v Version) bool {
	return (r.Min.IsZero() || !v.Less(r.Min)) && (r.Max.IsZero() || !r.Max.Less(v))
}

// Meets says whether a version lies in both ranges.
func (r Range) Meets(o Range) bool {
	return !below(r.Max, o.Min) && !below(o.Max, r.Min)
}

// below says that an upper end is under a lower one; open ends never are.
func below(upper, lower Version) bool {
	return !upper.IsZero() && !lower.IsZero() && upper.Less(lower)
}

// Headers of the negotiation.
const (
	Header = "OpenStack-API-Version"
	Latest = "latest"
)

// Scheme is how one service negotiates.
type Scheme struct {
	// Service is the name in the standard header, "compute".
	Service string
	// Legacy is the service's older header, "X-OpenStack-Nova-API-Version".
	Legacy   string
	Min, Max Version
	// Default is used when no header is sent.
	Default Version
	// MinHeader and MaxHeader tell the range with every answer, refusals
	// included, in the dialects that do so (Ironic's); empty in the others.
	MinHeader, MaxHeader string
	// Refusal words a version out of range; empty has Nova's words. It gets the
	// asked version, the minimum and the maximum, as %[1]s to %[3]s.
	Refusal string
	// Malformed words what is no version, where that is refused like one out of
	// range (Ironic's); empty has Nova's words and status.
	Malformed string
}

// Negotiate gives the version that a request asks for. get returns every value
// of a header. Errors: faults.Invalid with code InvalidAPIVersionString (400),
// or NotAcceptable (406) for a version out of range.
func (s Scheme) Negotiate(get func(header string) []string) (Version, error) {
	asked := s.asked(get)
	switch asked {
	case "":
		return s.Default, nil
	case Latest:
		return s.Max, nil
	}
	v, err := Parse(asked)
	switch {
	case err != nil && s.Malformed != "":
		return Version{}, &NotAcceptable{Asked: asked, Scheme: s, Malformed: true}
	case err != nil:
		return Version{}, err
	}
	if !(Range{s.Min, s.Max}).Has(v) {
		return Version{}, &NotAcceptable{Asked: asked, Scheme: s}
	}
	return v, nil
}

// asked is the raw version string: of the standard header the last entry that
// names the service, else the legacy header.
func (s Scheme) asked(get func(header string) []string) string {
	entries := strings.Split(strings.Join(get(Header), ","), ",")
	for i := len(entries) - 1; i >= 0; i-- {
		name, version, ok := strings.Cut(strings.TrimSpace(entries[i]), " ")
		if ok && strings.EqualFold(name, s.Service) {
			return strings.TrimSpace(version)
		}
	}
	if s.Legacy != "" {
		if values := get(s.Legacy); len(values) > 0 {
			return strings.TrimSpace(values[len(values)-1])
		}
	}
	return ""
}

// NotAcceptable is a version that is not served; Malformed says that it is none.
type NotAcceptable struct {
	Asked     string
	Scheme    Scheme
	Malformed bool
}

func (e *NotAcceptable) Error() string {
	if e.Malformed {
		return e.Scheme.Malformed
	}
	words := e.Scheme.Refusal
	if words == "" {
		words = "Version %s is not supported by the API. Minimum is %s and maximum is %s."
	}
	return fmt.Sprintf(words, e.Asked, e.Scheme.Min, e.Scheme.Max)
}
