// Package engine keeps the four promises (DESIGN section 3): what is accepted
// is durable, nothing stays stuck, cancel ends clean, everything can be seen.
//
// It owns the schema "engine": operations (outbox, audit log and lock in one),
// their events, ledger and inbox. It has three callers:
//
//   - api accepts an operation in the request's own transaction (Accept), asks
//     for cancels (RequestCancel), stores what agents and users send (Put) and,
//     after the commit, offers the operation's id to the bounded Starter;
//   - activities/records begins, advances and finishes operations for their
//     workflows, every write fenced by operation, generation and run;
//   - the control worker runs the Loops that repair: the Dispatcher starts what
//     was accepted and not begun and delivers cancels, the Sweeper finds
//     operations whose workflow is gone, both under a PostgreSQL advisory lock.
//
// The life of an operation, by the columns that say so:
//
//	waiting ──release──► pending ──Begin──► running ──Finish──► done, failed, cancelled
//	start_after null     start_after set    dispatched_at set   finished_at set
//
//	before Begin: a cancel or a pre-emption ends it on the spot (Abandon, Withdraw)
//	after it:     a lost workflow is started from nothing, a closed one recovered
//
// An exclusive operation holds its resource's operation_id or waits in
// next_operation_id. Shared ones hold nothing and take turns; an exclusive one
// begins when they have ended. docs/engine.md has the choices and their reasons.
//
// Only this package and workers know Temporal's client.
package engine
