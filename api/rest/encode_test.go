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

// What can't be encoded is an error, and the buffer that it was in is used again.
func TestEncodingFails(t *testing.T) {
	t.Parallel()
	bad := make(chan int)
	for _, body := range []any{bad, Collection{"a", slices.Values([]any{1, bad}), nil}, Collection{"a", slices.Values([]any{1}), map[string]any{"b": bad}}} {
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
