// Package resourcetype is what is known of types of resources without asking
// anybody: their properties, attributes and support, as schemas/resources has
// them.
//
//	Load, All, Find      the types of this release           load.go
//	Type.Check           properties of a template, resolved  check.go
//	Property.value       one value, made of its type         values.go
//	REST                 how a service's API makes them      rest.go
//	Scope                the expressions of that             expression.go
//
// It promises the original's verdicts and texts on properties, and values of
// the declared types with defaults filled in. It is pure.
//
// api/orchestration validates and shows types by it; activities/resources has
// what each type does.
package resourcetype
