package compute_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
)

func TestBootData(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	server := computetest.AddServer(t, db, "p")
	given := compute.BootData{UserData: []byte("canary-user-data"), AdminPassword: "canary-password", KeyName: "k", KeyType: "ssh", KeyData: "ssh-rsa A"}
	computetest.InTx(t, db, func(tx store.Tx) error { return compute.InsertBootData(t.Context(), tx, box, server.ID, given) })

	got, err := compute.GetBootData(t.Context(), db.Pool, box, server.ID)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.UserData) != "canary-user-data" || got.AdminPassword != "canary-password" || got.KeyData != "ssh-rsa A" || len(got.RandomSeed) != 512 {
		t.Errorf("read %+v; want what was written and a seed", got)
	}
	var row []byte
	if err := db.Pool.QueryRow(t.Context(), `SELECT user_data || admin_password FROM compute.boot_data`).Scan(&row); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(row, []byte("canary")) {
		t.Error("the secrets stand in the row as they are")
	}

	if err := compute.PostPassword(t.Context(), db.Pool, server.ID, "first"); err != nil {
		t.Fatal(err)
	}
	if err := compute.PostPassword(t.Context(), db.Pool, server.ID, "second"); !faults.Is(err, faults.Conflict) {
		t.Errorf("a second password: %v; want Conflict", err)
	}
	got, err = compute.GetBootData(t.Context(), db.Pool, box, server.ID)
	if err != nil || got.AdminPassword != "canary-password" || got.Password != "first" {
		t.Errorf("read %q and %q, %v; want the admin password and the first one", got.AdminPassword, got.Password, err)
	}
	if _, err := compute.GetBootData(t.Context(), db.Pool, box, "00000000-0000-0000-0000-000000000000"); !faults.Is(err, faults.NotFound) {
		t.Errorf("of no server: %v; want NotFound", err)
	}
}

// The admin password is kept until a guest has been made that was told it, and
// when none will be.
func TestAdminPasswordIsForgotten(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	box, err := secrets.LoadOrCreate(filepath.Join(t.TempDir(), "keys"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		outcome steps.ServerOutcome
		kept    bool
	}{
		"a build, a rebuild, an evacuation": {outcome: steps.ServerOutcome{VMState: new("active"), Launched: true}},
		"a rescue":                          {outcome: steps.ServerOutcome{VMState: new("rescued")}},
		"a delete":                          {outcome: steps.ServerOutcome{Deleted: true}},
		"a build or a rescue that failed":   {outcome: steps.ServerOutcome{VMState: new("error")}, kept: true},
		"one that was cancelled":            {kept: true},
		"what changes the guest's power":    {outcome: steps.ServerOutcome{VMState: new("active"), PowerState: new(1)}, kept: true},
	} {
		server := computetest.AddServer(t, db, "p")
		given := compute.BootData{AdminPassword: "canary-password"}
		computetest.InTx(t, db, func(tx store.Tx) error { return compute.InsertBootData(t.Context(), tx, box, server.ID, given) })
		computetest.InTx(t, db, func(tx store.Tx) error { return compute.PublishServer(t.Context(), tx, server.ID, c.outcome, nil) })
		var kept bool
		err := db.Pool.QueryRow(t.Context(), `SELECT admin_password IS NOT NULL FROM compute.boot_data WHERE server_id = $1`, server.ID).Scan(&kept)
		if err != nil || kept != c.kept {
			t.Errorf("after %s it is kept: %v (%v), want %v", name, kept, err, c.kept)
		}
	}
}
