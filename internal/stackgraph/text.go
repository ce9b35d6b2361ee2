package stackgraph

// Drawings that another program lays out, and one for terminals.

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Dot writes the graph as Graphviz reads it. An edge leads from what is needed to what
// needs it; a stack in the stack is a cluster around the resource that it is.
func Dot(w io.Writer, g *Graph) error {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph stack {\n  graph [label=%s, labelloc=t, rankdir=LR, fontname=\"sans-serif\"];\n", dotText(g.Name+"\n"+g.State))
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n")
	g.dot(&b, "  ")
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *Graph) dot(b *strings.Builder, indent string) {
	for _, n := range g.Nodes {
		l := lookOf(n.State)
		within := indent
		if n.Nested != nil {
			fmt.Fprintf(b, "%ssubgraph cluster_%d {\n%s  label=%s;\n", indent, n.ID, indent, dotText(n.Nested.Name))
			within += "  "
		}
		fmt.Fprintf(b, "%sr%d [label=%s, fillcolor=%q, color=%q];\n", within, n.ID, dotText(strings.Join(n.lines(), "\n")), l.fill, l.line)
		if n.Nested != nil {
			n.Nested.dot(b, within)
			fmt.Fprintf(b, "%s}\n", indent)
		}
	}
	for _, n := range g.Nodes {
		for _, need := range n.Needs {
			fmt.Fprintf(b, "%sr%d -> r%d;\n", indent, need.ID, n.ID)
		}
	}
}

var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func dotText(text string) string { return `"` + dotEscapes.Replace(text) + `"` }

// Mermaid writes the graph as Mermaid reads it, as pages of Markdown do. A stack in the
// stack is a subgraph, which is the resource too.
func Mermaid(w io.Writer, g *Graph) error {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %q\n---\nflowchart LR\n", g.Name+": "+g.State)
	g.mermaid(&b, "  ")
	for _, l := range looks {
		fmt.Fprintf(&b, "  classDef %s fill:%s,stroke:%s\n", l.class, l.fill, l.line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *Graph) mermaid(b *strings.Builder, indent string) {
	for _, n := range g.Nodes {
		label := mermaidText(n.lines()...)
		if n.Nested != nil && len(n.Nested.Nodes) > 0 {
			fmt.Fprintf(b, "%ssubgraph r%d[%s]\n", indent, n.ID, label)
			n.Nested.mermaid(b, indent+"  ")
			fmt.Fprintf(b, "%send\n%sclass r%d %s\n", indent, indent, n.ID, lookOf(n.State).class)
			continue
		}
		fmt.Fprintf(b, "%sr%d[%s]:::%s\n", indent, n.ID, label, lookOf(n.State).class)
	}
	for _, n := range g.Nodes {
		for _, need := range n.Needs {
			fmt.Fprintf(b, "%sr%d --> r%d\n", indent, need.ID, n.ID)
		}
	}
}

// mermaidEscapes has no text be markup: what isn't a letter or a number and means
// something there is written by its number.
var mermaidEscapes = strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "&", "#amp;", "`", "#96;", "\n", " ")

func mermaidText(lines ...string) string {
	for i, line := range lines {
		lines[i] = mermaidEscapes.Replace(line)
	}
	return `"` + strings.Join(lines, "<br/>") + `"`
}

// Text writes the graph as lines: each resource after what it needs, those of a stack in
// the stack indented below the resource that it is, and last how the stack is.
func Text(w io.Writer, g *Graph) error {
	var b strings.Builder
	g.text(&b, "")
	fmt.Fprintf(&b, "%s: %s\n", clean(g.Name), g.State)
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *Graph) text(b *strings.Builder, indent string) {
	for _, n := range g.Nodes {
		fmt.Fprintf(b, "%s%s  %s  %s", indent, clean(n.Name), clean(n.Type), n.progress())
		for i, need := range n.Needs {
			b.WriteString([]string{"  needs ", ", "}[min(i, 1)])
			b.WriteString(clean(need.Name))
		}
		b.WriteByte('\n')
		if n.Nested != nil {
			n.Nested.text(b, indent+"  ")
		}
	}
}

// clean is a text without what would move a terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
