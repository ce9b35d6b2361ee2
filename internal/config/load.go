package config

// Reading the configuration: defaults, then the file, then the environment.

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/v2"
	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/faults"
)

const envPrefix = "HOLDFAST_"

// envOther are variables with Holdfast's prefix that are no keys: the name of
// the file itself, and what tests and the development cloud read.
var envOther = regexp.MustCompile(`^HOLDFAST_(CONFIG|CONTRACTS|DEV_DIR|TEMPORAL|TEMPORAL_PASSWORD|TEST_.*)$`)

// Load reads the file (none if path is empty) and the environment, given as
// os.Environ gives it. Errors are faults.Invalid and name the key.
func Load(path string, environ []string) (*Config, error) {
	k := koanf.New(".")
	for _, read := range []layer{defaults, fileLayer(path), envLayer(environ)} {
		if err := k.Load(read, nil); err != nil {
			return nil, err
		}
	}
	var cfg Config
	err := k.UnmarshalWithConf("", &cfg, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result:           &cfg,
		TagName:          "koanf",
		ErrorUnused:      true,
		WeaklyTypedInput: false,
		DecodeHook:       mapstructure.ComposeDecodeHookFunc(mapstructure.StringToTimeDurationHookFunc(), mapstructure.TextUnmarshallerHookFunc()),
	}})
	if err != nil {
		return nil, invalid("%s", err)
	}
	return &cfg, cfg.check()
}

// layer is a koanf provider that yields a nested map.
type layer func() (map[string]any, error)

func (l layer) Read() (map[string]any, error) { return l() }
func (l layer) ReadBytes() ([]byte, error) {
	return nil, errors.New("a configuration layer has no bytes")
}

func defaults() (map[string]any, error) {
	flat := map[string]any{}
	for _, key := range keys {
		flat[key.Name] = key.Default
	}
	return maps.Unflatten(flat, "."), nil
}

func fileLayer(path string) layer {
	return func() (map[string]any, error) {
		if path == "" {
			return nil, nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("configuration file: %w", err)
		}
		var tree map[string]any
		if err := yaml.Unmarshal(text, &tree); err != nil {
			return nil, invalid("%s: %s", path, err)
		}
		flat, _ := maps.Flatten(tree, nil, ".")
		for name := range flat {
			if !slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name }) {
				return nil, invalid("%s: there is no key %s", path, name)
			}
		}
		return tree, nil
	}
}

func envLayer(environ []string) layer {
	return func() (map[string]any, error) {
		flat := map[string]any{}
		for _, entry := range environ {
			name, text, _ := strings.Cut(entry, "=")
			if !strings.HasPrefix(name, envPrefix) {
				continue
			}
			i := slices.IndexFunc(keys, func(k Key) bool { return k.Env() == name })
			if i < 0 {
				if envOther.MatchString(name) {
					continue
				}
				return nil, invalid("the environment variable %s is no key of the configuration", name)
			}
			value, err := parseEnv(keys[i], text)
			if err != nil {
				return nil, err
			}
			flat[keys[i].Name] = value
		}
		return maps.Unflatten(flat, "."), nil
	}
}

// parseEnv reads a variable: a string as it is, anything else as YAML.
func parseEnv(key Key, text string) (any, error) {
	if _, isString := key.Default.(string); isString {
		return text, nil
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil, invalid("%s: %s", key.Env(), err)
	}
	return value, nil
}

