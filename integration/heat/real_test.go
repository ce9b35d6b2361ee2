//go:build real

package heat

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/integration/heat/original"
)

func TestMain(m *testing.M) { cloud.Main(m) }

// meant are the differences of any scenario that are meant.
var meant = []difference{
	{At: `\d+ (resource|events) .*`, Ours: `.*(CREATE|UPDATE|DELETE)_FAILED: (CREATE|UPDATE|DELETE) aborted \(user triggered cancel\).*`,
		Why: "What is worked on when its operation is cancelled, or another takes over, has four minutes more in the original, and may be done by then; here it is cut short at once."},
	{At: `\d+ (resource|events) (h|up)`, Theirs: `.*; <id>.*`,
		Why: "What is signalled by a user of its own has the name of a resource as its id, and not the user's."},
	{At: `\d+ (state|events .*)`, Theirs: `.*_FAILED: Timed out.*`, Ours: `.*_FAILED: [A-Z][a-z]+ timed out.*`,
		Why: "The reason of a stack that has taken too long names what it did, as the original's does without convergence (contracts: lifecycle.json)."},
	{At: `\d+ (resource|events) .*`, Theirs: `.* aborted \(Task .* Timed out\).*`, Ours: `.* aborted \(Timed out\).*`,
		Why: "The reason of a resource that was worked on at a stack's timeout doesn't name the task, whose name is one of Python."},
}

// Every scenario, with both.
func TestScenarios(t *testing.T) {
	all, err := scenarios()
	if err != nil {
		t.Fatal(err)
	}
	c := cloud.Start(t, cloud.Options{Hosts: 1, Services: true,
		Config: map[string]any{"orchestration.enable_stack_abandon": true, "orchestration.enable_stack_adopt": true}})
	heat := original.Start(t, c)
	client := &http.Client{Timeout: time.Minute}
	theirs := side{heat.URL + "/v1/" + c.Project(), cloud.UserToken, client}
	ours := side{c.URL() + "/orchestration/v1/" + c.Project(), cloud.UserToken, client}
	var report report
	t.Run("of", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				var their *record
				var theirError error
				var wait sync.WaitGroup
				wait.Go(func() { their, theirError = theirs.run(t.Context(), &s) })
				our, err := ours.run(t.Context(), &s)
				wait.Wait()
				if theirError != nil {
					t.Fatalf("the original: %v", theirError)
				}
				if err != nil {
					t.Fatalf("here: %v", err)
				}
				report.add(t, &s, their, our)
			})
		}
	})
	c.Audit()
	report.print(t, len(all))
}

// report counts what is the same, and lists what isn't and is meant.
type report struct {
	sync.Mutex
	same, agree int
	lines       map[string][]string // by scenario
	met         map[int]int         // of the table meant
}

// add compares two records.
func (r *report) add(t *testing.T, s *scenario, theirs, ours *record) {
	t.Helper()
	keys := slices.Clone(theirs.keys)
	for _, key := range ours.keys {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	r.Lock()
	defer r.Unlock()
	if r.met == nil {
		r.met, r.lines = map[int]int{}, map[string][]string{}
	}
	fit := make([]bool, len(s.Differs))
	differs := false
	for _, key := range keys {
		their, our := theirs.values[key], ours.values[key]
		if their == our {
			r.same++
			continue
		}
		if step, first, second, is := ordered(key); is && (unlikeIn(theirs, ours, step+" events "+first) || unlikeIn(theirs, ours, step+" events "+second)) {
			continue // that is told of the one whose events differ
		}
		if i := slices.IndexFunc(s.Differs, func(d difference) bool { return d.fits(key, their, our) }); i >= 0 {
			fit[i], differs = true, true
			continue
		}
		if i := slices.IndexFunc(meant, func(d difference) bool { return d.fits(key, their, our) }); i >= 0 {
			r.met[i]++
			differs = true
			continue
		}
		t.Errorf("%s\n  the original: %s\n  here:         %s", key, indent(their), indent(our))
	}
	for i, d := range s.Differs {
		if !fit[i] {
			t.Errorf("the difference %q is not there any more", d.At)
		}
		r.lines[s.name] = append(r.lines[s.name], fmt.Sprintf("| %s | %s |", s.name, d.Why))
	}
	if !differs {
		r.agree++
	}
}

// ordered reads what orderOf has made, with the step before it.
func ordered(key string) (step, first, second string, is bool) {
	step, rest, is := strings.Cut(key, " order ")
	_, pair, _ := strings.Cut(rest, " ")
	first, second, _ = strings.Cut(pair, " before ")
	return step, first, second, is
}

// unlikeIn says whether two records differ in something.
func unlikeIn(theirs, ours *record, key string) bool { return theirs.values[key] != ours.values[key] }

// fits says whether a difference is this one.
func (d difference) fits(key, theirs, ours string) bool {
	for _, m := range [][2]string{{d.At, key}, {d.Theirs, theirs}, {d.Ours, ours}} {
		if m[0] != "" && !regexp.MustCompile(`^(?s:`+m[0]+`)$`).MatchString(m[1]) {
			return false
		}
	}
	return true
}

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n                ") }

// print prints the tables of the result.
func (r *report) print(t *testing.T, count int) {
	t.Logf("| scenarios | without any difference | things compared that are the same |")
	t.Logf("| --- | --- | --- |")
	t.Logf("| %d | %d | %d |", count, r.agree, r.same)
	t.Log("| scenario | the difference, and why |")
	t.Log("| --- | --- |")
	for i, d := range meant {
		if r.met[i] == 0 {
			t.Errorf("the difference %q of all is not there any more", d.At)
		}
		t.Logf("| all, where it applies (%d times) | %s |", r.met[i], d.Why)
	}
	for _, name := range slices.Sorted(maps.Keys(r.lines)) {
		for _, l := range r.lines[name] {
			t.Log(l)
		}
	}
}
