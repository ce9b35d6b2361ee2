// Package cloud runs the development cloud: PostgreSQL, Temporal with its UI, the
// companions, Holdfast's API, control worker and host worker, and what runs the
// guests. It is the body of `holdfast dev`.
//
// Run starts everything as children of this process (dev/supervise), each as
// dev/launch says, fills an empty cloud with what one needs to make a first
// server, writes clouds.yaml and openrc, and waits. When its context ends it
// stops all of it, last first; a second Run over the same folder goes on with
// the same data and whatever was in flight. A child that dies is started again.
//
// Everything is on loopback, and everything is in one folder, which one cloud
// has at a time: passwords/, the configuration, a folder per service, logs/. The
// package reads no configuration of its own besides Options and asks nothing of
// the machine but the programs of dev/packages.txt.
package cloud
