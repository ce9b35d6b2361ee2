// Package heat does the same to stacks of openstack-heat 27.0.1 and of Holdfast,
// and compares what becomes of them: testdata has a scenario a file, and
// scenario.go says how they are read. Both ask the same Keystone, with the same
// token, and every request goes to both.
//
// Compared are, whenever a scenario awaits something and at its end: the answers'
// statuses and errors, the stack's state and reason, its outputs and parameters,
// the set of its resources, those of nested stacks too, with their states and
// reasons, and the events of each resource in their order. The events of two resources
// are held against each other where one needs the other, what is made and what is
// taken away apart, since the original leaves the order of others to chance. Ids and
// times are made equal first.
//
// A scenario names the differences that are meant, and why; those of all of them
// stand in a table of real_test.go. Any other difference fails, and so does a row
// that nothing fits any more.
//
// The tag "real" makes it run (make integration-heat), since it installs
// packages; the figures go to docs/results. Without it the scenarios are read.
package heat
