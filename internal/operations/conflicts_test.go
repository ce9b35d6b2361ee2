package operations_test

import (
	"slices"
	"testing"

	"holdfast.dev/internal/operations"
)

// met is every meeting that isn't a refusal, spelled out: a change of the table
// is seen here.
var met = map[[2]operations.Kind]operations.Meeting{
	{operations.NodeDeploy, operations.NodeUndeploy}:            operations.Preempt,
	{operations.NodeRebuild, operations.NodeUndeploy}:           operations.Preempt,
	{operations.NodeRescue, operations.NodeUndeploy}:            operations.Preempt,
	{operations.NodeService, operations.NodeUndeploy}:           operations.Preempt,
	{operations.NodeService, operations.NodeService}:            operations.Preempt,
	{operations.ServerBuild, operations.ServerDelete}:           operations.Preempt,
	{operations.ServerDelete, operations.ServerDelete}:          operations.Join,
	{operations.ServerStart, operations.ServerDelete}:           operations.Preempt,
	{operations.ServerStop, operations.ServerDelete}:            operations.Preempt,
	{operations.ServerReboot, operations.ServerDelete}:          operations.Preempt,
	{operations.ServerReboot, operations.ServerHardReboot}:      operations.Preempt,
	{operations.ServerHardReboot, operations.ServerDelete}:      operations.Preempt,
	{operations.ServerHardReboot, operations.ServerHardReboot}:  operations.Preempt,
	{operations.ServerPause, operations.ServerDelete}:           operations.Preempt,
	{operations.ServerPause, operations.ServerHardReboot}:       operations.Preempt,
	{operations.ServerUnpause, operations.ServerDelete}:         operations.Preempt,
	{operations.ServerUnpause, operations.ServerHardReboot}:     operations.Preempt,
	{operations.ServerSuspend, operations.ServerDelete}:         operations.Preempt,
	{operations.ServerSuspend, operations.ServerHardReboot}:     operations.Preempt,
	{operations.ServerResume, operations.ServerDelete}:          operations.Preempt,
	{operations.ServerResume, operations.ServerHardReboot}:      operations.Preempt,
	{operations.ServerRecover, operations.ServerDelete}:         operations.Queue,
	{operations.ServerBuild, operations.ServerResetState}:       operations.Preempt,
	{operations.ServerStart, operations.ServerResetState}:       operations.Preempt,
	{operations.ServerStop, operations.ServerResetState}:        operations.Preempt,
	{operations.ServerReboot, operations.ServerResetState}:      operations.Preempt,
	{operations.ServerHardReboot, operations.ServerResetState}:  operations.Preempt,
	{operations.ServerPause, operations.ServerResetState}:       operations.Preempt,
	{operations.ServerUnpause, operations.ServerResetState}:     operations.Preempt,
	{operations.ServerSuspend, operations.ServerResetState}:     operations.Preempt,
	{operations.ServerResume, operations.ServerResetState}:      operations.Preempt,
	{operations.ServerResetState, operations.ServerResetState}:  operations.Preempt,
	{operations.ServerBuild, operations.ServerSoftDelete}:       operations.Preempt,
	{operations.ServerStart, operations.ServerSoftDelete}:       operations.Preempt,
	{operations.ServerStop, operations.ServerSoftDelete}:        operations.Preempt,
	{operations.ServerReboot, operations.ServerSoftDelete}:      operations.Preempt,
	{operations.ServerHardReboot, operations.ServerSoftDelete}:  operations.Preempt,
	{operations.ServerPause, operations.ServerSoftDelete}:       operations.Preempt,
	{operations.ServerUnpause, operations.ServerSoftDelete}:     operations.Preempt,
	{operations.ServerSuspend, operations.ServerSoftDelete}:     operations.Preempt,
	{operations.ServerResume, operations.ServerSoftDelete}:      operations.Preempt,
	{operations.ServerResetState, operations.ServerSoftDelete}:  operations.Preempt,
	{operations.ServerRestore, operations.ServerSoftDelete}:     operations.Preempt,
	{operations.ServerDelete, operations.ServerSoftDelete}:      operations.Join,
	{operations.ServerSoftDelete, operations.ServerSoftDelete}:  operations.Join,
	{operations.ServerSoftDelete, operations.ServerDelete}:      operations.Preempt,
	{operations.ServerSoftDelete, operations.ServerResetState}:  operations.Preempt,
	{operations.ServerRestore, operations.ServerDelete}:         operations.Preempt,
	{operations.ServerRestore, operations.ServerResetState}:     operations.Preempt,
	{operations.ServerRecover, operations.ServerSoftDelete}:     operations.Queue,
	{operations.ServerResetState, operations.ServerDelete}:      operations.Preempt,
	{operations.ServerDelete, operations.ServerResetState}:      operations.Join,
	{operations.ServerRecover, operations.ServerResetState}:     operations.Queue,
	{operations.ServerRescue, operations.ServerDelete}:          operations.Preempt,
	{operations.ServerRescue, operations.ServerSoftDelete}:      operations.Preempt,
	{operations.ServerRescue, operations.ServerResetState}:      operations.Preempt,
	{operations.ServerUnrescue, operations.ServerDelete}:        operations.Preempt,
	{operations.ServerUnrescue, operations.ServerSoftDelete}:    operations.Preempt,
	{operations.ServerUnrescue, operations.ServerResetState}:    operations.Preempt,
	{operations.ServerRebuild, operations.ServerDelete}:         operations.Preempt,
	{operations.ServerRebuild, operations.ServerSoftDelete}:     operations.Preempt,
	{operations.ServerRebuild, operations.ServerResetState}:     operations.Preempt,
	{operations.ServerCrashDump, operations.ServerDelete}:       operations.Preempt,
	{operations.ServerCrashDump, operations.ServerSoftDelete}:   operations.Preempt,
	{operations.ServerCrashDump, operations.ServerResetState}:   operations.Preempt,
	{operations.ServerLiveMigrate, operations.ServerDelete}:     operations.Preempt,
	{operations.ServerLiveMigrate, operations.ServerSoftDelete}: operations.Preempt,
	{operations.ServerLiveMigrate, operations.ServerResetState}: operations.Preempt,

	{operations.ServerAttachVolume, operations.ServerDelete}:        operations.Preempt,
	{operations.ServerAttachVolume, operations.ServerResetState}:    operations.Preempt,
	{operations.ServerDetachVolume, operations.ServerDelete}:        operations.Preempt,
	{operations.ServerDetachVolume, operations.ServerResetState}:    operations.Preempt,
	{operations.ServerAttachInterface, operations.ServerDelete}:     operations.Preempt,
	{operations.ServerAttachInterface, operations.ServerResetState}: operations.Preempt,
	{operations.ServerDetachInterface, operations.ServerDelete}:     operations.Preempt,
	{operations.ServerDetachInterface, operations.ServerResetState}: operations.Preempt,
	{operations.ServerSwapVolume, operations.ServerDelete}:          operations.Preempt,
	{operations.ServerSwapVolume, operations.ServerResetState}:      operations.Preempt,
	{operations.ServerCreateImage, operations.ServerDelete}:         operations.Preempt,
	{operations.ServerCreateBackup, operations.ServerDelete}:        operations.Preempt,
	{operations.ServerCreateImage, operations.ServerSoftDelete}:     operations.Preempt,
	{operations.ServerCreateBackup, operations.ServerSoftDelete}:    operations.Preempt,
	{operations.ServerCreateImage, operations.ServerResetState}:     operations.Preempt,
	{operations.ServerCreateBackup, operations.ServerResetState}:    operations.Preempt,

	{operations.ServerShelve, operations.ServerDelete}:            operations.Preempt,
	{operations.ServerShelve, operations.ServerSoftDelete}:        operations.Preempt,
	{operations.ServerShelve, operations.ServerResetState}:        operations.Preempt,
	{operations.ServerShelveOffload, operations.ServerDelete}:     operations.Preempt,
	{operations.ServerShelveOffload, operations.ServerSoftDelete}: operations.Preempt,
	{operations.ServerShelveOffload, operations.ServerResetState}: operations.Preempt,
	{operations.ServerUnshelve, operations.ServerDelete}:          operations.Preempt,
	{operations.ServerUnshelve, operations.ServerSoftDelete}:      operations.Preempt,
	{operations.ServerUnshelve, operations.ServerResetState}:      operations.Preempt,

	{operations.StackCreate, operations.StackUpdate}:        operations.Preempt,
	{operations.StackCreate, operations.StackDelete}:        operations.Preempt,
	{operations.StackCreate, operations.StackRollback}:      operations.Preempt,
	{operations.StackCreate, operations.StackCheck}:         operations.Preempt,
	{operations.StackCreate, operations.StackSuspend}:       operations.Preempt,
	{operations.StackCreate, operations.StackResume}:        operations.Preempt,
	{operations.StackAdopt, operations.StackUpdate}:         operations.Preempt,
	{operations.StackAdopt, operations.StackDelete}:         operations.Preempt,
	{operations.StackAdopt, operations.StackRollback}:       operations.Preempt,
	{operations.StackAdopt, operations.StackCheck}:          operations.Preempt,
	{operations.StackAdopt, operations.StackSuspend}:        operations.Preempt,
	{operations.StackAdopt, operations.StackResume}:         operations.Preempt,
	{operations.StackAdopt, operations.StackRestore}:        operations.Preempt,
	{operations.StackUpdate, operations.StackUpdate}:        operations.Preempt,
	{operations.StackUpdate, operations.StackDelete}:        operations.Preempt,
	{operations.StackUpdate, operations.StackRollback}:      operations.Preempt,
	{operations.StackUpdate, operations.StackCheck}:         operations.Preempt,
	{operations.StackUpdate, operations.StackSuspend}:       operations.Preempt,
	{operations.StackUpdate, operations.StackResume}:        operations.Preempt,
	{operations.StackRollback, operations.StackUpdate}:      operations.Preempt,
	{operations.StackRollback, operations.StackDelete}:      operations.Preempt,
	{operations.StackRollback, operations.StackRollback}:    operations.Preempt,
	{operations.StackRollback, operations.StackCheck}:       operations.Preempt,
	{operations.StackRollback, operations.StackSuspend}:     operations.Preempt,
	{operations.StackRollback, operations.StackResume}:      operations.Preempt,
	{operations.StackCheck, operations.StackUpdate}:         operations.Preempt,
	{operations.StackCheck, operations.StackDelete}:         operations.Preempt,
	{operations.StackCheck, operations.StackRollback}:       operations.Preempt,
	{operations.StackCheck, operations.StackCheck}:          operations.Preempt,
	{operations.StackCheck, operations.StackSuspend}:        operations.Preempt,
	{operations.StackCheck, operations.StackResume}:         operations.Preempt,
	{operations.StackSuspend, operations.StackUpdate}:       operations.Preempt,
	{operations.StackSuspend, operations.StackDelete}:       operations.Preempt,
	{operations.StackSuspend, operations.StackRollback}:     operations.Preempt,
	{operations.StackSuspend, operations.StackCheck}:        operations.Preempt,
	{operations.StackSuspend, operations.StackSuspend}:      operations.Preempt,
	{operations.StackSuspend, operations.StackResume}:       operations.Preempt,
	{operations.StackResume, operations.StackUpdate}:        operations.Preempt,
	{operations.StackResume, operations.StackDelete}:        operations.Preempt,
	{operations.StackResume, operations.StackRollback}:      operations.Preempt,
	{operations.StackResume, operations.StackCheck}:         operations.Preempt,
	{operations.StackResume, operations.StackSuspend}:       operations.Preempt,
	{operations.StackResume, operations.StackResume}:        operations.Preempt,
	{operations.StackDelete, operations.StackDelete}:        operations.Join,
	{operations.StackCreate, operations.StackRestore}:       operations.Preempt,
	{operations.StackUpdate, operations.StackRestore}:       operations.Preempt,
	{operations.StackRollback, operations.StackRestore}:     operations.Preempt,
	{operations.StackCheck, operations.StackRestore}:        operations.Preempt,
	{operations.StackSuspend, operations.StackRestore}:      operations.Preempt,
	{operations.StackResume, operations.StackRestore}:       operations.Preempt,
	{operations.StackSnapshot, operations.StackUpdate}:      operations.Preempt,
	{operations.StackSnapshot, operations.StackDelete}:      operations.Preempt,
	{operations.StackSnapshot, operations.StackRollback}:    operations.Preempt,
	{operations.StackSnapshot, operations.StackCheck}:       operations.Preempt,
	{operations.StackSnapshot, operations.StackSuspend}:     operations.Preempt,
	{operations.StackSnapshot, operations.StackResume}:      operations.Preempt,
	{operations.StackSnapshot, operations.StackRestore}:     operations.Preempt,
	{operations.StackRestore, operations.StackUpdate}:       operations.Preempt,
	{operations.StackRestore, operations.StackDelete}:       operations.Preempt,
	{operations.StackRestore, operations.StackRollback}:     operations.Preempt,
	{operations.StackRestore, operations.StackCheck}:        operations.Preempt,
	{operations.StackRestore, operations.StackSuspend}:      operations.Preempt,
	{operations.StackRestore, operations.StackResume}:       operations.Preempt,
	{operations.StackRestore, operations.StackRestore}:      operations.Preempt,
	{operations.StackRecover, operations.StackRestore}:      operations.Queue,
	{operations.SnapshotDelete, operations.SnapshotDelete}:  operations.Join,
	{operations.SnapshotRecover, operations.SnapshotDelete}: operations.Join,
	{operations.StackRecover, operations.StackUpdate}:       operations.Queue,
	{operations.StackRecover, operations.StackDelete}:       operations.Queue,
	{operations.StackRecover, operations.StackRollback}:     operations.Queue,
	{operations.StackRecover, operations.StackCheck}:        operations.Queue,
	{operations.StackRecover, operations.StackSuspend}:      operations.Queue,
	{operations.StackRecover, operations.StackResume}:       operations.Queue,
	{operations.StackScale, operations.StackUpdate}:         operations.Preempt,
	{operations.StackScale, operations.StackDelete}:         operations.Preempt,
	{operations.StackScale, operations.StackRollback}:       operations.Preempt,
	{operations.StackScale, operations.StackCheck}:          operations.Preempt,
	{operations.StackScale, operations.StackSuspend}:        operations.Preempt,
	{operations.StackScale, operations.StackResume}:         operations.Preempt,
	{operations.StackScale, operations.StackRestore}:        operations.Preempt,

	{operations.ServerBuild, operations.ServerEvacuate}:           operations.Preempt,
	{operations.ServerDelete, operations.ServerEvacuate}:          operations.Join,
	{operations.ServerStart, operations.ServerEvacuate}:           operations.Preempt,
	{operations.ServerStop, operations.ServerEvacuate}:            operations.Preempt,
	{operations.ServerReboot, operations.ServerEvacuate}:          operations.Preempt,
	{operations.ServerHardReboot, operations.ServerEvacuate}:      operations.Preempt,
	{operations.ServerPause, operations.ServerEvacuate}:           operations.Preempt,
	{operations.ServerUnpause, operations.ServerEvacuate}:         operations.Preempt,
	{operations.ServerSuspend, operations.ServerEvacuate}:         operations.Preempt,
	{operations.ServerResume, operations.ServerEvacuate}:          operations.Preempt,
	{operations.ServerSoftDelete, operations.ServerEvacuate}:      operations.Preempt,
	{operations.ServerRestore, operations.ServerEvacuate}:         operations.Preempt,
	{operations.ServerRescue, operations.ServerEvacuate}:          operations.Preempt,
	{operations.ServerUnrescue, operations.ServerEvacuate}:        operations.Preempt,
	{operations.ServerRebuild, operations.ServerEvacuate}:         operations.Preempt,
	{operations.ServerCrashDump, operations.ServerEvacuate}:       operations.Preempt,
	{operations.ServerResetState, operations.ServerEvacuate}:      operations.Preempt,
	{operations.ServerRecoverShared, operations.ServerEvacuate}:   operations.Queue,
	{operations.ServerRecover, operations.ServerEvacuate}:         operations.Queue,
	{operations.ServerShelve, operations.ServerEvacuate}:          operations.Preempt,
	{operations.ServerShelveOffload, operations.ServerEvacuate}:   operations.Preempt,
	{operations.ServerUnshelve, operations.ServerEvacuate}:        operations.Preempt,
	{operations.ServerAttachVolume, operations.ServerEvacuate}:    operations.Preempt,
	{operations.ServerDetachVolume, operations.ServerEvacuate}:    operations.Preempt,
	{operations.ServerAttachInterface, operations.ServerEvacuate}: operations.Preempt,
	{operations.ServerDetachInterface, operations.ServerEvacuate}: operations.Preempt,
	{operations.ServerSwapVolume, operations.ServerEvacuate}:      operations.Preempt,
	{operations.ServerCreateImage, operations.ServerEvacuate}:     operations.Preempt,
	{operations.ServerCreateBackup, operations.ServerEvacuate}:    operations.Preempt,
	{operations.ServerLiveMigrate, operations.ServerEvacuate}:     operations.Preempt,
	{operations.ServerEvacuate, operations.ServerDelete}:          operations.Preempt,
	{operations.ServerEvacuate, operations.ServerSoftDelete}:      operations.Preempt,
	{operations.ServerEvacuate, operations.ServerResetState}:      operations.Preempt,
	{operations.ServerEvacuate, operations.ServerEvacuate}:        operations.Join,
	{operations.ServerResize, operations.ServerDelete}:            operations.Preempt,
	{operations.ServerResize, operations.ServerSoftDelete}:        operations.Preempt,
	{operations.ServerResize, operations.ServerResetState}:        operations.Preempt,
	{operations.ServerMigrate, operations.ServerDelete}:           operations.Preempt,
	{operations.ServerMigrate, operations.ServerSoftDelete}:       operations.Preempt,
	{operations.ServerMigrate, operations.ServerResetState}:       operations.Preempt,
	{operations.ServerRevertResize, operations.ServerDelete}:      operations.Preempt,
	{operations.ServerRevertResize, operations.ServerSoftDelete}:  operations.Preempt,
	{operations.ServerRevertResize, operations.ServerResetState}:  operations.Preempt,
	{operations.ServerConfirmResize, operations.ServerDelete}:     operations.Queue,
	{operations.ServerConfirmResize, operations.ServerSoftDelete}: operations.Queue,
	{operations.ServerConfirmResize, operations.ServerResetState}: operations.Queue,
	{operations.ServerResize, operations.ServerEvacuate}:          operations.Preempt,
	{operations.ServerMigrate, operations.ServerEvacuate}:         operations.Preempt,
	{operations.ServerRevertResize, operations.ServerEvacuate}:    operations.Preempt,
	{operations.ServerConfirmResize, operations.ServerEvacuate}:   operations.Queue,
}

