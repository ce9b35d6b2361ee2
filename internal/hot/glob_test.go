package hot

import "testing"

// Patterns match what Python's fnmatchcase has them match.
func TestMatchesName(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		pattern, name string
		want          bool
	}{
		{"web", "web", true}, {"web", "web1", false}, {"web1", "web", false}, {"", "", true}, {"", "a", false},
		{"*", "", true}, {"*", "anything", true}, {"**", "", true}, {"web*", "web", true}, {"web*", "we", false},
		{"*b", "ab", true}, {"*b", "ba", false}, {"*ab*b", "aabab", true}, {"a*b*c", "axbxbxc", true}, {"a*b*c", "axbxbx", false},
		{"?", "é", true}, {"?", "", false}, {"a?", "abc", false}, {"*?", "é", true},
		{"web[0-9]", "web7", true}, {"web[0-9]", "web", false}, {"web[0-9]", "webx", false}, {"[a-cx-]", "-", true}, {"[a-cx-]", "b", true},
		{"[!0-9]", "x", true}, {"[!0-9]", "5", false}, {"[^a]", "^", true}, {"[z-a]", "m", false}, {`[\d]`, "7", false}, {`[\d]`, `\`, true},
		{"a[", "a[", true}, {"[]", "[]", true}, {"a.c", "abc", false}, {"a+", "aa", false}, {"*[", "x[", true},
		{"a\nb*", "a\nbc", true}, {"*\xff", "a\xff", true},
	} {
		if got := matchesName(one.pattern, one.name); got != one.want {
			t.Errorf("%q matches %q: %t", one.pattern, one.name, got)
		}
	}
}
