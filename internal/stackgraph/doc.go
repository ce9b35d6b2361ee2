// Package stackgraph draws a stack: its resources, what each of them needs, how far
// each is, and the stacks nested in it. It is pure: what it draws it is given, a
// drawing is a text (Dot, Mermaid, SVG), and the same graph gives the same text.
package stackgraph
