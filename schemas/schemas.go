// Package schemas embeds what data looks like: the SQL migrations, and per
// service the request schemas, default policies and resource types.
package schemas

import "embed"

// Migrations are the goose migrations, in migrations/.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Policies are the services' default rules, in policies/<service>.yaml.
//
//go:embed policies/*.yaml
var Policies embed.FS

// ComputeRequests are the compute service's schemas of bodies and queries, for
// validation.Load (generated: schemas/internal/generate).
//
//go:embed compute/requests.json
var ComputeRequests []byte

// Resources are the types of resources of the orchestration service, in
// resources/<type>.yaml.
//
//go:embed resources/*.yaml
var Resources embed.FS

// BaremetalBodies are the bare metal service's schemas of bodies, by name
// (generated: schemas/internal/generate).
//
//go:embed baremetal/bodies.json
var BaremetalBodies []byte
