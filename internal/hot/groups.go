package hot

// Parameter groups, which only say how a form shows parameters.

import (
	"holdfast.dev/internal/hot/value"
)

// Groups are the parameter groups as the template has them; nil if it has none.
func (t *Template) Groups() any {
	v, _ := t.body.Get(t.Version.words.groups)
	if !value.Truth(v) {
		return nil
	}
	return v
}

// ValidateGroups checks that each group names parameters of the template, each
// in one group only.
func (p *Parameters) ValidateGroups() error {
	groups := p.template.Groups()
	if groups == nil {
		return nil
	}
	fail := func(line int, label any, format string, args ...any) error {
		e := invalid(join("parameter_groups", value.Str(label)), format, args...)
		e.About, e.Line = "Parameter Groups error", line
		return e
	}
	top := p.template.body.LineOf("parameter_groups")
	list, ok := groups.([]any)
	if !ok {
		return fail(top, "", "The parameter_groups should be a list.")
	}
	grouped := map[string]bool{}
	for _, item := range list {
		group, ok := item.(*value.Map)
		if !ok {
			return fail(top, "", "The parameter_groups should be a list of maps.")
		}
		label := textOr(argument(group, "label"), "")
		names := argument(group, "parameters")
		if names == nil {
			return fail(group.Line, label, "The parameters must be provided for each parameter group.")
		}
		list, ok := names.([]any)
		if !ok {
			return fail(group.Line, label, "The parameters of parameter group should be a list.")
		}
		for _, name := range list {
			text := value.Str(name)
			if grouped[text] {
				return fail(group.Line, label, "The %s parameter must be assigned to one parameter group only.", text)
			}
			grouped[text] = true
			if !p.Has(text) {
				return fail(group.Line, label, "The grouped parameter %s does not reference a valid parameter.", text)
			}
		}
	}
	return nil
}
