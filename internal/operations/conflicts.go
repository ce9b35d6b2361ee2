package operations

// Who may meet whom: what happens when an operation is asked for while another
// holds the resource.

// Meeting is the answer to a new operation that finds another one running.
type Meeting string

const (
	// Refuse: 409 with the original's text.
	Refuse Meeting = "refuse"
	// Queue: it becomes next and starts when the running one has finished.
	Queue Meeting = "queue"
	// Join: the running one already does what is asked; nothing new is made.
	Join Meeting = "join"
	// Signal: the running one is told through its inbox.
	Signal Meeting = "signal"
	// Preempt: the running one is cancelled and the new one is next.
	Preempt Meeting = "preempt"
)

// A pair that is not in the table is refused; but whatever is asked for while a
// shared kind runs waits for it. Rows are (running kind, new kind).
//
// Delete takes over whatever runs (contracts: action-preconditions.json, DELETE
// allows any task state and a second DELETE is a silent 204); so does a soft
// delete, which a delete that is meant takes over in turn. A hard reboot
// takes over operations on power, since users press it when one of those hangs
// (task states ALLOW_REBOOT of the original). So does a reset of the state by an
// administrator, whatever runs, but for a delete: what is being deleted has no
// other state to come. An evacuation takes over whatever runs, since the host that
// it runs on is down, and has rows only for what it does not. Recovery is never
// cut short: it holds the only list of what must be undone.
//
// A newer traversal of a stack takes over from an older one (contracts:
// lifecycle.json): what it does not do again, the newer one finds in the rows of
// the resources. A delete gives way to nothing. Only a snapshot is never taken, and a
// group never scaled, while anything else is done.
//
// A node's instance is taken away while its ramdisk is waited for (contracts:
// state-machine.json, the event delete); in every other state in which somebody works
// on a node, that node's own rules refuse it.
//
// Shared kinds show no task, so the original accepts beside them what it accepts
// on an idle server, and its lock of the server puts one behind the other. An
// exclusive kind that runs shows its task, and then shared ones are refused.
var meetings = map[Kind]map[Kind]Meeting{
	ServerBuild:       {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerDelete:      {ServerDelete: Join, ServerSoftDelete: Join, ServerResetState: Join, ServerEvacuate: Join},
	ServerStart:       {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerStop:        {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerReboot:      {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt, ServerHardReboot: Preempt},
	ServerHardReboot:  {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt, ServerHardReboot: Preempt},
	ServerPause:       {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt, ServerHardReboot: Preempt},
	ServerUnpause:     {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt, ServerHardReboot: Preempt},
	ServerSuspend:     {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt, ServerHardReboot: Preempt},
	ServerResume:      {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt, ServerHardReboot: Preempt},
	ServerSoftDelete:  {ServerDelete: Preempt, ServerSoftDelete: Join, ServerResetState: Preempt},
	ServerRestore:     {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerRescue:      {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerUnrescue:    {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerRebuild:     {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerCrashDump:   {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerResetState:  {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerLiveMigrate: {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerRecover:     {ServerDelete: Queue, ServerSoftDelete: Queue, ServerResetState: Queue, ServerEvacuate: Queue},

	ServerShelve:        {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerShelveOffload: {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerUnshelve:      {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},

	ServerAttachVolume:    {ServerDelete: Preempt, ServerResetState: Preempt},
	ServerDetachVolume:    {ServerDelete: Preempt, ServerResetState: Preempt},
	ServerAttachInterface: {ServerDelete: Preempt, ServerResetState: Preempt},
	ServerDetachInterface: {ServerDelete: Preempt, ServerResetState: Preempt},
	ServerSwapVolume:      {ServerDelete: Preempt, ServerResetState: Preempt},
	ServerCreateImage:     {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerCreateBackup:    {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},

	StackCreate:   newer,
	StackAdopt:    newer,
	StackUpdate:   newer,
	StackRollback: newer,
	StackCheck:    newer,
	StackSuspend:  newer,
	StackResume:   newer,
	StackSnapshot: newer,
	StackRestore:  newer,
	StackScale:    newer,
	StackDelete:   {StackDelete: Join},
	StackRecover: {StackUpdate: Queue, StackDelete: Queue, StackCheck: Queue, StackSuspend: Queue, StackResume: Queue, StackRollback: Queue,
		StackRestore: Queue},

	SnapshotDelete:  {SnapshotDelete: Join},
	SnapshotRecover: {SnapshotDelete: Join},

	NodeDeploy:  {NodeUndeploy: Preempt},
	NodeRebuild: {NodeUndeploy: Preempt},
	NodeRescue:  {NodeUndeploy: Preempt},
	NodeService: {NodeUndeploy: Preempt, NodeService: Preempt},

	ServerRecoverShared: {ServerEvacuate: Queue},
	ServerEvacuate:      {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt, ServerEvacuate: Join},
	ServerResize:        {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerMigrate:       {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerRevertResize:  {ServerDelete: Preempt, ServerSoftDelete: Preempt, ServerResetState: Preempt},
	ServerConfirmResize: {ServerDelete: Queue, ServerSoftDelete: Queue, ServerResetState: Queue, ServerEvacuate: Queue},
}

// newer are the traversals of a stack that take over from whatever runs.
var newer = map[Kind]Meeting{StackUpdate: Preempt, StackDelete: Preempt, StackRollback: Preempt, StackCheck: Preempt, StackSuspend: Preempt, StackResume: Preempt,
	StackRestore: Preempt}

// Meet says what becomes of an operation of kind incoming that finds one of
// kind running on the same resource.
func Meet(running, incoming Kind) Meeting {
	if m, ok := meetings[running][incoming]; ok {
		return m
	}
	switch spec, ok := Lookup(running); {
	case !ok:
	case incoming == ServerEvacuate && spec.Resource == Server:
		return Preempt
	case !spec.Exclusive:
		return Queue
	}
	return Refuse
}
