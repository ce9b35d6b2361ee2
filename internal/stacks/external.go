package stacks

// External resources: what is there already, and isn't the stack's.

import (
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/store/orchestration"
)

// ExternalKey is where a type's data have the id of what isn't the stack's.
const ExternalKey = "external_id"

// ExternalID is the id of what a resource is that isn't the stack's; "" of any other
// resource. Errors: Invalid, nothing outside has such an id.
func (d *Definition) ExternalID(r *hot.Resource, now hot.Attributes) (string, error) {
	id, err := r.ExternalID(now)
	if err != nil {
		return "", err
	}
	why := unfitID(id)
	if id == "" && r.External() {
		why = idOfNothing
	}
	if why != "" {
		return "", &hot.Error{Class: hot.ValidationFailed, Path: d.part(r, "external_id", ""), Message: "'" + value.Clip(id, maxShown) + "' " + why}
	}
	return id, nil
}

// external says whether a resource isn't the stack's, which it is for ever or never.
// Errors: Invalid.
func (d *Definition) external(r *orchestration.Resource, was *State, def *hot.Resource, now hot.Attributes) (bool, error) {
	id, err := d.ExternalID(def, now)
	if err != nil {
		return false, err
	}
	before, is := was.Data.Get(ExternalKey)
	if is != (id != "") || is && before != id {
		return false, faults.New(faults.Invalid, "NotSupported", "Update to property external_id of %s (%s) is not supported.", r.Name, r.Type)
	}
	return is, nil
}
