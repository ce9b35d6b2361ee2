// Package service is what every companion stands on: a router whose handlers
// return errors, the token check, a database with one schema a companion, and a
// server that listens on loopback only.
//
// A companion brings its migrations, its handlers and the shape of its fault
// body; the requests come in here, and what a handler returns goes out here. The
// caller of a request is known by asking the identity service over HTTP, as a
// service of anybody else's would.
package service
