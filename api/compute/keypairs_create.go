package compute

// POST /os-keypairs: a key brought along, or until 2.91 a new one.

import (
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/sshkeys"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

type keypairRequest struct {
	Name      string  `json:"name"`
	Type      string  `json:"type"`
	PublicKey *string `json:"public_key"`
	UserID    string  `json:"user_id"`
}

// Characters of names; 2.92 allows those of mail addresses too.
const (
	nameCharacters     = "_- 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	nameCharactersFrom = nameCharacters + "@."
)

func (a *API) createKeypair(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[keypairRequest](r, "keypair")
	if err != nil {
		return nil, err
	}
	user, err := keypairUser(r, "os_compute_api:os-keypairs:create", asked.UserID)
	if err != nil {
		return nil, err
	}
	pair, private, err := newKeypair(r, asked, user)
	if err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		limits, err := compute.Limits(r.Context(), tx, r.Identity.ProjectID)
		if err != nil {
			return err
		}
		return compute.CreateKeypair(r.Context(), tx, pair, limits["key_pairs"])
	})
	if err != nil {
		return nil, err
	}
	shown := keypairBasics(r, pair)
	shown["user_id"] = pair.UserID
	if private != "" {
		shown["private_key"] = private
	}
	return rest.JSON(map[string]any{"keypair": shown}), nil
}

// newKeypair makes the row and, of a key that is new, its private half, which
// the answer has and nobody keeps.
func newKeypair(r *rest.Request, asked *keypairRequest, user string) (pair *compute.Keypair, private string, err error) {
	name := strings.TrimSpace(asked.Name)
	safe := nameCharacters
	if r.Has(92) {
		safe = nameCharactersFrom
	}
	if strings.Trim(name, safe) != "" || strings.IndexFunc(name, func(c rune) bool { return !strings.ContainsRune(safe, c) }) >= 0 {
		return nil, "", badKeypair("Keypair name contains unsafe characters")
	}
	if len(name) == 0 || len(name) > 255 {
		return nil, "", badKeypair("Keypair name must be string and between 1 and 255 characters long")
	}
	pair = &compute.Keypair{UserID: user, Name: name, Type: "ssh"}
	if r.Has(2) && asked.Type != "" {
		pair.Type = asked.Type
	}
	if asked.PublicKey == nil {
		pair.PublicKey, private, err = sshkeys.Generate(pair.Type, user)
	} else {
		pair.PublicKey = *asked.PublicKey
	}
	if err != nil {
		return nil, "", err
	}
	if pair.Fingerprint, err = sshkeys.Fingerprint(pair.Type, pair.PublicKey); err != nil {
		return nil, "", badKeypair("failed to generate fingerprint")
	}
	return pair, private, nil
}

func badKeypair(reason string) error {
	return faults.New(faults.Invalid, "InvalidKeypair", "Keypair data is invalid: %s", reason)
}
