package hot

// Shell patterns, by which entries of a registry say of which resources they are.

import (
	"strings"
	"unicode/utf8"
)

// matchesName says whether a shell pattern matches a whole name. It takes no longer
// than to hold each character of the one against each of the other.
func matchesName(pattern, name string) bool {
	p, n := 0, 0
	star, taken := -1, 0 // where the last star is, and up to where it stands for the name
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, taken = p, n
			p++
			continue
		}
		c, width := utf8.DecodeRuneInString(name[n:])
		if length, is := matchesOne(pattern[p:], c); is {
			p, n = p+length, n+width
			continue
		}
		if star < 0 {
			return false
		}
		_, width = utf8.DecodeRuneInString(name[taken:])
		taken += width
		p, n = star+1, taken
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchesOne says whether what a pattern begins with matches a character, and how long
// that is.
func matchesOne(pattern string, c rune) (length int, is bool) {
	switch {
	case pattern == "":
		return 0, false
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '[':
		if end := strings.IndexByte(pattern[1:], ']'); end > 0 {
			return end + 2, inSet(pattern[1:1+end], c)
		}
	}
	one, length := utf8.DecodeRuneInString(pattern)
	return length, one == c
}

// inSet says whether a character is one of a set, which has characters and ranges; one
// that begins with an exclamation mark has all others.
func inSet(set string, c rune) bool {
	set, others := strings.CutPrefix(set, "!")
	all := []rune(set)
	found := false
	for i := 0; i < len(all); i++ {
		least, most := all[i], all[i]
		if i+2 < len(all) && all[i+1] == '-' {
			most = all[i+2]
			i += 2
		}
		found = found || least <= c && c <= most
	}
	return found != others
}
