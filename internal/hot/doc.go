// Package hot is the template language: HOT in every version, and the two CFN
// formats. It reads templates and environments, checks them, works functions
// out and says which resource needs which.
//
//	Parse, New            text or a request's map to a Template            read.go scalars.go template.go versions.go
//	NewParameters         values, defaults, schemas, constraints, groups   parameters.go schema.go constraints.go groups.go
//	ParseEnvironment      environments, merged, and the resource registry  environment.go registry.go merge.go
//	Bind                  a template with its parameters: a Stack          stack.go conditions.go resources.go outputs.go
//	Stack.Graph, Wanted   which resource needs which, and what of it       dependencies.go, package graph
//	Properties, Value     functions worked out                             call.go functions_*.go, package yaql
//
// It promises:
//
//   - The original's verdict, text and class of error, with the line at the end
//     where text was read, and with the path of a function that can't be worked
//     out where the original has none. Error.Class is the name that clients match
//     on, and every Error is bad input (faults.Invalid). The exceptions: duplicate
//     keys of a map, infinite numbers and NUL characters are refused, and an error
//     that the original answers with 500 is one of bad input too.
//   - Bounded time and memory for any input: characters, depth, values (with
//     aliases expanded), steps and bytes of a resolution, work and time of a
//     regular expression, and yaql's own budget. What is beyond is an Error.
//   - Nothing is changed once it is made, so a Template, Parameters and a Stack
//     may be used by several goroutines.
//
// It is pure: no I/O, no clock but the deadline of a regular expression, no
// goroutines. What it needs to know of the world comes through interfaces:
// Attributes (the resources that exist), Schemas (the types of resources),
// Constraints (whether a flavor or an image is there), and Types (which types
// there are).
//
// activities resolves properties and outputs with the Attributes of the moment;
// api/orchestration validates, and shows parameters, outputs and versions;
// workflows/stack sees package graph alone.
package hot
