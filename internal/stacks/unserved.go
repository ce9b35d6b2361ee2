package stacks

// What templates and environments may ask for and nobody carries out yet: it is
// refused, so that nobody takes it for done.

import (
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
)

// servedEnvironment refuses what an environment asks for in vain.
func servedEnvironment(e *hot.Environment) error {
	if len(e.Sinks) > 0 {
		return notSupported("Event sink")
	}
	return nil
}

// servedResource refuses what a template asks for of a resource in vain.
func servedResource(r *hot.Resource) error {
	switch {
	case r.External():
		return notSupported("external_id of resource " + r.Name)
	case r.DeletionPolicy == "Snapshot":
		return &hot.Error{Class: hot.ValidationFailed, Message: `"Snapshot" deletion policy not supported`}
	}
	return nil
}

// notSupported is the original's refusal of what it can't do.
func notSupported(what string) error {
	return faults.New(faults.Invalid, "NotSupported", "%s is not supported.", what)
}
