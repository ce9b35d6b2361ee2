// Package cli is the commands that operators type, one file per group. They
// read and change the database through internal/engine and internal/store, so
// they work while Temporal is down; what they accept is started by the
// dispatcher. Commands that run a server (api, worker) are beside main.go.
//
// Output for people is a table, with --json one document. Exit codes: 0 done,
// 1 failed or findings, 2 bad input, 3 not found, 4 refused, 5 a service is
// away. Every command may be repeated.
package cli
