// Package engine keeps the four promises (DESIGN section 3): what is accepted
// is durable, nothing stays stuck, cancel ends clean, everything can be seen.
//
// It owns the schema "engine": operations (outbox, audit log and lock in one),
// their events, ledger and inbox. It has three callers:
//
//   - api accepts an operation in the request's own transaction (Accept), asks
//     for cancels (RequestCancel) and, after the commit, offers the operation's
//     id to the bounded starter (Starter.Offer);
//   - activities/records begins, advances and finishes operations for their
//     workflows, every write fenced by operation, generation and run;
//   - the control worker runs the loops that repair: the dispatcher starts what
//     was accepted and not begun and delivers cancels, the sweeper finds
//     operations whose workflow is gone, both under a PostgreSQL advisory lock.
//
// Only this package and workers know Temporal's client.
package engine
