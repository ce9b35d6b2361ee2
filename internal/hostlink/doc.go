// Package hostlink is how hosts and the API speak with each other.
//
// From host to API, under /hostlink/v1/: a host registers, sends heartbeats,
// learns what it owes and reports what it has paid. Client is the host's side,
// Handler the API's, over a Registry (internal/hosts implements it). It also
// asks about servers on it (servers.go): image, config drive, volumes.
//
// From API to host: reads and streams, such as the console log. Listener is the
// host's side, Reader the API's. What changes the world is never asked here; it
// is an operation.
//
// From API to conductor: what the BMCs of nodes say (nodes.go), in the same way.
//
// From host to host: the disks of a guest that moves while it stands still
// (disks.go, pull.go).
//
// Every way a request carries a pass (pass.go): who asks for what on which
// object until when, under an HMAC by the deployment's key (key.go). A pass for
// a host's listener serves once. Bodies, times and numbers are bounded.
//
// identity.go is who a host is: a UUID and a count of its worker's starts, in
// the host's locked state folder.
package hostlink
