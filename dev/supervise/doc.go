// Package supervise runs the processes of a development cloud and of the tests
// that kill them.
//
// A Process is one program: started until it is ready, killed, stopped, waited
// for, started again. A Group is an ordered set of them. A child is the leader
// of a session of its own, as under a service manager: a terminal's interrupt
// does not reach it, a kill takes what it started along, and the kernel shares
// the processors out among sessions, so one that answers people isn't kept
// waiting by one that computes. The kernel kills it when this process ends,
// however it ends. (It does so for the child only: a grandchild outlives this
// process unless the child sees to it.)
//
// Nothing is restarted unless the Process says so in Restart, and then only
// after an exit that nobody here asked for: Kill and Stop are final until the
// next Start.
//
// The package may start processes, signal those it started and write their log
// files; it knows nothing of what they do.
package supervise
