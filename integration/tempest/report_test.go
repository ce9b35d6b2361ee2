//go:build real

package tempest

// The report, as Markdown.

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// excludedTests are those of an exclusion.
type excludedTests struct {
	Why   string
	Tests []string
}

// report counts results by module and says why tests were not run.
type report struct {
	modules  map[string]*counts
	failed   []result
	skipped  map[string][]string // the tests by reason
	excluded []excludedTests
}

type counts struct {
	passed, failed, skipped int
	seconds                 float64
}

func newReport(excluded []excludedTests) *report {
	return &report{modules: map[string]*counts{}, skipped: map[string][]string{}, excluded: excluded}
}

// add takes the results of a run; as is said behind its modules' names.
func (r *report) add(as string, results []result) {
	prepared := map[string]bool{} // the classes that have a result in their tests' place
	for _, one := range results {
		prepared[name(one.Test)] = class.MatchString(one.Test)
	}
	for _, one := range results {
		if test := name(one.Test); one.Status == "" && prepared[test[:strings.LastIndex(test, ".")]] {
			continue
		}
		m := r.modules[module(one.Test)+as]
		if m == nil {
			m = &counts{}
			r.modules[module(one.Test)+as] = m
		}
		m.seconds += one.Seconds
		switch one.Status {
		case "success", "xfail":
			m.passed++
		case "skip":
			m.skipped++
			why := strings.TrimSpace(one.Texts["reason"])
			r.skipped[why] = append(r.skipped[why], name(one.Test))
		default: // those too that have not ended
			m.failed++
			r.failed = append(r.failed, one)
		}
	}
}

func (r *report) String() string {
	var s strings.Builder
	var all counts
	fmt.Fprint(&s, "| Module | passed | failed | skipped | seconds |\n| --- | --- | --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(r.modules)) {
		m := r.modules[name]
		fmt.Fprintf(&s, "| %s | %d | %d | %d | %.0f |\n", name, m.passed, m.failed, m.skipped, m.seconds)
		all = counts{all.passed + m.passed, all.failed + m.failed, all.skipped + m.skipped, all.seconds + m.seconds}
	}
	fmt.Fprintf(&s, "| **all** | **%d** | **%d** | **%d** | **%.0f** |\n", all.passed, all.failed, all.skipped, all.seconds)

	fmt.Fprint(&s, "\n## Failed\n\n")
	if len(r.failed) == 0 {
		fmt.Fprintln(&s, "None.")
	}
	for _, one := range r.failed {
		fmt.Fprintf(&s, "- `%s`: %s\n", name(one.Test), lastLine(one.Texts["traceback"]))
	}

	fmt.Fprint(&s, "\n## Skipped by tempest itself\n\nA class counts as one test.\n\n")
	for _, why := range slices.Sorted(maps.Keys(r.skipped)) {
		fmt.Fprintf(&s, "- %s\n%s", why, names(r.skipped[why]))
	}

	fmt.Fprint(&s, "\n## Not run (`integration/tempest/tests.yaml`)\n\n")
	for _, e := range r.excluded {
		fmt.Fprintf(&s, "- %s (%d)\n%s", e.Why, len(e.Tests), classes(e.Tests))
	}
	return s.String()
}

func names(tests []string) string {
	var s strings.Builder
	tests = slices.Clone(tests)
	slices.SortFunc(tests, func(a, b string) int { return cmp.Compare(name(a), name(b)) })
	for _, t := range tests {
		fmt.Fprintf(&s, "  - `%s`\n", name(t))
	}
	return s.String()
}

// classes counts tests by class.
func classes(tests []string) string {
	count := map[string]int{}
	for _, t := range tests {
		t = name(t)
		count[t[:strings.LastIndex(t, ".")]]++
	}
	var s strings.Builder
	for _, c := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&s, "  - `%s`: %d\n", c, count[c])
	}
	return s.String()
}

var class = regexp.MustCompile(`^(?:setUpClass|tearDownClass) \((.*)\)$`)

// name is a test's without its tags, or of a class that was prepared, the class's.
func name(test string) string {
	if c := class.FindStringSubmatch(test); c != nil {
		test = c[1]
	}
	test, _, _ = strings.Cut(test, "[")
	return strings.TrimPrefix(test, "tempest.")
}

// module is a test's or a class's.
func module(test string) string {
	parts := strings.Split(name(test), ".")
	for i, part := range parts {
		if strings.HasPrefix(part, "test_") {
			return strings.Join(parts[:i+1], ".")
		}
	}
	return name(test)
}

// lastLine is what a traceback comes to, as one line of Markdown.
func lastLine(traceback string) string {
	lines := strings.FieldsFunc(traceback, func(r rune) bool { return r == '\n' })
	for _, l := range slices.Backward(lines) {
		if l = strings.TrimSpace(l); l != "" {
			return l
		}
	}
	return "it did not end"
}
