package pyjson

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRepr(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`null`:                       "None",
		`[true, false]`:              "[True, False]",
		`{"b": 1, "a": [], "b": {}}`: "{'b': {}, 'a': []}",
		`1`:                          "1",
		`1.0`:                        "1.0",
		`-0.0`:                       "-0.0",
		`1e5`:                        "100000.0",
		`1e16`:                       "1e+16",
		`0.00001`:                    "1e-05",
		`0.0001`:                     "0.0001",
		`1e400`:                      "inf",
		`123456789012345678901`:      "123456789012345678901",
		`"it's"`:                     `"it's"`,
		`"it's \"so\""`:              `'it\'s "so"'`,
		`"\u0000\n\\\u007f\u00a0é\u2028\ud83d\ude00\ue000"`: `'\x00\n\\\x7f\xa0é\u2028😀\ue000'`,
	} {
		value, _, err := Parse([]byte(text))
		if got := Repr(value); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"":               ErrSyntax,
		"{":              ErrSyntax,
		"{} {}":          ErrSyntax,
		"NaN":            ErrSyntax,
		"{'a': 1}":       ErrSyntax,
		"[1,]":           ErrSyntax,
		"\"\xff\"":       ErrEncoding,
		"\xef\xbb\xbf{}": ErrSyntax,
		`"\ud800"`:       ErrEncoding,
		`"\ud800\u0041"`: ErrEncoding,
		`"\udc00"`:       ErrEncoding,
		strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1): ErrDepth,
		strings.Repeat("[", 200000):                                       ErrSyntax,
		strings.Repeat("9", 5000):                                         ErrNumber,
	} {
		if _, _, err := Parse([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", text, err, want)
		}
	}
	for _, text := range []string{`"\\ud800"`, `"\ud83d\ude00"`, strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)} {
		if _, _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1`, `true`, false}, {`true`, `true`, true}, {`null`, `null`, true}, {`0`, `null`, false},
		{`{"a": 1, "b": 2}`, `{"b": 2, "a": 1}`, true}, {`[1]`, `[1, 2]`, false}, {`"1"`, `1`, false}, {`{}`, `[]`, false},
		{`9007199254740993`, `9007199254740992.0`, false},
	} {
		a, _, _ := Parse([]byte(k.a))
		b, _, _ := Parse([]byte(k.b))
		if Equal(a, b) != k.want || Equal(b, a) != k.want {
			t.Errorf("%s and %s: want %v", k.a, k.b, k.want)
		}
	}
}

// What is read can be printed, and what is valid is read back the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a": [1, 1.5, "x", null, true], "a": {}}`, `"\ud800"`, "[[[[", `1e999`, `"\u0000'\""`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value, _, err := Parse(text)
		if err != nil {
			return
		}
		if Repr(value) == "" && string(text) != `""` {
			t.Fatalf("%q prints as nothing", text)
		}
		written, err := json.Marshal(value)
		if err != nil {
			return // an infinity
		}
		again, _, err := Parse(written)
		if err != nil || !Equal(value, again) {
			t.Fatalf("%q was written as %q and read as %v: %v", text, written, again, err)
		}
	})
}

// An object of any size keeps its keys in order and finds each, whatever was set
// again or taken away.
func TestObject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var o Object
		var order []string
		values := map[string]any{}
		for range rapid.IntRange(0, 80).Draw(t, "changes") {
			key := strconv.Itoa(rapid.IntRange(0, 40).Draw(t, "key"))
			if rapid.IntRange(0, 3).Draw(t, "of four") == 0 {
				o.Delete(key)
				delete(values, key)
				order = slices.DeleteFunc(order, func(k string) bool { return k == key })
				continue
			}
			if _, there := values[key]; !there {
				order = append(order, key)
			}
			values[key] = rapid.Int().Draw(t, "value")
			o.Set(key, values[key])
		}
		if !slices.Equal(o.Keys(), order) || o.Len() != len(order) {
			t.Fatalf("keys %q; want %q", o.Keys(), order)
		}
		for n := range 41 {
			key := strconv.Itoa(n)
			value, there := o.Get(key)
			if want, is := values[key]; there != is || value != want {
				t.Fatalf("key %s has %v (%t); want %v (%t)", key, value, there, want, is)
			}
		}
		for i, want := range order {
			if key, value := o.At(i); key != want || value != values[want] {
				t.Fatalf("at %d: %v %v; want %s %v", i, key, value, want, values[want])
			}
		}
	})
}
