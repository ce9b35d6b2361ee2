package compute_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

// A rebuild that is published makes the rows what Rebuilt says, and the next boot
// data the server's own; the seed and the guest's password stay.
func TestPublishRebuild(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	in := steps.Rebuild{ImageID: "70a599e0-31e7-49b7-b260-868f441e8611", ImageProperties: map[string]string{"os_distro": "newer"},
		Name: new("anew"), Hostname: new("anew"), DiskConfig: new("MANUAL"), AccessIPv4: new("192.0.2.9"), AccessIPv6: new("2001:db8::9"), KeyName: new("key"),
		Description: &steps.Description{Text: new("d")}, Metadata: &map[string]string{"a": "b"}, Certificates: &[]string{"c"}}
	nothing := steps.Rebuild{ImageID: in.ImageID, KeyName: new(""), Description: &steps.Description{}, Metadata: &map[string]string{}, Certificates: &[]string{}}
	for name, in := range map[string]steps.Rebuild{"all": in, "the image": {ImageID: in.ImageID}, "to nothing": nothing} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := computetest.AddServer(t, db, "p")
			var was compute.BootData
			computetest.InTx(t, db, func(tx store.Tx) (err error) {
				if err = compute.InsertBootData(t.Context(), tx, box, s.ID, compute.BootData{UserData: []byte("old"), AdminPassword: "old"}); err != nil {
					return err
				}
				if was, err = compute.GetBootData(t.Context(), tx, box, s.ID); err != nil {
					return err
				}
				return compute.SetNextBootData(t.Context(), tx, box, s.ID, compute.BootData{UserData: []byte("new"), AdminPassword: "new", KeyName: "key",
					Files: []compute.InjectedFile{{Path: "/motd", Contents: []byte("hello")}}})
			})
			before, err := compute.GetServer(t.Context(), db.Pool, "", s.ID)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				computetest.InTx(t, db, func(tx store.Tx) error {
					return compute.PublishServer(t.Context(), tx, s.ID, steps.ServerOutcome{Rebuilt: &in}, nil)
				})
			}
			now, err := compute.GetServer(t.Context(), db.Pool, "", s.ID)
			if err != nil {
				t.Fatal(err)
			}
			want := compute.Rebuilt(before, in)
			if len(want.TrustedCertificates) == 0 {
				want.TrustedCertificates = nil
			}
			if want.ImageProperties == nil {
				want.ImageProperties = map[string]string{}
			}
			want.UpdatedAt, want.TaskState, want.Progress = now.UpdatedAt, now.TaskState, now.Progress
			if !reflect.DeepEqual(now, want) {
				t.Errorf("the row is\n%+v, want\n%+v", now, want)
			}
			boot, err := compute.GetBootData(t.Context(), db.Pool, box, s.ID)
			if err != nil || string(boot.UserData) != "new" || boot.AdminPassword != "new" || boot.KeyName != "key" || len(boot.Files) != 1 ||
				string(boot.RandomSeed) != string(was.RandomSeed) {
				t.Errorf("its boot data are %+v (%v)", boot, err)
			}
		})
	}
}
