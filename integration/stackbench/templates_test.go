package stackbench

// The templates of what is measured.

import (
	"fmt"
	"strings"
)

// flat is a template of resources that do nothing, each after the one before where it
// is a chain.
func flat(n int, chain bool) map[string]any {
	return map[string]any{"template": leaves(n, chain)}
}

func leaves(n int, chain bool) string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2021-04-16\nresources:\n")
	for i := range n {
		after := ""
		if chain && i > 0 {
			after = fmt.Sprintf(", depends_on: r%d", i-1)
		}
		fmt.Fprintf(&b, "  r%d: {type: OS::Heat::None%s}\n", i, after)
	}
	return b.String()
}

// nested has stacks in a stack.
func nested(n, each int) map[string]any {
	var b strings.Builder
	b.WriteString("heat_template_version: 2021-04-16\nresources:\n")
	for i := range n {
		fmt.Fprintf(&b, "  r%d: {type: leaf.yaml}\n", i)
	}
	return map[string]any{"template": b.String(), "files": map[string]string{"leaf.yaml": leaves(each, false)}}
}

// huge is a template of 500 kB.
func huge() string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2021-04-16\nresources:\n")
	for i := 0; b.Len() < 500_000; i++ {
		fmt.Fprintf(&b, "  r%d: {type: OS::Heat::Value, properties: {value: {str_replace: {template: 'name-%d', params: {name: {get_attr: [r%d, value]}}}}}}\n", i, i, max(0, i-1))
	}
	return strings.Replace(b.String(), "{get_attr: [r0, value]}", "first", 1)
}
