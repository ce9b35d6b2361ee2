package chaos

// The kinds of operations on nodes, as stories that can be stopped at each of their
// points.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/dev/bmc"
	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
)

// ofNode is what is to be known of a kind on nodes.
type ofNode struct {
	// before is where it finds a node, after where it leads it; one that fails, or is
	// cancelled, leaves it elsewhere.
	before, after, failed, cancelled provision.State
	// power is its machine's before, turns are the changes of that which it leads to, and
	// the last of back those that may follow on one that has failed.
	power       bmc.Power
	turns, back []bmc.Power
	// path and asked are the request.
	path  string
	asked map[string]any
}

var nodeKinds = map[operations.Kind]ofNode{
	operations.NodePower: {before: "available", after: "available", failed: "available", cancelled: "available", power: bmc.Off, turns: []bmc.Power{bmc.On},
		path: "power", asked: to("power on")},
	operations.NodeCommand: {before: "available", after: "available", failed: "available", cancelled: "available", power: bmc.Off, path: "boot_mode", asked: to("bios")},
	operations.NodeManage:  {before: "enroll", after: "manageable", failed: "enroll", cancelled: "enroll", power: bmc.Off, path: provides, asked: to("manage")},
	operations.NodeInspect: {before: "manageable", after: "manageable", failed: "inspect failed", cancelled: "inspect failed", power: bmc.Off, path: provides, asked: to("inspect")},
	operations.NodeProvide: {before: "manageable", after: "available", failed: "clean failed", cancelled: "clean failed", power: bmc.Off, turns: cleaned, back: off,
		path: provides, asked: to("provide")},
	operations.NodeClean: {before: "manageable", after: "manageable", failed: "clean failed", cancelled: "clean failed", power: bmc.Off, turns: cleaned, back: off,
		path: provides, asked: map[string]any{"target": "clean", "clean_steps": []map[string]string{{"interface": "deploy", "step": "erase_devices_metadata"}}}},
	operations.NodeDeploy: {before: "available", after: "active", failed: "deploy failed", cancelled: "deploy failed", power: bmc.Off, turns: deployed, back: off,
		path: provides, asked: map[string]any{"target": "active", "configdrive": drive}},
	operations.NodeRebuild: {before: "active", after: "active", failed: "deploy failed", cancelled: "deploy failed", power: bmc.On, turns: slices.Concat(off, deployed), back: off,
		path: provides, asked: map[string]any{"target": "rebuild", "configdrive": drive}},
	operations.NodeRescue: {before: "active", after: "rescue", failed: "rescue failed", cancelled: "rescue failed", power: bmc.On, turns: restart, back: off,
		path: provides, asked: map[string]any{"target": "rescue", "rescue_password": "pw"}},
	operations.NodeUnrescue: {before: "rescue", after: "active", failed: "unrescue failed", cancelled: "unrescue failed", power: bmc.On, turns: restart, path: provides, asked: to("unrescue")},
	operations.NodeService: {before: "active", after: "active", failed: "service failed", cancelled: "active", power: bmc.On, turns: slices.Concat(restart, restart), back: restart,
		path: provides, asked: map[string]any{"target": "service", "service_steps": []map[string]string{{"interface": "deploy", "step": "burnin_cpu"}}}},
	operations.NodeAdopt: {before: "manageable", after: "active", failed: "adopt failed", cancelled: "adopt failed", power: bmc.On, path: provides, asked: to("adopt")},
	operations.NodeUndeploy: {before: "active", after: "available", failed: "clean failed", cancelled: "clean failed", power: bmc.On, turns: slices.Concat(off, cleaned), back: off,
		path: provides, asked: to("deleted")},
}

// provides is below a node's states what leads it from one to another.
const provides = "provision"

// Changes of power, and what is said to nodes.
var (
	off      = []bmc.Power{bmc.Off}
	restart  = []bmc.Power{bmc.Off, bmc.On}
	cleaned  = []bmc.Power{bmc.On, bmc.Off}
	deployed = []bmc.Power{bmc.On, bmc.Off, bmc.On}
	drive    = map[string]any{"meta_data": map[string]string{"hostname": "chaos"}}
)

func to(target string) map[string]any { return map[string]any{"target": target} }

// ask asks for the operation on a node.
func (of ofNode) ask(ctx context.Context, c *cloud.Cloud, node string) error {
	return c.Baremetal(ctx, http.MethodPut, "/nodes/"+node+"/states/"+of.path, of.asked, nil)
}

