// Package hosts is what the control plane knows of hosts: it answers what they
// say over internal/hostlink from the rows of internal/store/compute and the
// debts of internal/engine, and is given to hostlink.Handler as its Registry.
//
// Each answer is one transaction or one statement. Liveness is not decided
// here: it is last_seen, looked at when somebody asks.
package hosts

import (
	"context"
	"encoding/json"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/numa"
	"holdfast.dev/internal/pci"
	"holdfast.dev/internal/provider"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// Registry implements hostlink.Registry.
type Registry struct {
	db     *store.DB
	engine *engine.Engine
}

var _ hostlink.Registry = (*Registry)(nil)

// New makes the registry of a database's hosts.
func New(db *store.DB, e *engine.Engine) *Registry { return &Registry{db, e} }

// Register notes who the host is; see compute.RegisterHost for what is refused.
func (r *Registry) Register(ctx context.Context, hostID string, in hostlink.Registration) (hostlink.Answer, error) {
	report, err := reportOf(in.Report)
	if err != nil {
		return hostlink.Answer{}, err
	}
	err = r.db.InTx(ctx, func(tx store.Tx) error {
		return compute.RegisterHost(ctx, tx, compute.Registration{
			ID: hostID, Name: in.Name, Incarnation: in.Report.Incarnation, Instance: in.Instance,
			Driver: in.Driver, AvailabilityZone: in.AvailabilityZone, LinkAddress: in.LinkAddress, Report: report,
		})
	})
	if err != nil {
		return hostlink.Answer{}, err
	}
	return r.answer(ctx, hostID)
}

// Heartbeat notes that the host lives, and what it has. Errors: NotFound, it
// has to register; Superseded, a newer incarnation has.
func (r *Registry) Heartbeat(ctx context.Context, hostID string, in hostlink.Report) (hostlink.Answer, error) {
	report, err := reportOf(in)
	if err != nil {
		return hostlink.Answer{}, err
	}
	if err := compute.Heartbeat(ctx, r.db.Pool, hostID, in.Incarnation, report); err != nil {
		return hostlink.Answer{}, err
	}
	return r.answer(ctx, hostID)
}

func (r *Registry) answer(ctx context.Context, hostID string) (hostlink.Answer, error) {
	debts, err := r.engine.Debts(ctx, r.db.Pool, hostID)
	if err != nil {
		return hostlink.Answer{}, err
	}
	debts = debts[:min(len(debts), hostlink.MaxDebts)]
	answer := hostlink.Answer{Debts: make([]hostlink.Debt, len(debts))}
	for i, d := range debts {
		answer.Debts[i] = hostlink.Debt{OperationID: d.OperationID, Seq: d.Seq, Kind: string(d.Kind), Ref: d.Ref,
			Generation: d.Generation, Attempt: d.Attempt}
	}
	answer.Images, err = compute.WantedImages(ctx, r.db.Pool, hostID)
	return answer, err
}

// Paid settles a debt and gives back the room that was owed with it. Errors:
// NotFound, the debt has moved to another operation.
func (r *Registry) Paid(ctx context.Context, hostID, operationID string, seq int) error {
	return r.db.InTx(ctx, func(tx store.Tx) error {
		return compute.PayDebt(ctx, tx, r.engine, hostID, operationID, seq)
	})
}

// ImageSettled asks the host for an image no longer.
func (r *Registry) ImageSettled(ctx context.Context, hostID, imageID string) error {
	return compute.SettleImage(ctx, r.db.Pool, hostID, imageID)
}

// Leave forgets the host. Errors: Conflict, servers or claims are on it.
func (r *Registry) Leave(ctx context.Context, hostID string) error {
	return r.db.InTx(ctx, func(tx store.Tx) error {
		_, err := compute.GetHost(ctx, tx, hostID)
		if faults.Is(err, faults.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return compute.DeleteHost(ctx, tx, hostID)
	})
}

// inventory is what compute.hosts keeps of a report beyond the capacity.
type inventory struct {
	Details   json.RawMessage               `json:"details,omitempty"`
	NUMA      *numa.Host                    `json:"numa,omitempty"`
	Devices   []pci.Device                  `json:"devices,omitempty"`
	Resources map[string]provider.Inventory `json:"resources,omitempty"`
	Traits    []string                      `json:"traits,omitempty"`
	Uptime    string                        `json:"uptime,omitempty"`
	Guests    []hostlink.Guest              `json:"guests"`
	Steps     []string                      `json:"steps"`
}

func reportOf(in hostlink.Report) (compute.Report, error) {
	if err := (provider.Have{Inventories: in.Resources, Traits: in.Traits}).Check(); err != nil {
		return compute.Report{}, err
	}
	data, err := json.Marshal(inventory{Details: in.Details, NUMA: in.NUMA, Devices: in.Devices, Resources: in.Resources, Traits: in.Traits, Uptime: in.Uptime, Guests: in.Guests, Steps: in.Steps})
	if err != nil {
		return compute.Report{}, faults.Wrap(err, faults.Invalid, "InvalidReport", "the report can't be kept")
	}
	return compute.Report{VCPUs: in.VCPUs, MemoryMB: in.MemoryMB, DiskGB: in.DiskGB, Inventory: data}, nil
}
