// Administration: roles and databases, made and dropped through psql.

package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// The roles and databases of a development cloud. The engine has a role of its
// own, so the product can't reach into its tables, nor it into the product's.
const (
	ProductRole        = "holdfast"
	ProductDatabase    = "holdfast"
	TemporalRole       = "temporal"
	TemporalDatabase   = "temporal"
	VisibilityDatabase = "temporal_visibility"

	superuser = "postgres"
)

// Admin administers a running server. It can be handed to another process as
// JSON; it carries the superuser's password, so to that process only.
type Admin struct {
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Password string `json:"password"`
	Secrets  string `json:"secrets"` // the folder that keeps the roles' passwords
}

// name is what this package accepts as a role or a database; quoting is then
// nobody's problem.
var name = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// errNames is returned for a name that would have to be quoted.
var errNames = errors.New("names of roles and databases are up to 63 small letters, digits and underscores")

func checkNames(names ...string) error {
	for _, n := range names {
		if !name.MatchString(n) {
			return fmt.Errorf("%q: %w", n, errNames)
		}
	}
	return nil
}

// Ping returns nil if the server answers a query.
func (a Admin) Ping(ctx context.Context) error {
	_, err := a.SQL(ctx, "postgres", "SELECT 1")
	return err
}

// SQL runs statements as superuser in a database, stops at the first error,
// and returns the rows, a line each with fields parted by "|".
func (a Admin) SQL(ctx context.Context, database, statements string) (string, error) {
	programs, err := findPrograms()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, programs["psql"],
		"--no-psqlrc", "--no-password", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1",
		"--host", a.Host, "--port", strconv.Itoa(a.Port), "--username", superuser, "--dbname", database)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+a.Password, "PGCONNECT_TIMEOUT=10", "PGOPTIONS=--client-min-messages=warning")
	// By standard input, since a command line is there for all to see.
	cmd.Stdin = strings.NewReader(statements)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, strings.TrimSpace(failure.String()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// EnsureRole makes the role if there is none and sets its password to the one
// kept for it. attributes are added, "CREATEDB" say.
func (a Admin) EnsureRole(ctx context.Context, role, attributes string) error {
	if err := checkNames(role); err != nil {
		return err
	}
	password, err := secret(a.Secrets, role)
	if err != nil {
		return err
	}
	_, err = a.SQL(ctx, "postgres", fmt.Sprintf(`
DO $$ BEGIN CREATE ROLE %[1]s; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
ALTER ROLE %[1]s LOGIN PASSWORD '%[2]s' %[3]s;`, role, password, attributes))
	if err != nil {
		return fmt.Errorf("role %s: %w", role, err)
	}
	return nil
}

// EnsureDatabase makes the database if there is none and gives it to owner.
// Nobody but its owner may connect to it.
func (a Admin) EnsureDatabase(ctx context.Context, database, owner string) error {
	if err := checkNames(database, owner); err != nil {
		return err
	}
	found, err := a.SQL(ctx, "postgres", fmt.Sprintf("SELECT 1 FROM pg_database WHERE datname = '%s'", database))
	switch {
	case err != nil:
	case found == "":
		err = a.CreateDatabase(ctx, database, owner, "template0")
	default:
		// Whoever made it may have been killed before it was closed to others.
		_, err = a.SQL(ctx, "postgres", closed(database))
	}
	if err != nil {
		return fmt.Errorf("database %s: %w", database, err)
	}
	return nil
}

// closed are the statements that leave a database to its owner.
func closed(database string) string {
	return fmt.Sprintf("REVOKE ALL ON DATABASE %s FROM PUBLIC;", database)
}

// CreateDatabase makes a database as a copy of template, which nobody may be
// connected to. Its files are copied as they are, which costs less than to log each
// page of them.
func (a Admin) CreateDatabase(ctx context.Context, database, owner, template string) error {
	if err := checkNames(database, owner, template); err != nil {
		return err
	}
	_, err := a.SQL(ctx, "postgres", fmt.Sprintf("CREATE DATABASE %s OWNER %s TEMPLATE %s STRATEGY FILE_COPY;\n", database, owner, template)+closed(database))
	return err
}

// DropDatabase ends the sessions in the database and drops it, if there is one.
func (a Admin) DropDatabase(ctx context.Context, database string) error {
	if err := checkNames(database); err != nil {
		return err
	}
	_, err := a.SQL(ctx, "postgres", fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", database))
	return err
}

// RecreateDatabase drops the database and makes it again, empty.
func (a Admin) RecreateDatabase(ctx context.Context, database, owner string) error {
	if err := a.DropDatabase(ctx, database); err != nil {
		return err
	}
	return a.CreateDatabase(ctx, database, owner, "template0")
}

// Prepare makes the roles and databases of a development cloud. The engine's
// role may make databases, so that it can replace one that is gone.
func (a Admin) Prepare(ctx context.Context) error {
	if err := a.EnsureRole(ctx, ProductRole, ""); err != nil {
		return err
	}
	if err := a.EnsureRole(ctx, TemporalRole, "CREATEDB"); err != nil {
		return err
	}
	if err := a.EnsureDatabase(ctx, ProductDatabase, ProductRole); err != nil {
		return err
	}
	if err := a.EnsureDatabase(ctx, TemporalDatabase, TemporalRole); err != nil {
		return err
	}
	return a.EnsureDatabase(ctx, VisibilityDatabase, TemporalRole)
}

// RolePassword returns the password that EnsureRole has given the role.
func (a Admin) RolePassword(role string) (string, error) {
	if err := checkNames(role); err != nil {
		return "", err
	}
	return secret(a.Secrets, role)
}

// DSN returns the address of a database for a role that EnsureRole has made.
func (a Admin) DSN(database, role string) (string, error) {
	if err := checkNames(database); err != nil {
		return "", err
	}
	password, err := a.RolePassword(role)
	if err != nil {
		return "", err
	}
	address := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(role, password),
		Host:     net.JoinHostPort(a.Host, strconv.Itoa(a.Port)),
		Path:     database,
		RawQuery: "sslmode=disable",
	}
	return address.String(), nil
}
