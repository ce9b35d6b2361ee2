package compute

// Times in queries: what the originals take as ISO 8601.

import (
	"strings"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
)

// timeForms are those that are taken; without a zone it is UTC.
var timeForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
	"2006-01-02", "20060102T150405Z0700", "20060102T150405", "20060102",
}

// parseTime reads a time.
func parseTime(text string) (time.Time, bool) {
	// A plus of the zone that was not escaped arrives as a space.
	if i := strings.LastIndex(text, " "); i > len("2006-01-02") {
		text = text[:i] + "+" + text[i+1:]
	}
	text = strings.Replace(text, " ", "T", 1)
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// changes reads changes-since and, from 2.66, changes-before.
func changes(r *rest.Request) (since, before *time.Time, err error) {
	if since, err = timeFilter(r, "changes-since"); err != nil {
		return nil, nil, err
	}
	if r.Has(66) {
		if before, err = timeFilter(r, "changes-before"); err != nil {
			return nil, nil, err
		}
	}
	if since != nil && before != nil && since.After(*before) {
		return nil, nil, faults.New(faults.Invalid, "InvalidFilter", "The value of changes-since must be less than or equal to changes-before.")
	}
	return since, before, nil
}

func timeFilter(r *rest.Request, name string) (*time.Time, error) {
	text := r.Query.Get(name)
	if text == "" {
		return nil, nil
	}
	t, ok := parseTime(text)
	if !ok {
		return nil, faults.New(faults.Invalid, "ValidationError",
			"Invalid input for query parameters %s. Value: %s. '%s' is not a 'date-time'", name, text, text)
	}
	return &t, nil
}
