package cinder_test

// A volume that takes the place of another.

import (
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// theNew is the volume that Cinder migrates one to.
const theNew = "new"

// swapAsked is a server in use, one of whose volumes is migrated.
func swapAsked(w *world) error {
	if err := inUse(w); err != nil {
		return err
	}
	w.own(theNew)
	w.volumes[one]["migration_status"] = "migrating"
	return w.db.InTx(w.Context(), func(tx store.Tx) error {
		d := w.device(one)
		d.Swap = compute.Swap{VolumeID: theNew}
		return compute.SetSwap(w.Context(), tx, d)
	})
}

// device is that of a volume.
func (w *world) device(volumeID string) *compute.BlockDevice {
	w.Helper()
	for _, d := range w.devices() {
		if d.VolumeID == volumeID {
			return d
		}
	}
	w.Fatalf("no device of volume %s", volumeID)
	return nil
}

func beginSwap(w *world) error {
	out, err := w.a.BeginSwap(w.Context(), steps.SwapVolumeIn{Fence: w.fence, HostID: w.host, NewVolumeID: theNew})
	if err == nil && (out.AttachmentID == "" || out.AttachmentID != w.device(one).Swap.AttachmentID) {
		w.Errorf("begun: %+v", out)
	}
	return err
}

func begunSwap(w *world) error {
	if err := swapAsked(w); err != nil {
		return err
	}
	return beginSwap(w)
}

func replaced(w *world) error {
	if err := begunSwap(w); err != nil {
		return err
	}
	return w.db.InTx(w.Context(), func(tx store.Tx) error { return compute.ReplaceVolume(w.Context(), tx, w.server, theNew) })
}

// reset has an administrator say that the volume isn't migrated, once that is set up.
func reset(setUp func(*world) error) func(*world) error {
	return func(w *world) error {
		err := setUp(w)
		delete(w.volumes[one], "migration_status")
		return err
	}
}

func cancelSwap(w *world) error {
	_, err := w.a.CancelSwap(w.Context(), steps.SwapVolumeIn{Fence: w.fence, NewVolumeID: theNew})
	return err
}

func endSwap(w *world) error {
	_, err := w.a.EndSwap(w.Context(), steps.SwapVolumeIn{Fence: w.fence, NewVolumeID: theNew})
	return err
}

// wantBegun: the new volume is the host's, beside the old one.
func wantBegun(w *world) {
	w.Helper()
	d := w.device(one)
	at := w.attachments[d.Swap.AttachmentID]
	if len(w.attachments) != 4 || at["volume_id"] != theNew || at["status"] != "attaching" || at["instance"] != w.server || d.Swap.Replaced {
		w.Errorf("the device is %+v, its attachment %v, %d in all", d, at, len(w.attachments))
	}
	if old := w.attachments[d.AttachmentID]; old["volume_id"] != one || old["status"] != "attached" {
		w.Errorf("the old one is %v", old)
	}
}

// wantNotSwapped: all is as before, and Cinder knows that the migration has failed.
func wantNotSwapped(w *world) {
	w.Helper()
	d := w.device(one)
	if at := w.attachments[d.AttachmentID]; len(w.attachments) != 3 || at["volume_id"] != one || at["status"] != "attached" || d.Swap.Pending() {
		w.Errorf("the device is %+v, its attachment %v, %d in all", d, at, len(w.attachments))
	}
	if w.volumes[one]["migration_status"] != "error" || w.volumes[theNew] != nil {
		w.Errorf("the volumes are %v", w.volumes)
	}
}

// wantSwapped: the volume is the new one, under the old one's id.
func wantSwapped(w *world) {
	w.Helper()
	d := w.device(one)
	if at := w.attachments[d.AttachmentID]; len(w.attachments) != 3 || at["volume_id"] != one || at["status"] != "attached" || d.Swap.Pending() {
		w.Errorf("the device is %+v, its attachment %v, %d in all", d, at, len(w.attachments))
	}
	if v := w.volumes[one]; v["migration_status"] != "success" || v["status"] != "in-use" || w.volumes[theNew] != nil {
		w.Errorf("the volumes are %v", w.volumes)
	}
}

// wantOthers: the volume is free, the others are in use.
func wantOthers(w *world) {
	w.Helper()
	if len(w.attachments) != 2 || w.volumes[one]["status"] != "available" || w.volumes[one]["migration_status"] == "migrating" || w.volumes[theNew] != nil {
		w.Errorf("attachments %v, volumes %v", w.attachments, w.volumes)
	}
	wantForgotten(w)
}

// A volume that no device is to be is not attached.
func TestSwapOfNoDevice(t *testing.T) {
	t.Parallel()
	w := ready(t, inUse)
	if err := beginSwap(w); !faults.Is(err, faults.NotFound) || len(w.attachments) != 3 {
		t.Errorf("%v, attachments %v", err, w.attachments)
	}
}

// What Cinder owes of a swap is paid once no guest can be on the volume that goes.
func TestPaySwap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		setUp func(*world) error
		kind  operations.EffectKind
		want  func(*world)
	}{
		{"not swapped", begunSwap, operations.EffectNewVolume, wantNotSwapped},
		{"swapped", replaced, operations.EffectOldVolume, wantSwapped},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := ready(t, c.setUp)
			owed := func(kind operations.EffectKind, host string) {
				computetest.InTx(t, w.db, func(tx store.Tx) error {
					out, err := w.engine.Advance(t.Context(), tx, steps.AdvanceIn{Fence: w.fence, Step: operations.StepUndo,
						Intend: []operations.Effect{{Kind: kind, Ref: theNew, Host: host}}})
					if err != nil {
						return err
					}
					seq := out.Effects[len(out.Effects)-1].Seq
					_, err = w.engine.Advance(t.Context(), tx, steps.AdvanceIn{Fence: w.fence, Step: operations.StepUndo,
						Settle: []steps.Settlement{{Seq: seq, State: operations.Owed}}})
					return err
				})
			}
			owed(c.kind, "")
			owed(operations.EffectSwapped, w.host)
			debts, err := w.engine.Debts(t.Context(), w.db.Pool, "")
			if err != nil || len(debts) != 1 {
				t.Fatalf("%+v, %v", debts, err)
			}
			before := len(w.calls)
			if err := w.a.PaySwap(t.Context(), debts[0]); !faults.Is(err, faults.Unavailable) || len(w.calls) != before {
				t.Errorf("while the guest is owed: %v", err)
			}
			guest, err := w.engine.Debts(t.Context(), w.db.Pool, w.host)
			if err != nil || len(guest) != 1 {
				t.Fatalf("%+v, %v", guest, err)
			}
			computetest.InTx(t, w.db, func(tx store.Tx) error {
				_, err := w.engine.Paid(t.Context(), tx, w.host, guest[0].OperationID, guest[0].Seq)
				return err
			})
			for range 2 {
				if err := w.a.PaySwap(t.Context(), debts[0]); err != nil {
					t.Error(err)
				}
				c.want(w)
			}
			if debts, err := w.engine.Debts(t.Context(), w.db.Pool, ""); err != nil || len(debts) != 0 {
				t.Errorf("%+v, %v", debts, err)
			}
		})
	}
}
