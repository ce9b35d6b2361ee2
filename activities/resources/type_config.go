package resources

// OS::Heat::SoftwareConfig and its kin: what servers are set up by.

import (
	"bytes"
	"context"
	"math/big"
	"time"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// config is a type whose resource is a software config. None of its properties can
// be changed.
type config struct {
	*Activities
	None
	// made is the configuration that the properties ask for.
	made func(ctx context.Context, c *Call) (any, error)
}

// configSpace is the space of ids of configs, by their resources' marks.
var configSpace = uuid.MustParse("0c9a1e56-3b7c-4f0e-9f4e-5a2d7d1c8b43")

// Create is idempotent by the id, which is drawn from the mark.
func (t config) Create(ctx context.Context, c *Call) (time.Duration, error) {
	made, err := t.made(ctx, c)
	if err != nil {
		return 0, err
	}
	of := func(name string) any { v, _ := c.Properties.Get(name); return v }
	content, err := stacks.NewConfig(made, of("inputs"), of("outputs"), of("options"), t.o.Registry)
	if err != nil {
		return 0, err
	}
	group := stacks.Ungrouped
	if given := c.text("group"); given != "" {
		group = given
	}
	row := &orchestration.Config{ID: uuid.NewSHA1(configSpace, []byte(c.parent.ID+" "+c.Mark)).String(), ProjectID: c.ProjectID, Name: &c.Mark, Group: &group}
	if err := content.Seal(row, t.o.Box); err != nil {
		return 0, err
	}
	if t.o.MaxConfigs >= 0 {
		n, err := orchestration.CountConfigs(ctx, c.tx, c.ProjectID)
		if err != nil {
			return 0, err
		}
		if n >= t.o.MaxConfigs {
			return 0, faults.New(faults.Invalid, hot.LimitExceeded,
				"Request limit exceeded: You have reached the maximum software configs per tenant, %d. Please delete some configs.", t.o.MaxConfigs)
		}
	}
	c.PhysicalID = row.ID
	c.Attributes.Set("config", made)
	return 0, orchestration.InsertConfig(ctx, c.tx, row)
}

// Delete is idempotent by the row that is no more.
func (t config) Delete(ctx context.Context, c *Call) (time.Duration, error) {
	if c.PhysicalID == "" {
		return 0, nil
	}
	if err := orchestration.DeleteConfig(ctx, c.tx, c.ProjectID, c.PhysicalID); err != nil && !faults.Is(err, faults.NotFound) {
		return 0, err
	}
	return 0, nil
}

// asGiven is the configuration of OS::Heat::SoftwareConfig and StructuredConfig.
func asGiven(_ context.Context, c *Call) (any, error) {
	v, _ := c.Properties.Get("config")
	return v, nil
}

// forCloudInit is the configuration of OS::Heat::CloudConfig.
func forCloudInit(_ context.Context, c *Call) (any, error) {
	v, _ := c.Properties.Get("cloud_config")
	var text bytes.Buffer
	text.WriteString("#cloud-config\n")
	to := yaml.NewEncoder(&text)
	to.SetIndent(2)
	if err := to.Encode(forYAML(v)); err != nil {
		return nil, faults.Wrap(err, faults.Invalid, hot.ValueError, "the cloud_config can't be written as YAML")
	}
	return text.String(), to.Close()
}

// forYAML is a value as the encoder knows it.
func forYAML(v any) any {
	switch x := v.(type) {
	case *value.Map:
		m := make(map[string]any, x.Len())
		for i := range x.Len() {
			key, item := x.At(i)
			m[value.Str(key)] = forYAML(item)
		}
		return m
	case []any:
		list := make([]any, len(x))
		for i, item := range x {
			list[i] = forYAML(item)
		}
		return list
	case *big.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: x.String()}
	}
	return v
}

// ConfigOf gives the configuration that the id of a software config of the stack's
// project stands for; any other text stands for itself. Errors: Invalid, it is no
// text.
func (c *Call) ConfigOf(ctx context.Context, text string) (string, error) {
	if uuid.Validate(text) != nil || c.configs == nil {
		return text, nil
	}
	row, err := orchestration.GetConfig(ctx, c.configs, c.ProjectID, text)
	if faults.Is(err, faults.NotFound) {
		return text, nil
	}
	if err != nil {
		return "", err
	}
	kept, err := stacks.OpenConfig(row, c.box)
	if err != nil {
		return "", err
	}
	configured, ok := kept.Config.(string)
	if !ok {
		return "", faults.New(faults.Invalid, hot.TypeError, "the software config %s is no text", text)
	}
	return configured, nil
}

// configsFor is where configs are looked up for a type: an instant one sees those
// of its own transaction.
func (s *shift) configsFor(t Type, tx store.Tx) store.Queryer {
	if t != nil && t.Instant() {
		return tx
	}
	return s.db.Pool
}
