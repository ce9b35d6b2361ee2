package yaql

// Functions of texts and regular expressions.

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast.dev/internal/hot/value"
)

// expression is a compiled regular expression.
type expression struct{ *regexp.Regexp }

// maxPattern is how long a regular expression may be.
const maxPattern = 1000

func (m *machine) pattern(v any) (expression, error) {
	switch x := v.(type) {
	case expression:
		return x, nil
	case string:
		if len(x) > maxPattern {
			return expression{}, value.Errorf("ValueError", "a regular expression is longer than %d characters", maxPattern)
		}
		re, err := regexp.Compile(x)
		if err != nil {
			return expression{}, value.Errorf("error", "%s", err)
		}
		return expression{re}, nil
	}
	return expression{}, mismatch{}
}

// onText is a function of one text.
func onText(f func(s string) any) builtin {
	return func(a *arguments) (any, error) {
		if err := a.count(1, 1); err != nil {
			return nil, err
		}
		s, err := a.text(0)
		if err != nil {
			return nil, err
		}
		return f(s), nil
	}
}

// trimming is a function that takes characters off a text.
func trimming(f func(s, cutset string) string) builtin {
	return func(a *arguments) (any, error) {
		s, err := a.text(0)
		if err != nil {
			return nil, err
		}
		cut, err := a.or(1, "chars", nil)
		if err != nil {
			return nil, err
		}
		characters, ok := cut.(string)
		if !ok {
			characters = " \t\n\r\v\f"
		}
		return f(s, characters), nil
	}
}

// affix says whether a text begins or ends with one of the others.
func affix(f func(s, part string) bool) builtin {
	return func(a *arguments) (any, error) {
		s, err := a.text(0)
		if err != nil {
			return nil, err
		}
		for i := 1; a.has(i); i++ {
			part, err := a.text(i)
			if err != nil || f(s, part) {
				return true, err
			}
		}
		return false, nil
	}
}

func textFunctions() map[string]builtin {
	return map[string]builtin{
		"toUpper":     onText(func(s string) any { return strings.ToUpper(s) }),
		"toLower":     onText(func(s string) any { return strings.ToLower(s) }),
		"isEmpty":     isEmpty,
		"trim":        trimming(strings.Trim),
		"trimLeft":    trimming(strings.TrimLeft),
		"trimRight":   trimming(strings.TrimRight),
		"norm":        norm,
		"startsWith":  affix(strings.HasPrefix),
		"endsWith":    affix(strings.HasSuffix),
		"split":       split,
		"rightSplit":  rightSplit,
		"join":        join,
		"str":         str,
		"concat":      concat,
		"replace":     replace,
		"substring":   substring,
		"toCharArray": toCharArray,
		"regex":       regex,
		"matches":     matches,
		"search":      search,
		"isRegex":     func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.(expression); return ok, err },
		"escapeRegex": onText(func(s string) any { return regexp.QuoteMeta(s) }),
		"lastIndexOf": lastIndexOf,
		"isString":    func(a *arguments) (any, error) { v, err := a.value(0); _, ok := v.(string); return ok, err },
	}
}

func isEmpty(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil || v == nil {
		return true, err
	}
	s, err := a.text(0)
	if err != nil {
		return nil, err
	}
	return strings.TrimSpace(s) == "", nil
}

func norm(a *arguments) (any, error) {
	s, err := a.text(0)
	if err != nil {
		return nil, err
	}
	if s = strings.TrimSpace(s); s == "" {
		return nil, nil
	}
	return s, nil
}

// split splits a text at white space, at a separator, or at what a regular
// expression matches.
func split(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	if re, ok := v.(expression); ok {
		s, err := a.text(1)
		if err != nil {
			return nil, err
		}
		return a.m.texts(re.Split(s, -1))
	}
	s, err := a.text(0)
	if err != nil {
		return nil, err
	}
	separator, err := a.or(1, "separator", nil)
	if err != nil {
		return nil, err
	}
	most, err := a.int(2, "maxSplits", -1)
	if err != nil {
		return nil, err
	}
	if most >= 0 {
		most++
	}
	switch x := separator.(type) {
	case nil:
		return a.m.texts(strings.Fields(s))
	case string:
		if x == "" {
			return nil, value.Errorf("ValueError", "empty separator")
		}
		return a.m.texts(strings.SplitN(s, x, most))
	}
	return nil, mismatch{}
}

