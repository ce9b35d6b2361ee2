package resourcetype

import (
	"strings"
	"testing"
	"testing/fstest"

	"holdfast.dev/internal/hot/value"
)

// Properties are what the original makes of them, or refused in its words.
func TestCheck(t *testing.T) {
	t.Parallel()
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ typ, given, want, wrong string }{
		{"OS::Heat::None", `{"anything": [1]}`, `{}`, ""},
		{"OS::Heat::Value", `{"value": {"a": 1}}`, `{"value": {"a": 1}, "type": null}`, ""},
		{"OS::Heat::Value", `{}`, "", "Property error: p: Property value not assigned"},
		{"OS::Heat::Value", `{"value": 1, "type": "word"}`, "", `Property error: p.type: "word" is not an allowed value ["string", "number", "comma_delimited_list", "json", "boolean"]`},
		{"OS::Heat::Value", `{"foo": 1}`, "", "Property error: p: Unknown Property foo"},
		{"OS::Heat::RandomString", `{"length": "7"}`,
			`{"length": 7, "sequence": null, "character_classes": [{"class": "lettersdigits", "min": 1}], "character_sequences": null, "salt": null}`, ""},
		{"OS::Heat::RandomString", `{"length": "x"}`, "", "Property error: p.length: Value 'x' is not an integer"},
		{"OS::Heat::RandomString", `{"length": 513}`, "", "Property error: p.length: 513 is out of range (min: 1, max: 512)"},
		{"OS::Heat::RandomString", `{"character_classes": [{"min": 2}, {"clas": 1}]}`, "", "Property error: p.character_classes.1: Unknown Property clas"},
		{"OS::Heat::RandomString", `{"character_sequences": [{"min": 2}]}`, "", "Property error: p.character_sequences.0: Property sequence not assigned"},
		{"OS::Heat::RandomString", `{"character_sequences": "x"}`, "", `Property error: p.character_sequences: "'x'" is not a list`},
		{"OS::Heat::TestResource", `{"fail": "maybe"}`, "", `Property error: p.fail: "maybe" is not a valid boolean`},
		{"OS::Heat::TestResource", `{"action_wait_secs": 3}`, "", `Property error: p.action_wait_secs: "3" is not a map`},
		{"OS::Heat::Delay", `{"min_wait": "1.5", "actions": ["CREATE", "DELETE"]}`, `{"min_wait": 1.5, "max_jitter": 0, "jitter_multiplier": 1.0, "actions": ["CREATE", "DELETE"]}`, ""},
		{"OS::Heat::Delay", `{"min_wait": -1}`, "", "Property error: p.min_wait: -1 is out of range (min: 0, max: None)"},
	} {
		given, err := value.ParseJSON(c.given)
		if err != nil {
			t.Fatal(err)
		}
		made, err := all.Find(c.typ).Check(given.(*value.Map), "p", nil, everything{})
		switch {
		case c.wrong != "":
			if err == nil || err.Error() != c.wrong {
				t.Errorf("%s %s: %v, want %s", c.typ, c.given, err, c.wrong)
			}
		case err != nil || value.JSON(made, false) != c.want:
			t.Errorf("%s %s: %s (%v), want %s", c.typ, c.given, value.JSON(made, false), err, c.want)
		}
	}
}

// everything takes any value for any custom constraint.
type everything struct{}

func (everything) Known(string) bool       { return true }
func (everything) Check(string, any) error { return nil }

// A file that is no type says why.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"type: X":                      "support status",
		"support: {status: SUPPORTED}": "no name",
		"type: X\nsupport: {status: SUPPORTED}\nproperties: {a: {type: word}}":                                          `type "word"`,
		"type: X\nsupport: {status: SUPPORTED}\nstranger: 1":                                                            "stranger",
		"type: X\nsupport: {status: SUPPORTED}\nproperties: [a]":                                                        "not a mapping",
		"type: X\nsupport: {status: SUPPORTED}\nproperties: {a: {type: string, constraints: [{allowed_pattern: '('}]}}": "",
	} {
		_, err := Load(fstest.MapFS{"r/x.yaml": {Data: []byte(text)}}, "r")
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
	one := []byte("type: X\nsupport: {status: SUPPORTED}")
	if _, err := Load(fstest.MapFS{"r/x.yaml": {Data: one}, "r/y.yaml": {Data: one}}, "r"); err == nil {
		t.Error("a type is there twice")
	}
}

