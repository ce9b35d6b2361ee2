// Package resources implements steps.ResourcesActivities: the resources of
// stacks, made, changed and taken away.
//
//	Plan, Fail         what is to be done, what was given up  plan.go fail.go
//	Zones              what the owner's cloud has             zones.go
//	Batch, Work        the work itself                        work.go
//	Type, Types        what a type does: the seam             type.go
//	None, Delay, ...   types with logic of their own          type_*.go
//	nested             types whose resources are stacks       nested.go type_stack.go
//	rolling            groups that change in batches          rolling.go
//	Scale, Scaled      groups that are scaled                 scale.go type_scaling.go
//	REST, Cloud        types that are data, and their cloud   rest.go service.go lookup.go
//
// It promises that a resource's row says what may exist outside before anything
// is done there, that functions are worked out with what the other resources are
// at that moment, and that whatever is asked twice is done once. A type's failure
// is the resource's and an answer; an error is of the database, a service that is
// down, or an operation that has lost its stack.
//
// internal/stacks puts definitions together, internal/store/orchestration has
// the rows.
package resources
