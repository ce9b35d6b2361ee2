//go:build real

package hot

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/integration/venv"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// mutants is how many mutants are compared, and seed where they come from.
const (
	mutants = "1000"
	seed    = "27"
)

// verdict is what is said of a template.
type verdict struct {
	// Class and Message are the error's; Known says whether it is one of the
	// original's own classes, which its API answers with 4xx.
	Class, Message string
	Known          bool
	Parameters     any
	Requires       map[string][]string
	Outputs        map[string]output
}

type output struct {
	Value any
	Class string
}

// types are those that the cases use.
type types struct{}

func (types) HasType(name string) bool {
	return name == "OS::Heat::None" || name == "OS::Heat::Value"
}

// ask is Holdfast's verdict.
func ask(text string, given *value.Map) (v verdict) {
	s, err := stack(text, given)
	if err != nil {
		return refusal(err)
	}
	described := &value.Map{}
	for _, p := range s.Parameters.All() {
		if !p.Pseudo {
			described.Set(p.Name, p.Describe())
		}
	}
	v.Parameters = described
	v.Requires = map[string][]string{}
	for _, r := range s.Resources() {
		names, err := r.Requires()
		if err != nil {
			return refusal(err)
		}
		slices.Sort(names)
		v.Requires[r.Name] = append([]string{}, names...)
	}
	v.Outputs = map[string]output{}
	for _, o := range s.Outputs() {
		result, err := o.Value(hot.Nothing)
		if err != nil {
			v.Outputs[o.Name] = output{Class: hot.Class(err)}
			continue
		}
		v.Outputs[o.Name] = output{Value: result}
	}
	return v
}