// rightSplit is split from the text's end, which differs where only so many splits are
// to be made.
func rightSplit(a *arguments) (any, error) {
	s, err := a.text(0)
	if err != nil {
		return nil, err
	}
	separator, err := a.or(1, "separator", nil)
	if err != nil {
		return nil, err
	}
	most, err := a.int(2, "maxSplits", -1)
	if err != nil {
		return nil, err
	}
	last := strings.LastIndex
	switch x := separator.(type) {
	case nil:
		separator, s = "", strings.TrimRightFunc(s, unicode.IsSpace)
		last = func(s, _ string) int { return strings.LastIndexFunc(s, unicode.IsSpace) }
	case string:
		if x == "" {
			return nil, value.Errorf("ValueError", "empty separator")
		}
	default:
		return nil, mismatch{}
	}
	var parts []string
	for ; most != 0; most-- {
		at := last(s, separator.(string))
		if at < 0 {
			break
		}
		if separator == "" {
			_, size := utf8.DecodeRuneInString(s[at:])
			parts, s = append(parts, s[at+size:]), strings.TrimRightFunc(s[:at], unicode.IsSpace)
			continue
		}
		parts, s = append(parts, s[at+len(separator.(string)):]), s[:at]
	}
	if s != "" || separator != "" {
		parts = append(parts, s)
	}
	slices.Reverse(parts)
	return a.m.texts(parts)
}

func (m *machine) texts(parts []string) (any, error) {
	list := make([]any, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return m.list(list)
}

// join joins the texts of a collection; the separator may come first.
func join(a *arguments) (any, error) {
	if err := a.count(2, 2); err != nil {
		return nil, err
	}
	collection, separator := 0, 1
	first, err := a.value(0)
	if err != nil {
		return nil, err
	}
	if _, isText := first.(string); isText {
		collection, separator = 1, 0
	}
	between, err := a.text(separator)
	if err != nil {
		return nil, err
	}
	list, err := a.items(collection)
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(list))
	size := 0
	for i, item := range list {
		parts[i] = shownText(item)
		if size += len(parts[i]) + len(between); a.m.fits(size) != nil {
			break
		}
	}
	if err := a.m.fits(size); err != nil {
		return nil, err
	}
	return strings.Join(parts, between), nil
}

// shownText is the text of a value: null, true and false as they are written
// here.
func shownText(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		if x {
			return "true"
		}
		return "false"
	}
	return value.Str(v)
}

func str(a *arguments) (any, error) {
	if err := a.count(1, 1); err != nil {
		return nil, err
	}
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	if v, err = a.m.plain(v); err != nil {
		return nil, err
	}
	return a.m.text(shownText(v))
}

func concat(a *arguments) (any, error) {
	first, err := a.value(0)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	list := []any{}
	for i := range a.nodes {
		if _, isText := first.(string); isText {
			part, err := a.text(i)
			if err != nil {
				return nil, err
			}
			b.WriteString(part)
			if err := a.m.fits(textSize + b.Len()); err != nil {
				return nil, err
			}
			continue
		}
		items, err := a.items(i)
		if err != nil {
			return nil, err
		}
		if list = append(list, items...); a.m.fits(itemSize*len(list)) != nil {
			return a.m.list(list)
		}
	}
	if _, isText := first.(string); isText {
		return b.String(), nil
	}
	return a.m.list(list)
}

