// Tests of the command line.

package main

import (
	"errors"
	"flag"
	"reflect"
	"testing"
)

func TestParseOptions(t *testing.T) {
	env := func(name string) string { return map[string]string{"HOLDFAST_TEMPORAL_PASSWORD": "secret"}[name] }
	got, err := parseOptions([]string{
		"--postgres-port", "6000", "--database", "a", "--visibility-database", "b", "--port", "7000",
		"--ui-port", "0", "--namespace", "one", "--namespace", "two", "--log-level", "info",
	}, env)
	want := options{
		postgresHost: "127.0.0.1", postgresPort: 6000, user: "temporal", password: "secret",
		database: "a", visibilityDatabase: "b", ip: "127.0.0.1", port: 7000, uiPort: 0,
		namespaces: []string{"one", "two"}, logLevel: "info",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}

	got, err = parseOptions(nil, env)
	if err != nil || !reflect.DeepEqual(got.namespaces, []string{"holdfast"}) || got.address() != "127.0.0.1:7233" {
		t.Errorf("by default: %+v, %v", got, err)
	}
	if _, err := parseOptions([]string{"--ip", "localhost"}, env); err == nil || err.Error() != `--ip "localhost" is not an IP address` {
		t.Errorf("a host name: %v", err)
	}
	if _, err := parseOptions([]string{"start"}, env); err == nil || err.Error() != `unexpected argument "start"` {
		t.Errorf("an argument: %v", err)
	}
	if _, err := parseOptions([]string{"--help"}, env); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
}
