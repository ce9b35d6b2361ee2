package rest

// The query: read as Python's parse_qsl reads it, which refuses nothing but
// what isn't UTF-8.

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
)

// maxParameters is the most parameters of a query; no list has a tenth of that.
const maxParameters = 1000

// pair is one parameter as it was sent.
type pair struct{ name, value string }

// readQuery checks the query against the operation's schema. Parameters that
// the schema doesn't know and doesn't refuse are gone for the handler.
func (r *Request) readQuery(raw string, o *Operation) error {
	pairs, err := parseQuery(raw)
	if err != nil {
		return err
	}
	lists := &pyjson.Object{}
	for _, p := range pairs {
		values, _ := lists.Get(p.name)
		list, _ := values.([]any)
		lists.Set(p.name, append(list, p.value))
	}
	if err := o.query.Check(r.Version, lists); err != nil {
		return err
	}
	r.Query = url.Values{}
	for _, p := range pairs {
		if o.query.Knows(r.Version, p.name) {
			r.Query.Add(p.name, p.value)
			r.query = append(r.query, p)
		}
	}
	return nil
}

func parseQuery(raw string) ([]pair, error) {
	if strings.Count(raw, "&") >= maxParameters {
		return nil, NewFault(http.StatusBadRequest, "Too many query parameters: %d at most.", maxParameters)
	}
	var pairs []pair
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		p := pair{unquote(name), unquote(value)}
		if !utf8.ValidString(p.name) || !utf8.ValidString(p.value) {
			return nil, faults.New(faults.Invalid, "ValidationError", "Query string is not UTF-8 encoded")
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// unquote decodes what is well escaped and leaves the rest as it is.
func unquote(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '+' {
			b.WriteByte(' ')
			continue
		}
		if s[i] == '%' && i+2 < len(s) {
			if c, err := url.PathUnescape(s[i : i+3]); err == nil {
				b.WriteString(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
