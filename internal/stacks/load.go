package stacks

// Definitions and rows: one made of the other.

import (
	"encoding/json"
	"fmt"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/orchestration"
)

// Load gives the definition that a row of a template holds.
func Load(s *orchestration.Stack, row *orchestration.Template, box *secrets.Box, types *resourcetype.Registry) (*Definition, error) {
	body, err := mapping(row.Template)
	if err != nil {
		return nil, fmt.Errorf("template %d: %w", row.ID, err)
	}
	t, err := hot.New(body)
	if err != nil {
		return nil, fmt.Errorf("template %d: %w", row.ID, err)
	}
	text, err := box.Open(row.Environment, environmentOf(s.ID))
	if err != nil {
		return nil, fmt.Errorf("template %d: %w", row.ID, err)
	}
	sections, err := mapping(string(text))
	if err != nil {
		return nil, fmt.Errorf("template %d: %w", row.ID, err)
	}
	env, err := hot.NewEnvironment(sections)
	if err != nil {
		return nil, fmt.Errorf("template %d: %w", row.ID, err)
	}
	files := map[string]string{}
	if err := json.Unmarshal([]byte(row.Files), &files); err != nil {
		return nil, fmt.Errorf("template %d: %w", row.ID, err)
	}
	facade, err := loadFacade(row.Facade)
	if err != nil {
		return nil, fmt.Errorf("template %d: %w", row.ID, err)
	}
	var zones []string
	if row.Zones != "" {
		if err := json.Unmarshal([]byte(row.Zones), &zones); err != nil {
			return nil, fmt.Errorf("template %d: %w", row.ID, err)
		}
	}
	around := hot.Surroundings{Files: files, Zones: zones, Facade: facade}
	d, err := define(t, env, around, hot.Identity{Project: s.ProjectID, Name: s.Name, ID: s.ID}, types, nil)
	if err != nil {
		return nil, err
	}
	d.Depth, d.filesID = s.Depth, row.FilesID
	return d, nil
}

// Row is the row of a template that a definition is kept in; one of a nested stack
// has its files in common with its parent's.
func (d *Definition) Row(stackID string, box *secrets.Box) (*orchestration.Template, error) {
	body, err := d.Template.Body().MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	env, err := d.Environment.Stored().MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("environment: %w", err)
	}
	row := &orchestration.Template{Template: string(body), Environment: box.Seal(env, environmentOf(stackID)), FilesID: d.filesID}
	if row.Facade, err = keptFacade(d.facade); err != nil {
		return nil, err
	}
	if d.usesZones() {
		if row.Zones, err = KeptZones(d.zones); err != nil {
			return nil, err
		}
	}
	if d.filesID != 0 {
		return row, nil
	}
	files := d.Files
	if files == nil {
		files = map[string]string{}
	}
	texts, err := json.Marshal(files)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	row.Files = string(texts)
	return row, nil
}

// KeptZones are zones as the row of a template has them; "" is none that anybody has
// asked for.
func KeptZones(zones []string) (string, error) {
	if zones == nil {
		return "", nil
	}
	text, err := json.Marshal(zones)
	if err != nil {
		return "", fmt.Errorf("zones: %w", err)
	}
	return string(text), nil
}

// keptFacade is a facade as it is when the stack is asked for, to be kept: nobody who
// reads the stack later has its parent at hand.
func keptFacade(f *hot.Facade) (string, error) {
	if f == nil {
		return "", nil
	}
	metadata, err := f.Metadata()
	if err != nil {
		return "", err
	}
	updatePolicy, err := f.UpdatePolicy()
	if err != nil {
		return "", err
	}
	return value.JSON(value.NewMap(facadeMetadata, metadata, facadeUpdatePolicy, updatePolicy, facadeDeletionPolicy, f.DeletionPolicy), false), nil
}

const (
	facadeMetadata       = "metadata"
	facadeUpdatePolicy   = "update_policy"
	facadeDeletionPolicy = "deletion_policy"
)

func loadFacade(text string) (*hot.Facade, error) {
	if text == "" {
		return nil, nil
	}
	m, err := mapping(text)
	if err != nil {
		return nil, err
	}
	kept := func(key string) func() (*value.Map, error) {
		return func() (*value.Map, error) { return part(m, key), nil }
	}
	deletionPolicy, _ := m.Get(facadeDeletionPolicy)
	return &hot.Facade{Metadata: kept(facadeMetadata), UpdatePolicy: kept(facadeUpdatePolicy), DeletionPolicy: value.Str(deletionPolicy)}, nil
}

// environmentOf is the place that a stack's environment is sealed for.
func environmentOf(stackID string) string { return "stack/" + stackID + "/environment" }

func mapping(text string) (*value.Map, error) {
	v, err := value.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	m, ok := v.(*value.Map)
	if !ok {
		return nil, fmt.Errorf("it holds %s", value.TypeName(v))
	}
	return m, nil
}
