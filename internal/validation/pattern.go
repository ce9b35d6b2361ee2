package validation

// Regular expressions as Python has them: lookaround, and a $ that also matches
// before one last newline. regexp2 backtracks, so a match has a deadline.

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
)

// matchTime is the longest time for one match; no honest value needs it.
const matchTime = time.Second

// Pattern is a compiled expression.
type Pattern struct {
	text string
	re   *regexp2.Regexp
}

// CompilePattern compiles an expression in Python's syntax.
func CompilePattern(text string) (*Pattern, error) {
	// Python's own form of named groups is the one thing that regexp2 lacks.
	re, err := regexp2.Compile(strings.ReplaceAll(text, "(?P<", "(?<"), regexp2.None)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	re.MatchTimeout = matchTime
	return &Pattern{text, re}, nil
}

// Match says whether the expression is found anywhere in s. What takes too long
// doesn't match.
func (p *Pattern) Match(s string) bool {
	found, err := p.re.MatchString(s)
	return err == nil && found
}
