// Package graph is what a workflow knows of a template: numbered nodes, and
// which of them each one needs.
//
// It promises that the same graph always gives the same orders, whatever the
// map or the machine, so that a workflow may use it; and that a Walk can be
// taken up again from the nodes that are done, after continue-as-new or from
// nothing. Graphs travel as JSON, a few bytes a node.
//
//	Graph       nodes 0 to n-1 and what each needs; order, reverse, cycles
//	Merge       the graph of an update: the new graph, and then the clean-up of the old
//	Walk        what may start now, given what is done and what has failed
//
// It is pure. internal/hot makes graphs of templates and keeps the names that
// the numbers stand for; workflows/stack walks them.
package graph
