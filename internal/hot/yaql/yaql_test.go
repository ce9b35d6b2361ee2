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
	"bitwiseAnd(6, 3)":                                   "2",
	"bitwiseOr(6, 3)":                                    "7",
	"bitwiseXor(6, -3)":                                  "-5",
	"bitwiseNot(6)":                                      "-7",
	"shiftBitsLeft(3, 2)":                                "12",
	"shiftBitsRight(-9, 1)":                              "-5",
	"shiftBitsLeft(1, 1000000000)":                       "MemoryQuotaExceededException",
	"shiftBitsLeft(1, -1)":                               "ValueError",
	"bitwiseAnd(true, 1)":                                "1",
	"bitwiseAnd(1.5, 1)":                                 "NoMatchingFunctionException",
	"hex(255)":                                           `"0xff"`,
	"hex(-255)":                                          `"-0xff"`,
	"hex(null)":                                          "TypeError",
	"pow(2, 10)":                                         "1024",
	"pow(2, -1)":                                         "0.5",
	"pow(-1, 1000000001)":                                "-1",
	"pow(7, 3, 5)":                                       "3",
	"pow(7, -1, 5)":                                      "3",
	"pow(7, 3, -5)":                                      "-2",
	"pow(2, -1, 4)":                                      "ValueError",
	"pow(3, 2, 0)":                                       "ValueError",
	"pow(0, -1)":                                         "ZeroDivisionError",
	"pow(2, 1000000)":                                    "MemoryQuotaExceededException",
	"pow(2.5, 2)":                                        "6.25",
	"pow(2, 2, 1.5)":                                     "TypeError",
	"$.data.n.accumulate($1 + $2)":                       "[3, 4, 6]",
	"$.data.n.accumulate($1 + $2, 10)":                   "[10, 13, 14, 16]",
	"$.data.e.accumulate($1 + $2)":                       "TypeError",
	"$.data.e.accumulate($1 + $2, 1)":                    "[1]",
	"$.data.n.map($ * 2)":                                "[6, 2, 4]",
	"$.data.n.lastIndexWhere($ > 1)":                     "2",
	"$.data.n.lastIndexWhere($ > 5)":                     "-1",
	"$.data.n.insertMany(1, [8, 9])":                     "[3, 8, 9, 1, 2]",
	"$.data.n.insertMany(-1, [8, 9])":                    "[8, 9, 3, 1, 2]",
	"$.data.n.insertMany(5, [8, 9])":                     "[3, 1, 2, 8, 9]",
	"$.data.n.replace(1, 7)":                             "[3, 7, 2]",
	"$.data.n.replace(1, 7, 2)":                          "[3, 7]",
	"$.data.n.replace(0, 7, -1)":                         "[7]",
	"$.data.n.replaceMany(1, [8, 9])":                    "[3, 8, 9, 2]",
	"$.data.n.replaceMany(1, [8, 9], -1)":                "[3, 8, 9]",
	"$.data.n.replaceMany(5, [8, 9])":                    "[3, 1, 2]",
	"$.data.n.replaceMany(-2, [8, 9], 3)":                "[8, 9, 1, 2]",
	"$.data.n.splitAt(1)":                                "[[3], [1, 2]]",
	"$.data.n.splitAt(-1)":                               "[[3, 1], [2]]",
	"$.data.n.splitWhere($ = 1)":                         "[[3], [2]]",
	"$.data.n.splitWhere($ = 2)":                         "[[3, 1]]",
	"$.data.n.splitWhere($ = 3)":                         "[[], [1, 2]]",
	"$.data.n.sliceWhere($ > 1)":                         "[[3], [1], [2]]",
	"$.data.e.sliceWhere($ > 1)":                         "[]",
	"$.data.n.zipLongest([a])":                           `[[3, "a"], [1, null], [2, null]]`,
	"$.data.n.zipLongest([a], default => 0)":             `[[3, "a"], [1, 0], [2, 0]]`,
	"$.data.n.zip([a])":                                  `[[3, "a"]]`,
	"$.data.n.cycle().limit(5)":                          "[3, 1, 2, 3, 1]",
	"$.data.n.cycle()":                                   "CollectionTooLargeException",
	"$.data.e.cycle()":                                   "[]",
	"a.repeat(2)":                                        `["a", "a"]`,
	"a.repeat(0)":                                        "[]",
	"a.repeat().limit(3)":                                `["a", "a", "a"]`,
	"a.repeat()":                                         "CollectionTooLargeException",
	"sequence().limit(3)":                                "[0, 1, 2]",
	"sequence(5, -2).limit(3)":                           "[5, 3, 1]",
	"sequence()":                                         "CollectionTooLargeException",
	"generate(1, $ < 100, $ * 3)":                        "[1, 3, 9, 27, 81]",
	"generate(1, $ < 100, $ * 3, $ + 1)":                 "[2, 4, 10, 28, 82]",
	"generate(1, $ < 100, $ * 3, selector => $ + 1)":     "[2, 4, 10, 28, 82]",
	"generate(1, $ < 5, 2, decycle => true)":             "[1, 2]",
	"generate(1, true, $ + 1)":                           "CollectionTooLargeException",
	"generateMany(1, [$ * 2, $ * 2 + 1].where($ < 8))":   "[1, 2, 3, 4, 5, 6, 7]",
	"generateMany(1, [$ * 2, $ * 2 + 1].where($ < 8), depthFirst => true)": "[1, 2, 4, 5, 3, 6, 7]",
	"generateMany(1, [$ * 2, $ * 2 + 1].where($ < 8), $ * 10)":             "[10, 20, 30, 40, 50, 60, 70]",
	"generateMany(1, [1, 2], decycle => true)":                             "[1, 2]",
	"generateMany(1, [$, $])":                                              "CollectionTooLargeException",
	"selectCase($.data.n.len() > 5, true)":                                 "1",
	"selectCase(false)":                                                    "1",
	"selectCase()":                                                         "0",
	"selectAllCases(true, false, 1)":                                       "[0, 2]",
	"examine(1, '', true)":                                                 "[true, false, true]",
	"selectCase(false, true).switchCase(a, b, c)":                          `"b"`,
	"5.switchCase(a, b)":                                                   `"b"`,
	"(-1).switchCase(a, b)":                                                `"b"`,
	"1.switchCase()":                                                       "null",
	"$.data.n.assert($.len() > 2)":                                         "[3, 1, 2]",
	"$.data.n.assert($.len() > 5)":                                         "AssertionError",
	"1.assert($ > 0) + 1":                                                  "2",
	"$.data.n.select($ + 1).memorize()":                                    "[4, 2, 3]",
	"[1, 2].unpack(a, b) -> $a + $b":                                       "3",
	"[1, 2].unpack() -> $1 + $2":                                           "3",
	"[1, 2, 3].unpack(a, b) -> $a":                                         "ValueError",
	"regex('[a-b]').searchAll('a-b-c')":                                    `["a", "b"]`,
	"'a-b-c'.searchAll(regex('[a-b]'))":                                    "NoMatchingMethodException",
	"regex('([a-b])-').searchAll('é-a-b-c', $2.value)":                     `["a", "b"]`,
	"regex('([a-b])-').searchAll('éa-b-c', $1.start)":                      "[1, 3]",
	"regex('[a-b]').search('a-b-c', $.start)":                              "0",
	"regex('(a)|(z)').searchAll('a', $3)":                                  `[{"value": null, "start": -1, "end": -1}]`,
	"regex('[a-b]').replaceBy('a-b-c', $.value + $.value)":                 `"aa-bb-c"`,
	"'a-b-c'.replaceBy(regex('[a-b]'), 'x')":                               `"x-x-c"`,
	"'a-b-c'.replaceBy(regex('[a-b]'), 'x', 1)":                            `"x-b-c"`,
	"characters(octdigits => true).orderBy($)":                             `["0", "1", "2", "3", "4", "5", "6", "7"]`,
	"characters(digits => true, octdigits => true).len()":                  "10",
	"characters(printable => true).len()":                                  "100",
	"characters(punctuation => true).orderBy($).join('')":                  "\"!\\\"#$%&'()*+,-./:;<=>?@[\\\\]^_`{|}~\"",
	"characters(letters => true)":                                          "AttributeError",
	"characters()":                                                         "[]",
	"isSet(set(1))":                                                        "true",
	"isSet([1])":                                                           "false",
	"set(1, 2, 2).len()":                                                   "2",
	"set(1, 2).union(set(2, 3)).orderBy($)":                                "[1, 2, 3]",
	"set(1, 2).union([2, 3])":                                              "NoMatchingMethodException",
	"set(1, 2).intersect(set(2, 3)).orderBy($)":                            "[2]",
	"set(1, 2).difference(set(2, 3)).orderBy($)":                           "[1]",
	"set(1, 2).symmetricDifference(set(2, 3)).orderBy($)":                  "[1, 3]",
	"set(1, 2).add(3, 4).orderBy($)":                                       "[1, 2, 3, 4]",
	"set(1, 2).remove(1, 5).orderBy($)":                                    "[2]",
	"set(1, 2) = set(2, 1)":                                                "true",
	"set(1, 2) = [1, 2]":                                                   "false",
	"set(1, 2) < set(1, 2, 3)":                                             "true",
	"set(1, 2) <= set(1, 2)":                                               "true",
	"set(1, 2) > set(1, 2)":                                                "false",
	"set(1, 2) >= set(1)":                                                  "true",
	"set(1) < 2":                                                           "NoMatchingFunctionException",
	"(set(1) - set(2)).len()":                                              "1",
	"(set(1) + set(2)).orderBy($)":                                         "[1, 2]",
	"set(1) + [2]":                                                         "[1, 2]",
	"set([1, 2], 3).len()":                                                 "2",
	"set($.data.n.select($)).len()":                                        "3",
	"set({a => 1}, 2).len()":                                               "2",
	"1 in set(1)":                                                          "true",
	"set() or 5":                                                           "5",
	"set(set(1, 2), set(2, 1)).len()":                                      "1",
	"isSet($.data.n.toSet())":                                              "true",
	"isList(set(1))":                                                       "false",
	"isIterable(set(1))":                                                   "true",
	"set(1)[0]":                                                            "NoMatchingFunctionException",
	"[1, set(2, 3)].flatten().len()":                                       "3",
	"list(set(1, 2)).len()":                                                "1",
	"$.data.m.set({c => 3})":                                               `{"a": 1, "b": 2, "c": 3}`,
	"[1, 2":                                                                "parse: Parse error: unexpected end of statement",
	"'a":                                                                   "parse: Lexical error: illegal character \"'\" at position 2 of expression \"'a\"",
	"":                                                                     "null",
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
		"sequence().where(false).first()",
		"generate(1, true, $ + 1).where(false).len()",
		"generate(1, true, [$, $]).last()",
		"generateMany(1, [$, $, $]).where(false).len()",
		"generateMany(1, range(199), decycle => true, depthFirst => true).len()",
		"a.repeat().select(b.repeat().select(c.repeat().limit(199).len()).limit(199)).limit(199)",
		"range(199).select(range($, $ + 199).toSet()).toSet().len()",
		"let(s => range(199).toSet(), t => range(199).reverse().toSet()) -> range(199).where(range(199).where($s = $t).len() = 0)",
		"let(l => range(150).toList()) -> let(k => range(140).select($l).toList()) -> range(100).select($k.append($)).distinct().len()",
		"let(k => generate([1], true, [$, $]).limit(40).toList().last()) -> $k = $k",
		"pow(3, pow(3, 20))",
		"pow(7, pow(2, 70000) - 1, pow(2, 70000) + 1)",
		"hex(pow(2, 70000)).len()",
		"shiftBitsLeft(1, 70000).repeat(199).sum()",
		"regex('a*').replaceBy('" + strings.Repeat("a b", 3000) + "', 'x' * 9000)",
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
