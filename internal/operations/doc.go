// Package operations says what kinds of long operation there are and how they
// meet: their ids, which of them may run together, where each passes its point
// of no return, and what they leave in the ledger.
//
// It is pure: data and functions over it, no I/O. The engine stores what is
// described here, workflows carry it out, and api asks it before it accepts.
package operations
