// The command line.

package main

import (
	"flag"
	"fmt"
	"net"
	"strconv"
	"time"

	"go.temporal.io/server/common/config"
)

// passwordVariable names the environment variable that holds the password of
// the PostgreSQL role: a command line can be read by every user of the machine.
const passwordVariable = "HOLDFAST_TEMPORAL_PASSWORD"

type options struct {
	postgresHost       string
	postgresPort       int
	user               string
	password           string
	database           string
	visibilityDatabase string
	ip                 string
	port               int
	uiPort             int
	namespaces         []string
	logLevel           string
}

func parseOptions(args []string, getenv func(string) string) (options, error) {
	o := options{password: getenv(passwordVariable)}
	flags := flag.NewFlagSet("holdfast-temporal", flag.ContinueOnError)
	flags.StringVar(&o.postgresHost, "postgres-host", "127.0.0.1", "`host` of PostgreSQL")
	flags.IntVar(&o.postgresPort, "postgres-port", 5432, "`port` of PostgreSQL")
	flags.StringVar(&o.user, "user", "temporal", "PostgreSQL `role`; its password is read from "+passwordVariable)
	flags.StringVar(&o.database, "database", "temporal", "`name` of the engine's database")
	flags.StringVar(&o.visibilityDatabase, "visibility-database", "temporal_visibility", "`name` of the database that workflows are listed from")
	flags.StringVar(&o.ip, "ip", "127.0.0.1", "`address` to listen on")
	flags.IntVar(&o.port, "port", 7233, "`port` of the gRPC API")
	flags.IntVar(&o.uiPort, "ui-port", 8233, "`port` of the UI, 0 for none")
	flags.Func("namespace", "`name` of a namespace to create, may be repeated (default holdfast)", func(name string) error {
		o.namespaces = append(o.namespaces, name)
		return nil
	})
	flags.StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn or error; the log goes to standard error")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if net.ParseIP(o.ip) == nil {
		return options{}, fmt.Errorf("--ip %q is not an IP address", o.ip)
	}
	if len(o.namespaces) == 0 {
		o.namespaces = []string{"holdfast"}
	}
	return o, nil
}

func (o options) address() string {
	return net.JoinHostPort(o.ip, strconv.Itoa(o.port))
}

// sql says how the server reaches one database. Each of the four services has
// a pool of its own with these limits, for each of the two databases.
func (o options) sql(database string) *config.SQL {
	return &config.SQL{
		PluginName:      "postgres12_pgx",
		ConnectAddr:     net.JoinHostPort(o.postgresHost, strconv.Itoa(o.postgresPort)),
		ConnectProtocol: "tcp",
		User:            o.user,
		Password:        o.password,
		DatabaseName:    database,
		MaxConns:        20,
		MaxIdleConns:    20,
		MaxConnLifetime: time.Hour,
	}
}
