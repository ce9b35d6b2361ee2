package rest

// Pages of lists.

import (
	"net/url"
	"strconv"
	"strings"
)

// Page is the part of a list that a client asks for.
type Page struct {
	// Limit is the most entries; 0 asks for none.
	Limit int
	// Marker is the last entry of the page before; empty begins the list.
	Marker string
}

// Page reads "limit" and "marker", at most most entries. What a schema lets
// through and isn't a number counts as none.
func (r *Request) Page(most int) Page {
	p := Page{Limit: most, Marker: r.Query.Get("marker")}
	if limit, err := strconv.Atoi(r.Query.Get("limit")); err == nil && limit >= 0 {
		p.Limit = min(limit, most)
	}
	return p
}

// Link is an entry of a "links" list.
type Link struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
	// Type is the media type, for documents that aren't JSON.
	Type string `json:"type,omitempty"`
}

// Next gives a collection's "<name>_links": the page after marker, every other
// parameter kept; nil if a page of length entries isn't full.
func (r *Request) Next(path string, p Page, length int, marker string) []Link {
	if length == 0 || length < p.Limit {
		return nil
	}
	var b strings.Builder
	for _, q := range r.query {
		if q.name != "marker" {
			b.WriteString(url.QueryEscape(q.name) + "=" + url.QueryEscape(q.value) + "&")
		}
	}
	b.WriteString("marker=" + url.QueryEscape(marker))
	return []Link{{Rel: "next", Href: r.Link(path) + "?" + b.String()}}
}
