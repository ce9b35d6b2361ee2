package orchestration

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A mark is a text, and short enough, however long the names are and in whatever script.
func TestMarkOf(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"s", "r"}, {"s", strings.Repeat("r", 300)}, {"s", strings.Repeat("é", 200)}, {"st", strings.Repeat("é", 200)}} {
		mark := MarkOf(&Stack{ID: "1", Name: names[0]}, &Resource{ID: 1, Name: names[1]})
		if len(mark) > 255 || !utf8.ValidString(mark) || !strings.HasPrefix(mark, names[0]+"-") || mark[len(mark)-MarkLength-1] != '-' {
			t.Errorf("%s, %.10s: %q", names[0], names[1], mark)
		}
	}
}
