package workers_test

// Volumes that Cinder migrates while servers use them, with both roles, the database,
// the engine, and the development cloud's volume service.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/dev/companions/companiontest"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// migrated is a server with a volume that Cinder migrates, and the swap that is asked
// for it.
func migrated(t *testing.T, rules string) (m *migratedCloud) {
	t.Helper()
	m = &migratedCloud{t: t}
	m.cloud, m.service, m.id, m.dir, m.stop = stored(t, rules)
	m.old = volumes(t, m.service, 1)[0]
	m.attachVolume(t, m.id, m.old)
	m.over(t, m.id)
	m.first = m.attachment()
	m.service.Want(202, "admin", "POST", "/v3/volumes/"+m.old+"/action", `{"os-migrate_volume":{"host":"elsewhere"}}`)
	until := time.Now().Add(deadline)
	for m.status() != "migrating" {
		if time.Now().After(until) {
			t.Fatalf("the volume's migration is %v", m.status())
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, v := range m.service.Want(200, "admin", "GET", "/v3/volumes/detail?all_tenants=1", "").At("volumes").([]any) {
		if v := v.(map[string]any); v["migration_status"] == "target:"+m.old {
			m.new = v["id"].(string)
		}
	}
	return m
}

type migratedCloud struct {
	*cloud
	t               *testing.T
	service         *companiontest.Client
	id, dir         string
	stop            func()
	old, new, first string
}

func (m *migratedCloud) status() any {
	return m.service.Want(200, "admin", "GET", "/v3/volumes/"+m.old, "").At("volume", "migration_status")
}

// attachment is that by which the guest has the volume.
func (m *migratedCloud) attachment() string {
	m.t.Helper()
	d, err := simulated.New(simulated.Options{StateDir: m.dir})
	if err != nil {
		m.t.Fatal(err)
	}
	id, err := d.Attachment(m.id, m.old)
	if err != nil {
		m.t.Fatal(err)
	}
	return id
}

// swap asks for it, as the API does.
func (m *migratedCloud) swap() string {
	m.t.Helper()
	return m.share(m.t, operations.ServerSwapVolume, m.id, steps.SwapInput{VolumeID: m.old, NewVolumeID: m.new}, func(tx store.Tx) (*operations.Effect, error) {
		devices, err := compute.BlockDevices(m.t.Context(), tx, m.id)
		if err != nil {
			return nil, err
		}
		devices[0].Swap = compute.Swap{VolumeID: m.new}
		return &operations.Effect{Kind: operations.EffectNewVolume, Ref: m.new}, compute.SetSwap(m.t.Context(), tx, devices[0])
	})
}

// ends: guest, row and Cinder have the volume by one attachment, which is another one
// than before if the swap is done, and nothing is left of the other.
func (m *migratedCloud) ends(done bool) {
	m.t.Helper()
	waitFor(m.t, m.service, m.old, "in-use")
	status := map[bool]string{true: "success", false: "error"}[done]
	if got := m.status(); got != status {
		m.t.Errorf("the migration is %v, want %s\n%s", got, status, m.operations(m.t))
	}
	shown := m.service.Want(200, "demo", "GET", "/v3/volumes/"+m.old, "")
	at := shown.TextAt("volume", "attachments", 0, "attachment_id")
	devices, err := compute.BlockDevices(m.t.Context(), m.db.Pool, m.id)
	if err != nil || len(devices) != 1 || devices[0].VolumeID != m.old || devices[0].AttachmentID != at || devices[0].Swap.Pending() {
		m.t.Errorf("the row is %+v, %v; the volume is attached by %s", devices[0], err, at)
	}
	if got := m.attachment(); got != at || (got != m.first) != done || len(shown.At("volume", "attachments").([]any)) != 1 {
		m.t.Errorf("the guest has it by %s, which was %s; it is attached by %s\n%s", got, m.first, at, m.operations(m.t))
	}
	until := time.Now().Add(deadline)
	for m.service.Do("admin", "GET", "/v3/volumes/"+m.new, "").Status != 404 {
		if time.Now().After(until) {
			m.t.Fatal("the new volume is left")
		}
		time.Sleep(50 * time.Millisecond)
	}
	m.silent(m.t)
}

func TestSwapVolume(t *testing.T) {
	t.Parallel()
	m := migrated(t, `{}`)
	m.swap()
	m.over(t, m.id)
	m.ends(true)
	// It goes as any other.
	m.detachVolume(t, m.id, m.old)
	m.over(t, m.id)
	nothingLeft(t, m.service, []string{m.old})
	m.silent(t)
}

// A copy that fails leaves the volume as it was.
func TestSwapVolumeFails(t *testing.T) {
	t.Parallel()
	m := migrated(t, `{"fail": "swap.pivot=invalid"}`)
	m.swap()
	m.over(t, m.id)
	m.ends(false)
}

// An administrator who resets the status of the migration while the volume is copied
// changes nothing of how it ends.
func TestResetWhileAVolumeIsSwapped(t *testing.T) {
	t.Parallel()
	for at, rules := range map[string]string{"done": `{"delay": "swap.pivot=2s"}`, "failed": `{"delay": "swap.copy=2s", "fail": "swap.pivot=invalid"}`} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			m := migrated(t, rules)
			m.copying(m.swap())
			m.service.Want(202, "admin", "POST", "/v3/volumes/"+m.old+"/action", `{"os-reset_status":{"migration_status":"none"}}`)
			m.over(t, m.id)
			m.ends(at == "done")
		})
	}
}

// Cancelled while it is copied, the guest is on the volume that it had.
func TestSwapVolumeCancelled(t *testing.T) {
	t.Parallel()
	m := migrated(t, `{"delay": "swap.pivot=hang"}`)
	op := m.swap()
	m.copying(op)
	err := m.db.InTx(t.Context(), func(tx store.Tx) error {
		_, err := m.engine.RequestCancel(t.Context(), tx, op, "tester")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	m.over(t, m.id)
	m.ends(false)
}

// copying waits until the host is at work on it.
func (m *migratedCloud) copying(op string) {
	m.t.Helper()
	m.eventually(m.t, "it is at work", func(ctx context.Context) (bool, error) {
		return m.one(ctx, `SELECT step = 'guest' FROM engine.operations WHERE id = $1`, op)
	})
}

// A delete that comes while a volume is copied leaves neither attached.
func TestDeleteWhileAVolumeIsSwapped(t *testing.T) {
	t.Parallel()
	m := migrated(t, `{"delay": "swap.copy=2s"}`)
	m.copying(m.swap())
	m.delete(t, m.id)
	m.over(t, m.id)
	nothingLeft(t, m.service, []string{m.old})
	if left := guests(t, m.dir); len(left) != 0 {
		t.Errorf("guests are left: %v", left)
	}
	m.silent(t)
}

// The host's worker dies where it copies, and where the guest goes on: the swap is done
// when it is back.
func TestHostsDieWhileAVolumeIsSwapped(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"swap.copy", "swap.pivot", "swap.done"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			m := migrated(t, fmt.Sprintf(`{"delay": "%s=hang"}`, at))
			m.copying(m.swap())
			time.Sleep(time.Second)
			m.stop()
			if err := os.WriteFile(filepath.Join(m.dir, "simulated.json"), []byte(`{}`), 0o600); err != nil {
				t.Fatal(err)
			}
			m.host(t, "h1", m.dir)
			m.over(t, m.id)
			m.ends(true)
		})
	}
}
