// The account that the server runs under.

package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is an unprivileged account; nil stands for this process's own, which
// is what everybody but root runs the server under.
type account struct {
	name     string
	uid, gid uint32
}

func findAccount(name string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	names := []string{name}
	if name == "" {
		names = []string{"postgres", "nobody"}
	}
	var errs []error
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("PostgreSQL can't run as root and there is no other account for it: %w", errors.Join(errs...))
}

func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}

// Reach refuses a folder, which need not be there yet, in which no server could
// be kept, since the account it would run under may not go there.
func Reach(dir string) error {
	account, err := findAccount("")
	if err != nil {
		return err
	}
	for {
		_, err := os.Stat(dir)
		if err == nil {
			return account.checkReach(dir)
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return fmt.Errorf("PostgreSQL's folder: %w", err)
		}
		dir = filepath.Dir(dir)
	}
}

// checkReach says in a sentence what initdb would say in a riddle: that the
// account may not enter a folder on the way to its own.
func (a *account) checkReach(dir string) error {
	if a == nil {
		return nil
	}
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("PostgreSQL's folder: %w", err)
		}
		owner, _ := info.Sys().(*syscall.Stat_t)
		owned := owner != nil && owner.Uid == a.uid && info.Mode()&0o100 != 0
		if info.Mode()&0o001 == 0 && !owned {
			return fmt.Errorf("PostgreSQL runs as %s, which may not enter %s; allow it (chmod o+x) or choose another folder (--dir)", a.name, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
