package yaql

// Text into tokens.

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast.dev/internal/hot/value"
)

type kind byte

const (
	endOfText kind = iota
	literal        // a number, text, true, false or null
	word           // a name that stands for itself
	function       // a name with its opening parenthesis
	variable       // $ and a name
	operator       // an operator or a bracket
)

type token struct {
	kind  kind
	text  string
	value any
	at    int
}

// operators are the texts of operators and brackets, the longest first.
var operators = []string{"?.", "=>", "->", "=~", "!~", "!=", ">=", "<=", ".", "+", "-", "*", "/", ">", "<", "=", "(", ")", "[", "]", "{",
	"}", ",", ":"}

// worded are the operators that are words.
var worded = map[string]bool{"and": true, "or": true, "not": true, "in": true, "mod": true}

var constants = map[string]any{"true": true, "false": false, "null": nil}

type lexer struct {
	text string
	at   int
}

func (l *lexer) fail(format string, args ...any) error {
	//lint:ignore ST1005 the original's words
	return fmt.Errorf("Lexical error: %s at position %d of expression %s", fmt.Sprintf(format, args...), l.at, value.Short(l.text, 200))
}

func letter(c rune) bool { return c == '_' || unicode.IsLetter(c) }
func wordy(c rune) bool  { return letter(c) || unicode.IsDigit(c) }

// run is how many bytes from the present place on are of a kind.
func (l *lexer) run(of func(rune) bool) string {
	rest := l.text[l.at:]
	end := strings.IndexFunc(rest, func(c rune) bool { return !of(c) })
	if end < 0 {
		end = len(rest)
	}
	return rest[:end]
}

func (l *lexer) next() (token, error) {
	l.at += len(l.run(unicode.IsSpace))
	if l.at >= len(l.text) {
		return token{kind: endOfText, at: l.at}, nil
	}
	t := token{at: l.at}
	c, _ := utf8.DecodeRuneInString(l.text[l.at:])
	switch {
	case c == '\'' || c == '"' || c == '`':
		text, err := l.quoted(byte(c))
		t.kind, t.value, t.text = literal, text, "'"+text+"'"
		return t, err
	case c == '$':
		l.at++
		name := l.run(wordy)
		l.at += len(name)
		t.kind, t.text = variable, "$"+name
		return t, nil
	case unicode.IsDigit(c):
		return l.number()
	case letter(c):
		name := l.run(wordy)
		l.at += len(name)
		t.text = name
		if l.at < len(l.text) && l.text[l.at] == '(' && !worded[name] {
			l.at++
			t.kind = function
			return t, nil
		}
		if v, ok := constants[name]; ok {
			t.kind, t.value = literal, v
			return t, nil
		}
		if t.kind = word; worded[name] {
			t.kind = operator
		}
		return t, nil
	}
	for _, op := range operators {
		if strings.HasPrefix(l.text[l.at:], op) {
			l.at += len(op)
			t.kind, t.text = operator, op
			return t, nil
		}
	}
	return t, l.fail("illegal character %s", value.Repr(string(c)))
}

func (l *lexer) number() (token, error) {
	t := token{kind: literal, at: l.at}
	digits := l.run(unicode.IsDigit)
	l.at += len(digits)
	t.text = digits
	if rest := l.text[l.at:]; len(rest) > 1 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9' {
		l.at++
		fraction := l.run(unicode.IsDigit)
		l.at += len(fraction)
		t.text += "." + fraction
	}
	n, err := value.ToNumber(t.text)
	if err != nil {
		return t, l.fail("illegal number")
	}
	t.value = n
	return t, nil
}

// quoted reads a text in quotes; between backticks only the backtick is
// escaped.
func (l *lexer) quoted(quote byte) (string, error) {
	var b strings.Builder
	for l.at++; l.at < len(l.text); l.at++ {
		c := l.text[l.at]
		switch {
		case c == quote:
			l.at++
			return b.String(), nil
		case c == '\\' && l.at+1 < len(l.text) && (quote != '`' || l.text[l.at+1] == '`'):
			l.at++
			switch e := l.text[l.at]; e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '\\', '\'', '"', '`':
				b.WriteByte(e)
			default:
				b.WriteByte('\\')
				b.WriteByte(e)
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", l.fail("illegal character %s", value.Repr(string(quote)))
}
