// Package cli is the commands that operators type, one file per group. They
// read and change the database through internal/engine and internal/store, so
// they work while Temporal is down; what they accept is started by the
// dispatcher. Commands that run a server (api, worker) are beside main.go.
//
// Output for people is a table, with --json one document. Exit codes
// stand in root.go. Every command may be repeated.
package cli
