package operations

// The kinds of operation, as one table: what each is called, whether it locks
// its resource, and from where on it can only be finished forward.

import (
	"slices"
	"time"
)

// Kind names what an operation does to which type of resource. It is also the
// name of the workflow type that carries it out.
type Kind string

// ResourceType is the type of thing an operation works on.
type ResourceType string

const (
	// Server is an instance of the compute service.
	Server ResourceType = "server"
	// Stack is a template of the orchestration service, carried out.
	Stack ResourceType = "stack"
	// Snapshot is what was kept of a stack as it was at a time.
	Snapshot ResourceType = "snapshot"
	// Node is a machine of the bare metal service.
	Node ResourceType = "node"
)

// Kinds of operation on servers.
const (
	ServerBuild  Kind = "server.build"
	ServerDelete Kind = "server.delete"
	// ServerSoftDelete turns a server off and keeps it until it is restored or
	// reclaimed.
	ServerSoftDelete Kind = "server.soft-delete"
	ServerRestore    Kind = "server.restore"
	ServerStart      Kind = "server.start"
	ServerStop       Kind = "server.stop"
	ServerReboot     Kind = "server.reboot"
	ServerHardReboot Kind = "server.hard-reboot"
	ServerPause      Kind = "server.pause"
	ServerUnpause    Kind = "server.unpause"
	ServerSuspend    Kind = "server.suspend"
	ServerResume     Kind = "server.resume"
	// ServerRescue has the guest run from another image, with its own disk
	// beside it, until it is unrescued.
	ServerRescue   Kind = "server.rescue"
	ServerUnrescue Kind = "server.unrescue"
	// ServerRebuild makes the guest's disks anew, from another image or the same,
	// on the host where it is.
	ServerRebuild Kind = "server.rebuild"
	// ServerResize moves a server to another host, or makes room for it where it
	// is, in the size of another flavor; ServerMigrate moves it in its own size.
	// Both end with a server that waits to be confirmed or reverted.
	ServerResize        Kind = "server.resize"
	ServerMigrate       Kind = "server.migrate"
	ServerConfirmResize Kind = "server.confirm-resize"
	ServerRevertResize  Kind = "server.revert-resize"
	// ServerCrashDump gives the guest a non-maskable interrupt, at which it may
	// write down its memory.
	ServerCrashDump Kind = "server.crash-dump"
	// ServerResetState says by an administrator's word what a server is, once
	// what holds it has let go; of one that nothing holds the request says it.
	ServerResetState Kind = "server.reset-state"
	// Volumes and interfaces come and go while the guest runs.
	ServerAttachVolume    Kind = "server.attach-volume"
	ServerDetachVolume    Kind = "server.detach-volume"
	ServerAttachInterface Kind = "server.attach-interface"
	ServerDetachInterface Kind = "server.detach-interface"
	// ServerSwapVolume puts another volume in the place of one that Cinder migrates.
	ServerSwapVolume Kind = "server.swap-volume"
	// ServerCreateImage makes an image of a server as it is, ServerCreateBackup
	// one of several that take turns.
	ServerCreateImage  Kind = "server.create-image"
	ServerCreateBackup Kind = "server.create-backup"
	// ServerShelve turns a server off and makes an image of it, ServerShelveOffload
	// takes a shelved one off its host, ServerUnshelve has it run again.
	ServerShelve        Kind = "server.shelve"
	ServerShelveOffload Kind = "server.shelve-offload"
	ServerUnshelve      Kind = "server.unshelve"
	// ServerLiveMigrate moves a guest to another host while it runs.
	ServerLiveMigrate Kind = "server.live-migrate"
	// ServerEvacuate makes a server anew elsewhere whose host is down.
	ServerEvacuate Kind = "server.evacuate"
	// ServerRecover ends an operation whose workflow died by other hands than
	// the engine's: it runs the dead one's ledger, last first, or finishes it
	// forward where that was past its point of no return.
	ServerRecover Kind = "server.recover"
	// ServerRecoverShared does the same for operations that share the server.
	ServerRecoverShared Kind = "server.recover-shared"
)

