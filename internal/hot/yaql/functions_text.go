package yaql

// Functions of texts and regular expressions.

import (
	"maps"
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
			characters = spaces
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
		"searchAll":   searchAll,
		"replaceBy":   replaceBy,
		"characters":  characters,
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
	return a.split(fromLeft)
}

// rightSplit is split from the text's end, which differs where only so many splits are
// to be made.
func rightSplit(a *arguments) (any, error) { return a.split(fromRight) }

// end is an end of texts, from which they are split.
type end struct {
	index     func(s, separator string) int
	indexFunc func(s string, is func(rune) bool) int
	trim      func(s string, is func(rune) bool) string
	// cut takes off what is between the end and a separator.
	cut func(s string, at, size int) (part, rest string)
	// last says that the first part that is cut off is the last.
	last bool
}

var (
	fromLeft = end{strings.Index, strings.IndexFunc, strings.TrimLeftFunc,
		func(s string, at, size int) (part, rest string) { return s[:at], s[at+size:] }, false}
	fromRight = end{strings.LastIndex, strings.LastIndexFunc, strings.TrimRightFunc,
		func(s string, at, size int) (part, rest string) { return s[at+size:], s[:at] }, true}
)

// split splits a text from an end at white space or at a separator.
func (a *arguments) split(from end) (any, error) {
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
	var parts []string
	switch x := separator.(type) {
	case nil:
		parts = from.atSpace(s, most)
	case string:
		if x == "" {
			return nil, value.Errorf("ValueError", "empty separator")
		}
		parts = from.atEach(s, x, most)
	default:
		return nil, mismatch{}
	}
	if from.last {
		slices.Reverse(parts)
	}
	return a.m.texts(parts)
}

// atEach are the parts between separators.
func (from end) atEach(s, separator string, most int) (parts []string) {
	for ; most != 0; most-- {
		at := from.index(s, separator)
		if at < 0 {
			break
		}
		var part string
		part, s = from.cut(s, at, len(separator))
		parts = append(parts, part)
	}
	return append(parts, s)
}

// atSpace are the parts between white space, none of which is empty.
func (from end) atSpace(s string, most int) (parts []string) {
	s = from.trim(s, unicode.IsSpace)
	for ; most != 0; most-- {
		at := from.indexFunc(s, unicode.IsSpace)
		if at < 0 {
			break
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		var part string
		part, s = from.cut(s, at, size)
		parts, s = append(parts, part), from.trim(s, unicode.IsSpace)
	}
	if s == "" {
		return parts
	}
	return append(parts, s)
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

// replace replaces a text, the keys of a map, what a regular expression matches, or
// elements of a list.
func replace(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case []any, sequence, ordered, unordered:
		return ofList(replaceAt)(a)
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
		if truth(on) {
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
	found := re.FindStringSubmatchIndex(s)
	if found == nil {
		return nil, nil
	}
	return a.ofMatch(2, s, found)
}

// searchAll is every match of a regular expression, or what a lambda makes of each.
func searchAll(a *arguments) (any, error) {
	v, err := a.value(0)
	if err != nil {
		return nil, err
	}
	re, ok := v.(expression)
	if !ok {
		return nil, mismatch{}
	}
	s, err := a.text(1)
	if err != nil {
		return nil, err
	}
	all := []any{}
	for _, found := range re.FindAllStringSubmatchIndex(s, a.m.limits.Elements+1) {
		one, err := a.ofMatch(2, s, found)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return a.m.list(all)
}

// replaceBy replaces what a regular expression matches by what a lambda makes of it.
func replaceBy(a *arguments) (any, error) {
	re, s, err := expressionAndText(a)
	if err != nil {
		return nil, err
	}
	most, err := a.int(3, "count", 0)
	if err != nil {
		return nil, err
	}
	if most <= 0 {
		most = -1
	}
	if _, err := a.lambda(2); err != nil {
		return nil, err
	}
	var b strings.Builder
	end := 0
	for _, found := range re.FindAllStringSubmatchIndex(s, most) {
		put, err := a.ofMatch(2, s, found)
		if err != nil {
			return nil, err
		}
		text, ok := put.(string)
		if !ok {
			return nil, value.Errorf("TypeError", "expected str instance, %s found", value.TypeName(put))
		}
		b.WriteString(s[end:found[0]] + text)
		if err := a.m.fits(textSize + b.Len()); err != nil {
			return nil, err
		}
		end = found[1]
	}
	b.WriteString(s[end:])
	return a.m.text(b.String())
}

// ofMatch is what the lambda at a place makes of a match in s, which it has as $ and $1,
// and of its groups, which are $2 and so on; without a lambda, the text that matches.
func (a *arguments) ofMatch(i int, s string, found []int) (any, error) {
	if !a.has(i) {
		return s[found[0]:found[1]], nil
	}
	groups := make([]any, len(found)/2)
	for n := range groups {
		start, end := found[2*n], found[2*n+1]
		var text any
		if start >= 0 {
			text = s[start:end]
		}
		groups[n] = value.NewMap("value", text, "start", runeIndex(s, start), "end", runeIndex(s, end))
	}
	return a.applied(i, groups...)
}

// kinds are characters by the names of their kinds.
var kinds = []struct{ name, characters string }{
	{"digits", "0123456789"},
	{"hexdigits", "0123456789abcdefABCDEF"},
	{"asciiLowercase", "abcdefghijklmnopqrstuvwxyz"},
	{"asciiUppercase", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
	{"asciiLetters", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"},
	{"letters", ""},
	{"octdigits", "01234567"},
	{"punctuation", punctuation},
	{"printable", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" + punctuation + spaces},
	{"lowercase", ""},
	{"uppercase", ""},
	{"whitespace", spaces},
}

const (
	punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	spaces      = " \t\n\r\v\f"
)

// characters are those of the kinds that are asked for, each once, in their order. Some
// kinds are known by name and can't be had, as in the original.
func characters(a *arguments) (any, error) {
	all := map[rune]bool{}
	for i, kind := range kinds {
		wanted, err := a.or(i, kind.name, false)
		if err != nil {
			return nil, err
		}
		if truth(wanted) && kind.characters == "" {
			return nil, value.Errorf("AttributeError", "module 'string' has no attribute '%s'", kind.name)
		}
		for _, c := range kind.characters {
			all[c] = all[c] || truth(wanted)
		}
	}
	maps.DeleteFunc(all, func(_ rune, wanted bool) bool { return !wanted })
	made := []any{}
	for _, c := range slices.Sorted(maps.Keys(all)) {
		made = append(made, string(c))
	}
	return a.m.list(made)
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
