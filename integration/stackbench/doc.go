// Package stackbench measures stacks: flat ones of 100, 1,000 and 5,000 resources
// that do nothing, a chain of 500, 200 nested ones of 10, the validation of a template
// of 500 kB and a list of 10,000 stacks; and what the control worker takes of memory.
//
// `make bench-stacks` leaves the figures in docs/results/bench-stacks.md. They are
// figures, never assertions; what fails or is wrong fails the run.
package stackbench