// replace replaces a text, the keys of a map, or what a regular expression
// matches.
func replace(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	if re, ok := v.(expression); ok {
		s, err := a.text(1)
		if err != nil {
			return nil, err
		}
		put, err := a.text(2)
		if err != nil {
			return nil, err
		}
		if err := a.m.fits(len(s) + (len(s)+1)*len(put)); err != nil {
			return nil, err
		}
		return a.m.text(re.ReplaceAllLiteralString(s, put))
	}
	s, err := a.text(0)
	if err != nil {
		return nil, err
	}
	second, err := a.value(1)
	if err != nil {
		return nil, err
	}
	if d, ok := second.(*value.Map); ok {
		for i := range d.Len() {
			old, put := d.At(i)
			if s, err = a.m.replaced(s, shownText(old), shownText(put), -1); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	old, err := a.text(1)
	if err != nil {
		return nil, err
	}
	put, err := a.text(2)
	if err != nil {
		return nil, err
	}
	count, err := a.int(3, "count", -1)
	if err != nil {
		return nil, err
	}
	return a.m.replaced(s, old, put, count)
}

func (m *machine) replaced(s, old, put string, count int) (string, error) {
	if err := m.fits(textSize + len(s) + strings.Count(s, old)*len(put)); err != nil {
		return "", err
	}
	return strings.Replace(s, old, put, count), nil
}

func substring(a *arguments) (any, error) {
	s, err := a.text(0)
	if err != nil {
		return nil, err
	}
	start, err := a.int(1, "start", 0)
	if err != nil {
		return nil, err
	}
	length, err := a.int(2, "length", -1)
	if err != nil {
		return nil, err
	}
	runes := []rune(s)
	if start < 0 {
		start += len(runes)
	}
	start = max(0, min(start, len(runes)))
	end := len(runes)
	if length >= 0 {
		end = min(end, start+length)
	}
	return string(runes[start:end]), nil
}

func toCharArray(a *arguments) (any, error) {
	s, err := a.text(0)
	if err != nil {
		return nil, err
	}
	return a.m.texts(strings.Split(s, ""))
}

func regex(a *arguments) (any, error) {
	s, err := a.text(0)
	if err != nil {
		return nil, err
	}
	flags := ""
	for name, flag := range map[string]string{"ignoreCase": "i", "multiLine": "m", "dotAll": "s"} {
		on, err := a.or(len(a.nodes), name, false)
		if err != nil {
			return nil, err
		}
		if value.Truth(on) {
			flags += flag
		}
	}
	if flags != "" {
		s = "(?" + flags + ")" + s
	}
	return a.m.pattern(s)
}

// expressionAndText are a regular expression and a text, in either order.
func expressionAndText(a *arguments) (expression, string, error) {
	v, err := a.value(0)
	if err != nil {
		return expression{}, "", err
	}
	patternAt, textAt := 0, 1
	if _, isText := v.(string); isText {
		patternAt, textAt = 1, 0
	}
	if v, err = a.value(patternAt); err != nil {
		return expression{}, "", err
	}
	re, err := a.m.pattern(v)
	if err != nil {
		return expression{}, "", err
	}
	s, err := a.text(textAt)
	return re, s, err
}

func matches(a *arguments) (any, error) {
	re, s, err := expressionAndText(a)
	if err != nil {
		return nil, err
	}
	return re.MatchString(s), nil
}

func search(a *arguments) (any, error) {
	re, s, err := expressionAndText(a)
	if err != nil {
		return nil, err
	}
	found := re.FindStringIndex(s)
	if found == nil {
		return nil, nil
	}
	return s[found[0]:found[1]], nil
}

func lastIndexOf(a *arguments) (any, error) {
	s, err := a.text(0)
	if err != nil {
		return nil, err
	}
	part, err := a.text(1)
	if err != nil {
		return nil, err
	}
	return runeIndex(s, strings.LastIndex(s, part)), nil
}

// runeIndex is a byte's place in characters.
func runeIndex(s string, at int) any {
	if at < 0 {
		return value.Int(-1)
	}
	return value.Int(utf8.RuneCountInString(s[:at]))
}
