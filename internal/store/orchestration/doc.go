// Package orchestration owns the SQL of the schema "orchestration": stacks, the
// templates they were asked to be, their resources and events.
//
// It promises that what a stack shows and what its operation says never differ
// (the caller's transaction has both), and that secrets go in and come out
// sealed: it never sees them. What is in the texts and sealed states is
// internal/stacks' matter.
//
// Callers: api/orchestration reads and accepts, activities/resources works on
// resources, activities/records publishes what an operation has come to.
package orchestration
