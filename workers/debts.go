package workers

// Paying what a host owes.

import (
	"context"
	"log/slog"
	"time"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/operations"
)

// payTime bounds one payment, as the step libvirt.Destroy is bounded.
const payTime = 5 * time.Minute

// payer pays a host's debts one after the other.
type payer struct {
	pay    func(context.Context, libvirt.Debt) error
	report func(context.Context, hostlink.Debt) error
	log    *slog.Logger
}

// run pays the lists it gets until ctx ends.
func (p *payer) run(ctx context.Context, lists <-chan []hostlink.Debt) {
	for {
		select {
		case <-ctx.Done():
			return
		case debts := <-lists:
			p.payAll(ctx, debts)
		}
	}
}

// payAll pays every debt and says so, and gives the number of those that stay.
// A payment whose report is lost is listed again and costs nothing then.
func (p *payer) payAll(ctx context.Context, debts []hostlink.Debt) (unpaid int) {
	for _, d := range debts {
		if err := p.payOne(ctx, d); err != nil {
			unpaid++
			p.log.WarnContext(ctx, "a debt stays unpaid", "operation", d.OperationID, "kind", d.Kind, "resource", d.Ref, "error", err)
		} else {
			p.log.InfoContext(ctx, "a debt is paid", "operation", d.OperationID, "kind", d.Kind, "resource", d.Ref)
		}
	}
	return unpaid
}

func (p *payer) payOne(ctx context.Context, d hostlink.Debt) error {
	ctx, cancel := context.WithTimeout(ctx, payTime)
	defer cancel()
	owed := libvirt.Debt{Kind: operations.EffectKind(d.Kind), OperationID: d.OperationID, ServerID: d.Ref, Generation: d.Generation, Attempt: d.Attempt}
	switch owed.Kind {
	case operations.EffectGuest, operations.EffectRescue, operations.EffectHalt, operations.EffectSnapshotFile,
		operations.EffectStarted, operations.EffectResized, operations.EffectAside:
	case operations.EffectDevice, operations.EffectSwapped:
		_, owed.ServerID, _, _ = operations.ParseID(d.OperationID)
		owed.Device = d.Ref
	default:
		return errUnknownDebt
	}
	if err := p.pay(ctx, owed); err != nil {
		return err
	}
	return p.report(ctx, d)
}

// errUnknownDebt: a newer control plane lists what this release can't undo.
var errUnknownDebt = faults.New(faults.Internal, "UnknownEffect", "this release can't pay a debt of this kind")
