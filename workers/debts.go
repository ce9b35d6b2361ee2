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

// payTime bounds one payment, as the step libvirt.Destroy is bounded, copyTime one that
// may have to copy a volume first, as libvirt.UndoSwap is.
const (
	payTime  = 5 * time.Minute
	copyTime = 12 * time.Hour
)

// maxCopies is how many volumes are copied at once.
const maxCopies = 4

// payer pays a host's debts one after the other, and beside them those for which a
// volume may have to be copied.
type payer struct {
	pay    func(context.Context, libvirt.Debt) error
	report func(context.Context, hostlink.Debt) error
	log    *slog.Logger
	copies beside[hostlink.Debt]
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

// payAll pays every debt and says so, and gives the number of those that stay or whose
// payment has only been begun. A payment whose report is lost is listed again and costs
// nothing then.
func (p *payer) payAll(ctx context.Context, debts []hostlink.Debt) (unpaid int) {
	for _, d := range debts {
		if operations.EffectKind(d.Kind) == operations.EffectSwapped {
			unpaid++
			// It holds up no other; one that finds too many under way is listed again.
			p.copies.begin(d, maxCopies, func() { p.paid(ctx, d, copyTime) })
		} else if !p.paid(ctx, d, payTime) {
			unpaid++
		}
	}
	return unpaid
}

func (p *payer) paid(ctx context.Context, d hostlink.Debt, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := p.payOne(ctx, d); err != nil {
		p.log.WarnContext(ctx, "a debt stays unpaid", "operation", d.OperationID, "kind", d.Kind, "resource", d.Ref, "error", err)
		return false
	}
	p.log.InfoContext(ctx, "a debt is paid", "operation", d.OperationID, "kind", d.Kind, "resource", d.Ref)
	return true
}

func (p *payer) payOne(ctx context.Context, d hostlink.Debt) error {
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
