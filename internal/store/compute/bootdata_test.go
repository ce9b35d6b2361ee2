package compute_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/secrets"
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

	computetest.InTx(t, db, func(tx store.Tx) error { return compute.ForgetAdminPassword(t.Context(), tx, server.ID) })
	if err := compute.PostPassword(t.Context(), db.Pool, server.ID, "first"); err != nil {
		t.Fatal(err)
	}
	if err := compute.PostPassword(t.Context(), db.Pool, server.ID, "second"); !faults.Is(err, faults.Conflict) {
		t.Errorf("a second password: %v; want Conflict", err)
	}
	got, err = compute.GetBootData(t.Context(), db.Pool, box, server.ID)
	if err != nil || got.AdminPassword != "" || got.Password != "first" {
		t.Errorf("read %q and %q, %v; want no admin password and the first one", got.AdminPassword, got.Password, err)
	}
	if _, err := compute.GetBootData(t.Context(), db.Pool, box, "00000000-0000-0000-0000-000000000000"); !faults.Is(err, faults.NotFound) {
		t.Errorf("of no server: %v; want NotFound", err)
	}
}
