package libvirt_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// copies counts the copies of the guest's disk on the host.
func copies(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "guests", serverID, "snapshot.*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// A copy is there until it is in Glance, whole; of several only the last.
func TestCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, ctx := host(t, dir, simulated.Options{}), context.Background()
	for _, name := range []string{"build", "snapshot"} {
		actNamed(name).must(t, a)
	}
	if _, err := a.Snapshot(ctx, steps.SnapshotIn{Token: token(3, 1), ImageID: "77777777-3333-4444-8555-666666666666"}); err != nil || copies(t, dir) != 1 {
		t.Errorf("%d copies, %v", copies(t, dir), err)
	}
	if _, err := a.Upload(ctx, steps.UploadIn{Token: token(3, 1), ImageID: "77777777-3333-4444-8555-666666666666"}); !faults.Is(err, faults.Superseded) {
		t.Errorf("an upload to another image: %v, want superseded", err)
	}
	actNamed("upload").must(t, a)
	text, err := os.ReadFile(uploads(dir).file())
	if err != nil || string(text) != "the disk of server "+serverID+"\n" || copies(t, dir) != 0 {
		t.Errorf("uploaded %q, %v, %d copies left", text, err, copies(t, dir))
	}
	if _, err := a.Snapshot(ctx, steps.SnapshotIn{Token: token(3, 1), ImageID: "../x"}); !faults.Is(err, faults.Invalid) {
		t.Errorf("a path for an image: %v, want invalid", err)
	}
	none := host(t, t.TempDir(), simulated.Options{})
	if _, err := none.Snapshot(ctx, steps.SnapshotIn{Token: token(3, 1), ImageID: imageID}); !faults.Is(err, faults.NotFound) {
		t.Errorf("of no guest: %v, want not found", err)
	}
}

// A copy that is owed goes though the server has been worked on since, and stays
// if a newer one is being made; the guest isn't touched.
func TestDebtsOfCopies(t *testing.T) {
	t.Parallel()
	debt := libvirt.Debt{Kind: operations.EffectSnapshotFile, ServerID: serverID, Generation: 2, Attempt: 1}
	for since, left := range map[string]int{"stop": 0, "snapshot": 1} {
		dir := t.TempDir()
		a := host(t, dir, simulated.Options{})
		actNamed("build").must(t, a)
		if _, err := a.Snapshot(context.Background(), steps.SnapshotIn{Token: token(2, 1), ImageID: imageID}); err != nil {
			t.Fatal(err)
		}
		if since == "stop" {
			if _, err := power(steps.PowerStop, 9)(context.Background(), a); err != nil {
				t.Fatal(err)
			}
		} else {
			actNamed(since).must(t, a)
		}
		if err := a.Pay(context.Background(), debt); err != nil || copies(t, dir) != left {
			t.Errorf("after a %s: %v, %d copies are left, want %d", since, err, copies(t, dir), left)
		}
	}
}
