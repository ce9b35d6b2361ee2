package stacks

// What templates and environments may ask for and nobody carries out yet: it is
// refused, so that nobody takes it for done.

import (
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/resourcetype"
)

// servedEnvironment refuses what an environment asks for in vain.
func servedEnvironment(e *hot.Environment) error {
	if len(e.Sinks) > 0 {
		return notSupported("Event sink")
	}
	return nil
}

// servedResource refuses what a template asks for of a resource of a type in vain.
func (d *Definition) servedResource(r *hot.Resource, t *resourcetype.Type) error {
	switch {
	case r.External() && nests(t):
		return notSupported("external_id of resource " + r.Name)
	case r.DeletionPolicy == "Snapshot" && restorations[t.Name].key == "":
		return &hot.Error{Class: hot.ValidationFailed, Path: d.part(r, "deletion_policy", "DeletionPolicy"), Message: `"Snapshot" deletion policy not supported`}
	}
	return nil
}

// notSupported is the original's refusal of what it can't do.
func notSupported(what string) error {
	return faults.New(faults.Invalid, "NotSupported", "%s is not supported.", what)
}