// onNodes are the stories of all kinds on nodes, in the order in which machines live.
var onNodes = []story{
	onNode(operations.NodePower, "records.Advance.done", "records.Advance", "records.Advance.done", "bmc.Power", "bmc.Power.done"),
	onNode(operations.NodeCommand, "records.Advance.done", "records.Advance", "records.Advance.done", "bmc.Command", "bmc.Command.done"),
	onNode(operations.NodeManage, "", "records.Advance.done", "bmc.Verify", "bmc.Verify.done"),
	onNode(operations.NodeInspect, "", "records.Advance.done", "bmc.Inspect", "bmc.Inspect.done"),
	onNode(operations.NodeProvide, "", inRamdisk...),
	onNode(operations.NodeClean, "", inRamdisk...),
	onNode(operations.NodeDeploy, "records.Finish", inRamdisk...),
	onNode(operations.NodeRebuild, "records.Finish", inRamdisk...),
	onNode(operations.NodeRescue, "agent.Command", "boot.Ramdisk", "boot.Ramdisk.done", "bmc.Power.done", "records.Node", "agent.Command", "agent.Command.done", "boot.Clear"),
	onNode(operations.NodeUnrescue, "boot.Clear", "records.Advance", "boot.Clear", "boot.Clear.done", "bmc.Power", "bmc.Power.done"),
	onNode(operations.NodeService, "boot.Clear", slices.Concat(inRamdisk, []string{"boot.Clear", "boot.Clear.done"})...),
	onNode(operations.NodeAdopt, "boot.Clear", "records.Advance", "boot.Clear", "boot.Clear.done"),
	onNode(operations.NodeUndeploy, "records.Begin", "records.Begin.done", "bmc.Power", "boot.Clear", "boot.Vacate", "boot.Vacate.done", "boot.Ramdisk", "agent.Command.done"),
}

// inRamdisk are the points of what is done by a ramdisk; at records.Node that is waited for.
var inRamdisk = []string{"boot.Ramdisk", "boot.Ramdisk.done", "bmc.Power", "bmc.Power.done", "records.Node", "agent.CleanPlan", "agent.CleanPlan.done", "agent.Command", "agent.Command.done"}

// onNode is the story of a kind: its first point beyond the point of no return, if it has
// one before it is over, and those between its first and its last.
func onNode(kind operations.Kind, turn string, points ...string) story {
	spec, _ := operations.Lookup(kind)
	s := story{kind: kind, verb: spec.Verb, before: string(nodeKinds[kind].before), after: string(nodeKinds[kind].after), moved: true}
	of := func(point string) string { return s.verb + ":" + point }
	for _, point := range slices.Concat([]string{"records.Begin"}, points, []string{"records.Finish", "records.Finish.done"}) {
		s.points = append(s.points, of(point))
	}
	if slices.Contains(points, "records.Advance") {
		s.open = []string{of("records.Advance"), of("records.Advance.done")}
	}
	if turn != "" {
		s.turn = of(turn)
	}
	return s
}

// withImage are those of nodes whose rows say what is, or is to be, on their disks.
var withImage = []operations.Kind{operations.NodeDeploy, operations.NodeRebuild, operations.NodeAdopt}

// nodeClouds are the stories by the cloud that they are told in: each singly in full.
func nodeClouds(full bool) map[string][]story {
	if !full {
		return map[string][]story{"all": onNodes}
	}
	all := map[string][]story{}
	for _, s := range onNodes {
		all[s.verb] = []story{s}
	}
	return all
}

// sampleOfNodes says at which points which verbs are done: all of them in full, else each
// at one, the next verb and the next kind each at a point later.
func sampleOfNodes(stories []story, verbs ...string) (all []held) {
	for i, s := range stories {
		for j, verb := range verbs {
			points := s.points
			if !full {
				at := (i + 2*j) % len(points)
				points = points[at : at+1]
			}
			for _, point := range points {
				all = append(all, held{story: s, verb: verb, point: point})
			}
		}
	}
	return all
}

// rack is a cloud with machines, some of which have nodes by now.
type rack struct {
	*lives
	taken int
}

// newRack has room for the operations.
func newRack(t *testing.T, all []held) *rack {
	t.Helper()
	c := cloud.Start(t, cloud.Options{Hosts: 1, Machines: len(all), MachinesApart: true, Config: map[string]any{"conductor.sync_power_state_interval": "0s"}})
	r := &rack{lives: &lives{T: t, Cloud: c}}
	r.at, r.sum = cloud.Files(t)
	return r
}

