package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "holdfast.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadLayers(t *testing.T) {
	t.Parallel()
	path := write(t, `
database: {dsn: "postgres://file", max_connections: 7}
api: {listen: "127.0.0.1:1", request_timeout: 5s}
dev:
  static_tokens:
    - {token: secret, user: u, project: p, roles: [admin]}
`)
	cfg, err := Load(path, []string{"HOLDFAST_DATABASE_DSN=postgres://env", "HOLDFAST_API_STARTER_QUEUE=3", "PATH=/bin",
		"HOLDFAST_CONTRACTS=/somewhere"})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Database.DSN != "postgres://env" || cfg.Database.MaxConnections != 7 {
		t.Errorf("database: %+v", cfg.Database)
	}
	if cfg.API.Listen != "127.0.0.1:1" || cfg.API.RequestTimeout != 5*time.Second || cfg.API.StarterQueue != 3 || cfg.API.MaxBodyBytes != 114688 {
		t.Errorf("api: %+v", cfg.API)
	}
	want := []StaticToken{{Token: "secret", User: "u", Project: "p", Roles: []string{"admin"}}}
	if !reflect.DeepEqual(cfg.Dev.StaticTokens, want) {
		t.Errorf("tokens: %+v", cfg.Dev.StaticTokens)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file string
		env  []string
		want string
	}{
		{file: "api: {lisen: x}", want: "there is no key api.lisen"},
		{file: "databse: {dsn: x}", want: "there is no key databse.dsn"},
		{file: "api: {listen: [}", want: "yaml"},
		{file: "api: {starter_queue: many}", want: "starter_queue"},
		{file: "api: {starter_queue: 0}", want: "api.starter_queue must be more than 0"},
		{file: "log: {format: xml}", want: `log.format is "xml"; it must be one of json, text`},
		{file: "dev: {static_tokens: [{token: x, user: u}]}", want: "entry 1 lacks token, user or project"},
		{file: "dev: {static_tokens: [{tokn: x}]}", want: "tokn"},
		{file: "conductor: {networks: [192.0.2.1]}", want: "conductor.networks[0]"},
		{env: []string{"HOLDFAST_BAREMETAL_AGENT_NETWORKS=[here]"}, want: "baremetal.agent_networks[0]"},
		{env: []string{"HOLDFAST_DATABASE_DNS=x"}, want: "HOLDFAST_DATABASE_DNS is no key"},
		{env: []string{"HOLDFAST_API_STARTER_QUEUE=x"}, want: "starter_queue"},
	} {
		path := ""
		if c.file != "" {
			path = write(t, c.file)
		}
		_, err := Load(path, c.env)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%v: error %v, want %q in it", c.file, c.env, err, c.want)
		}
	}
}

// Every field of Config has its row in the table, and no row is without a field.
func TestKeysMatchConfig(t *testing.T) {
	t.Parallel()
	var fields []string
	for i := range reflect.TypeFor[Config]().NumField() {
		group := reflect.TypeFor[Config]().Field(i)
		for j := range group.Type.NumField() {
			fields = append(fields, group.Tag.Get("koanf")+"."+group.Type.Field(j).Tag.Get("koanf"))
		}
	}
	var names []string
	for _, key := range Keys() {
		names = append(names, key.Name)
		if !strings.HasSuffix(key.Doc, ".") {
			t.Errorf("%s: its doc is no sentence", key.Name)
		}
	}
	slices.Sort(fields)
	slices.Sort(names)
	if !slices.Equal(fields, names) {
		t.Errorf("fields %v\nkeys   %v", fields, names)
	}
}
