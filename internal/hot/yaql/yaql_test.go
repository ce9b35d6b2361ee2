package yaql

import (
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/hot/value"
)

// evaluate is the JSON of an expression's value, or the class of its error.
func evaluate(text string, data any) string {
	e, err := Parse(text)
	if err != nil {
		return "parse: " + err.Error()
	}
	v, _, err := e.Evaluate(value.NewMap("data", data), Limits{})
	var raised *value.Error
	if errors.As(err, &raised) {
		return raised.Class
	}
	if err != nil {
		return err.Error()
	}
	return value.JSON(v, false)
}

// integration/hot has the original work the same expressions out.
func TestExpressions(t *testing.T) {
	data, err := value.ParseJSON(`{"n": [3, 1, 2], "s": "a,b,c", "servers": [{"name": "x", "ram": 2, "ips": ["1", "2"]}, ` +
		`{"name": "y", "ram": 1, "ips": ["3"]}], "m": {"a": 1, "b": 2}, "e": [], "nothing": null}`)
	if err != nil {
		t.Fatal(err)
	}
	for text, wanted := range Expressions {
		if got := evaluate(text, data); got != wanted {
			t.Errorf("%s is %s, not %s", text, got, wanted)
		}
	}
}

// Expressions and what they give for the data above.
var Expressions = map[string]string{
	"1 + 2 * 3":                            "7",
	"(1 + 2) * 3":                          "9",
	"-7 / 2":                               "-4",
	"-7 mod 2":                             "1",
	"7.0 / 2":                              "3.5",
	"1 / 0":                                "ZeroDivisionError",
	"not true or true":                     "true",
	"1 < 2 and 'a' < 'b'":                  "true",
	"2 in $.data.n":                        "true",
	"'b' in $.data.s":                      "true",
	"$.data.n.where($ > 1).select($ * 10)": "[30, 20]",
	"$.data.servers.name":                  `["x", "y"]`,
	"$.data.servers.select($.ram).sum()":   "3",
	"$.data.servers.orderBy($.ram).name":   `["y", "x"]`,
	"$.data.servers.selectMany($.ips)":     `["1", "2", "3"]`,
	"$.data.servers.ips.flatten()":         `["1", "2", "3"]`,
	"$.data.servers.toDict($.name, $.ram)": `{"x": 2, "y": 1}`,
	"dict($.data.servers.select([$.name, $.ram]))":       `{"x": 2, "y": 1}`,
	"$.data.servers.where($.name = x).first().ram":       "2",
	"$.data.servers.first(null).name":                    `"x"`,
	"$.data.s.split(',').join('-')":                      `"a-b-c"`,
	"$.data.s.replace(',', ';')":                         `"a;b;c"`,
	"$.data.s.toUpper()":                                 `"A,B,C"`,
	"$.data.m.items().select($[0])":                      `["a", "b"]`,
	"$.data.m.values()":                                  "[1, 2]",
	"$.data.m.get(c, 5)":                                 "5",
	"$.data.m.set(c, 3)":                                 `{"a": 1, "b": 2, "c": 3}`,
	"$.data.m + {c => 3}":                                `{"a": 1, "b": 2, "c": 3}`,
	"$.data.m.a":                                         "1",
	"$.data.m[a]":                                        "1",
	"$.data.n[-1]":                                       "2",
	"$.data.n[3]":                                        "IndexError",
	"$.data.nothing?.x":                                  "null",
	"coalesce($.data.nothing, 4)":                        "4",
	"let(a => 1, b => 2) -> $a + $b":                     "3",
	"switch($.data.n.len() > 5 => big, true => small)":   `"small"`,
	"$.data.n.orderByDescending($).limit(2)":             "[3, 2]",
	"$.data.n.skip(1)":                                   "[1, 2]",
	"$.data.n.any($ > 2)":                                "true",
	"$.data.n.all($ > 2)":                                "false",
	"$.data.n.max()":                                     "3",
	"$.data.n.aggregate($1 + $2)":                        "6",
	"$.data.n.reduce($1 + $2)":                           "6",
	"'a/b/c'.rightSplit('/', 1)":                         `["a/b", "c"]`,
	"'a/b/c'.rightSplit(separator => '/')":               `["a", "b", "c"]`,
	"' a b  c '.rightSplit(maxSplits => 1)":              `[" a b", "c"]`,
	"' a b '.rightSplit()":                               `["a", "b"]`,
	"'a'.rightSplit('')":                                 "ValueError",
	"' a b  c '.split(maxSplits => 1)":                   `["a", "b  c "]`,
	"' a b '.split(maxSplits => 0)":                      `["a b "]`,
	"' '.split()":                                        "[]",
	"'a,b,c'.split(',', 1)":                              `["a", "b,c"]`,
	"',a,'.split(',')":                                   `["", "a", ""]`,
	"$.data.n.zip([a, b, c])":                            `[[3, "a"], [1, "b"], [2, "c"]]`,
	"$.data.n.enumerate()":                               "[[0, 3], [1, 1], [2, 2]]",
	"$.data.n + [4]":                                     "[3, 1, 2, 4]",
	"$.data.e.first()":                                   "StopIteration",
	"$.data.e.first(0)":                                  "0",
	"range(3)":                                           "[0, 1, 2]",
	"range(1, 6, 2)":                                     "[1, 3, 5]",
	"str(1) + 'x'":                                       `"1x"`,
	"int('5') + 1":                                       "6",
	"regex('a.').matches('ab')":                          "true",
	"'xay' =~ 'a'":                                       "true",
	"$.data.servers.groupBy($.ram, $.name)":              `[[2, ["x"]], [1, ["y"]]]`,
	"{a => 1, b => {c => 2}}":                            `{"a": 1, "b": {"c": 2}}`,
	"{a => {x => 1}}.mergeWith({a => {y => 2}, b => 3})": `{"a": {"x": 1, "y": 2}, "b": 3}`,
	"$.data.n.len() + 'x'":                               "NoMatchingFunctionException",
	"nope(1)":                                            "NoFunctionRegisteredException",
	"$.data.nope()":                                      "NoMethodRegisteredException",
	"$.data.m.nope":                                      "KeyError",
	"[1, 2":                                              "parse: Parse error: unexpected end of statement",
	"'a":                                                 "parse: Lexical error: illegal character \"'\" at position 2 of expression \"'a\"",
	"":                                                   "null",
}

