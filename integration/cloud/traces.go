package cloud

// Where a cloud leaves traces of what it was asked: for tests that look for what
// must not be there.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"holdfast.dev/dev/postgres"
)

// Databases are the addresses of the product's database and of Temporal's, by
// name.
func (c *Cloud) Databases() map[string]string {
	c.t.Helper()
	all := map[string]string{postgres.ProductDatabase: c.DSN()}
	for _, name := range []string{postgres.TemporalDatabase, postgres.VisibilityDatabase} {
		dsn, err := c.pair.Admin().DSN(name, postgres.TemporalRole)
		if err != nil {
			c.t.Fatal(err)
		}
		all[name] = dsn
	}
	return all
}

// Logs are the files that all processes write their logs to.
func (c *Cloud) Logs() []string {
	files := c.pair.Logs()
	for name := range c.processes {
		files = append(files, c.log(name))
	}
	return files
}

// StateDir is the folder that the hosts keep their state in.
func (c *Cloud) StateDir() string { return filepath.Join(c.dir, "hosts") }

// CommandLine is how a process was called, as anybody on its machine can see.
func (c *Cloud) CommandLine(name Name) string {
	c.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", c.processes[name].State().Pid))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(bytes.ReplaceAll(text, []byte{0}, []byte{' '}))
}
