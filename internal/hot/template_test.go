package hot

import (
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// Every version has the aliases, sections, keys and functions of the contract.
func TestVersions(t *testing.T) {
	var contract struct {
		Versions map[string]struct {
			Type       string
			Aliases    []string
			Sections   []string          `json:"top_level_sections"`
			Keys       []string          `json:"resource_keys"`
			Policies   map[string]string `json:"deletion_policies"`
			Functions  map[string]string
			Removed    []string          `json:"removed_functions"`
			Conditions map[string]string `json:"condition_functions"`
			Refused    []string          `json:"functions_rejected_inside_conditions"`
			Supports   bool              `json:"supports_conditions"`
		}
	}
	contracttest.Read(t, "orchestration/template-versions.json", &contract)
	if len(Versions()) != len(contract.Versions) {
		t.Errorf("%d versions, not %d", len(Versions()), len(contract.Versions))
	}
	for name, c := range contract.Versions {
		v, ok := FindVersion(name)
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		if v.Type != c.Type || v.conditions != c.Supports {
			t.Errorf("%s: type %s, conditions %t", name, v.Type, v.conditions)
		}
		for _, alias := range c.Aliases {
			if w, ok := FindVersion(alias); !ok || w != v {
				t.Errorf("%s is no alias of %s", alias, name)
			}
		}
		for _, section := range c.Sections {
			if !v.section(section) {
				t.Errorf("%s: the section %s is refused", name, section)
			}
		}
		for _, key := range c.Keys {
			if !v.resourceKey(key) {
				t.Errorf("%s: the key %s is refused", name, key)
			}
		}
		for written, policy := range c.Policies {
			if got, ok := v.deletionPolicy(written); !ok || got != policy {
				t.Errorf("%s: the policy %s is %s", name, written, got)
			}
		}
		functions := []string{}
		for f := range c.Functions {
			functions = append(functions, f)
		}
		slices.Sort(functions)
		if !slices.Equal(functions, v.Functions()) {
			t.Errorf("%s: functions %v\nnot %v", name, v.Functions(), functions)
		}
		for _, f := range c.Removed {
			if v.functions[f] != removed {
				t.Errorf("%s: %s isn't removed", name, f)
			}
		}
		for f := range c.Conditions {
			if fn := v.inConditions[f]; fn == nil || fn == notHere {
				t.Errorf("%s: %s isn't for conditions", name, f)
			}
		}
		for _, f := range c.Refused {
			if fn := v.inConditions[f]; c.Supports && fn != notHere && fn != removed {
				t.Errorf("%s: %s isn't refused in conditions", name, f)
			}
		}
	}
}

func TestRead(t *testing.T) {
	for text, json := range map[string]string{
		"a: 2013-05-23":                             `{"a": "2013-05-23"}`,
		"a: [yes, No, on, off, y, TRUE]":            `{"a": [true, false, true, false, "y", true]}`,
		"a: [010, 0x1F, 0b11, 1_000, 1:30, -5, +5]": `{"a": [8, 31, 3, 1000, 90, -5, 5]}`,
		"a: [1.5, .5, 1e3, 1.0e+3, 1., 08]":         `{"a": [1.5, 0.5, "1e3", 1000.0, 1.0, "08"]}`,
		"a: [~, null, '', ]":                        `{"a": [null, null, ""]}`,
		"a: ['1', \"2\", !!str 3, !!int '4']":       `{"a": ["1", "2", "3", 4]}`,
		"b: &x {k: 1, l: 2}\na: {<<: *x, k: 3}":     `{"b": {"k": 1, "l": 2}, "a": {"k": 3, "l": 2}}`,
		"a: {<<: [{k: 1}, {k: 2, l: 2}]}":           `{"a": {"k": 1, "l": 2}}`,
		"2: a\ntrue: b\n1.5: c":                     `{"2": "a", "true": "b", "1.5": "c"}`,
		"a: |\n  x\n  y\n":                          `{"a": "x\ny\n"}`,
		"a: &x [1]\nb: *x":                          `{"a": [1], "b": [1]}`,
		`{"a": 1e3, "b": "\u00e9"}`:                 `{"a": 1000.0, "b": "\u00e9"}`,
		"":                                          `null`,
		"---\n":                                     `null`,
		"a: =x\n=: 1":                               `{"a": "=x", "=": 1}`,
		"z: 1\ny: 2\nx: 3":                          `{"z": 1, "y": 2, "x": 3}`,
	} {
		v, err := read(text)
		if got := value.JSON(v, false); err != nil || got != json {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"a: 1\nb: 2\na: 3":          "line 3: found the duplicate key 'a'",
		"{\"a\": 1,\n \"a\": 2}":    "line 2: found the duplicate key 'a'",
		"a: &x [*x]":                "line 1: the alias *x stands inside what it names",
		"a: 1\nb: [":                "line 2: did not find expected node content",
		"a: !foo x":                 "could not determine a constructor for the tag '!foo'",
		"a: !!python/object:os.x y": "could not determine a constructor",
		"? [a]\n: 1":                "found a key that is a map or a list",
		"a: .inf":                   "is not a number",
		"a: \"\\0\"":                "special characters are not allowed",
		"a: 1\n---\nb: 2":           "expected a single document",
		"a: {<<: 5}":                "expected a mapping or list of mappings for merging, but found int",
		"a: =":                      "tag:yaml.org,2002:value",
		"\xff":                      "not valid UTF-8",
		"a: *nope":                  "unknown anchor",
	} {
		_, err := read(text)
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, class, why string }{
		{"a: 1", ValueError, "Template format version not found."},
		{"[1]", ValueError, "The template is not a JSON object or YAML mapping."},
		{"a: [", ValueError, "Error parsing template [root stack] did not find expected node content (line 1)"},
		{"heat_template_version: 5", InvalidVersion, "The template version is invalid: Template version was not provided"},
		{"heat_template_version: x", InvalidVersion, `The template version is invalid: "heat_template_version: x". ` +
			`"heat_template_version" should be one of: 2013-05-23, 2014-10-16, 2015-04-30, 2015-10-15, 2016-04-08, 2016-10-14, ` +
			"2017-02-24, 2017-09-01, 2018-03-02, 2018-08-31, 2021-04-16, newton, ocata, pike, queens, rocky, wallaby (line 1)"},
		{"AWSTemplateFormatVersion: x", InvalidVersion, `The template version is invalid: "AWSTemplateFormatVersion: x". ` +
			`"AWSTemplateFormatVersion" should be: 2010-09-09 (line 1)`},
		{"{heat_template_version: pike, AWSTemplateFormatVersion: x}", InvalidVersion,
			"The template version is invalid: Ambiguous versions (AWSTemplateFormatVersion, heat_template_version)"},
	} {
		_, err := Parse(c.text, "", Limits{})
		if err == nil || Class(err) != c.class || err.Error() != c.why {
			t.Errorf("%q: %s: %v", c.text, Class(err), err)
		}
		if !faults.Is(err, faults.Invalid) || faults.As(err).Code != c.class {
			t.Errorf("%q is no bad input: %v", c.text, faults.As(err))
		}
	}
	if _, err := Parse("heat_template_version: pike", "", Limits{TemplateSize: 5}); Class(err) != LimitExceeded {
		t.Errorf("%v", err)
	}
}

func TestValidateTemplate(t *testing.T) {
	for text, why := range map[string]string{
		"heat_template_version: pike\nfoo: 1":                                           "The template section is invalid: foo (line 2)",
		"heat_template_version: 2013-05-23\nconditions: {}":                             "The template section is invalid: conditions (line 2)",
		"heat_template_version: pike\nresources:\n  a: {}":                              "Each resource must contain a type key. (line 3)",
		"heat_template_version: pike\nresources:\n  a: 5":                               `"resources" must contain a map of resource maps. Found a [<class 'int'>] instead (line 3)`,
		"heat_template_version: pike\nresources:\n  a: {type: T, typ: 1}":               `"typ" is not a valid keyword inside a resource definition (line 3)`,
		"heat_template_version: pike\nresources: [1]":                                   "resources: expected a map, found a list (line 2)",
		"{HeatTemplateFormatVersion: '2012-12-12',\n Resources: {a: {Properties: {}}}}": "Each Resource must contain a Type key. (line 2)",
	} {
		tmpl, err := Parse(text, "", Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := tmpl.Validate(); err == nil || err.Error() != why {
			t.Errorf("%q: %v", text, err)
		}
	}
}
