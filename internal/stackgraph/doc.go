// Package stackgraph draws a stack: its resources, what each of them needs, how far
// each is and how long that took, and the stacks nested in it. Read reads what is drawn;
// a drawing is a text, and the same graph gives the same text.
package stackgraph
