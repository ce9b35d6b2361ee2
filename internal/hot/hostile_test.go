package hot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
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
			if _, err := resolve(living{}); err != nil {
				return err
			}
		}
	}
	for _, o := range s.Outputs() {
		if _, err := o.Value(living{}); err != nil {
			return err
		}
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

// laughs names each list ten times in the next one.
func laughs() string {
	var b strings.Builder
	b.WriteString(wallaby + "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

// output is a template with one output.
func output(v string) string { return wallaby + "outputs: {o: {value: " + v + "}}" }

func pattern(p, v string) string {
	return wallaby + "parameters: {p: {type: string, default: '" + v + "', constraints: [allowed_pattern: '" + p + "']}}"
}

// chain is conditions of which each needs the two before it.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(wallaby + "conditions:\n  c0: true\n  c1: true\n")
	for i := 2; i < n; i++ {
		fmt.Fprintf(&b, "  c%d: {and: [c%d, c%d]}\n", i, i-1, i-2)
	}
	fmt.Fprintf(&b, "resources: {r: {type: T, condition: c%d}}\n", n-1)
	return b.String()
}

// dense is resources of which each needs all before it.
func dense(n int) string {
	var b strings.Builder
	b.WriteString(wallaby + "resources:\n  r0: {type: T}\n")
	for i := 1; i < n; i++ {
		names := make([]string, i)
		for j := range names {
			names[j] = fmt.Sprintf("r%d", j)
		}
		fmt.Fprintf(&b, "  r%d: {type: T, depends_on: [%s]}\n", i, strings.Join(names, ", "))
	}
	return b.String()
}

// numbers is a list in YAML of n numbers as texts.
func numbers(n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat("'1',", n), ",") + "]"
}

func TestBombs(t *testing.T) {
	lists := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "'%%%d%%': %s, ", i, numbers(size))
		}
		return "{" + strings.TrimSuffix(b.String(), ", ") + "}"
	}
	for name, text := range map[string]string{
		"aliases":             laughs(),
		"merges":              strings.ReplaceAll(strings.ReplaceAll(laughs(), "[", "{<<: ["), "]", "]}"),
		"lists":               wallaby + "outputs: " + strings.Repeat("[", 200_000),
		"closed lists":        wallaby + "outputs: " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
		"maps":                wallaby + "outputs: " + strings.Repeat("{a: ", 100_000),
		"blocks":              wallaby + "outputs:\n  " + strings.Repeat("- ", 200_000) + "x",
		"JSON":                `{"heat_template_version": "wallaby", "outputs": ` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "}",
		"question marks":      wallaby + strings.Repeat("? ", 200_000),
		"anchors":             wallaby + strings.Repeat("&a ", 100_000),
		"quotes":              wallaby + strings.Repeat("\"", 400_000),
		"documents":           wallaby + strings.Repeat("---\n", 100_000),
		"directives":          strings.Repeat("%TAG ! x\n", 50_000),
		"a giant list":        output("[" + strings.Repeat("1,", 250_000) + "1]"),
		"too giant a list":    output("[" + strings.Repeat("1,", 300_000) + "1]"),
		"giant keys":          wallaby + "resources: {" + strings.Repeat("a", 400_000) + ": 5}",
		"many keys":           wallaby + "resources:\n" + strings.Repeat("  a: 1\n", 70_000),
		"a giant number":      output(strings.Repeat("9", 400_000)),
		"a giant hexadecimal": output("0x" + strings.Repeat("f", 400_000)),
		"a giant time":        output("1" + strings.Repeat(":59", 100_000)),
		"repeat":              output("{repeat: {for_each: " + lists(8, 100) + ", template: x}}"),
		"a repeat of texts":   output("{repeat: {for_each: " + lists(1, 5000) + ", template: '" + strings.Repeat("%0%", 50_000) + "'}}"),
		"repeats in repeats":  output(strings.Repeat("{repeat: {for_each: {'%a%': [a, b, c, d]}, template: ", 20) + "'%a%'" + strings.Repeat("}}", 20)),
		"replacements":        output("{str_replace: {template: '" + strings.Repeat("a", 200_000) + "', params: {a: '" + strings.Repeat("b", 200_000) + "'}}}"),
		"replaced again":      output(strings.Repeat("{str_replace: {params: {a: aaaaaaaaaaaaaaaa}, template: ", 20) + "a" + strings.Repeat("}}", 20)),
		"joins":               output("{list_join: ['" + strings.Repeat("x", 100_000) + "', " + numbers(50_000) + "]}"),
		"unique":              output("{list_concat_unique: [" + numbers(60_000) + "]}"),
		"filter":              output("{filter: [" + numbers(30_000) + ", " + strings.ReplaceAll(numbers(30_000), "1", "2") + "]}"),
		"conditions":          chain(5000),
		"dependencies":        dense(400),
		"ifs":                 output(strings.Repeat("{if: [true, ", 40) + "1" + strings.Repeat("]}", 40)),
		"an expression":       pattern("(a+)+$", strings.Repeat("a", 40_000)+"!"),
		"one of repeats":      pattern("((a{0,100}){0,100}){0,100}b", strings.Repeat("a", 40_000)),
		"one with lookaround": pattern("(?=(a+)+b)a", strings.Repeat("a", 40_000)),
		"a long one":          pattern(strings.Repeat("a?", 100_000), "a"),
		"yaql":                output("{yaql: {expression: '$.data.select($.len())" + strings.Repeat(" + $.data", 50) + "', data: " + numbers(190) + "}}"),
		"yaql, deep":          output("{yaql: {expression: '" + strings.Repeat("(", 10_000) + "'}}"),
		"yaql, long":          output("{yaql: {expression: '" + strings.Repeat("1 + ", 50_000) + "1'}}"),
		"cases":               wallaby + strings.Repeat("\u2028", 100_000),
		"control characters":  wallaby + strings.Repeat("\x00\x01", 10_000),
	} {
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
		"aliases":   strings.Replace(laughs(), wallaby, "", 1),
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
	paths, err := filepath.Glob("testdata/templates/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%v, %v", paths, err)
	}
	texts := []string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
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

