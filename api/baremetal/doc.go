// Package baremetal is the Bare Metal API, as Ironic has it: routes.go is the
// table of its operations, fields.go what clients of which version see of each
// resource and may say of it, list.go the lists, patch.go JSON patches, faults.go
// the words of its faults, and one file per noun its story.
//
// Nodes belong to projects, as owner or lessee. To a project that is neither, a
// node isn't there: 404, never 403.
//
// Handlers read and write PostgreSQL. What a secret in driver_info or
// instance_info says is sealed before it is stored (node_secrets.go).
package baremetal
