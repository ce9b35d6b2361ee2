// Package store is PostgreSQL: the pool, transactions, migrations and what
// every query shares. One subpackage per service's schema (store/compute ...)
// holds its rows and queries. Only store and engine know pgx.
//
// Callers get typed rows and faults errors; a row that isn't there is
// faults.NotFound, a broken constraint faults.Conflict.
package store
