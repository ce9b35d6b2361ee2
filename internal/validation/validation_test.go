package validation

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"holdfast.dev/internal/pyjson"
	"holdfast.dev/schemas"
)

func mustParse(t *testing.T, text string) any {
	t.Helper()
	value, _, err := pyjson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct{ good, bad []string }{
		"uuid": {
			[]string{"70a599e0-31e7-49b7-b260-868f441e862b", "70A599E031E749B7B260868F441E862B", "{urn:uuid:70a599e0-31e7-49b7-b260-868f441e862b}"},
			[]string{"", "70a599e0-31e7-49b7-b260-868f441e862", "70a599e0-31e7-49b7-b260-868f441e862g"}},
		"date-time": {
			[]string{"2026", "2026-01", "2026-1-2", "20260102", "2026-01-02 03:04", "2026-01-02T03:04:05.6Z", "2026-01-02T03:04:05+01:00", "20260102T030405-01"},
			[]string{"", "202601", "yesterday", "2026-01-02x", "26-01-02"}},
		"base64": {
			[]string{"", "aGk=", "a*G k=", "YWJj", "YQ==", "YQ==junk"},
			[]string{"a", "aG", "aGk", "aGk=a"[:3]}},
		"regex":                                {[]string{"a", "(?<!x)a", `(a)\1`, "(?P<n>a)"}, []string{"", "(", "[a", "*"}},
		"ipv4":                                 {[]string{"10.0.0.1"}, []string{"10.0.0.01", "10.1", "::1", ""}},
		"ipv6":                                 {[]string{"::1", "::ffff:10.0.0.1"}, []string{"fe80::1%eth0", "10.0.0.1", ""}},
		"name":                                 {[]string{"", "a", "é b", "a\u00a0b"}, []string{" a", "a ", "a\n", "a\tb", "😀", "a\u2028b"}},
		"az_name":                              {[]string{"", "zone 1"}, []string{"a:b"}},
		"name_with_leading_trailing_spaces":    {[]string{" a "}, []string{" ", ""}},
		"az_name_with_leading_trailing_spaces": {[]string{" a "}, []string{" ", "a:b"}},
	} {
		for _, s := range k.good {
			if !formats[name].accepts(s) {
				t.Errorf("%s refuses %q", name, s)
			}
		}
		for _, s := range k.bad {
			if formats[name].accepts(s) {
				t.Errorf("%s takes %q", name, s)
			}
		}
	}
}

// Formats are of strings: what else a schema allows, null first of all, passes. Those of
// names are the exception, as in the original.
func TestFormatsOfWhatIsNoString(t *testing.T) {
	t.Parallel()
	for name, f := range formats {
		for _, v := range []any{nil, 1.5, true, []any{}} {
			if got, want := f.accepts(v), !strings.Contains(name, "name"); got != want {
				t.Errorf("%s takes %v: %t", name, v, got)
			}
		}
	}
}

func TestPatternsAsPython(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		pattern, text string
		want          bool
	}{
		{"^[a-z]+$", "abc\n", true},
		{"^[a-z]+$", "abc\n\n", false},
		{"^(?! )[a-zA-Z0-9. _-]+(?<! )$", "m1.tiny", true},
		{"^(?! )[a-zA-Z0-9. _-]+(?<! )$", " m1", false},
		{"^[a-zA-Z0-9-_:. ]{1,255}$", "a-b_c:d.e f", true},
		{"^(a+)+$", strings.Repeat("a", 40) + "!", false}, // never ends but for the deadline
	} {
		p, err := CompilePattern(k.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(k.text); got != k.want {
			t.Errorf("%s on %.20q: %v", k.pattern, k.text, got)
		}
	}
}

func TestUnknownKeywordDoesNotCompile(t *testing.T) {
	t.Parallel()
	for _, source := range []string{`{"not": {}}`, `{"properties": {"a": {"format": "martian"}}}`, `{"pattern": "("}`, `[]`, `{"minLength": 1.5}`} {
		if _, err := Compile(mustParse(t, source)); err == nil {
			t.Errorf("%s compiles", source)
		}
	}
}

// A general validator gives the same verdict wherever Nova doesn't deviate.
func TestVerdictsOfAnotherValidator(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`{"type": ["integer", "null"]}`, `{"enum": [1, "1", null, [1], {"a": 1}]}`, `{"required": ["a"]}`,
		`{"properties": {"a": {"type": "string"}}, "patternProperties": {"^b": {"type": "integer"}}, "additionalProperties": false}`,
		`{"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}`, `{"minProperties": 1, "maxProperties": 1}`,
		`{"prefixItems": [{"type": "string"}], "items": {"type": "integer"}, "minItems": 1, "maxItems": 2, "uniqueItems": true}`,
		`{"minLength": 1, "maxLength": 2}`, `{"exclusiveMinimum": 0}`, `{"anyOf": [{"type": "string"}, {"required": ["a"]}]}`,
		`{"oneOf": [{"type": "integer"}, {"type": "number"}]}`, `{"allOf": [{"type": "integer"}, {"enum": [1, 2]}]}`,
	} {
		ours, err := Compile(mustParse(t, source))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(source))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("s.json", document); err != nil {
			t.Fatal(err)
		}
		theirs, err := c.Compile("s.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{`null`, `true`, `0`, `1`, `1.0`, `1.5`, `-1`, `""`, `"é"`, `"abc"`, `"1"`, `[]`, `[1]`, `["a", 1]`, `["a", 1, 1]`, `["a", "a"]`, `[1, 1.0]`,
			`{}`, `{"a": 1}`, `{"a": "x"}`, `{"b": 1}`, `{"b": "x"}`, `{"c": 1}`, `{"a": "x", "c": "y"}`} {
			parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
			if err != nil {
				t.Fatal(err)
			}
			if us, them := ours.Validate(mustParse(t, value)), theirs.Validate(parsed); (us == nil) != (them == nil) {
				t.Errorf("%s of %s: %v, theirs %v", source, value, us, them)
			}
		}
	}
}

// Whatever is sent, a schema answers, and what it refuses it words.
func FuzzValidate(f *testing.F) {
	set, err := Load(schemas.ComputeRequests)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{"server": {"name": "x", "flavorRef": 1e400}}`, `{"server": null}`, `[]`, `{"server": {"min_count": "1_0", "name": "\u0000"}}`} {
		f.Add([]byte(seed))
	}
	keys := set.Keys()
	f.Fuzz(func(t *testing.T, body []byte) {
		value, _, err := pyjson.Parse(body)
		if err != nil {
			return
		}
		for _, k := range keys {
			for _, b := range []*Bindings{set.Body(k), set.Query(k)} {
				if b == nil {
					continue
				}
				for _, bound := range b.all {
					if failure := bound.schema.Validate(value); failure != nil && failure.Message == "" {
						t.Fatalf("%v refuses %q without words", k, body)
					}
				}
			}
		}
	})
}
