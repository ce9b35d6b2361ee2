package heat

// How scenarios are written.

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scenario is what is done to a stack, named after its file.
type scenario struct {
	name string
	// Shows is a sentence.
	Shows string
	// Templates by name: without a version they are of the newest, and as JSON
	// where they are among a stack's files.
	Templates map[string]map[string]any
	Steps     []step
	// Differs are the differences that are meant.
	Differs []difference
}

// difference is one that is meant.
type difference struct {
	// At fits the keys of what is recorded, as a whole.
	At string
	// Theirs and Ours fit the values, as wholes; those that are empty fit anything.
	Theirs, Ours string
	Why          string
}

// step is one thing that is done, and what with: "create: {template: first}".
type step struct {
	do   string
	with args
}

// args are what a step is done with. Most have a few.
type args struct {
	// Text is the argument of a step that has only one.
	Text string `yaml:"-"`

	// Of create, update, patch and preview.
	Template    string
	Rollback    bool
	Timeout     any
	Parameters  map[string]any
	Environment any
	Files       []string // names of templates
	Clear       []string
	Tags        string
	Converge    bool
	Existing    bool
	// Of signal and unhealthy.
	Resource string
	Details  any
	Reason   string
	Healthy  bool
	// Of until: states by resource; "a/b" is b of the stack that is nested in a.
	States map[string]string
}

// verbs are the things that can be done; with one argument or several.
var verbs = map[string]string{
	"create": "", "update": "", "patch": "", "preview": "", "signal": "", "health": "", "until": "",
	"await": "state", "told": "reason", "pause": "duration", "action": "name", "snapshot": "name", "restore": "name", "forget": "name", "abandon": "-", "adopt": "-", "export": "-", "delete": "-",
}

func (s *step) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode || len(node.Content) != 2 {
		return fmt.Errorf("line %d: a step is one thing, with arguments", node.Line)
	}
	s.do = node.Content[0].Value
	one, known := verbs[s.do]
	switch value := node.Content[1]; {
	case !known:
		return fmt.Errorf("line %d: there is no step %q", node.Line, s.do)
	case one != "" && value.Kind != yaml.ScalarNode:
		return fmt.Errorf("line %d: %s takes one argument", node.Line, s.do)
	case one != "":
		s.with.Text = value.Value
		return nil
	case s.do == "until":
		return value.Decode(&s.with.States)
	default:
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		return strict(text, &s.with)
	}
}

// strict decodes YAML, and refuses keys that aren't known.
func strict(text []byte, into any) error {
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	return d.Decode(into)
}

// scenarios reads them all.
func scenarios() (all []scenario, err error) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s := scenario{name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
		if err := strict(text, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// check says what is wrong with a scenario.
func (s *scenario) check() error {
	if s.Shows == "" || len(s.Steps) == 0 {
		return fmt.Errorf("it shows nothing")
	}
	for _, at := range s.Steps {
		for _, name := range append([]string{at.with.Template}, at.with.Files...) {
			if name != "" && s.Templates[name] == nil {
				return fmt.Errorf("%s: there is no template %s", at.do, name)
			}
		}
	}
	for _, d := range s.Differs {
		if d.Why == "" {
			return fmt.Errorf("%s differs, and nothing says why", d.At)
		}
		for _, pattern := range []string{d.At, d.Theirs, d.Ours} {
			if _, err := regexp.Compile(pattern); err != nil {
				return err
			}
		}
	}
	return nil
}

// template is one of the scenario's, complete.
func (s *scenario) template(name string) map[string]any {
	t := maps.Clone(s.Templates[name])
	if t["heat_template_version"] == nil && t["HeatTemplateFormatVersion"] == nil && t["AWSTemplateFormatVersion"] == nil {
		t["heat_template_version"] = "2021-04-16"
	}
	return t
}

// body is what a request for a stack has.
func (s *scenario) body(a args) (map[string]any, error) {
	b := map[string]any{}
	if a.Template != "" {
		b["template"] = s.template(a.Template)
	}
	files := map[string]string{}
	for _, name := range a.Files {
		text, err := json.Marshal(s.template(name))
		if err != nil {
			return nil, err
		}
		files[name+".yaml"] = string(text)
	}
	for key, value := range map[string]any{"parameters": a.Parameters, "files": files, "environment": a.Environment, "clear_parameters": a.Clear,
		"timeout_mins": a.Timeout, "tags": a.Tags} {
		if text, err := json.Marshal(value); err != nil {
			return nil, err
		} else if !slices.Contains([]string{"null", "{}", `""`}, string(text)) {
			b[key] = value
		}
	}
	if a.Converge {
		b["converge"] = true
	}
	if a.Rollback {
		b["disable_rollback"] = false
	}
	return b, nil
}