// Kinds of operation on stacks: each is one traversal of its resources.
const (
	StackCreate Kind = "stack.create"
	// StackAdopt takes what an abandoned stack has left for the resources of a new one.
	StackAdopt  Kind = "stack.adopt"
	StackUpdate Kind = "stack.update"
	StackDelete Kind = "stack.delete"
	// StackRollback makes a stack what it was before the update that it takes
	// over from.
	StackRollback Kind = "stack.rollback"
	// StackCheck asks each resource whether it is still there, StackSuspend puts
	// each to sleep, StackResume wakes it.
	StackCheck   Kind = "stack.check"
	StackSuspend Kind = "stack.suspend"
	StackResume  Kind = "stack.resume"
	// StackSnapshot keeps what a stack is and copies of its resources, StackRestore
	// makes it that again.
	StackSnapshot Kind = "stack.snapshot"
	StackRestore  Kind = "stack.restore"
	// StackScale has a group that is a stack have more members, or fewer.
	StackScale Kind = "stack.scale"
	// StackRecover ends a traversal whose workflow died by other hands than the
	// engine's: a delete is finished, of any other the stack says FAILED.
	StackRecover Kind = "stack.recover"
)

// Kinds of operation on snapshots of stacks.
const (
	// SnapshotDelete takes away what a snapshot has, while its stack goes on.
	SnapshotDelete Kind = "snapshot.delete"
	// SnapshotRecover finishes a delete whose workflow died by other hands than the
	// engine's.
	SnapshotRecover Kind = "snapshot.recover"
)

// Kinds of operation on nodes.
const (
	// NodePower turns a node on or off, or has it start anew.
	NodePower Kind = "node.power"
	// NodeCommand tells a node's BMC something, once: what to start from, or how.
	NodeCommand Kind = "node.command"
	// NodeManage looks whether a node that was enrolled can be reached.
	NodeManage Kind = "node.manage"
	// NodeDeploy writes an image to a node and has it start from that.
	NodeDeploy Kind = "node.deploy"
	// NodeRebuild does the same to a node that has an instance, or had one.
	NodeRebuild Kind = "node.rebuild"
	// NodeUndeploy takes a node's instance away, cleans the node if that is due, and
	// makes it available.
	NodeUndeploy Kind = "node.undeploy"
	// NodeProvide makes a node available, cleaning it first if that is due; NodeClean
	// does to it the steps that a user asks for.
	NodeProvide Kind = "node.provide"
	NodeClean   Kind = "node.clean"
	// NodeInspect finds out what a node is made of.
	NodeInspect Kind = "node.inspect"
	// NodeAdopt takes a node over that runs an instance already.
	NodeAdopt Kind = "node.adopt"
	// NodeRescue has a node run the ramdisk that rescues, beside its disk; NodeUnrescue
	// has it run its instance again.
	NodeRescue   Kind = "node.rescue"
	NodeUnrescue Kind = "node.unrescue"
	// NodeService does to a node that has an instance the steps that a user asks for.
	NodeService Kind = "node.service"
	// NodeRecover ends an operation whose workflow died by other hands than the
	// engine's: it is finished forward past its point of no return, or undone.
	NodeRecover Kind = "node.recover"
)

// FromStart as a point of no return: the operation is forward from its first step.
const FromStart = "begin"

// Spec is what holds for every operation of a kind.
type Spec struct {
	Kind     Kind
	Resource ResourceType
	// Verb is the word in the operation's id.
	Verb string
	// Action is the name users see in the server's list of actions
	// (contracts: action-preconditions.json, instance_action); empty hides it.
	Action string
	// Exclusive kinds hold the resource's operation_id; shared ones don't, and
	// take turns.
	Exclusive bool
	// PointOfNoReturn is the first step that is never undone: cancelled before
	// it, what was true before is true again; from it on, the work is finished
	// forward and the cancel is noted. Empty: the operation can be undone until
	// it finishes.
	PointOfNoReturn string
	// Steps are the steps of the story, in its order; StepUndo may follow any
	// of them that is not beyond the point of no return.
	Steps []string
	// Prepared kinds have had an effect outside before they were accepted, which
	// is in the ledger from the start. One that never began is begun all the
	// same, to take it back.
	Prepared bool
	// Deadline is how long the operation may hold a transient state before the
	// engine gives it up.
	Deadline time.Duration
}

