package records_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/activities/activitytest"
	"holdfast.dev/activities/records"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// scene is a server whose build has come to a host.
type scene struct {
	*world
	server, host string
	fence        steps.Fence
}

// act does a step.
type act func(context.Context, *records.Activities) (any, error)

// acts has a row per step: what it is in a scene.
var acts = map[string]func(*scene) act{
	"records.Begin": func(s *scene) act {
		id := s.accept(operations.ServerBuild, computetest.AddServer(s, s.db, "p").ID, servers.TaskScheduling)
		return func(ctx context.Context, r *records.Activities) (any, error) {
			return r.Begin(ctx, steps.BeginIn{OperationID: id, RunID: "run"})
		}
	},
	"records.Advance": func(s *scene) act {
		return func(ctx context.Context, r *records.Activities) (any, error) {
			return r.Advance(ctx, steps.AdvanceIn{Fence: s.fence, Step: operations.StepGuest, Attempt: 1, Host: s.host,
				Intend: []operations.Effect{{Kind: operations.EffectGuest, Ref: s.server, Host: s.host, Attempt: 1}}})
		}
	},
	"records.Finish": func(s *scene) act {
		return func(ctx context.Context, r *records.Activities) (any, error) {
			return r.Finish(ctx, steps.FinishIn{Fence: s.fence, Result: operations.ResultDone,
				Server: &steps.ServerOutcome{VMState: new("active"), PowerState: new(1), Host: &s.host, Launched: true}})
		}
	},
	"records.Host": func(s *scene) act {
		return func(ctx context.Context, r *records.Activities) (any, error) {
			return r.Host(ctx, steps.HostIn{HostID: s.host})
		}
	},
	"records.Moving": func(s *scene) act {
		computetest.InTx(s, s.db, func(tx store.Tx) error {
			server, err := compute.GetServer(s.Context(), tx, "", s.server)
			if err != nil {
				return err
			}
			return compute.StartMigration(s.Context(), tx, server, &compute.Migration{OperationID: s.fence.OperationID,
				Type: servers.LiveMigration, Status: servers.MigrationQueued, New: server.Flavor, NewRoom: server.Size()})
		})
		return func(ctx context.Context, r *records.Activities) (any, error) {
			return r.Moving(ctx, steps.MovingIn{Fence: s.fence, Status: string(servers.MigrationPreparing)})
		}
	},
	"records.ServerSpec": func(s *scene) act {
		return func(ctx context.Context, r *records.Activities) (any, error) {
			return r.ServerSpec(ctx, steps.ServerSpecIn{Fence: s.fence})
		}
	},
	"records.ReplaceVolume": func(s *scene) act {
		computetest.InTx(s, s.db, func(tx store.Tx) error {
			device := compute.BlockDevice{ServerID: s.server, SourceType: "volume", DestinationType: "volume", VolumeID: "v", AttachmentID: "old"}
			if err := compute.InsertBlockDevices(s.Context(), tx, s.server, []compute.BlockDevice{device}); err != nil {
				return err
			}
			device.Swap = compute.Swap{VolumeID: "new", AttachmentID: "new"}
			return compute.SetSwap(s.Context(), tx, &device)
		})
		return func(ctx context.Context, r *records.Activities) (any, error) {
			if _, err := r.ReplaceVolume(ctx, steps.ReplaceVolumeIn{Fence: s.fence, NewVolumeID: "new"}); err != nil {
				return nil, err
			}
			devices, err := compute.BlockDevices(s.Context(), s.db.Pool, s.server)
			return devices, err
		}
	},
	"records.Node": func(s *scene) act {
		fence := s.node(operations.NodeManage, provision.Verifying)
		return func(ctx context.Context, r *records.Activities) (any, error) {
			return r.Node(ctx, steps.NodeIn{Fence: fence})
		}
	},
	"records.Plugged": func(s *scene) act {
		computetest.InTx(s, s.db, func(tx store.Tx) error {
			if err := compute.InsertServerPorts(s.Context(), tx, s.server, []compute.ServerPort{{PortID: "a"}}); err != nil {
				return err
			}
			if err := compute.BindPort(s.Context(), tx, &compute.ServerPort{ServerID: s.server, NetworkID: "net", PortID: "a", VIFType: "bridge"}); err != nil {
				return err
			}
			_, err := s.engine.Put(s.Context(), tx, engine.Event{Resource: operations.Server, ResourceID: s.server,
				Name: engine.NetworkVIFPlugged, SenderKey: "a", Payload: []byte(`{"tag":"a","status":"completed"}`)})
			return err
		})
		return func(ctx context.Context, r *records.Activities) (any, error) {
			return r.Plugged(ctx, steps.PluggedIn{Fence: s.fence})
		}
	},
}

// A step of an operation on a node is written, and shown, once however often.
func TestNodesAgain(t *testing.T) {
	t.Parallel()
	activitytest.InDatabase(t, func(t *testing.T) activitytest.Act {
		w := newWorld(t)
		fence := w.node(operations.NodeManage, provision.Verifying)
		return activitytest.Act{DB: w.db, Do: func(ctx context.Context, db *store.DB) (any, error) {
			r := records.New(db, engine.New(db, baremetal.Locks()), func(string) {})
			return r.Advance(ctx, steps.AdvanceIn{Fence: fence, Step: operations.StepVerify, Attempt: 1, Node: &steps.NodeMove{State: string(provision.Verifying)}})
		}}
	})
}

// node has an operation begun on a node in a state, and gives its fence.
func (w *world) node(kind operations.Kind, state provision.State) steps.Fence {
	w.Helper()
	n := &baremetal.Node{UUID: uuid.NewString(), Driver: "fake-hardware", ProvisionState: state}
	for _, empty := range []*json.RawMessage{&n.DriverInfo, &n.InstanceInfo, &n.DriverInternalInfo, &n.Properties, &n.Extra, &n.NetworkData,
		&n.RAIDConfig, &n.TargetRAIDConfig, &n.CleanStep, &n.DeployStep, &n.ServiceStep} {
		*empty = json.RawMessage(`{}`)
	}
	var accepted engine.Accepted
	computetest.InTx(w, w.db, func(tx store.Tx) (err error) {
		if err := baremetal.Nodes.Create(w.Context(), tx, n); err != nil {
			return err
		}
		if accepted, err = w.engine.Accept(w.Context(), tx, engine.Request{Kind: kind, ResourceID: n.UUID}); err != nil {
			return err
		}
		return baremetal.Reserve(w.Context(), tx, n.UUID, "conductor-1")
	})
	_, fence := w.begin(accepted.OperationID)
	return fence
}

// Every step, done twice and killed at each of its round trips.
func TestAgain(t *testing.T) {
	t.Parallel()
	var proven []string
	for name, in := range acts {
		proven = append(proven, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			activitytest.InDatabase(t, func(t *testing.T) activitytest.Act {
				w := newWorld(t)
				s := &scene{world: w, host: computetest.AddHost(t, w.db, "h", computetest.Room), server: computetest.AddServer(t, w.db, "p").ID}
				_, s.fence = s.begin(s.accept(operations.ServerBuild, s.server, servers.TaskScheduling))
				do := in(s)
				return activitytest.Act{DB: w.db, Do: func(ctx context.Context, db *store.DB) (any, error) {
					return do(ctx, records.New(db, engine.New(db, compute.Resource(), baremetal.Locks()), func(string) {}))
				}}
			})
		})
	}
	activitytest.Covers(t, "records", proven...)
}
