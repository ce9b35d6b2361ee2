// Package postgres runs a private PostgreSQL for a development cloud and for
// tests.
//
// Start returns a server that accepts connections on loopback only, with
// passwords that nobody chose, over a folder that it makes on first use; the
// same folder serves again after a Stop, and after a Kill or a crash of
// everything. Commits are durable as in production: fsync and
// synchronous_commit are on. As root it runs the server under an unprivileged
// account, because PostgreSQL refuses to be root.
//
// Admin makes and drops roles and databases on any running server; it needs an
// address and a password only, so it works from another process too. Everything
// is done through PostgreSQL's own programs, which the package finds; no driver
// is linked in. Data ends in the folder given and nowhere else.
package postgres
