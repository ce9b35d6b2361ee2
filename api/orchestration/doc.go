// Package orchestration serves the Orchestration API v1 (Heat's native one).
//
// Every request goes the way of api/rest; here are the table of operations, what
// bodies mean, and how rows are shown. What changes a stack is accepted in one
// transaction with the state that it shows from then on; workflows/stack does it.
//
// It reads the database, and resolves outputs with internal/stacks by what rows
// say of resources. It asks no other service.
package orchestration
