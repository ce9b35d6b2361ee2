package libvirt_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/steps"
)

// A guest's disks come from the host where it stands still, whatever cuts the
// step short, and Build makes the guest of them.
func TestFetch(t *testing.T) {
	t.Parallel()
	key, err := hostlink.CreateKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	sourceDir, destDir := t.TempDir(), t.TempDir()
	source := host(t, sourceDir, simulated.Options{})
	listener, err := hostlink.Listen("127.0.0.1:0", "source", key, source, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := spec()
	s.ImageID = "image"
	if _, err := source.Build(t.Context(), steps.BuildIn{Token: token(1, 1), Spec: s}); err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join("guests", serverID, "disk.0.root")
	if err := os.WriteFile(filepath.Join(sourceDir, disk), []byte("what the guest wrote"), 0o600); err != nil {
		t.Fatal(err)
	}

	var cut string // the sub-step at which the step is cut short
	driver, err := simulated.New(simulated.Options{StateDir: destDir, Hold: func(_ context.Context, _, step string) error {
		if step == cut {
			return context.Canceled
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	dest, err := libvirt.New(libvirt.Options{Driver: driver, StateDir: destDir, Heartbeat: func(context.Context) {},
		Puller: hostlink.NewPuller(key, uuid.NewString())})
	if err != nil {
		t.Fatal(err)
	}
	in := steps.FetchIn{Token: token(2, 1), Spec: s, Source: "source", Address: listener.Address()}
	if _, err := dest.Fetch(t.Context(), in); !faults.Is(err, faults.Conflict) {
		t.Errorf("of a guest that runs: %v", err)
	}
	if _, err := source.Power(t.Context(), steps.PowerIn{Token: token(2, 1), Action: steps.PowerStop}); err != nil {
		t.Fatal(err)
	}
	for _, cut = range []string{"receive.folder", "receive.disks", "receive.done", ""} {
		if _, err := dest.Fetch(t.Context(), in); (err != nil) != (cut != "") {
			t.Errorf("cut short at %q: %v", cut, err)
		}
	}
	for range 2 {
		if out, err := dest.Fetch(t.Context(), in); err != nil || out.Bytes != 0 || out.Shared {
			t.Errorf("again: %+v, %v", out, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(destDir, disk)); string(got) != "what the guest wrote" {
		t.Errorf("the disk has %q (%v)", got, err)
	}
	if out, err := dest.Build(t.Context(), steps.BuildIn{Token: token(2, 1), Spec: s}); err != nil || out.PowerState != libvirt.Running {
		t.Errorf("built of them: %+v, %v", out, err)
	}
	if got, err := os.ReadFile(filepath.Join(destDir, disk)); string(got) != "what the guest wrote" {
		t.Errorf("after the build the disk has %q (%v)", got, err)
	}
	older := in
	older.Token = token(1, 1)
	if _, err := dest.Fetch(t.Context(), older); !faults.Is(err, faults.Superseded) {
		t.Errorf("of an earlier owner: %v", err)
	}
	if _, err := dest.Destroy(t.Context(), steps.DestroyIn{Token: token(3, 1)}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(destDir, "guests")); len(left) > 0 || err != nil {
		t.Errorf("left: %v %v", left, err)
	}
}