// hang makes a node for each operation, has it be as it is found, asks for the operation
// and returns when each stands at its point.
func (r *rack) hang(t *testing.T, all []held) {
	t.Helper()
	ctx := t.Context()
	for i := range all {
		h := &all[i]
		h.machine = r.BMC.Machines[r.taken]
		id, err := r.Enroll(ctx, r.taken, r.at)
		r.taken++
		if err == nil && slices.Contains(withImage, h.story.kind) {
			err = r.SetImage(ctx, id, r.at, "image", r.sum("image"))
		}
		must(t, err)
		of := nodeKinds[h.story.kind]
		h.machine.Put(of.power)
		if h.story.kind == operations.NodeManage {
			of.power = ""
		}
		r.found(id, of.before, of.power)
		h.server = id
		must(t, r.Points.Order(id, h.point))
		must(t, nodeKinds[h.story.kind].ask(ctx, r.Cloud, id))
	}
	for i := range all {
		h := &all[i]
		r.Eventually(h.String()+" has come there", patience, here(r.Cloud, h.server, h.point))
		h.op = h.story.operation(t, r.Cloud, h.server)
	}
}

// check waits for the end of each operation, and looks at what is true of its node.
func (r *rack) check(t *testing.T, v verb, all []held) {
	t.Helper()
	for _, h := range all {
		op, want := finishedWithin(t, r.Cloud, h.op.ID, patience), v.endsOfNode(h)
		states := map[string]bool{}
		for _, o := range want {
			states[o.status] = states[o.status] || o.result == op.Result
		}
		var n cloud.Node
		err := r.Await(patience, func(ctx context.Context) (err error) {
			n, err = r.ShowNode(ctx, h.server)
			if err == nil && (n.Reservation != "" || provision.State(n.State).Transient()) {
				err = fmt.Errorf("it is in %q, reserved by %q", n.State, n.Reservation)
			}
			return err
		})
		silent := n.State == string(nodeKinds[h.story.kind].failed) && n.State != h.story.after && n.LastError == ""
		if err != nil || !states[n.State] || silent {
			t.Errorf("%s: it has ended as %q (%s), and the node is in %q, with %q, %v; want one of %v", h, op.Result, op.Message, n.State, n.LastError, err, want)
		}
	}
}

// turnedOnce fails the test unless the power of each machine was changed as its operation
// has it, no more often.
func (r *rack) turnedOnce(t *testing.T, all []held) {
	t.Helper()
	for _, h := range all {
		if turns, want := h.machine.Turns(), nodeKinds[h.story.kind].turns; !slices.Equal(turns, want) {
			t.Errorf("%s: the machine was turned %v, want %v", h, turns, want)
		}
	}
}

// endsOfNode are the states and results that an operation on a node may have after the
// verb.
func (v verb) endsOfNode(h held) (all []outcome) {
	table := v.moved
	switch {
	case v.passes != nil && v.passes(h):
		table = v.passed
	case h.story.kind == operations.NodeUndeploy && v.deleted != nil:
		table = v.deleted
	}
	rows, ok := table[h.phase()]
	if !ok {
		rows = table[always]
	}
	of := nodeKinds[h.story.kind]
	for _, o := range rows {
		switch {
		case o.status == asAfter:
			o.status = h.story.after
		case o.status == asBefore && o.result == operations.ResultCancelled:
			o.status = string(of.cancelled)
		case o.status == asBefore:
			o.status = string(of.failed)
		}
		all = append(all, o)
	}
	return all
}

// untoldOfNodes are the kinds on nodes that these tests have no story of, and why.
var untoldOfNodes = map[operations.Kind]string{
	operations.NodeRecover: "nobody asks for it: a terminate, a reset and a lost run lead to it, in every story of TestNodeVerbs",
}

// Every kind of operation on nodes is told, with how it is asked for, and held at steps of
// conductors too.
func TestEveryKindOnNodesIsTold(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		told := map[operations.Kind]bool{}
		for _, stories := range nodeClouds(full) {
			for _, s := range stories {
				told[s.kind] = nodeKinds[s.kind].asked != nil && slices.ContainsFunc(s.points, func(point string) bool { return !strings.Contains(point, ":records.") })
			}
		}
		for _, spec := range operations.All() {
			if why, left := untoldOfNodes[spec.Kind]; spec.Resource == operations.Node && told[spec.Kind] == left {
				t.Errorf("%s is told: %t; left out: %q", spec.Kind, told[spec.Kind], why)
			}
		}
	}
}