// Bombs end in an error, and soon.
func TestBudget(t *testing.T) {
	list := make([]any, 190)
	for i := range list {
		list[i] = value.Int(i)
	}
	for _, bomb := range []string{
		"$.data.select($.len())" + strings.Repeat(" + $.data", 90),
		"let(l => $.data) -> $l.select($l.select($l.select($l.select(1))))",
		"let(l => $.data) -> $l.where($l.where($l.where($l.where(false).len() > 0).len() > 0).len() > 0)",
		"'abc' * 1000000000",
		"[1] * 1000000000",
		"range(1000000000).select($ * $).len()",
		"range(100).aggregate($1 * $1, 3)",
		"range(100).aggregate($1 + $1, 'ab')",
		"range(100).aggregate([$1, $1], 1)",
		"regex('(a+)+b').matches('" + strings.Repeat("a", 9000) + "')",
		strings.Repeat("(", 10_000) + strings.Repeat(")", 10_000),
		strings.Repeat("[", 10_000),
		strings.Repeat("not ", 5_000) + "true",
		strings.Repeat("1+", 9_000) + "1",
		strings.Repeat("$.a", 5_000),
		"''.join(range(199).select('x' * 5000))",
		"'a'.replace('', 'x' * 9000)",
	} {
		begin := time.Now()
		got := evaluate(bomb, list)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s takes %s", value.Clip(bomb, 60), took)
		}
		if len(got) > 1_000_000 {
			t.Errorf("%s gives %d bytes", value.Clip(bomb, 60), len(got))
		}
	}
}

func FuzzParse(f *testing.F) {
	for text := range Expressions {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) { evaluate(text, value.NewMap("a", "b")) })
}