// check refuses what can't work in any role.
func (c *Config) check() error {
	for _, positive := range []struct {
		name  string
		value int64
	}{
		{"api.max_body_bytes", c.API.MaxBodyBytes},
		{"api.request_timeout", int64(c.API.RequestTimeout)},
		{"api.starter_queue", int64(c.API.StarterQueue)},
		{"api.starter_workers", int64(c.API.StarterWorkers)},
		{"api.max_page_size", int64(c.API.MaxPageSize)},
		{"keystone.token_cache_time", int64(c.Keystone.TokenCacheTime)},
		{"keystone.token_cache_size", int64(c.Keystone.TokenCacheSize)},
		{"keystone.timeout", int64(c.Keystone.Timeout)},
		{"compute.host_down_after", int64(c.Compute.HostDownAfter)},
		{"host.report_interval", int64(c.Host.ReportInterval)},
		{"conductor.heartbeat_interval", int64(c.Conductor.HeartbeatInterval)},
		{"conductor.heartbeat_timeout", int64(c.Conductor.HeartbeatTimeout)},
		{"conductor.power_state_change_timeout", int64(c.Conductor.PowerStateChangeTimeout)},
		{"conductor.soft_power_off_timeout", int64(c.Conductor.SoftPowerOffTimeout)},
		{"conductor.node_locked_retry_attempts", int64(c.Conductor.NodeLockedRetryAttempts)},
		{"conductor.node_locked_retry_interval", int64(c.Conductor.NodeLockedRetryInterval)},
	} {
		if positive.value <= 0 {
			return invalid("%s must be more than 0", positive.name)
		}
	}
	for name, value := range map[string]time.Duration{
		"compute.sync_power_state_interval":         c.Compute.SyncPowerStateInterval,
		"compute.reclaim_instance_interval":         c.Compute.ReclaimInstanceInterval,
		"retention.interval":                        c.Retention.Interval,
		"retention.deleted_servers":                 c.Retention.DeletedServers,
		"retention.operations":                      c.Retention.Operations,
		"compute.heal_instance_info_cache_interval": c.Compute.HealInstanceInfoCacheInterval,
	} {
		if value < 0 {
			return invalid("%s must not be negative", name)
		}
	}
	for _, choice := range []struct {
		name, value string
		of          []string
	}{
		{"host.driver", c.Host.Driver, []string{"libvirt", "simulated", "ironic"}},
		{"host.live_migration_timeout_action", c.Host.LiveMigrationTimeoutAction, []string{"abort", "force_complete"}},
		{"conductor.automatic_lessee_source", c.Conductor.AutomaticLesseeSource, []string{"instance", "request", "none"}},
		{"inspection.add_ports", c.Inspection.AddPorts, []string{"all", "active", "pxe", "disabled"}},
		{"inspection.keep_ports", c.Inspection.KeepPorts, []string{"all", "present", "added"}},
		{"inspection.mask_secrets", c.Inspection.MaskSecrets, []string{"always", "never", "sensitive"}},
		{"log.level", c.Log.Level, []string{"debug", "info", "warn", "error"}},
		{"log.format", c.Log.Format, []string{"json", "text"}},
	} {
		if !slices.Contains(choice.of, choice.value) {
			return invalid("%s is %q; it must be one of %s", choice.name, choice.value, strings.Join(choice.of, ", "))
		}
	}
	if o := c.Orchestration; o.StackDomainAdmin != "" && (o.StackDomainID == "" && o.StackDomainName == "" || o.StackDomainPassword == "") {
		return invalid("orchestration.stack_domain_admin needs stack_user_domain_id or stack_user_domain_name, and stack_domain_admin_password")
	}
	for i, t := range c.Dev.StaticTokens {
		if t.Token == "" || t.User == "" || (t.Project == "") != t.System {
			return invalid("dev.static_tokens: entry %d lacks token, user or project", i+1)
		}
	}
	return nil
}

// NeedDatabase refuses a configuration without a database.
func (c *Config) NeedDatabase() error {
	return Need("database.dsn", c.Database.DSN)
}

// Need refuses a key that isn't set, by its name and that of its environment variable.
func Need(key, value string) error {
	if value == "" {
		return invalid("%s is not set (environment: %s)", key, Key{Name: key}.Env())
	}
	return nil
}

func invalid(format string, args ...any) error {
	return faults.New(faults.Invalid, "InvalidConfiguration", "configuration: "+format, args...)
}