// Forward says whether the kind is finished forward from its first step.
func (s Spec) Forward() bool { return s.PointOfNoReturn == FromStart }

// Beyond says whether an operation that has come to step is past its point of
// no return.
func (s Spec) Beyond(step string) bool {
	if s.Forward() {
		return true
	}
	point := slices.Index(s.Steps, s.PointOfNoReturn)
	return point >= 0 && slices.Index(s.Steps, step) >= point
}

// Recovers says whether the kind ends operations whose workflow was lost.
func (s Spec) Recovers() bool { return s.Verb == recoverVerb || s.Verb == recoverSharedVerb }

// RecoverKind is the kind that recovers operations of kind k: exclusive as they
// are, or shared; false if there is none.
func RecoverKind(k Kind) (Kind, bool) {
	dead, ok := Lookup(k)
	for _, s := range specs {
		if ok && s.Recovers() && s.Resource == dead.Resource && s.Exclusive == dead.Exclusive {
			return s.Kind, true
		}
	}
	return "", false
}

const (
	recoverVerb       = "recover"
	recoverSharedVerb = "recover-shared"
)

// Steps that more than one package names. A workflow writes the step it is in
// to the operation's row; clients see it in events and operators in the UI.
const (
	StepBegin    = FromStart
	StepSchedule = "schedule"
	StepNetwork  = "network"
	StepVolumes  = "volumes"
	StepGuest    = "guest"
	StepImage    = "image"
	StepStop     = "stop"
	StepLeave    = "leave"
	StepState    = "state"
	StepSnapshot = "snapshot"
	StepUpload   = "upload"
	StepRotate   = "rotate"
	StepShelve   = "shelve"
	StepOffload  = "offload"
	StepKeep     = "keep"
	StepQueue    = "queue"
	StepPrepare  = "prepare"
	StepMove     = "move"
	// StepPower is a change of a node's power.
	StepPower = "power"
	// StepCommand is what a node's BMC is told.
	StepCommand = "command"
	// StepStart is a node's start from its disk.
	StepStart = "start"
	// StepVerify is a look at a node's BMC.
	StepVerify = "verify"
	// StepTearDown is the end of a node's instance.
	StepTearDown = "tear-down"
	// StepClean is a step of cleaning.
	StepClean = "clean"
	// StepDeploy is a step of a deployment before the node starts from its disk for good.
	StepDeploy = "deploy"
	// StepService is a step of the service of a node that has an instance.
	StepService = "service"
	// StepRescue is the end of a ramdisk's listening to anybody but who has its password.
	StepRescue = "rescue"
	// StepInspect is a look at what a node is made of.
	StepInspect = "inspect"
	// StepResources is a stack's traversal, StepRollback the one that takes it
	// back, StepSettle the end of one that was lost, of a move, of a volume that another
	// has taken the place of, and of what was found on a node.
	StepResources = "resources"
	StepRollback  = "rollback"
	StepSettle    = "settle"
	StepUndo      = "undo"
	StepFinish    = "finish"
)

// moveSteps are those of a move of a server whose guest stands still meanwhile.
var moveSteps = []string{StepSchedule, StepStop, StepNetwork, StepVolumes, StepGuest}

