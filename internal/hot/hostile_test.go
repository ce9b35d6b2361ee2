package hot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/hottest"
	"holdfast.dev/internal/hot/value"
)

// everything does all that is ever done with a template.
func everything(text string, given *value.Map) error {
	tmpl, err := Parse(text, "", Limits{})
	if err != nil {
		return err
	}
	if err := tmpl.Validate(); err != nil {
		return err
	}
	p, err := NewParameters(tmpl, Identity{"p", "s", "i"}, given, nil)
	if err != nil {
		return err
	}
	if err := p.Validate(true, anything{}); err != nil {
		return err
	}
	if err := p.ValidateGroups(); err != nil {
		return err
	}
	s, err := Bind(tmpl, p, Surroundings{Files: map[string]string{"f": "text"}})
	if err != nil {
		return err
	}
	if err := s.Validate(nil); err != nil {
		return err
	}
	return resolveAll(s)
}

// anything is a service that has everything.
type anything struct{}

func (anything) Known(string) bool       { return true }
func (anything) Check(string, any) error { return nil }

// living are resources that are there, with any attribute.
type living struct{ nothing }

func (living) State(string) (string, string)                { return "CREATE", "COMPLETE" }
func (living) Attribute(string, string, []any) (any, error) { return "x", nil }

func resolveAll(s *Stack) error {
	s.Wanted()
	for _, param := range s.Parameters.All() {
		param.Describe()
		if _, err := param.Text(); err != nil {
			return err
		}
	}
	for _, r := range s.Resources() {
		for _, resolve := range []func(Attributes) (*value.Map, error){r.Properties, r.Metadata, r.UpdatePolicy} {
			made, err := resolve(living{})
			if err != nil {
				return err
			}
			if err := writable(made); err != nil {
				return err
			}
		}
	}
	valueOf := s.Values(living{})
	var all []any
	for _, o := range s.Outputs() {
		v, err := valueOf(o)
		if err != nil {
			return err
		}
		all = append(all, v)
	}
	return writable(all)
}

// writable says whether what was made can be written down: nothing is many times longer
// than it is in memory.
func writable(made any) error {
	if length := len(value.JSON(made, false)); length > 64<<20 {
		return fmt.Errorf("%d bytes were made", length)
	}
	return nil
}

// patience is far longer than any of this takes on a quiet machine.
const patience = 20 * time.Second

// bounded says what is wrong with how something went: it took too long, or the
// error isn't one that a user can be shown.
func bounded(text string, run func() error) string {
	begin := time.Now()
	err := run()
	if took := time.Since(begin); took > patience {
		return fmt.Sprintf("it took %s", took)
	}
	if err == nil {
		return ""
	}
	class := Class(err)
	var own *Error
	switch {
	case class == "":
		return "the error has no class: " + err.Error()
	case errors.As(err, &own) && !faults.Is(err, faults.Invalid):
		return "the error is no bad input: " + err.Error()
	case own != nil && own.Line > strings.Count(text, "\n")+1:
		return fmt.Sprintf("line %d of %d: %s", own.Line, strings.Count(text, "\n")+1, err)
	case len(err.Error()) > 2*len(text)+10_000:
		return fmt.Sprintf("the error has %d bytes", len(err.Error()))
	}
	return ""
}

