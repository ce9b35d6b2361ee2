// Command holdfast-temporal runs the workflow engine of a development cloud:
// all four services of the Temporal server and its UI in one process, on
// loopback, with its state in two databases of a given PostgreSQL.
//
// It promises that a start over any state of those databases ends in a server
// that works: missing databases are created if the role may, a missing or half
// made schema is completed, an old one is brought up to date, and the
// namespaces asked for exist with Holdfast's search attributes. When that is so
// it prints the line "ready" on standard output, once. If its databases are
// dropped under it, it ends with an error so that whoever supervises it starts
// it again on new ones. SIGTERM ends it cleanly; SIGKILL loses nothing that it
// has acknowledged, as far as PostgreSQL keeps its commits.
//
// It is a module of its own because the server's dependencies are many and the
// product needs none of them. Production uses a Temporal cluster instead.
package main
