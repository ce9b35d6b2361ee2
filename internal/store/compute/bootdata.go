package compute

// What a server's guest is told at boot: user data, keypair, passwords.

import (
	"context"
	"crypto/rand"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store"
)

// BootData is what a request gives a server for its guest.
type BootData struct {
	// UserData is decoded; nil if there is none.
	UserData []byte
	// AdminPassword is for the first boot's config drive.
	AdminPassword             string
	KeyName, KeyType, KeyData string
	// RandomSeed is drawn by InsertBootData.
	RandomSeed []byte
	// Password is what the guest has posted.
	Password string
}

const seedLength = 512

// InsertBootData writes a new server's boot data, its secrets sealed.
func InsertBootData(ctx context.Context, tx store.Tx, box *secrets.Box, serverID string, d BootData) error {
	var userData, password []byte
	if d.UserData != nil {
		userData = box.Seal(d.UserData, place(serverID, "user_data"))
	}
	if d.AdminPassword != "" {
		password = box.Seal([]byte(d.AdminPassword), place(serverID, "admin_password"))
	}
	seed := make([]byte, seedLength)
	rand.Read(seed) // crypto/rand.Read never fails since Go 1.24
	_, err := tx.Exec(ctx, `INSERT INTO compute.boot_data
		(server_id, user_data, admin_password, key_name, key_type, key_data, random_seed) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		serverID, userData, password, d.KeyName, d.KeyType, d.KeyData, seed)
	return store.Translate(err)
}

// GetBootData reads a server's boot data and opens its secrets.
// Errors: NotFound; Internal, if a secret can't be opened.
func GetBootData(ctx context.Context, q store.Queryer, box *secrets.Box, serverID string) (BootData, error) {
	var d BootData
	var userData, password []byte
	err := q.QueryRow(ctx, `SELECT user_data, admin_password, key_name, key_type, key_data, random_seed, password
		FROM compute.boot_data WHERE server_id = $1`, serverID).
		Scan(&userData, &password, &d.KeyName, &d.KeyType, &d.KeyData, &d.RandomSeed, &d.Password)
	if err != nil {
		return BootData{}, store.Translate(err)
	}
	if userData != nil {
		if d.UserData, err = box.Open(userData, place(serverID, "user_data")); err != nil {
			return BootData{}, err
		}
	}
	if password != nil {
		opened, err := box.Open(password, place(serverID, "admin_password"))
		if err != nil {
			return BootData{}, err
		}
		d.AdminPassword = string(opened)
	}
	return d, nil
}

// ForgetAdminPassword takes the admin password away, once the guest has booted
// with it or a client has cleared it.
func ForgetAdminPassword(ctx context.Context, tx store.Tx, serverID string) error {
	_, err := tx.Exec(ctx, `UPDATE compute.boot_data SET admin_password = NULL WHERE server_id = $1`, serverID)
	return store.Translate(err)
}

// PostPassword keeps the password that a guest has posted; the first one stays
// until it is cleared. Errors: Conflict, NotFound.
func PostPassword(ctx context.Context, q store.Queryer, serverID, password string) error {
	var taken bool
	err := q.QueryRow(ctx, `UPDATE compute.boot_data AS new SET password = CASE WHEN old.password = '' THEN $2 ELSE old.password END
		FROM (SELECT server_id, password FROM compute.boot_data WHERE server_id = $1 FOR UPDATE) AS old
		WHERE new.server_id = old.server_id RETURNING old.password <> ''`, serverID, password).Scan(&taken)
	if err != nil {
		return store.Translate(err)
	}
	if taken {
		return faults.New(faults.Conflict, "PasswordExists", "There was a conflict when trying to complete your request.")
	}
	return nil
}

// place names where a secret is kept: sealed for there, it opens only there.
func place(serverID, column string) string { return "compute.boot_data/" + serverID + "/" + column }
