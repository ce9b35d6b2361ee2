package hot

// Reading text: JSON if it is JSON, else YAML, into values that know their
// lines. What is read is bounded: in size, in depth, and in the number of
// values once aliases stand for what they name.

import (
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/pyjson"
)

const (
	// MaxTemplate is how many characters a template may have, unless Limits
	// says otherwise.
	MaxTemplate = 524288
	// maxDepth is how deep maps and lists may nest.
	maxDepth = pyjson.MaxDepth
	// maxValues is how many values a text may hold, aliases expanded; a text of
	// MaxTemplate without an alias has fewer.
	maxValues = 300_000
)

// unreadable is what is wrong with a text, and on which line.
type unreadable struct {
	line int
	what string
}

func (u *unreadable) Error() string {
	if u.line > 0 {
		return "line " + strconv.Itoa(u.line) + ": " + u.what
	}
	return u.what
}

// read reads one document. An empty one is nil.
func read(text string) (any, error) {
	if !utf8.ValidString(text) {
		return nil, &unreadable{what: "the text is not valid UTF-8"}
	}
	if json.Valid([]byte(text)) {
		return readJSON(text)
	}
	return readYAML(text)
}

func readYAML(text string) (any, error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, badSyntax(err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, &unreadable{second.Line, "expected a single document in the stream but found another document"}
	} else if !errors.Is(err, io.EOF) {
		return nil, badSyntax(err)
	}
	if len(document.Content) != 1 {
		return nil, nil
	}
	r := yamlReader{seen: map[*yaml.Node]anchored{}}
	return r.node(document.Content[0], 0)
}

// badSyntax is the parser's error in our form.
func badSyntax(err error) error {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, found := strings.CutPrefix(what, "line "); found {
		if number, what, found := strings.Cut(rest, ": "); found {
			if line, err := strconv.Atoi(number); err == nil {
				return &unreadable{line, what}
			}
		}
	}
	return &unreadable{what: what}
}

// anchored is a value that aliases may name, and how many values it holds.
type anchored struct {
	value any
	size  int
	open  bool
}

type yamlReader struct {
	values int
	seen   map[*yaml.Node]anchored
}

func (r *yamlReader) count(n, line int) error {
	r.values += n
	if r.values > maxValues {
		return &unreadable{line, "the text holds more than " + strconv.Itoa(maxValues) + " values once its aliases are expanded"}
	}
	return nil
}

func (r *yamlReader) node(n *yaml.Node, depth int) (any, error) {
	if depth > maxDepth {
		return nil, &unreadable{n.Line, "maps and lists are nested deeper than " + strconv.Itoa(maxDepth)}
	}
	if n.Kind == yaml.AliasNode {
		target := r.seen[n.Alias]
		if target.open {
			return nil, &unreadable{n.Line, "the alias *" + n.Value + " stands inside what it names"}
		}
		if target.size > 0 {
			return target.value, r.count(target.size, n.Line)
		}
		return r.node(n.Alias, depth)
	}
	before := r.values
	if err := r.count(1, n.Line); err != nil {
		return nil, err
	}
	if n.Anchor != "" {
		r.seen[n] = anchored{open: true}
	}
	v, err := r.content(n, depth)
	if err == nil && n.Anchor != "" {
		r.seen[n] = anchored{value: v, size: r.values - before}
	}
	return v, err
}

func (r *yamlReader) content(n *yaml.Node, depth int) (any, error) {
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.ShortTag()
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return scalar(n, tag)
	case yaml.SequenceNode:
		if tag != "" && tag != "!!seq" {
			return nil, unknownTag(n)
		}
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := r.node(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		if tag != "" && tag != "!!map" {
			return nil, unknownTag(n)
		}
		return r.mapping(n, depth)
	}
	return nil, &unreadable{n.Line, "this kind of node is not known"}
}

