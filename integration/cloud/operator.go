package cloud

// The cloud as its operator sees it: commands, the audit, hosts' disks.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/steps"
)

// CLI runs a command of the binary and gives its output.
func (c *Cloud) CLI(args ...string) string {
	c.t.Helper()
	out, err := c.command(c.t.Context(), args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(out)
}

// Try runs a command of the binary and gives its output and exit code.
func (c *Cloud) Try(args ...string) (out string, code int) {
	c.t.Helper()
	text, err := c.command(c.t.Context(), args...)
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return string(text), ended.ExitCode()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text), 0
}

func (c *Cloud) command(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.binary, append([]string{"--config", c.configFile()}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("holdfast %v: %w\n%s%s", args, err, out, stderr.Bytes())
	}
	return out, err
}

// Audit waits up to a minute until the audit is silent: nothing found, nothing
// owed, and no operation running.
func (c *Cloud) Audit() {
	c.t.Helper()
	c.Eventually("the audit is silent", time.Minute, func(ctx context.Context) error {
		report, err := c.Report(ctx)
		if err == nil && len(report.Findings)+report.Owed+report.Unfinished > 0 {
			err = fmt.Errorf("it says %+v", report)
		}
		return err
	})
}

// Report runs the audit once.
func (c *Cloud) Report(ctx context.Context) (engine.Report, error) {
	var report engine.Report
	out, err := c.command(ctx, "audit", "--json")
	if jsonErr := json.Unmarshal(out, &report); jsonErr == nil {
		// Findings make the command's exit code 1.
		return report, nil
	}
	return report, err
}

// Guests counts the guests on the hosts' disks, by server.
func (c *Cloud) Guests() map[string]int {
	c.t.Helper()
	guests, err := filepath.Glob(filepath.Join(c.dir, "hosts", "*", "guests", "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	count := map[string]int{}
	for _, guest := range guests {
		count[filepath.Base(guest)]++
	}
	return count
}

// Guest is what a simulated host has of a server.
type Guest struct {
	// Power is its power state, as its server is to show it.
	Power int
	// Console is what it has said, a line for each change.
	Console []string
	// Attachments are those by which it has its volumes, by the ids of these.
	Attachments map[string]string
}

// Guest reads a server's guest from the disk of its host, which is the only one
// that has anything of it, or the one that its row names.
func (c *Cloud) Guest(server string) (g Guest, err error) {
	found, err := filepath.Glob(filepath.Join(c.dir, "hosts", "*", "guests", server))
	if err == nil && len(found) > 1 {
		var home string
		home, err = c.Home(c.t.Context(), server)
		found = []string{filepath.Join(c.dir, "hosts", home, "guests", server)}
	}
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("server %s has %d guests", server, len(found))
	}
	if err != nil {
		return g, err
	}
	text, err := os.ReadFile(filepath.Join(found[0], "guest.json"))
	if err != nil {
		return g, err
	}
	var domain struct {
		Power servers.PowerState `json:"power_state"`
		Spec  steps.ServerSpec   `json:"spec"`
	}
	if err := json.Unmarshal(text, &domain); err != nil {
		return g, err
	}
	said, err := os.ReadFile(filepath.Join(found[0], "console.log"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it has come from another host, and has said nothing here
	}
	g = Guest{Power: int(domain.Power.Shown()), Console: strings.Split(strings.TrimSpace(string(said)), "\n"), Attachments: map[string]string{}}
	for _, v := range domain.Spec.Volumes {
		g.Attachments[v.ID] = v.AttachmentID
	}
	return g, err
}

// Domains says of a server's guest whether its domain is defined.
func (c *Cloud) Domains(server string) int {
	c.t.Helper()
	domains, err := filepath.Glob(filepath.Join(c.dir, "hosts", "*", "guests", server, "guest.json"))
	if err != nil {
		c.t.Fatal(err)
	}
	return len(domains)
}

// Incarnations are those under which hosts have registered, by name.
func (c *Cloud) Incarnations() map[string]int64 {
	c.t.Helper()
	rows, err := c.DB.Pool.Query(c.t.Context(), `SELECT name, incarnation FROM compute.hosts`)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]int64{}
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			c.t.Fatal(err)
		}
		all[name] = n
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	return all
}

// Operation gives the newest operation on a server.
func (c *Cloud) Operation(ctx context.Context, server string) (engine.Operation, error) {
	ops, err := c.Operations(ctx, server)
	if err == nil && len(ops) == 0 {
		err = fmt.Errorf("server %s has no operations", server)
	}
	if err != nil {
		return engine.Operation{}, err
	}
	return ops[0], nil
}

// Operations gives a server's operations, newest first.
func (c *Cloud) Operations(ctx context.Context, server string) ([]engine.Operation, error) {
	return c.Engine.Operations(ctx, c.DB.Pool, engine.Filter{ResourceID: server, Limit: 100})
}

// Log gives what a process has logged so far.
func (c *Cloud) Log(name Name) string {
	c.t.Helper()
	text, err := os.ReadFile(c.log(name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}
