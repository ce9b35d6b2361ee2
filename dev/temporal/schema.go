// The engine's databases: made when missing, completed when half made, and
// watched.

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
	v12 "go.temporal.io/server/schema/postgresql/v12"
	"go.temporal.io/server/tools/common/schema"
	"go.temporal.io/server/tools/sql"
)

const (
	// reachTimeout is how long a start waits for PostgreSQL to accept connections.
	reachTimeout = time.Minute
	// watchInterval is how often a running server looks whether its tables are still there.
	watchInterval = 2 * time.Second

	noSuchDatabase = "3D000"
	noSuchTable    = "42P01"
)

// errLost says that a database or its tables are not there.
var errLost = errors.New("the database is missing or empty")

var (
	engineSchema     = embedded{name: "postgresql/v12/temporal", version: v12.Version}
	visibilitySchema = embedded{name: "postgresql/v12/visibility", version: v12.VisibilityVersion}
)

// embedded is a schema that comes with the server.
type embedded struct {
	name    string
	version string
}

// store is a database and the schema that belongs in it.
type store struct {
	config *config.SQL
	schema embedded
}

// prepare returns once the database exists with the server's schema. A step of
// the schema and the note that it is done are two commits, but every step can
// be run again, so a start that was killed between them is completed here.
func (s store) prepare(ctx context.Context, logger log.Logger) error {
	version, err := s.reach(ctx)
	if err == nil && version == s.schema.version {
		return nil
	}
	if err != nil && !errors.Is(err, errLost) {
		return err
	}
	if err := s.createDatabase(logger); err != nil {
		return err
	}
	conn, err := sql.NewConnection(s.config, logger)
	if err != nil {
		return fmt.Errorf("connect to database %s: %w", s.config.DatabaseName, err)
	}
	defer conn.Close()
	if version == "" {
		setup := schema.NewSetupSchemaTask(conn, &schema.SetupConfig{InitialVersion: "0.0"}, logger)
		if err := setup.Run(); err != nil {
			return fmt.Errorf("begin the schema of database %s: %w", s.config.DatabaseName, err)
		}
	}
	update := schema.NewUpdateSchemaTask(conn, &schema.UpdateConfig{SchemaName: s.schema.name}, logger)
	if err := update.Run(); err != nil {
		return fmt.Errorf("update the schema of database %s: %w", s.config.DatabaseName, err)
	}
	return nil
}

// reach is readVersion, asked again while PostgreSQL isn't there yet.
func (s store) reach(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	for {
		version, err := s.readVersion(ctx)
		if err == nil || errors.Is(err, errLost) || isRefusal(err) {
			return version, err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("reach PostgreSQL at %s: %w", s.config.ConnectAddr, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// isRefusal tells an answer of PostgreSQL, a wrong password say, from the
// silence or the class 57 of one that is starting or stopping.
func isRefusal(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && !strings.HasPrefix(pg.Code, "57")
}

// readVersion returns the version of the schema in the database; errLost if
// there is none. It has a connection of its own, since the server's hide why
// they failed.
func (s store) readVersion(ctx context.Context) (string, error) {
	address := url.URL{
		Scheme: "postgres",
		User:   url.UserPassword(s.config.User, s.config.Password),
		Host:   s.config.ConnectAddr,
		Path:   s.config.DatabaseName,
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address.String())
	if err != nil {
		return "", lost(err)
	}
	defer conn.Close(ctx)
	var version string
	err = conn.QueryRow(ctx, "SELECT curr_version FROM schema_version WHERE db_name = $1", s.config.DatabaseName).Scan(&version)
	return version, lost(err)
}

// lost marks the errors that say that nothing is there.
func lost(err error) error {
	var pg *pgconn.PgError
	missing := errors.As(err, &pg) && (pg.Code == noSuchDatabase || pg.Code == noSuchTable)
	if missing || errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

func (s store) createDatabase(logger log.Logger) error {
	admin := *s.config
	if err := sql.DoCreateDatabase(&admin, "postgres", logger); err != nil {
		return fmt.Errorf("create database %s: %w", s.config.DatabaseName, err)
	}
	return nil
}

// watch returns nil when ctx ends, and an error when a database has been
// dropped or emptied: the server caches too much to go on over a new one. A
// PostgreSQL that is down is waited for, the server reconnects by itself.
func watch(ctx context.Context, stores []store, logger log.Logger) error {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for _, s := range stores {
			_, err := s.readVersion(ctx)
			switch {
			case errors.Is(err, errLost):
				return fmt.Errorf("database %s: %w", s.config.DatabaseName, err)
			case err != nil:
				logger.Warn("A database can't be reached", tag.Error(err))
			}
		}
	}
}
