package stacks

// Templates that aren't in a request, but named by it.

import (
	"fmt"
	"strings"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// Fetcher reads a template from where its URL says; nil reads none. Its error says
// why it could not.
type Fetcher func(url string) (string, error)

// fetched is the template that a body names by URL. Errors: Invalid.
func fetched(url any, fetch Fetcher) (*hot.Template, error) {
	text, ok := url.(string)
	if !ok {
		return nil, bad("template_url must be a text, not %s", value.TypeName(url))
	}
	if fetch == nil {
		return nil, bad("Could not retrieve template: %s", value.Clip(text, maxShown))
	}
	body, err := fetch(text)
	if err != nil {
		return nil, bad("Could not retrieve template: %s", err)
	}
	t, err := hot.Parse(body, text, hot.Limits{})
	return t, unread("Template", err)
}

// file is the text of a file that a resource's type is in. What is fetched is a file
// of the stack's from then on. Errors: Invalid.
func (d *Definition) file(name string) (string, error) {
	if text, ok := d.Files[name]; ok {
		return text, nil
	}
	why := "it is not among the files"
	if d.family.fetch != nil && strings.Contains(name, ":") {
		text, err := d.family.fetch(name)
		if err == nil {
			d.Files[name] = text
			return text, nil
		}
		why = err.Error()
	}
	return "", &hot.Error{Class: hot.ValidationFailed, Message: fmt.Sprintf(`Could not fetch remote template "%s": %s`, value.Clip(name, maxShown), why)}
}
