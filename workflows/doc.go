// Package workflows has the durable executions, one folder per service and one
// file per kind of operation; saga is what they all share.
//
// Workflows are deterministic: they see integers, ids and the steps of
// internal/steps, and nothing that does I/O. What a workflow has to remember
// for its undo is in the ledger, never only in its memory, so that any of them
// can be started again from nothing.
package workflows
