package compute

// Pages of lists: how many entries, and where the next page is.

import (
	"math"
	"net/url"
	"regexp"
	"strconv"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
)

var notNegative = regexp.MustCompile(`^[0-9]*$`)

// pageSize reads "limit", at most most.
func pageSize(query url.Values, most int) (int, error) {
	text := query.Get("limit")
	if !notNegative.MatchString(text) {
		return 0, faults.New(faults.Invalid, "ValidationError",
			"Invalid input for query parameters limit. Value: %s. '%s' does not match '^[0-9]*$'", text, text)
	}
	if text == "" {
		return most, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return most, nil // more digits than an int: more than most
	}
	return min(limit, most), nil
}

// pageOffset reads "offset": how many entries of the whole list come before the page.
func pageOffset(query url.Values) (int, error) {
	text := query.Get("offset")
	if !notNegative.MatchString(text) {
		return 0, faults.New(faults.Invalid, "ValidationError",
			"Invalid input for query parameters offset. Value: %s. '%s' does not match '^[0-9]*$'", text, text)
	}
	if text == "" {
		return 0, nil
	}
	offset, err := strconv.Atoi(text)
	if err != nil {
		return math.MaxInt, nil // more digits than an int: after every list's end
	}
	return offset, nil
}

// nextLinks is the collection's "<name>_links" when a page of length entries is
// full, so that there may be another after marker; nil if it isn't.
func nextLinks(r *rest.Request, path string, length, limit int, marker string) []link {
	if length == 0 || length < limit {
		return nil
	}
	query := url.Values{}
	for name, values := range r.Query {
		query[name] = values
	}
	query.Set("marker", marker)
	return []link{{Rel: "next", Href: r.Link(path) + "?" + query.Encode()}}
}
