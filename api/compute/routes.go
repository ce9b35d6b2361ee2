package compute

// The table of operations (contracts/compute/operations.json).

import (
	"context"
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/store"
)

// Engine is what the handlers ask of internal/engine.
type Engine interface {
	Accept(context.Context, store.Tx, engine.Request) (engine.Accepted, error)
}

// Starter is offered operations that have been accepted; it never blocks.
type Starter interface {
	Offer(operationID string)
}

// API is the compute service.
type API struct {
	DB      *store.DB
	Engine  Engine
	Starter Starter
	// Policy holds the service's rules (schemas/policies/compute.yaml).
	Policy rest.Enforcer
	// HostDownAfter is the silence after which a host counts as down.
	HostDownAfter time.Duration
	// MaxPageSize is the most servers on a page.
	MaxPageSize int
}

// Versions are the microversions served (contracts: microversions.json).
var Versions = microversion.Scheme{
	Service: "compute",
	Legacy:  "X-OpenStack-Nova-API-Version",
	Min:     microversion.V(2, 1),
	Max:     microversion.V(2, 104),
	Default: microversion.V(2, 1),
}

// Service makes the service for rest.New.
func (a *API) Service() *rest.Service {
	return &rest.Service{
		Name:          "compute",
		Prefix:        "/v2.1",
		ProjectInPath: true,
		Versions:      &Versions,
		Faults:        novaFaults,
		Policy:        a.Policy,
		Operations:    a.operations(),
	}
}

func (a *API) operations() []rest.Operation {
	return []rest.Operation{
		{Method: "GET", Path: "/servers", Policy: "os_compute_api:servers:index", Success: 200, Handler: a.listServers},
		{Method: "POST", Path: "/servers", Policy: "os_compute_api:servers:create", Success: 202, Handler: a.createServer},
		{Method: "GET", Path: "/servers/detail", Policy: "os_compute_api:servers:detail", Success: 200, Handler: a.listServersDetail},
		{Method: "GET", Path: "/servers/{id}", Policy: "os_compute_api:servers:show", Success: 200, Handler: a.showServer},
		{Method: "DELETE", Path: "/servers/{id}", Policy: "os_compute_api:servers:delete", Success: 204, Handler: a.deleteServer},
	}
}

// offer hands an accepted operation to the starter, if it may start now.
func (a *API) offer(accepted engine.Accepted) {
	if accepted.Startable {
		a.Starter.Offer(accepted.OperationID)
	}
}
