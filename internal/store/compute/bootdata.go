package compute

// What a server's guest is told at boot: user data, keypair, passwords.

import (
	"context"
	"crypto/rand"
	"encoding/json"

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
	// Files are for the config drive, in their order.
	Files []InjectedFile
	// RandomSeed is drawn by InsertBootData.
	RandomSeed []byte
	// Password is what the guest has posted.
	Password string
}

// InjectedFile is a file that a guest is to find at Path.
type InjectedFile struct {
	Path string `json:"path"`
	// Contents are base64 in JSON.
	Contents []byte `json:"contents"`
}

const seedLength = 512

// InsertBootData writes a new server's boot data, its secrets sealed.
func InsertBootData(ctx context.Context, tx store.Tx, box *secrets.Box, serverID string, d BootData) error {
	s, err := d.seal(box, serverID)
	if err != nil {
		return err
	}
	seed := make([]byte, seedLength)
	rand.Read(seed) // crypto/rand.Read never fails since Go 1.24
	_, err = tx.Exec(ctx, `INSERT INTO compute.boot_data
		(server_id, user_data, admin_password, key_name, key_type, key_data, random_seed, files) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		serverID, s.userData, s.password, d.KeyName, d.KeyType, d.KeyData, seed, s.files)
	return store.Translate(err)
}

// sealed are the secrets of boot data; nil is none.
type sealed struct{ userData, password, files []byte }

func (d BootData) seal(box *secrets.Box, serverID string) (s sealed, err error) {
	if len(d.Files) > 0 {
		text, err := json.Marshal(d.Files)
		if err != nil {
			return s, err
		}
		s.files = box.Seal(text, place(serverID, "files"))
	}
	if d.UserData != nil {
		s.userData = box.Seal(d.UserData, place(serverID, "user_data"))
	}
	if d.AdminPassword != "" {
		s.password = box.Seal([]byte(d.AdminPassword), place(serverID, "admin_password"))
	}
	return s, nil
}

// GetBootData reads a server's boot data and opens its secrets.
// Errors: NotFound; Internal, if a secret can't be opened.
func GetBootData(ctx context.Context, q store.Queryer, box *secrets.Box, serverID string) (BootData, error) {
	return readBootData(ctx, q, box, serverID, `SELECT user_data, admin_password, key_name, key_type, key_data, random_seed, password, files
		FROM compute.boot_data WHERE server_id = $1`)
}

func readBootData(ctx context.Context, q store.Queryer, box *secrets.Box, serverID, query string) (BootData, error) {
	var d BootData
	var userData, password, files []byte
	err := q.QueryRow(ctx, query, serverID).
		Scan(&userData, &password, &d.KeyName, &d.KeyType, &d.KeyData, &d.RandomSeed, &d.Password, &files)
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
	if files != nil {
		opened, err := box.Open(files, place(serverID, "files"))
		if err != nil {
			return BootData{}, err
		}
		if err := json.Unmarshal(opened, &d.Files); err != nil {
			return BootData{}, err
		}
	}
	return d, nil
}

// UserData reads the user data of those of these servers that have some, by
// server. Errors: Internal, if one can't be opened.
func UserData(ctx context.Context, q store.Queryer, box *secrets.Box, serverIDs ...string) (map[string][]byte, error) {
	rows, err := q.Query(ctx, `SELECT server_id::text, user_data FROM compute.boot_data
		WHERE server_id = ANY ($1::uuid[]) AND user_data IS NOT NULL`, serverIDs)
	if err != nil {
		return nil, store.Translate(err)
	}
	defer rows.Close()
	all := map[string][]byte{}
	for rows.Next() {
		var id string
		var sealed []byte
		if err := rows.Scan(&id, &sealed); err != nil {
			return nil, store.Translate(err)
		}
		if all[id], err = box.Open(sealed, place(id, "user_data")); err != nil {
			return nil, err
		}
	}
	return all, store.Translate(rows.Err())
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

// PostedPassword is what a server's guest has posted; empty if it has not.
func PostedPassword(ctx context.Context, q store.Queryer, serverID string) (password string, err error) {
	err = q.QueryRow(ctx, "SELECT password FROM compute.boot_data WHERE server_id = $1", serverID).Scan(&password)
	return password, store.Translate(err)
}

// ClearPassword forgets what a server's guest has posted, so that it may post
// another.
func ClearPassword(ctx context.Context, q store.Queryer, serverID string) error {
	_, err := q.Exec(ctx, "UPDATE compute.boot_data SET password = '' WHERE server_id = $1", serverID)
	return store.Translate(err)
}

// place names where a secret is kept: sealed for there, it opens only there.
func place(serverID, column string) string { return "compute.boot_data/" + serverID + "/" + column }
