package resources

// What a resource was given before an update, and is to have no more: the items of
// lists and the keys of maps that a service adds and takes away one by one.

import (
	"slices"

	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// noted are by property the lists and maps of which updates take away what is gone.
func (w *work) noted() *value.Map {
	var texts []any
	for _, r := range w.Type.REST.Update {
		texts = append(texts, r.Path, r.Each)
		if r.Body != nil {
			texts = append(texts, r.Body.Template())
		}
	}
	now := &value.Map{}
	for _, name := range resourcetype.GoneNames(texts) {
		v, _ := w.scope.Properties.Get(name)
		now.Set(name, members(v))
	}
	return now
}

// members are the items of a list, and the keys of a map.
func members(v any) []any {
	switch x := v.(type) {
	case []any:
		return x
	case *value.Map:
		return x.Keys()
	}
	return []any{}
}

// given is what the resource may have of a property.
func (w *work) given(name any) []any {
	v, _ := w.all().Get(name)
	return members(v)
}

// mayHave notes what the resource is to be given besides what it may have, and says
// whether that has to be written down before anything is sent.
func (w *work) mayHave() (more bool) {
	all := w.noted()
	for i := range all.Len() {
		name, now := all.At(i)
		had := slices.Clone(w.given(name))
		for _, one := range members(now) {
			if !value.In(one, had) {
				had, more = append(had, one), true
			}
		}
		all.Set(name, had)
	}
	if more {
		w.call.Data.Set(givenKey, all)
	}
	return more
}

// gone is by property what the resource may have and isn't to have.
func (w *work) gone() *value.Map {
	all := w.noted()
	for i := range all.Len() {
		name, now := all.At(i)
		all.Set(name, slices.DeleteFunc(slices.Clone(w.given(name)), func(one any) bool { return value.In(one, members(now)) }))
	}
	return all
}

// all is by property what the resource may have.
func (w *work) all() *value.Map {
	had, _ := w.call.Data.Get(givenKey)
	m, _ := had.(*value.Map)
	return m
}

// has notes that the resource has what it was to be given, and no more.
func (w *work) has() {
	if now := w.noted(); now.Len() > 0 {
		w.call.Data.Set(givenKey, now)
	}
}
