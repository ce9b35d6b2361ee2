package baremetal

// JSON patches: applied to a document as Python's jsonpatch does, whose words
// clients read.

import (
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
)

// change is one operation of a patch.
type change struct {
	op, path string
	parts    []string
	value    any
	given    bool // a value was sent
	source   *pyjson.Object
}

// root is the field that the change is about.
func (c change) root() string { return c.parts[0] }

// readPatch reads the body of a PATCH. Errors: 400 for what is none or changes
// fields that can't be, 406 for fields that the version doesn't know.
func (s *resource) readPatch(r *rest.Request) ([]change, error) {
	escapes := r.At(v(98))
	if err := check("json_patch", "patch", plain(r.Body(), escapes)); err != nil {
		return nil, err
	}
	var changes []change
	for _, item := range r.Body().([]any) {
		source := item.(*pyjson.Object)
		c := change{source: source}
		op, _ := source.Get("op")
		path, _ := source.Get("path")
		c.op, c.path = op.(string), path.(string)
		c.value, c.given = source.Get("value")
		for _, part := range strings.Split(c.path, "/")[1:] {
			if escapes {
				part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
			}
			c.parts = append(c.parts, part)
		}
		changes = append(changes, c)
	}
	for _, c := range changes {
		if !slices.Contains(s.patchable, c.root()) {
			return nil, faults.New(faults.Invalid, "Invalid", "Cannot patch %s. Only the following can be updated: %s",
				c.path, strings.Join(s.patchable, ", "))
		}
		if f, ok := s.find(c.root()); ok && f.newer(r) {
			return nil, notAcceptable()
		}
	}
	return changes, nil
}

// plain is a patch as its schema sees it: without the escapes of paths, if those
// may be there.
func plain(body any, escapes bool) any {
	list, ok := body.([]any)
	if !ok || !escapes {
		return body
	}
	all := make([]any, len(list))
	for i, item := range list {
		all[i] = item
		object, ok := item.(*pyjson.Object)
		path, _ := object.Get("path")
		text, isText := path.(string)
		if !ok || !isText {
			continue
		}
		copied := &pyjson.Object{}
		for _, key := range object.Keys() {
			value, _ := object.Get(key)
			copied.Set(key, value)
		}
		copied.Set("path", strings.NewReplacer("~1", "_", "~0", "_", ".", "_").Replace(text))
		all[i] = copied
	}
	return all
}

// values are what the changes set a path to.
func values(changes []change, path string) []any {
	var all []any
	for _, c := range changes {
		if c.path == path && c.op != "remove" {
			all = append(all, c.value)
		}
	}
	return all
}

// distinctRules are the rules that changes need, each once; update is that of a
// patch without changes.
func distinctRules(changes []change, update string, rule func(change) string) []string {
	rules := []string{}
	for _, c := range changes {
		if needed := rule(c); !slices.Contains(rules, needed) {
			rules = append(rules, needed)
		}
	}
	if len(rules) == 0 {
		rules = append(rules, update)
	}
	return rules
}

// apply carries a patch out on a document.
func apply(document *pyjson.Object, changes []change) error {
	for _, c := range changes {
		if _, there := document.Get(c.root()); c.op == "add" && len(c.parts) == 1 && !there {
			return faults.New(faults.Invalid, "ClientSideError", "Adding a new attribute (%s) to the root of the resource is not allowed", c.path)
		}
	}
	for _, c := range changes {
		if _, reason := c.on(document, c.parts); reason != "" {
			return faults.New(faults.Invalid, "PatchError", "Couldn't apply patch '%s'. Reason: %s", pyjson.Repr(c.source), reason)
		}
	}
	return nil
}

// unpatchable is the refusal of a patch as a whole.
func unpatchable(changes []change, reason string) error {
	sent := make([]any, len(changes))
	for i, c := range changes {
		sent[i] = c.source
	}
	return faults.New(faults.Invalid, "PatchError", "Couldn't apply patch '%s'. Reason: %s", pyjson.Repr(sent), reason)
}

// on gives what becomes of a value when the change is carried out below it, or
// the reason why it can't be.
func (c change) on(at any, parts []string) (after any, reason string) {
	if c.op != "remove" && !c.given {
		return nil, "The operation does not contain a 'value' member"
	}
	part := parts[0]
	switch holder := at.(type) {
	case *pyjson.Object:
		inner, there := holder.Get(part)
		if len(parts) > 1 {
			if !there {
				return nil, "member '" + part + "' not found in " + pyjson.Repr(holder)
			}
			changed, reason := c.on(inner, parts[1:])
			if reason == "" {
				holder.Set(part, changed)
			}
			return holder, reason
		}
		switch {
		case c.op != "add" && !there:
			return nil, "can't " + c.op + " a non-existent object '" + part + "'"
		case c.op == "remove":
			holder.Delete(part)
		case !keeps(inner, c.value):
			holder.Set(part, c.value)
		}
		return holder, ""
	case []any:
		return c.onList(holder, parts)
	}
	return nil, "'" + part + "' is below " + pyjson.Repr(at) + ", which holds nothing"
}

func (c change) onList(list []any, parts []string) (after any, reason string) {
	place, err := strconv.Atoi(parts[0])
	if parts[0] == "-" && c.op == "add" && len(parts) == 1 {
		place, err = len(list), nil
	}
	if err != nil || place < 0 {
		return nil, "'" + parts[0] + "' is not a valid sequence index"
	}
	switch inside := place < len(list); {
	case len(parts) > 1 && !inside:
		return nil, "list index out of range"
	case c.op == "replace" && !inside:
		return nil, "can't replace outside of list"
	case c.op == "remove" && !inside:
		return nil, "can't remove a non-existent object '" + parts[0] + "'"
	case place > len(list):
		return nil, "can't insert outside of list"
	case len(parts) > 1:
		list[place], reason = c.on(list[place], parts[1:])
		return list, reason
	case c.op == "remove":
		return slices.Delete(list, place, place+1), ""
	case c.op == "replace":
		list[place] = c.value
		return list, ""
	}
	return slices.Insert(list, place, c.value), ""
}
