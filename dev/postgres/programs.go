// Where PostgreSQL's programs are.

package postgres

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// programs are the paths of the programs this package runs.
type programs map[string]string

// errNotInstalled says what to install, and on which systems that does it.
var errNotInstalled = errors.New("PostgreSQL is not installed: install PostgreSQL 14 or later (Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server), or put initdb, postgres and psql in PATH")

// findPrograms takes all of them from one folder, the newest that Debian's
// packages have made, else from PATH: a server and an initdb of different
// versions don't go together.
func findPrograms() (programs, error) {
	var best programs
	newest := -1
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if err != nil || version <= newest {
			continue
		}
		if found, ok := programsIn(dir); ok {
			best, newest = found, version
		}
	}
	if best != nil {
		return best, nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return nil, errNotInstalled
	}
	if initdb, err = filepath.EvalSymlinks(initdb); err != nil {
		return nil, errNotInstalled
	}
	found, ok := programsIn(filepath.Dir(initdb))
	if !ok {
		return nil, errNotInstalled
	}
	return found, nil
}

func programsIn(dir string) (programs, bool) {
	found := programs{}
	for _, name := range []string{"initdb", "postgres", "psql"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
			return nil, false
		}
		found[name] = path
	}
	return found, true
}
