package hot

// Regular expressions as the original's language has them, in bounded time.
//
// What needs no backtracking is matched without it; the rest has a deadline.

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"holdfast.dev/internal/hot/value"
)

const (
	// matchTime is the longest time for one match that backtracks.
	matchTime = 250 * time.Millisecond
	// matchWork is the most work, instructions times bytes, for one that doesn't.
	matchWork = 20_000_000
	// maxPattern is how long an expression may be.
	maxPattern = 10_000
)

// Pattern is an expression that a whole value must match from its beginning.
type Pattern struct {
	Text string

	linear       *regexp.Regexp
	instructions int
	backtracking *regexp2.Regexp
}

// NewPattern compiles an expression.
func NewPattern(text string) (*Pattern, error) {
	if len(text) > maxPattern {
		return nil, failf(InvalidSchema, "AllowedPattern must be no longer than %d characters", maxPattern)
	}
	p := &Pattern{Text: text}
	// {,n} is {0,n} in the original's language alone, and \Z its end of text.
	portable := strings.ReplaceAll(strings.ReplaceAll(text, "{,", "{0,"), `\Z`, `\z`)
	if parsed, err := syntax.Parse(`\A(?:`+portable+`)`, syntax.Perl); err == nil {
		if program, err := syntax.Compile(parsed.Simplify()); err == nil {
			p.instructions = len(program.Inst)
			p.linear, err = regexp.Compile(`\A(?:` + portable + `)`)
			if err != nil {
				return nil, badPattern(text, err)
			}
		}
	}
	// Python's own form of named groups is what regexp2 lacks.
	backtracking, err := regexp2.Compile(`\A(?:`+strings.ReplaceAll(portable, "(?P<", "(?<")+`)`, regexp2.None)
	if err != nil {
		if p.linear == nil {
			return nil, badPattern(text, err)
		}
		return p, nil
	}
	backtracking.MatchTimeout = matchTime
	p.backtracking = backtracking
	return p, nil
}

func badPattern(text string, err error) error {
	return failf(InvalidSchema, "AllowedPattern %s can't be compiled: %s", value.Short(text, 200), err)
}

// Match says whether the expression matches a value from its beginning and
// ends where the value ends.
func (p *Pattern) Match(s string) (bool, error) {
	// Classes like \w hold more than ASCII in the original's language.
	if p.linear != nil && (p.backtracking == nil || ascii(s) && p.instructions*(len(s)+1) <= matchWork) {
		found := p.linear.FindStringIndex(s)
		return found != nil && found[1] == len(s), nil
	}
	match, err := p.backtracking.FindStringMatch(s)
	if err != nil {
		return false, value.Errorf(ValueError, "the value takes too long to be matched with the pattern %s", value.Short(p.Text, 200))
	}
	return match != nil && match.Length == len([]rune(s)), nil
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
