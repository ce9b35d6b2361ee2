package policy

// The language's edges, operators' files, and how fast a decision is.

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
)

func TestRulesThatAreRefused(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"role:admin role:member":         `policy "r": unexpected "role:member"`,
		"role:admin and":                 `policy "r": it ends where a check should stand`,
		"and role:admin":                 `policy "r": "and" stands where a check should`,
		"(role:admin":                    `policy "r": a parenthesis isn't closed`,
		"role:admin)":                    `policy "r": unexpected ")"`,
		"admin":                          `policy "r": "admin" is no check: "<kind>:<match>", "@" or "!"`,
		" ":                              `policy "r": it ends where a check should stand`,
		"user_id:%(x":                    `policy "r": "user_id:%(x": "%(x" is no %(attribute)s`,
		"user_id:100%":                   `policy "r": "user_id:100%": "%" is no %(attribute)s`,
		"http://policy.example/%(id)s":   `policy "r": "http://policy.example/%(id)s": rules that ask a remote server aren't supported`,
		"https://policy.example":         `policy "r": "https://policy.example": rules that ask a remote server aren't supported`,
		"rule:r":                         `policy "r" leads back to itself: r -> r`,
		"not rule:s":                     `policy "r" leads back to itself: r -> s -> r`,
		"'x:%(y)s":                       `policy "r": 'x is no quoted text`,
		"[1]:%(y)s":                      `policy "r": "[1]" names no attribute`,
		strings.Repeat("(", 300) + "@:x": `policy "r": it nests deeper than 200`,
	} {
		_, err := compile(nil, overrides{"r": rule, "s": "@ and (role:x or rule:r)"}, true)
		if rule != "rule:r" && rule != "not rule:s" {
			_, err = compile(nil, overrides{"r": rule}, true)
		}
		if err == nil || err.Error() != want || !faults.Is(err, faults.Invalid) {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
}

// The old form of rules: any of lists of all of checks.
func TestLists(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]bool{
		`r: []`:                          true,
		`r: [[]]`:                        false,
		`r: [role:admin]`:                true,
		`r: [[role:admin, role:member]]`: false,
		`r: [[role:admin, "user_id:%(user_id)s"]]`: true,
		`r: [[role:member], [role:admin]]`:         true,
		`r: ["!"]`:                                 false,
		`r: ""`:                                    true,
	} {
		e, _ := withFile(t, document)
		if got := e.Allows(&Credentials{UserID: "u1", Roles: []string{"admin"}}, "r", nil); got != want {
			t.Errorf("%s: %v, want %v", document, got, want)
		}
	}
	for _, document := range []string{"r:", "r: 1", "r: [1]", "r: [[1]]", "r: {a: b}", "r: [[role:admin, 'x']]"} {
		if _, err := New(noDefaults(), Options{File: write(t, document)}); !faults.Is(err, faults.Invalid) || !strings.HasPrefix(err.Error(), `policy "r"`) {
			t.Errorf("%s: %v", document, err)
		}
	}
}

func noDefaults() []byte { return []byte("rules: []") }

// An operator's file stands on top of the defaults, also under a rule's former
// name.
func TestFileOnTop(t *testing.T) {
	t.Parallel()
	const defaults = `
rules:
- {name: owner, check: "project_id:%(project_id)s"}
- {name: get, check: "role:reader and rule:owner", scopes: [project], deprecated: [{name: old_get, check: "rule:owner"}]}
- {name: make, check: "rule:get and role:member"}
`
	member := Credentials{UserID: "u1", ProjectID: "p1", Roles: []string{"reader", "member"}}
	plain := Credentials{UserID: "u1", ProjectID: "p1", Roles: []string{"plain"}}
	for _, c := range []struct {
		file           string
		old            bool
		creds          Credentials
		get, make, odd bool
	}{
		{"", false, member, true, true, false},
		{"", false, plain, false, false, false},
		{"", true, plain, true, false, false},
		{"get: '!'", false, member, false, false, false},
		{"get: role:reader", true, plain, false, false, false},
		{"old_get: role:plain", false, plain, true, false, false},
		{"old_get: role:plain", false, member, false, false, false},
		{"old_get: rule:get", false, member, true, true, false},
		{"{old_get: role:plain, get: '!'}", false, plain, false, false, false},
		{"owner: '!'", false, member, false, false, false},
		{"odd: role:plain", false, plain, false, false, true},
		{"default: role:plain", false, plain, false, false, true},
		{"make: rule:nowhere", false, member, true, false, false},
	} {
		e, err := New([]byte(defaults), Options{File: write(t, c.file), OldDefaults: c.old, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		for rule, want := range map[string]bool{"get": c.get, "make": c.make, "odd": c.odd} {
			if got := e.Allows(&c.creds, rule, nil); got != want {
				t.Errorf("%q, %v, %s: %v, want %v", c.file, c.creds.Roles, rule, got, want)
			}
		}
	}
}

func write(t testing.TB, document string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// withFile makes an enforcer of a file alone.
func withFile(t testing.TB, document string) (e *Enforcer, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	e, err := New(noDefaults(), Options{File: write(t, document), Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return e, log
}

// A changed file is in force within the poll interval; a broken or vanished one
// changes nothing, and says so.
func TestFileIsReadAgain(t *testing.T) {
	t.Parallel()
	e, log := withFile(t, "r: role:a")
	at := time.Now()
	e.now = func() time.Time { return at }
	path := e.file.path
	allowed := func(role string) bool { return e.Allows(&Credentials{Roles: []string{role}}, "r", nil) }
	for i, step := range []struct {
		document string
		role     string // whom the rule lets in afterwards
		logged   string
	}{
		{"r: role:bb", "bb", "was read again"},
		{"r: role:cc and", "bb", "it ends where a check should stand"},
		{"r: [", "bb", "did not find expected node content"},
		{"", "bb", "no such file"},
		{"r: role:dddd", "dddd", "was read again"},
		{"r: rule:r", "dddd", "leads back to itself"},
		{"r: role:e", "e", "was read again"},
	} {
		log.Reset()
		if step.document == "" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte(step.document), 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 && (allowed("bb") || !allowed("a")) {
			t.Error("the file was read again before its time")
		}
		at = at.Add(pollInterval)
		if !allowed(step.role) || !strings.Contains(log.String(), step.logged) {
			t.Errorf("step %d: %s isn't let in, or the log lacks %q: %s", i, step.role, step.logged, log)
		}
	}
	if _, err := New(noDefaults(), Options{File: path + ".absent"}); !faults.Is(err, faults.Invalid) {
		t.Errorf("a file that isn't there: %v", err)
	}
}

func TestDefaultsThatAreRefused(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		"rules: [{name: a, check: '@'}, {name: a, check: '!'}]":                        `policy "a" stands twice among the defaults`,
		"rules: [{name: a, chek: '@'}]":                                                "field chek not found",
		"rules: [{name: a, check: 'x'}]":                                               `policy "a": "x" is no check`,
		"rules: [{name: a, check: '@', deprecated: [{name: b, check: 'role:x and'}]}]": `policy "a": it ends where a check should stand`,
	} {
		_, err := New([]byte(document), Options{OldDefaults: true})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", document, err, want)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	e := enforcer(b, "compute", Options{File: write(b, "r: '@'")})
	creds := Credentials{UserID: "u1", ProjectID: "p1", Roles: []string{"reader", "member"}}
	target := OwnTarget(&creds)
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Check(creds, "os_compute_api:servers:create", target); err != nil {
			b.Fatal(err)
		}
	}
}
