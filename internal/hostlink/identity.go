package hostlink

// Who a host is.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"holdfast.dev/internal/statedir"
)

// Identity is a host's for as long as its process has the state folder.
type Identity struct {
	// ID is the host's own UUID, made at its first start.
	ID string `json:"id"`
	// Incarnation counts the starts of its worker.
	Incarnation int64 `json:"incarnation"`
	// Instance is this process's own. A copy of the folder may count to the
	// same incarnation, but not under the same instance.
	Instance string `json:"-"`

	lock *statedir.Lock
}

// OpenIdentity locks the state folder, makes the identity at the first start,
// and counts this one. A host that has an id elsewhere gives it; an empty one is drawn
// at the first start. statedir.ErrLocked: another process is this host.
func OpenIdentity(stateDir, given string) (*Identity, error) {
	lock, err := statedir.Acquire(stateDir)
	if err != nil {
		return nil, fmt.Errorf("host identity: %w", err)
	}
	id, err := count(stateDir, given)
	if err != nil {
		return nil, fmt.Errorf("host identity: %w", errors.Join(err, lock.Release()))
	}
	id.lock = lock
	return id, nil
}

func count(stateDir, given string) (*Identity, error) {
	if err := statedir.Sweep(stateDir); err != nil {
		return nil, err
	}
	path := filepath.Join(stateDir, "identity.json")
	id, err := known(path, given)
	if err != nil {
		return nil, err
	}
	if given != "" && id.ID != given {
		return nil, fmt.Errorf("%s is of host %s, not of %s", path, id.ID, given)
	}
	id.Incarnation++
	id.Instance = uuid.NewString()
	data, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	return id, statedir.Write(path, data)
}

// known reads the identity, or makes one where there is none. A damaged file
// is an error: a host with a new id would leave its guests to nobody.
func known(path, given string) (*Identity, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Identity{ID: cmp.Or(given, uuid.NewString())}, nil
	}
	if err != nil {
		return nil, err
	}
	var id Identity
	if json.Unmarshal(data, &id) != nil || uuid.Validate(id.ID) != nil || id.Incarnation < 1 {
		return nil, fmt.Errorf("%s holds no identity", path)
	}
	return &id, nil
}

// Close gives the state folder back.
func (i *Identity) Close() error { return i.lock.Release() }
