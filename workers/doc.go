// Package workers builds and runs the Temporal workers of each role, and what
// runs beside them.
//
//	control  queue "control": all workflows, activities of families records and
//	         placement, and the engine's loops (control.go)
//	host     queue "host/<id>": activities of family libvirt; registers with the
//	         API, pays what it owes before it takes work, sends heartbeats, and
//	         serves reads. Several hosts may live in one process (host.go)
//
// registry.go is the table of which role serves which family of steps.
// interceptor.go is the one place where an activity's error becomes Temporal's:
// its fault goes to the workflow, its cause to the log.
package workers
