// Package extraspecs knows which extra specs a flavor may have and what values
// each takes, as Nova checks them from microversion 2.86 on. Pure: a table,
// validators.json (contracts/compute/extra-specs.json), and its reading.
package extraspecs

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
)

//go:embed validators.json
var table []byte

// validator is one row: the names it is for and the values they take.
type validator struct {
	Key     string
	Type    string
	Pattern string
	Enum    []string
	Min     *int64
	Max     *int64

	key *regexp.Regexp
}

// Table is the validators. Most names are texts, or texts with a group's name
// between them, and are looked up; of patterns of values one is compiled when it
// is asked for. Compiled, all of them together would take 30 MB.
type Table struct {
	exact map[string]*validator
	// grouped are those with a group, by the text before it and the text after it.
	grouped   map[string]map[string]*validator
	patterns  []*validator
	namespace *regexp.Regexp
}

// group is the pattern of a group's name, as in trait_A:COMPUTE_NODE.
const group = `(?P<group>([a-zA-Z0-9_-]{1,64})?)`

var isGroup = regexp.MustCompile(`^` + group + `$`)

// Load compiles the embedded table. Errors: it isn't one.
func Load() (*Table, error) {
	var rows struct {
		Namespaces []string
		Validators []*validator
	}
	if err := json.Unmarshal(table, &rows); err != nil {
		return nil, fmt.Errorf("the table of extra specs: %w", err)
	}
	t := &Table{exact: map[string]*validator{}, grouped: map[string]map[string]*validator{}}
	var wrong []error
	must := func(pattern string) *regexp.Regexp {
		compiled, err := whole(pattern)
		wrong = append(wrong, err)
		return compiled
	}
	for _, v := range rows.Validators {
		if isText(v.Key) {
			t.exact[v.Key] = v
			continue
		}
		if before, after, grouped := strings.Cut(v.Key, group); grouped && isText(before+after) && strings.HasPrefix(after, ":") {
			if t.grouped[before] == nil {
				t.grouped[before] = map[string]*validator{}
			}
			t.grouped[before][after] = v
			continue
		}
		v.key = must(v.Key)
		t.patterns = append(t.patterns, v)
	}
	t.namespace = must("(" + strings.Join(rows.Namespaces, "|") + ")")
	return t, errors.Join(wrong...)
}

// isText says that a pattern matches itself alone.
func isText(pattern string) bool { return regexp.QuoteMeta(pattern) == pattern }

// whole compiles a pattern that a whole text has to match.
func whole(pattern string) (*regexp.Regexp, error) { return regexp.Compile(`^(?:` + pattern + `)$`) }

// Check says whether a flavor may have this extra spec: faults.Invalid with the
// original's text if not. Names outside of the known namespaces are free.
func (t *Table) Check(name, value string) error {
	if v := t.find(name); v != nil {
		return v.check(value)
	}
	if space, _, found := strings.Cut(name, ":"); found && t.namespace.MatchString(space) {
		return invalid("extra spec '%s' does not appear to be a valid extra spec.", name)
	}
	return nil
}

func (t *Table) find(name string) *validator {
	if v, ok := t.exact[name]; ok {
		return v
	}
	for before, those := range t.grouped {
		rest, ok := strings.CutPrefix(name, before)
		if colon := strings.Index(rest, ":"); ok && colon >= 0 && isGroup.MatchString(rest[:colon]) && those[rest[colon:]] != nil {
			return those[rest[colon:]]
		}
	}
	for _, v := range t.patterns {
		if v.key.MatchString(name) {
			return v
		}
	}
	return nil
}

func (v *validator) check(value string) error {
	switch v.Type {
	case "int":
		return v.checkInt(value)
	case "bool":
		if !slices.Contains(truths, strings.ToLower(strings.TrimSpace(value))) {
			return invalid("'%s' is not a valid boolean-like value.", value)
		}
		return nil
	}
	if v.Pattern != "" {
		pattern, err := whole(v.Pattern)
		if err != nil {
			return faults.Wrap(err, faults.Internal, "InternalError", "the table of extra specs is wrong")
		}
		if !pattern.MatchString(value) {
			return invalid("'%s' is not of the format '%s'.", value, v.Pattern)
		}
	}
	if len(v.Enum) > 0 && !slices.Contains(v.Enum, value) {
		return invalid("'%s' is not one of: %s.", value, strings.Join(v.Enum, ", "))
	}
	return nil
}

func (v *validator) checkInt(value string) error {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	switch {
	case err != nil:
		return invalid("'%s' is not a valid integer value.", value)
	case v.Max != nil && n > *v.Max:
		return invalid("'%s' is greater than the max value of '%d'.", value, *v.Max)
	case v.Min != nil && n < *v.Min:
		return invalid("'%s' is less than the min value of '%d'.", value, *v.Min)
	}
	return nil
}

var truths = []string{"1", "t", "true", "on", "y", "yes", "0", "f", "false", "off", "n", "no"}

func invalid(format string, args ...any) error {
	return faults.New(faults.Invalid, "ValidationError", "Validation failed; "+format, args...)
}
