package rest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A Collection is the text that its parts would be as a map.
func TestCollection(t *testing.T) {
	t.Parallel()
	item := map[string]any{"name": "<a&b>\u2028", "none": nil, "tags": []string{}}
	for name, c := range map[string]struct {
		items  []any
		beside map[string]any
	}{
		"no items":     {nil, nil},
		"one":          {[]any{item}, nil},
		"several":      {[]any{item, 7, "x"}, nil},
		"beside":       {[]any{item}, map[string]any{"things_links": []string{"next"}}},
		"beside alone": {nil, map[string]any{"things_links": nil}},
	} {
		want := map[string]any{"things": append([]any{}, c.items...)}
		for key, v := range c.beside {
			want[key] = v
		}
		var got any
		err := encoded(Collection{"things", slices.Values(c.items), c.beside}, func(text []byte) {
			if err := json.Unmarshal(text, &got); err != nil {
				t.Errorf("%s: %v in %s", name, err, text)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if a, b := text(t, got), text(t, want); a != b {
			t.Errorf("%s: %s, want %s", name, a, b)
		}
	}
}

// Values are what encoding/json makes of them, byte for byte, whoever writes them.
func TestValues(t *testing.T) {
	t.Parallel()
	word, odd := "word", "a\"b\\c\n\x7f\xff<é>\u2028&"
	object := map[string]any{
		"none": nil, "nowhere": (*string)(nil), "yes": true, "no": false, "word": word, "at": &word, "odd": odd, "oddly": &odd, odd: 7,
		"kept": json.RawMessage(`{ "b" : [1, "<x>&\u2028", 2.50],  "a": "\"\\\u003c" }`), "plainly": json.RawMessage(`{"b": [1,  "x\"\\"], "a": 1.0}`),
		"unkept": json.RawMessage(nil), "lines": json.RawMessage("[1,\n2]"), "empty": map[string]any{}, "nothing": map[string]any(nil),
		"inner": map[string]any{"z": 1, "a": map[string]any{"z": nil}}, "words": []string{odd, word}, "number": 1.5,
	}
	other := map[string]any{"zeal": word, "also": object, "none": nil}
	for _, v := range []any{object, other, []any{object}, word, odd, nil, true, map[string]any(nil), []any{}} {
		if err := encoded(v, func(got []byte) {
			if want := text(t, v); string(got) != want {
				t.Errorf("%s, want %s", got, want)
			}
		}); err != nil {
			t.Error(err)
		}
	}
	items := []any{other, other, object, map[string]any{"also": 1, "none": 2, "zest": 3}, map[string]any{}, other}
	if err := encoded(Collection{"things", slices.Values(items), nil}, func(got []byte) {
		if want := text(t, map[string]any{"things": items}); string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}); err != nil {
		t.Error(err)
	}
}

// What can't be encoded is an error, and the buffer that it was in is used again.
func TestEncodingFails(t *testing.T) {
	t.Parallel()
	bad := make(chan int)
	for _, body := range []any{bad, json.RawMessage("{"), map[string]any{"a": bad}, Collection{"a", slices.Values([]any{1, bad}), nil}, Collection{"a", slices.Values([]any{1}), map[string]any{"b": bad}}} {
		if err := encoded(body, func(text []byte) { t.Errorf("it gives %s", text) }); err == nil {
			t.Errorf("no error for %T", body)
		}
	}
	err := encoded("whole", func(text []byte) {
		if string(text) != `"whole"` {
			t.Errorf("then %s", text)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}
