package orchestration

import (
	"time"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store"
)

// API is the orchestration service.
type API struct {
	DB      *store.DB
	Engine  *engine.Engine
	Starter Starter
	Policy  Policy
	Secrets *secrets.Box
	// Types are the types of resources that there are.
	Types *resourcetype.Registry
	// Trusts has users trust us; nil is nobody.
	Trusts Trusts
	// Templates reads what requests name by URL; nil is nothing.
	Templates *Templates
	// Signers say who has signed a request; nil is nobody. SignedURL is where guests
	// reach the CloudFormation API; empty takes it from the request.
	Signers   Signers
	SignedURL string
	// MaxStacks bounds the stacks of a project, MaxConfigs its software configs,
	// MaxResources the resources of a stack; less than 0 is no bound.
	MaxStacks, MaxConfigs, MaxResources int
	// MaxSnapshots bounds the snapshots of a stack; less than 0 is no bound.
	MaxSnapshots int
	// ReportInterval is the time between two heartbeats of a control worker.
	ReportInterval time.Duration
	// Abandon allows stacks to be exported, and deleted without what they have made.
	Abandon bool
	// Adopt allows stacks to be made of what is there already.
	Adopt bool
	// MaxPageSize bounds what a list gives at a time.
	MaxPageSize int
}

// Starter is told of operations that may start.
type Starter interface {
	Offer(operationID string)
	Knock(operationID string)
}

// maxBody is the original's max_json_body_size.
const maxBody = 1 << 20

// Service is the API as api/rest serves it.
func (a *API) Service() *rest.Service {
	return &rest.Service{
		Name: "orchestration", Mount: "/orchestration", Prefix: "/v1",
		Operations: a.operations(), Policy: heatRules{a.Policy}, Faults: heatFaults, MaxBody: maxBody, Tokens: a.tokens,
	}
}

// heatRules are rules with the original's words of refusal.
type heatRules struct{ rest.Enforcer }

// Check implements rest.Enforcer.
func (h heatRules) Check(creds policy.Credentials, rule string, target map[string]any) error {
	err := h.Enforcer.Check(creds, rule, target)
	if faults.Is(err, faults.Forbidden) {
		return faults.New(faults.Forbidden, "Forbidden", "You are not authorized to use %s.", rule)
	}
	return err
}

func (a *API) offer(accepted engine.Accepted) {
	if accepted.Startable {
		a.Starter.Offer(accepted.OperationID)
	}
}