// mapping reads a map. What is merged into it by << comes first, and its own
// keys win.
func (r *yamlReader) mapping(n *yaml.Node, depth int) (any, error) {
	m := &value.Map{Line: n.Line}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !isMerge(n.Content[i]) {
			continue
		}
		if err := r.merge(m, n.Content[i+1], depth); err != nil {
			return nil, err
		}
	}
	own := map[any]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if isMerge(k) {
			continue
		}
		key, err := r.key(k, depth)
		if err != nil {
			return nil, err
		}
		name := value.Repr(key)
		if own[name] {
			return nil, &unreadable{k.Line, "found the duplicate key " + value.Short(key, 100)}
		}
		own[name] = true
		v, err := r.node(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		m.SetAt(key, v, k.Line)
	}
	return m, nil
}

func isMerge(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "<<" && n.Style == 0
}

func (r *yamlReader) key(n *yaml.Node, depth int) (any, error) {
	if n.Kind == yaml.ScalarNode && n.Value == "=" && n.Style == 0 {
		return "=", nil
	}
	key, err := r.node(n, depth+1)
	if err != nil {
		return nil, err
	}
	if !value.Hashable(key) {
		return nil, &unreadable{n.Line, "found a key that is a map or a list"}
	}
	return key, nil
}

// merge adds what << names: a map, or a list of maps of which the first wins.
func (r *yamlReader) merge(m *value.Map, n *yaml.Node, depth int) error {
	v, err := r.node(n, depth+1)
	if err != nil {
		return err
	}
	sources := []any{v}
	if list, ok := v.([]any); ok {
		sources = slices.Clone(list)
		slices.Reverse(sources)
	}
	for _, source := range sources {
		from, ok := source.(*value.Map)
		if !ok {
			return &unreadable{n.Line, "expected a mapping or list of mappings for merging, but found " + value.TypeName(source)}
		}
		if err := r.count(from.Len(), n.Line); err != nil {
			return err
		}
		for i := range from.Len() {
			key, v := from.At(i)
			m.SetAt(key, v, from.LineOf(key))
		}
	}
	return nil
}

// readJSON reads text that is known to be JSON.
func readJSON(text string) (any, error) {
	r := jsonReader{decoder: json.NewDecoder(strings.NewReader(text)), text: text, line: 1}
	r.decoder.UseNumber()
	return r.value(0)
}

type jsonReader struct {
	decoder *json.Decoder
	text    string
	line    int
	offset  int
	values  int
}

// where is the line that the reader has come to.
func (r *jsonReader) where() int {
	end := int(r.decoder.InputOffset())
	r.line += strings.Count(r.text[r.offset:end], "\n")
	r.offset = end
	return r.line
}

func (r *jsonReader) value(depth int) (any, error) {
	if r.values++; r.values > maxValues {
		return nil, &unreadable{r.where(), "the text holds more than " + strconv.Itoa(maxValues) + " values"}
	}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, &unreadable{r.where(), err.Error()}
	}
	switch v := token.(type) {
	case json.Delim:
		if depth >= maxDepth {
			return nil, &unreadable{r.where(), "maps and lists are nested deeper than " + strconv.Itoa(maxDepth)}
		}
		if v == '{' {
			return r.object(depth)
		}
		list := []any{}
		for r.decoder.More() {
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := r.decoder.Token()
		return list, err
	case json.Number:
		return jsonNumber(v.String(), r.where())
	}
	return token, nil
}

func (r *jsonReader) object(depth int) (any, error) {
	m := &value.Map{Line: r.where()}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return nil, &unreadable{r.where(), err.Error()}
		}
		line := r.where()
		if m.Has(token) {
			return nil, &unreadable{line, "found the duplicate key " + value.Short(token, 100)}
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		m.SetAt(token, v, line)
	}
	_, err := r.decoder.Token()
	return m, err
}

func jsonNumber(text string, line int) (any, error) {
	if !strings.ContainsAny(text, ".eE") {
		if n, ok := value.ToInt(text); ok {
			return n, nil
		}
	} else if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f, nil
	}
	return nil, &unreadable{line, "the number " + value.Short(text, 40) + " is too large"}
}

// integer reads digits of a base, underscores left out.
func integer(digits string, base int) (*big.Int, bool) {
	digits = strings.ReplaceAll(digits, "_", "")
	if len(digits) > 4300 {
		return nil, false
	}
	return new(big.Int).SetString(digits, base)
}
