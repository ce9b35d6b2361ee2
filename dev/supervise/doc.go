// Package supervise runs the processes of a development cloud and of the tests
// that kill them.
//
// A Process is one program: started until it is ready, killed, stopped, waited
// for, started again. A Group is an ordered set of them. A child is the leader
// of a process group of its own, so a terminal's interrupt does not reach it
// and a kill takes what it started along; and the kernel kills it when this
// process ends, however it ends. (The kernel does so for the child only: a
// grandchild outlives this process unless the child sees to it.)
//
// Nothing is restarted unless the Process says so in Restart, and then only
// after an exit that nobody here asked for: Kill and Stop are final until the
// next Start.
//
// The package may start processes, signal those it started and write their log
// files; it knows nothing of what they do.
package supervise