func stack(text string, given *value.Map) (*hot.Stack, error) {
	t, err := hot.Parse(text, "", hot.Limits{})
	if err != nil {
		return nil, err
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	p, err := hot.NewParameters(t, hot.Identity{Project: "p", Name: "s", ID: "None"}, given, nil)
	if err != nil {
		return nil, err
	}
	if err := p.Validate(true, nil); err != nil {
		return nil, err
	}
	if err := p.ValidateGroups(); err != nil {
		return nil, err
	}
	s, err := hot.Bind(t, p, hot.Surroundings{Files: map[string]string{"f.txt": "text", "f.json": `{"a": 1}`}})
	if err != nil {
		return nil, err
	}
	for _, r := range s.Resources() {
		if _, err := (&hot.Registry{}).Find(r.Type, r.Name, types{}); err != nil {
			return nil, err
		}
	}
	if err := s.Validate(nil); err != nil {
		return s, err
	}
	for _, r := range s.Resources() {
		// The other type looks at no property.
		if r.Type == "OS::Heat::Value" {
			if _, err := r.Properties(hot.Nothing); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

var line = regexp.MustCompile(` \(line \d+\)$`)

func refusal(err error) verdict {
	return verdict{Class: hot.Class(err), Message: line.ReplaceAllString(hot.Said(err), "")}
}

// meant are the kinds of differences that are meant, and why.
var meant = []struct {
	name, why string
	fits      func(theirs, ours verdict) bool
}{
	{"a key twice", "Refused here; the original silently takes the last one.", func(theirs, ours verdict) bool {
		return strings.Contains(ours.Message, "found the duplicate key")
	}},
	{"a value that holds itself", "Refused here; the original makes what it can of it.", func(_, ours verdict) bool {
		return strings.Contains(ours.Message, "stands inside what it names")
	}},
	{"a broken original", "The original ends with an exception of its language, a 500; here it is bad input with the place, or taken.",
		func(theirs, _ verdict) bool { return theirs.broken() }},
	{"the text of the parser", "Both refuse the text as no YAML; the parsers word it differently.", func(theirs, ours verdict) bool {
		return theirs.Class == hot.ValueError && ours.Class == hot.ValueError && strings.HasPrefix(theirs.Message, "Error parsing template")
	}},
	{"the order of what is wrong", "Both refuse the template, for different faults in it: it has more than one.",
		func(theirs, ours verdict) bool {
			return theirs.Class != "" && ours.Class != "" && theirs.Message != ours.Message && !similar(theirs.Message, ours.Message)
		}},
	{"how a circle is written", "The names of the circle in order, instead of Python's sets.", func(theirs, ours verdict) bool {
		return theirs.Class == hot.Circular && ours.Class == hot.Circular
	}},
	{"a word of Python", "The same fault in other words, or names of a set in another order.", func(theirs, ours verdict) bool {
		return theirs.Class == ours.Class && ours.Class != "" && similar(theirs.Message, ours.Message)
	}},
}

// broken says whether a verdict is an exception that the original's API answers
// with 500.
func (v verdict) broken() bool {
	return v.Class != "" && !v.Known && v.Class != hot.ValueError
}

// similar says whether two texts begin alike.
func similar(a, b string) bool {
	return len(a) > 12 && len(b) > 12 && a[:12] == b[:12]
}

// same says whether two verdicts are the same, through JSON.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil {
		return false
	}
	v, errX := value.ParseJSON(string(x))
	w, errY := value.ParseJSON(string(y))
	return errX == nil && errY == nil && value.Equal(v, w)
}

// compare says how our verdict differs from theirs: "" if it doesn't.
func compare(theirs, ours verdict) string {
	switch {
	case theirs.Class == "" && ours.Class == "":
		if !same(theirs.Parameters, ours.Parameters) {
			return fmt.Sprintf("parameters: %s, not %s", value.JSON(ours.Parameters, false), text(theirs.Parameters))
		}
		if !same(theirs.Requires, ours.Requires) {
			return fmt.Sprintf("requires: %v, not %v", ours.Requires, theirs.Requires)
		}
		for name, their := range theirs.Outputs {
			if our := ours.Outputs[name]; our.Class != their.Class || !same(our.Value, their.Value) {
				return fmt.Sprintf("output %s: %s %s, not %s %s", name, our.Class, text(our.Value), their.Class, text(their.Value))
			}
		}
		return ""
	case theirs.Class == ours.Class && theirs.Message == ours.Message:
		return ""
	}
	return fmt.Sprintf("%s: %s\n  not %s: %s", ours.Class, ours.Message, theirs.Class, theirs.Message)
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestVerdicts(t *testing.T) {
	templates, err := filepath.Glob("../../internal/hot/testdata/templates/*")
	if err != nil {
		t.Fatal(err)
	}
	judge(t, append([]string{mutants, seed, "cases.txt", "yaql.yaml"}, templates...)...)
}

// publicTemplates is where public.sh puts what public.txt lists.
const publicTemplates = "../../.dev/public-templates"

// Templates that anybody may read, of four repositories.
func TestPublicTemplates(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "./public.sh", publicTemplates).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list, err := os.ReadFile("public.txt")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"0", "public"}
	for _, line := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		args = append(args, filepath.Join(publicTemplates, line[strings.LastIndex(line, " ")+1:]+".yaml"))
	}
	judge(t, args...)
}

// judge has both give their verdicts, and tells where those differ.
func judge(t *testing.T, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), venv.Program(t, "heat", "python"), append([]string{"verdicts.py"}, args...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	answers, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, value.Clip(stderr.String(), 2000))
	}
	counts := map[string]int{}
	taken, refused := 0, 0
	lines := bufio.NewScanner(bytes.NewReader(answers))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c struct {
			Name, Text string
			Given      map[string]any
			Verdict    verdict
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		given, _ := value.Of(c.Given).(*value.Map)
		ours := ask(c.Text, given)
		if ours.Class == "" {
			taken++
		} else {
			refused++
		}
		difference := compare(c.Verdict, ours)
		if difference == "" {
			counts["the same"]++
			continue
		}
		i := slices.IndexFunc(meant, func(m struct {
			name, why string
			fits      func(theirs, ours verdict) bool
		}) bool {
			return m.fits(c.Verdict, ours)
		})
		if i < 0 {
			t.Errorf("%s: %s\n%s", c.Name, difference, c.Text)
			continue
		}
		counts[meant[i].name]++
		t.Logf("meant, %s: %s: %s", meant[i].name, c.Name, value.Clip(difference, 500))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("| templates | taken here | refused here | the same verdict, text and values |")
	t.Logf("| --- | --- | --- | --- |")
	t.Logf("| %d | %d | %d | %d |", taken+refused, taken, refused, counts["the same"])
	t.Logf("| difference | templates | why |")
	t.Logf("| --- | --- | --- |")
	for _, m := range meant {
		t.Logf("| %s | %d | %s |", m.name, counts[m.name], m.why)
	}
}
