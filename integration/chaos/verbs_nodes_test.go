package chaos

// What operators and users may do to an operation on a node that is at work: every verb
// to every kind, in full at each of its points; and cancels and losses while what would
// carry them out is away.

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// toNodes are the verbs. An operation that was cancelled or has failed leaves its node
// where its kind says.
var toNodes = []verb{
	{name: "cancel", do: cancelByCommand, deleted: uncleaned,
		moved: ends{always: {driven}, unbegun: {undriven}, early: {undriven}, crossing: {undriven, driven}, last: {undriven}}},
	{name: "cancel in the UI", do: cancelInTemporal, deleted: uncleaned,
		moved: ends{always: {driven}, unbegun: {undriven, driven}, early: {undriven}, crossing: {undriven, driven}, last: {undriven, driven}}},
	{name: "terminate", do: terminate, zombies: true,
		moved: ends{always: {lostLate}, unbegun: {lostSoon}, early: {lostSoon}, crossing: {lostSoon, lostLate}, last: {lostSoon}, over: {driven}}},
	{name: "reset to the first task", do: resetTo(func(tasks []int64) int64 { return tasks[0] }), moved: resetMove},
	{name: "reset to the last task", do: resetTo(func(tasks []int64) int64 { return tasks[len(tasks)-1] }), moved: resetMove},
	{name: "signal", do: signal, moved: ends{always: {driven}}},
	{name: "undeploy", do: undeployByUser, passes: keepsItsNode,
		moved:  ends{always: undeployed},
		passed: ends{always: {driven}, over: {driven, undeployed[2]}}},
}

// uncleaned are the ends of an undeployment: a cancel has it leave out what is left of the
// cleaning, and the instance be there still if it hasn't begun.
var uncleaned = ends{always: {lostSoon}, sure: {undeleted, lostSoon}, closing: {driven}, over: {driven}}

// undeleted is the end of an undeployment that was cancelled before it began.
var undeleted = outcome{"error", operations.ResultCancelled}

// undeployed are the ends of what gives way to an undeployment.
var undeployed = []outcome{{"available", operations.ResultCancelled}, {"available", operations.ResultSuperseded}, {"available", operations.ResultDone}}

// keepsItsNode says of an operation that an undeployment doesn't take over from it: one
// does from some that wait for the node's ramdisk.
func keepsItsNode(h held) bool {
	return operations.Meet(h.story.kind, operations.NodeUndeploy) != operations.Preempt || h.point != h.story.verb+":records.Node"
}

// undeployByUser asks for the end of nodes' instances, which is refused where the node has
// none, or is kept.
func undeployByUser(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	for _, h := range all {
		err := c.SetState(t.Context(), h.server, "deleted", nil)
		var refused *cloud.StatusError
		is := errors.As(err, &refused) && (refused.Code == http.StatusConflict || refused.Code == http.StatusBadRequest)
		if is != keepsItsNode(h) && h.phase() != over || err != nil && !is {
			t.Errorf("%s: %v", h, err)
		}
	}
}

// With everything alive, all verbs at the same time.
func TestNodeVerbs(t *testing.T) {
	t.Parallel()
	for name, stories := range nodeClouds(full) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var names []string
			for _, v := range toNodes {
				names = append(names, v.name)
			}
			all := sampleOfNodes(stories, names...)
			r := newRack(t, all)
			r.hang(t, all)
			for _, v := range toNodes {
				v.do(t, r.Cloud, of(v, all))
			}
			for _, h := range all {
				if h.verb == "terminate" {
					finishedWithin(t, r.Cloud, h.op.ID, patience) // its step has its try afterwards
				}
				must(t, r.Points.Release(h.server))
			}
			for _, v := range toNodes {
				r.check(t, v, of(v, all))
			}
			time.Sleep(2 * time.Second) // zombies have their try
			r.nothingLeft()
		})
	}
}

// A cancel that is asked for while Temporal or the conductor is away counts; and with
// Temporal's databases dropped everything in flight ends, with nothing done twice.
func TestNodesAdrift(t *testing.T) {
	t.Parallel()
	cancel := toNodes[0]
	// A task that Temporal forgot may have written that the operation goes beyond its point
	// of no return, before the next one hears of the cancel.
	cancel.moved = ends{always: {driven}, unbegun: {undriven}, early: {undriven, driven}, crossing: {undriven, driven}, last: {undriven, driven}}
	cancel.deleted = ends{always: {lostSoon}, sure: {undeleted, lostSoon}, closing: {driven, lostSoon}, over: {driven}}
	lost := verb{name: "loss", do: func(*testing.T, *cloud.Cloud, []held) {}, moved: ends{always: {driven}}}
	cases := []struct {
		name       string
		verb       verb
		away, back func(*cloud.Cloud)
	}{
		{"cancels without Temporal", cancel, func(c *cloud.Cloud) { c.Kill(cloud.Temporal) }, func(c *cloud.Cloud) { c.Restart(cloud.Temporal) }},
		{"cancels without conductors", cancel, func(c *cloud.Cloud) { c.Kill(cloud.Conductor) }, func(c *cloud.Cloud) { c.Restart(cloud.Conductor) }},
		{"Temporal's databases are lost", lost, (*cloud.Cloud).LoseTemporal, func(c *cloud.Cloud) { c.Restart(cloud.Temporal) }},
	}
	for name, stories := range nodeClouds(full) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var names []string
			for _, c := range cases {
				names = append(names, c.name)
			}
			all := sampleOfNodes(stories, names...)
			r := newRack(t, all)
			for _, c := range cases {
				held := of(verb{name: c.name}, all)
				r.hang(t, held)
				c.away(r.Cloud)
				c.verb.do(t, r.Cloud, held)
				for _, h := range held {
					must(t, r.Points.Release(h.server))
				}
				c.back(r.Cloud)
				r.check(t, c.verb, held)
				if c.verb.name == lost.name {
					r.turnedOnce(t, held)
				}
			}
			r.nothingLeft()
		})
	}
}
