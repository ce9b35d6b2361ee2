package orchestration

// Parameters of queries, in the original's words when they are wrong.

import (
	"strconv"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// flag is a parameter that is true or false.
func flag(r *rest.Request, name string, unsaid bool) (bool, error) {
	if !r.Query.Has(name) {
		return unsaid, nil
	}
	return truth(name, r.Query.Get(name))
}

func truth(name string, v any) (bool, error) {
	switch strings.ToLower(value.Str(v)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, invalid(`Unrecognized value "%s" for "%s", acceptable values are: true, false.`, value.Clip(value.Str(v), maxShown), name)
}

// setting reads a truth from what a body says of a stack, if it says it. The original's
// engine reads those, whose errors have another name than its API's.
func setting(body *value.Map, name string, into *bool) error {
	v, _ := body.Get(name)
	if v == nil {
		return nil
	}
	yes, err := truth(name, v)
	if err != nil {
		return faults.New(faults.Invalid, hot.ValueError, "%s", faults.As(err).Message)
	}
	*into = yes
	return nil
}

// number is a parameter that is not negative; 0 if it isn't there.
func number(r *rest.Request, name string) (int, error) {
	if !r.Query.Has(name) {
		return 0, nil
	}
	return whole(name, r.Query.Get(name))
}

// whole is a number that is not negative.
func whole(name, text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0, invalid("Only integer is acceptable by '%s'.", name)
	}
	if n < 0 {
		return 0, invalid("Value '%d' is invalid for '%s' which only accepts non-negative integer.", n, name)
	}
	return n, nil
}

// maxShown is how much is shown of what a client sent.
const maxShown = 255
