// Package bmc simulates the management controllers of machines that aren't there:
// one Redfish service over TLS, with a certificate of its own authority, for any
// number of systems. Power takes its time, and what is asked of a system is
// counted.
//
// A test tells it to misbehave: to be slow, to answer with a status, to act and
// drop the connection, to accept and not act, to show another certificate.
//
// Where it is run: by holdfast dev --baremetal N, and by tests.
package bmc
