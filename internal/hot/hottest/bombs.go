package hottest

// Bombs: small texts that ask for much.

import (
	"fmt"
	"strings"
)

// Laughs names each list ten times in the next one.
func Laughs() string {
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

// many is a text n times, with its number.
func many(n int, text string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, text, i)
	}
	return b.String()
}

// Bombs are templates by what is too much of them. Some are good after all.
func Bombs() map[string]string {
	lists := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "'%%%d%%': %s, ", i, numbers(size))
		}
		return "{" + strings.TrimSuffix(b.String(), ", ") + "}"
	}
	return map[string]string{
		"aliases":             Laughs(),
		"merges":              strings.ReplaceAll(strings.ReplaceAll(Laughs(), "[", "{<<: ["), "]", "]}"),
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
		"a parameter":         wallaby + "parameters: {p: {type: comma_delimited_list, default: '" + strings.Repeat("x,", 100_000) + "'}}\noutputs: {o: {value: [" + strings.Repeat("{get_param: p}, ", 15_000) + "1]}}",
		"outputs":             wallaby + "parameters: {p: {type: comma_delimited_list, default: '" + strings.Repeat("x,", 100_000) + "'}}\noutputs:\n" + many(7000, "  o%d: {value: {get_param: p}}\n"),
		"values":              output("{map_replace: [{" + many(15_000, "k%d: v, ") + "z: v}, {values: {v: " + numbers(50_000) + "}}]}"),
		"yaql in yaql":        output(strings.Repeat("{yaql: {expression: 'let(d => $.data) -> range(190).select($d)', data: ", 8) + "x" + strings.Repeat("}}", 8)),
		"cases":               wallaby + strings.Repeat("\u2028", 100_000),
		"control characters":  wallaby + strings.Repeat("\x00\x01", 10_000),
	}
}