// scraps are what a mutation puts in.
var scraps = []string{"5", "[]", "{}", "null", "true", "-", ": ", "x", "'", "\"", "{get_resource: net}", "{get_param: nope}", "{get_attr: [a]}",
	"{if: [x, 1]}", "&a", "*a", "<<: ", "!!int x", "\t", "\n", "|", ">", "1e400", ".nan", "~", "#", "%", "@", "{equals: [1, 1]}", "9999999999999999999",
	"{Ref: x}", "\u0000", "\u2028", "é", "0x", "1:2:3", "---\n", "...\n"}

// mutant changes a text a few times.
func mutant(random *rand.Rand, texts []string) string {
	text := texts[random.IntN(len(texts))]
	for range 1 + random.IntN(4) {
		lines := strings.SplitAfter(text, "\n")
		at := random.IntN(len(lines))
		switch random.IntN(9) {
		case 0:
			lines = slices.Delete(lines, at, at+1)
		case 1:
			lines = slices.Insert(lines, at, lines[random.IntN(len(lines))])
		case 2:
			other := random.IntN(len(lines))
			lines[at], lines[other] = lines[other], lines[at]
		case 3:
			lines[at] = strings.Repeat(" ", random.IntN(8)) + strings.TrimLeft(lines[at], " ")
		case 4:
			lines = lines[:at]
		case 5:
			others := strings.SplitAfter(texts[random.IntN(len(texts))], "\n")
			lines = append(lines[:at], others[random.IntN(len(others)):]...)
		default:
			line := []rune(lines[at])
			if len(line) == 0 {
				continue
			}
			from := random.IntN(len(line))
			to := min(len(line), from+random.IntN(6))
			lines[at] = string(line[:from]) + scraps[random.IntN(len(scraps))] + string(line[to:])
		}
		text = strings.Join(lines, "")
	}
	return text
}

// Whatever is done to a template, there is a verdict: none is a crash, takes
// for ever, or says what a user can't be told.
func TestMutants(t *testing.T) {
	texts := seeds(t)
	random := rand.New(rand.NewPCG(4, 27))
	valid := 0
	for i := range 5000 {
		text := mutant(random, texts)
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