var specs = []Spec{
	{Kind: ServerBuild, Resource: Server, Verb: "build", Action: "create", Exclusive: true, Steps: []string{StepSchedule, StepNetwork, StepVolumes, StepGuest}, Deadline: time.Hour},
	{Kind: ServerDelete, Resource: Server, Verb: "delete", Action: "delete", Exclusive: true, PointOfNoReturn: FromStart, Steps: []string{StepGuest}, Deadline: 24 * time.Hour},
	{Kind: ServerSoftDelete, Resource: Server, Verb: "soft-delete", Action: "delete", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerRestore, Resource: Server, Verb: "restore", Action: "restore", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerStart, Resource: Server, Verb: "start", Action: "start", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerStop, Resource: Server, Verb: "stop", Action: "stop", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerReboot, Resource: Server, Verb: "reboot", Action: "reboot", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerHardReboot, Resource: Server, Verb: "hard-reboot", Action: "reboot", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerPause, Resource: Server, Verb: "pause", Action: "pause", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerUnpause, Resource: Server, Verb: "unpause", Action: "unpause", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerSuspend, Resource: Server, Verb: "suspend", Action: "suspend", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerResume, Resource: Server, Verb: "resume", Action: "resume", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerRescue, Resource: Server, Verb: "rescue", Action: "rescue", Exclusive: true, Steps: []string{StepGuest}, Deadline: 30 * time.Minute},
	{Kind: ServerUnrescue, Resource: Server, Verb: "unrescue", Action: "unrescue", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerRebuild, Resource: Server, Verb: "rebuild", Action: "rebuild", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepImage, StepGuest}, Deadline: time.Hour},
	{Kind: ServerResize, Resource: Server, Verb: "resize", Action: "resize", Exclusive: true, Steps: moveSteps, Deadline: 24 * time.Hour},
	{Kind: ServerMigrate, Resource: Server, Verb: "migrate", Action: "migrate", Exclusive: true, Steps: moveSteps, Deadline: 24 * time.Hour},
	{Kind: ServerConfirmResize, Resource: Server, Verb: "confirm-resize", Action: "confirmResize", Exclusive: true, PointOfNoReturn: FromStart, Steps: []string{StepLeave}, Deadline: 24 * time.Hour},
	{Kind: ServerRevertResize, Resource: Server, Verb: "revert-resize", Action: "revertResize", Exclusive: true, PointOfNoReturn: StepLeave, Steps: []string{StepStop, StepNetwork, StepVolumes, StepGuest, StepLeave}, Deadline: time.Hour},
	{Kind: ServerCrashDump, Resource: Server, Verb: "crash-dump", Action: "trigger_crash_dump", Exclusive: true, PointOfNoReturn: StepGuest, Steps: []string{StepGuest}, Deadline: 10 * time.Minute},
	{Kind: ServerResetState, Resource: Server, Verb: "reset-state", Action: "resetState", Exclusive: true, PointOfNoReturn: StepState, Steps: []string{StepState}, Deadline: 10 * time.Minute},
	{Kind: ServerAttachVolume, Resource: Server, Verb: "attach-volume", Action: "attach_volume", Steps: []string{StepVolumes, StepGuest}, Deadline: time.Hour},
	{Kind: ServerDetachVolume, Resource: Server, Verb: "detach-volume", Action: "detach_volume", PointOfNoReturn: StepGuest, Steps: []string{StepGuest, StepVolumes}, Deadline: time.Hour},
	{Kind: ServerAttachInterface, Resource: Server, Verb: "attach-interface", Action: "attach_interface", Steps: []string{StepNetwork, StepGuest}, Deadline: time.Hour},
	{Kind: ServerDetachInterface, Resource: Server, Verb: "detach-interface", Action: "detach_interface", PointOfNoReturn: StepGuest, Steps: []string{StepGuest, StepNetwork}, Deadline: time.Hour},
	{Kind: ServerSwapVolume, Resource: Server, Verb: "swap-volume", Action: "swap_volume", Prepared: true, PointOfNoReturn: StepSettle, Steps: []string{StepVolumes, StepGuest, StepSettle}, Deadline: 24 * time.Hour},
	{Kind: ServerCreateImage, Resource: Server, Verb: "create-image", Action: "createImage", Exclusive: true, Prepared: true, Steps: []string{StepSnapshot, StepVolumes, StepUpload}, Deadline: 2 * time.Hour},
	{Kind: ServerCreateBackup, Resource: Server, Verb: "create-backup", Action: "createBackup", Exclusive: true, Prepared: true, PointOfNoReturn: StepRotate, Steps: []string{StepSnapshot, StepUpload, StepRotate}, Deadline: 2 * time.Hour},
	{Kind: ServerShelve, Resource: Server, Verb: "shelve", Action: "shelve", Exclusive: true, Prepared: true, PointOfNoReturn: StepShelve, Steps: []string{StepGuest, StepSnapshot, StepUpload, StepShelve, StepOffload}, Deadline: 2 * time.Hour},
	{Kind: ServerShelveOffload, Resource: Server, Verb: "shelve-offload", Action: "shelveOffload", Exclusive: true, PointOfNoReturn: StepShelve, Steps: []string{StepShelve, StepOffload}, Deadline: 2 * time.Hour},
	{Kind: ServerUnshelve, Resource: Server, Verb: "unshelve", Action: "unshelve", Exclusive: true, PointOfNoReturn: StepKeep, Steps: []string{StepSchedule, StepNetwork, StepVolumes, StepGuest, StepKeep}, Deadline: time.Hour},
	{Kind: ServerEvacuate, Resource: Server, Verb: "evacuate", Action: "evacuate", Exclusive: true, PointOfNoReturn: StepLeave, Steps: []string{StepSchedule, StepNetwork, StepVolumes, StepGuest, StepLeave}, Deadline: time.Hour},
	{Kind: ServerLiveMigrate, Resource: Server, Verb: "live-migrate", Action: "live-migration", Exclusive: true, PointOfNoReturn: StepMove,
		Steps: []string{StepSchedule, StepQueue, StepPrepare, StepMove, StepSettle}, Deadline: 24 * time.Hour},
	{Kind: ServerRecoverShared, Resource: Server, Verb: recoverSharedVerb, PointOfNoReturn: FromStart, Steps: []string{StepGuest, StepVolumes, StepNetwork, StepSettle}, Deadline: 24 * time.Hour},
	{Kind: ServerRecover, Resource: Server, Verb: recoverVerb, Exclusive: true, PointOfNoReturn: FromStart, Steps: []string{StepGuest, StepState, StepRotate, StepShelve, StepOffload, StepKeep, StepSettle, StepLeave}, Deadline: 24 * time.Hour},

	{Kind: StackCreate, Resource: Stack, Verb: "create", Exclusive: true, Steps: []string{StepResources, StepRollback}, Deadline: traversalDeadline},
	{Kind: StackAdopt, Resource: Stack, Verb: "adopt", Exclusive: true, Steps: []string{StepResources, StepRollback}, Deadline: traversalDeadline},
	{Kind: StackUpdate, Resource: Stack, Verb: "update", Exclusive: true, Steps: []string{StepResources, StepRollback}, Deadline: traversalDeadline},
	{Kind: StackDelete, Resource: Stack, Verb: "delete", Exclusive: true, PointOfNoReturn: FromStart, Steps: []string{StepResources}, Deadline: traversalDeadline},
	{Kind: StackRollback, Resource: Stack, Verb: "rollback", Exclusive: true, Steps: []string{StepRollback}, Deadline: traversalDeadline},
	{Kind: StackCheck, Resource: Stack, Verb: "check", Exclusive: true, Steps: []string{StepResources}, Deadline: traversalDeadline},
	{Kind: StackSuspend, Resource: Stack, Verb: "suspend", Exclusive: true, Steps: []string{StepResources}, Deadline: traversalDeadline},
	{Kind: StackResume, Resource: Stack, Verb: "resume", Exclusive: true, Steps: []string{StepResources}, Deadline: traversalDeadline},
	{Kind: StackSnapshot, Resource: Stack, Verb: "snapshot", Exclusive: true, Steps: []string{StepResources}, Deadline: traversalDeadline},
	{Kind: StackRestore, Resource: Stack, Verb: "restore", Exclusive: true, Steps: []string{StepResources, StepRollback}, Deadline: traversalDeadline},
	{Kind: StackScale, Resource: Stack, Verb: "scale", Exclusive: true, Steps: []string{StepResources}, Deadline: traversalDeadline},
	{Kind: StackRecover, Resource: Stack, Verb: recoverVerb, Exclusive: true, PointOfNoReturn: FromStart, Steps: []string{StepSettle, StepResources}, Deadline: traversalDeadline},

	{Kind: SnapshotDelete, Resource: Snapshot, Verb: "delete", Exclusive: true, PointOfNoReturn: FromStart, Steps: []string{StepResources}, Deadline: traversalDeadline},
	{Kind: SnapshotRecover, Resource: Snapshot, Verb: recoverVerb, Exclusive: true, PointOfNoReturn: FromStart, Steps: []string{StepResources}, Deadline: traversalDeadline},

	{Kind: NodePower, Resource: Node, Verb: "power", Exclusive: true, PointOfNoReturn: StepPower, Steps: []string{StepPower}, Deadline: 24 * time.Hour},
	{Kind: NodeCommand, Resource: Node, Verb: "command", Exclusive: true, PointOfNoReturn: StepCommand, Steps: []string{StepCommand}, Deadline: time.Hour},
	{Kind: NodeManage, Resource: Node, Verb: "manage", Exclusive: true, Steps: []string{StepVerify}, Deadline: 10 * time.Minute},
	{Kind: NodeDeploy, Resource: Node, Verb: "deploy", Exclusive: true, PointOfNoReturn: StepStart, Steps: []string{StepDeploy, StepStart}, Deadline: cleanDeadline},
	{Kind: NodeRebuild, Resource: Node, Verb: "rebuild", Exclusive: true, PointOfNoReturn: StepStart, Steps: []string{StepDeploy, StepStart}, Deadline: cleanDeadline},
	{Kind: NodeUndeploy, Resource: Node, Verb: "undeploy", Exclusive: true, PointOfNoReturn: FromStart, Steps: []string{StepTearDown, StepClean}, Deadline: cleanDeadline},
	{Kind: NodeProvide, Resource: Node, Verb: "provide", Exclusive: true, Steps: []string{StepClean}, Deadline: cleanDeadline},
	{Kind: NodeClean, Resource: Node, Verb: "clean", Exclusive: true, Steps: []string{StepClean}, Deadline: cleanDeadline},
	{Kind: NodeInspect, Resource: Node, Verb: "inspect", Exclusive: true, PointOfNoReturn: StepSettle, Steps: []string{StepInspect, StepSettle}, Deadline: 2 * time.Hour},
	{Kind: NodeAdopt, Resource: Node, Verb: "adopt", Exclusive: true, PointOfNoReturn: StepStart, Steps: []string{StepStart}, Deadline: time.Hour},
	{Kind: NodeRescue, Resource: Node, Verb: "rescue", Exclusive: true, PointOfNoReturn: StepRescue, Steps: []string{StepPrepare, StepRescue}, Deadline: 2 * time.Hour},
	{Kind: NodeUnrescue, Resource: Node, Verb: "unrescue", Exclusive: true, PointOfNoReturn: StepStart, Steps: []string{StepStart}, Deadline: time.Hour},
	{Kind: NodeService, Resource: Node, Verb: "service", Exclusive: true, PointOfNoReturn: StepStart, Steps: []string{StepService, StepStart}, Deadline: cleanDeadline},
	{Kind: NodeRecover, Resource: Node, Verb: recoverVerb, Exclusive: true, PointOfNoReturn: FromStart, Steps: []string{StepPower, StepCommand, StepStart, StepRescue, StepSettle, StepTearDown, StepClean}, Deadline: 24 * time.Hour},
}

// cleanDeadline is as long as a node may be held. What isn't held has the deadline
// of its state or step.
const cleanDeadline = 31 * 24 * time.Hour

// traversalDeadline is longer than any timeout that a stack may ask for: that
// one ends a traversal, and the engine what is left of it.
const traversalDeadline = 31 * 24 * time.Hour

var byKind = func() map[Kind]Spec {
	m := make(map[Kind]Spec, len(specs))
	for _, s := range specs {
		m[s.Kind] = s
	}
	return m
}()

// Lookup gives the Spec of a kind; false for a kind this release doesn't know.
func Lookup(k Kind) (Spec, bool) { s, ok := byKind[k]; return s, ok }

// All gives every Spec, in the table's order.
func All() []Spec { return append([]Spec(nil), specs...) }
