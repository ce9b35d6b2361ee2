// Package records implements steps.RecordsActivities: what an operation reads
// from and writes to Holdfast's own database as its story goes on.
//
// Every step is one transaction. internal/engine does the operation's part
// (fence, ledger, events, lock), internal/store/compute the server's, so what an
// operation says of itself and what its server shows never differ. Nothing here
// reaches outside the database.
package records