// An operator's types stand beside those of Holdfast, and can't take their places.
func TestOpen(t *testing.T) {
	t.Parallel()
	all, err := Open("../../docs/examples/resource-types")
	if err != nil {
		t.Fatal(err)
	}
	builtin, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if !all.HasType("Example::DNS::Zone") || builtin.HasType("Example::DNS::Zone") || len(all.All()) != len(builtin.All())+1 {
		t.Errorf("there are %d types and %d", len(all.All()), len(builtin.All()))
	}
	if _, err := Open("../../schemas/resources"); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("%v", err)
	}
	if _, err := Open("../../docs/nowhere"); err == nil {
		t.Error("there is no such folder")
	}
	for wrong, why := range map[string]string{
		"{service: x, collection: y}":                                             "nothing is created",
		"{service: x, create: [{POST: y}]}":                                       "no collection",
		"{service: x, collection: y, create: [{POST: y, body: {z: $(nope)}}]}":    "no property nope",
		"{service: x, collection: y, create: [{body: {}}]}":                       "no method",
		"{service: x, collection: y, create: [{POST: y}], attributes: {a: $(b)}}": "no attribute a",
		"{service: x, collection: y, create: [{POST: y, stranger: 1}]}":           "stranger",
	} {
		_, err := Load(fstest.MapFS{"r/x.yaml": {Data: []byte("type: X\nsupport: {status: SUPPORTED}\nrest: " + wrong)}}, "r")
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", wrong, err, why)
		}
	}
}

// Expressions are worked out as docs/resource-types.md says.
func TestExpressions(t *testing.T) {
	t.Parallel()
	given, err := value.ParseJSON(`{"name": null, "net": "n", "list": [{"a": 1}, {"b": 2}], "map": {"k": "v"}, "empty": "", "no": false}`)
	if err != nil {
		t.Fatal(err)
	}
	s := Scope{Properties: given.(*value.Map), Self: value.NewMap("id", "i/d", "mark", "m"), Object: value.NewMap("status", "UP")}
	for template, want := range map[string]string{
		`"$(name|self.mark)"`:                      `"m"`,
		`"$(name|'x')"`:                            `"x"`,
		`"a $(net) b $(no)"`:                       `"a n b false"`,
		`{"a": "$(name)", "b": "$(none)"}`:         `{"b": null}`,
		`{"a": "$(name|[])"}`:                      `{"a": []}`,
		`{"x": 1, "+": "$(map)"}`:                  `{"x": 1, "k": "v"}`,
		`{"each": "$(list)", "give": "$(item.a)"}`: `[1, null]`,
		`{"v": {"when": "$(no)", "give": 1}}`:      `{}`,
		`{"v": {"nullable": "$(empty)"}}`:          `{"v": null}`,
		`"$(object.status)"`:                       `"UP"`,
	} {
		parsed, err := value.ParseJSON(template)
		if err != nil {
			t.Fatal(err)
		}
		if got := value.JSON(s.Value(&Value{parsed}), false); got != want {
			t.Errorf("%s is %s, want %s", template, got, want)
		}
	}
	if got := s.Path("things/$(self.id)?name=$(net)&x=a b"); got != "things/i%2Fd?name=n&x=a b" {
		t.Errorf("the path is %s", got)
	}
	if got := s.Path("things/$(empty)"); got != "things/%2E" {
		t.Errorf("the path is %s", got)
	}
	body := &Value{value.NewMap("thing", value.NewMap("net", "$(net)", "name", "$(name)", "list", "$(list)"))}
	if got, ok := s.Changed(body, []string{"name", "net"}); !ok || value.JSON(got, false) != `{"thing": {"net": "n", "name": null}}` {
		t.Errorf("changed are %s", value.JSON(got, false))
	}
	if _, ok := s.Changed(body, []string{"no"}); ok {
		t.Error("nothing has changed")
	}
}