func TestBombs(t *testing.T) {
	for name, text := range hottest.Bombs() {
		begin := time.Now()
		if why := bounded(text, func() error { return everything(text, nil) }); why != "" {
			t.Errorf("%s: %s", name, value.Clip(why, 500))
		}
		t.Logf("%s: %s", name, time.Since(begin).Round(time.Millisecond))
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if memory.Sys > 1<<30 {
		t.Errorf("%d MB were taken from the system", memory.Sys>>20)
	}
}

// wide are resources of which each has long lists for attributes.
type wide struct{ living }

func (wide) Attribute(string, string, []any) (any, error) {
	return slices.Repeat([]any{"x"}, 1000), nil
}

// A value that is read of resources is as long as it is written, however often it is
// read: or each resource that reads another a thousand times would be a thousand times
// as long.
func TestAttributesAreCounted(t *testing.T) {
	s := mustBind(t, wallaby+"resources:\n  a: {type: T}\n  b: {type: T, properties: {x: ["+strings.Repeat("{get_attr: [a, b]}, ", 1000)+"]}}\n", "{}")
	const why = "Property error: resources.b.properties.x: Request limit exceeded: The functions of the template take more than 500000 steps (line 4)"
	if _, err := s.Resource("b").Properties(wide{}); err == nil || err.Error() != why {
		t.Errorf("%v", err)
	}
}

func TestEnvironmentBombs(t *testing.T) {
	var wild strings.Builder
	wild.WriteString("resource_registry:\n")
	for i := range 5000 {
		fmt.Fprintf(&wild, "  'A%d*': 'A%d*'\n", i%10, (i+1)%10)
		fmt.Fprintf(&wild, "  'B%d': B%d\n", i, i+1)
	}
	var many strings.Builder
	many.WriteString("resource_registry:\n  resources:\n")
	for i := range 4_000 {
		fmt.Fprintf(&many, "    '*a%d?': {hooks: pre-create}\n", i)
	}
	for name, text := range map[string]string{
		"many":      many.String(),
		"aliases":   strings.Replace(hottest.Laughs(), wallaby, "", 1),
		"nesting":   "resource_registry: " + strings.Repeat("{a: ", 50_000),
		"wildcards": wild.String(),
		"patterns":  "resource_registry: {resources: {'" + strings.Repeat("*a", 2000) + "': {hooks: pre-create}}}",
		"unclosed":  "resource_registry: {resources: {'" + strings.Repeat("[", 20_000) + "': {hooks: pre-create}}}",
	} {
		if why := bounded(text, func() error {
			e, err := ParseEnvironment(text)
			if err != nil {
				return err
			}
			for range 100 { // a resource is looked up over and over
				e.Registry.HasHook(strings.Repeat("a", 10_000), "pre-create")
			}
			_, err = e.Registry.Find("B0", "r", nil)
			return err
		}); why != "" {
			t.Errorf("%s: %s", name, value.Clip(why, 500))
		}
	}
}

// seeds are the templates that are mutated.
func seeds(t testing.TB) []string {
	t.Helper()
	texts, err := hottest.Seeds()
	if err != nil || len(texts) == 0 {
		t.Fatalf("%v, %v", texts, err)
	}
	return texts
}

func TestSeeds(t *testing.T) {
	for _, text := range seeds(t) {
		given := &value.Map{}
		if strings.Contains(text, "  image:") {
			given.Set("image", "cirros")
		}
		if err := everything(text, given); err != nil {
			t.Errorf("%s: %v", value.Clip(text, 60), err)
		}
	}
}

// Whatever is done to a template, there is a verdict: none is a crash, takes
// for ever, or says what a user can't be told.
func TestMutants(t *testing.T) {
	texts := seeds(t)
	random := rand.New(rand.NewPCG(4, 27))
	valid := 0
	for i := range 5000 {
		text := hottest.Mutant(random, texts)
		var verdict error
		if why := bounded(text, func() error {
			verdict = everything(text, value.NewMap("image", "cirros"))
			if Class(verdict) == ParameterUnknown {
				verdict = everything(text, nil)
			}
			return verdict
		}); why != "" {
			t.Errorf("mutant %d: %s\n%s", i, why, text)
		}
		if verdict == nil {
			valid++
		}
	}
	if valid < 100 || valid > 4500 {
		t.Errorf("%d of 5000 mutants are valid: the mutations are too weak or too strong", valid)
	}
	t.Logf("%d of 5000 mutants are valid", valid)
}

func FuzzTemplate(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if why := bounded(text, func() error { return everything(text, nil) }); why != "" {
			t.Error(why)
		}
	})
}
