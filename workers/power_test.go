package workers_test

// Power, with both roles, the database and the engine together.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// power asks for an operation on the server's power, as the API does.
func (c *cloud) power(t *testing.T, kind operations.Kind, id string) {
	t.Helper()
	c.accept(t, kind, id, func(tx store.Tx) error {
		if _, err := compute.LockServer(t.Context(), tx, "p", id); err != nil {
			return err
		}
		return compute.SetTask(t.Context(), tx, id, servers.TaskPoweringOn)
	})
}

// becomes waits until nothing holds the server and its row reads so.
func (c *cloud) becomes(t *testing.T, id, vm string, power int) {
	t.Helper()
	c.eventually(t, fmt.Sprintf("%s with power %d", vm, power), func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT vm_state = $2 AND power_state = $3 AND task_state IS NULL AND operation_id IS NULL
			FROM compute.servers WHERE id = $1`, id, vm, power)
	})
}

// powered is a server that runs on a simulated host whose faults are rules.
func powered(t *testing.T, rules string) (c *cloud, id, dir string, stop func()) {
	t.Helper()
	c, dir = newCloud(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "simulated.json"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	stop = c.host(t, "h1", dir)
	id = c.build(t)
	c.becomes(t, id, "active", 1)
	return c, id, dir, stop
}

func (c *cloud) ended(t *testing.T, kind operations.Kind, want operations.Result) {
	t.Helper()
	if is, err := c.one(t.Context(), `SELECT result = $2 FROM engine.operations WHERE kind = $1`, kind, want); err != nil || !is {
		t.Errorf("the %s did not end as %s: %v\n%s", kind, want, err, c.operations(t))
	}
}

// A server goes through every state of power.
func TestPowerGoesRound(t *testing.T) {
	t.Parallel()
	c, id, dir, _ := powered(t, `{}`)
	for _, step := range []struct {
		kind  operations.Kind
		vm    string
		power int
	}{
		{operations.ServerStop, "stopped", 4},
		{operations.ServerStart, "active", 1},
		{operations.ServerPause, "paused", 3},
		{operations.ServerUnpause, "active", 1},
		{operations.ServerSuspend, "suspended", 4},
		{operations.ServerResume, "active", 1},
		{operations.ServerReboot, "active", 1},
		{operations.ServerHardReboot, "active", 1},
	} {
		c.power(t, step.kind, id)
		c.becomes(t, id, step.vm, step.power)
		c.ended(t, step.kind, operations.ResultDone)
		if got := guests(t, dir); len(got) != 1 || int(servers.PowerState(got[0].PowerState).Shown()) != step.power {
			t.Errorf("after %s the host has %+v", step.kind, got)
		}
	}
	c.silent(t)
}

// A server is deleted while its host waits for the guest to stop.
func TestDeleteCutsStopShort(t *testing.T) {
	t.Parallel()
	c, id, dir, _ := powered(t, `{"delay":"power.stop=hang"}`)
	c.power(t, operations.ServerStop, id)
	c.reaches(t, operations.ServerStop)
	c.delete(t, id)
	c.eventually(t, "deleted", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT deleted_at IS NOT NULL AND operation_id IS NULL FROM compute.servers WHERE id = $1`, id)
	})
	c.ended(t, operations.ServerStop, operations.ResultDone)
	if got := guests(t, dir); len(got) != 0 {
		t.Errorf("guests %+v, want none", got)
	}
	c.silent(t)
}

// A hard reboot takes over a pause that hangs and can't be forced either.
func TestHardRebootCutsPauseShort(t *testing.T) {
	t.Parallel()
	c, id, _, _ := powered(t, `{"delay":"power.pause=hang"}`)
	c.power(t, operations.ServerPause, id)
	c.reaches(t, operations.ServerPause)
	c.power(t, operations.ServerHardReboot, id)
	c.becomes(t, id, "active", 1)
	c.ended(t, operations.ServerPause, operations.ResultFailed)
	c.ended(t, operations.ServerHardReboot, operations.ResultDone)
	c.silent(t)
}

// reaches waits until the operation is in its step guest.
func (c *cloud) reaches(t *testing.T, kind operations.Kind) {
	t.Helper()
	c.eventually(t, "the guest's host at work", func(ctx context.Context) (bool, error) {
		return c.one(ctx, `SELECT COALESCE(step, '') = 'guest' FROM engine.operations WHERE kind = $1`, kind)
	})
}

// A host that is down fails the stop and holds up nothing.
func TestStopOnAHostThatIsDown(t *testing.T) {
	t.Parallel()
	c, id, _, stop := powered(t, `{}`)
	stop()
	if _, err := c.db.Pool.Exec(t.Context(), `UPDATE compute.hosts SET last_seen = now() - interval '10 min'`); err != nil {
		t.Fatal(err)
	}
	c.power(t, operations.ServerStop, id)
	c.becomes(t, id, "active", 0)
	c.ended(t, operations.ServerStop, operations.ResultFailed)
	if told, err := c.one(t.Context(), `SELECT message = 'the host did not answer in time' AND code = 500
		FROM compute.server_faults WHERE server_id = $1`, id); err != nil || !told {
		t.Errorf("the fault is another: %v", err)
	}
	c.silent(t)
}