// deletes are the kinds that nothing may refuse.
var deletes = []operations.Kind{operations.ServerDelete, operations.StackDelete}

func TestEveryPairOfKinds(t *testing.T) {
	t.Parallel()
	for _, running := range operations.All() {
		for _, incoming := range operations.All() {
			want, ok := met[[2]operations.Kind{running.Kind, incoming.Kind}]
			switch {
			case ok:
			case running.Exclusive:
				want = operations.Refuse
			default:
				want = operations.Queue
			}
			got := operations.Meet(running.Kind, incoming.Kind)
			if got != want {
				t.Errorf("%s meets %s: %s, want %s", incoming.Kind, running.Kind, got, want)
			}
			if got == operations.Preempt && (running.Recovers() || running.Forward()) {
				t.Errorf("%s would cut %s short, which is never undone", incoming.Kind, running.Kind)
			}
			if slices.Contains(deletes, incoming.Kind) && running.Resource == incoming.Resource && got == operations.Refuse {
				t.Errorf("a delete is refused by %s", running.Kind)
			}
		}
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	verbs := map[string]operations.Kind{}
	for _, spec := range operations.All() {
		name := string(spec.Resource) + "/" + spec.Verb
		if other, taken := verbs[name]; taken {
			t.Errorf("%s and %s are both called %s", spec.Kind, other, name)
		}
		verbs[name] = spec.Kind
		if string(spec.Kind) != string(spec.Resource)+"."+spec.Verb {
			t.Errorf("%s is called %s in ids", spec.Kind, name)
		}
		if found, ok := operations.Lookup(spec.Kind); !ok || found.Kind != spec.Kind {
			t.Errorf("%s is not found", spec.Kind)
		}
		if spec.Deadline <= 0 {
			t.Errorf("%s has no deadline", spec.Kind)
		}
		recovery, ok := operations.RecoverKind(spec.Kind)
		of, _ := operations.Lookup(recovery)
		if !ok || !of.Recovers() || !of.Forward() || of.Resource != spec.Resource || of.Exclusive != spec.Exclusive {
			t.Errorf("%s is recovered by %q", spec.Kind, recovery)
		}
	}
	if _, ok := operations.Lookup("server.juggle"); ok {
		t.Error("an unknown kind is found")
	}
	if kind, ok := operations.RecoverKind("teapot.boil"); ok {
		t.Errorf("a teapot is recovered by %s", kind)
	}
}
