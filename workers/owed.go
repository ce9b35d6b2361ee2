package workers

// What OpenStack services and nodes' BMCs owe: undos that could not be made while one
// was down. They are tried again until they are.

import (
	"context"
	"log/slog"
	"time"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/redact"
	"holdfast.dev/internal/store"
)

// debtsEvery is the time between two rounds.
const debtsEvery = 30 * time.Second

// Debts pays what is owed under a name. Control workers run it beside their queue
// for services, conductors for the BMCs of their group; two of them paying the same
// debt do no harm.
type Debts struct {
	DB     *store.DB
	Engine *engine.Engine
	// Of is the name: empty for services, the queue of a group of conductors.
	Of string
	// Pay has who can pay for each kind of effect.
	Pay map[operations.EffectKind]func(context.Context, engine.Debt) error
	// Every is the time between two rounds; zero is 30 s.
	Every time.Duration
	Log   *slog.Logger
}

// Run pays until ctx ends.
func (d Debts) Run(ctx context.Context) {
	if d.Every == 0 {
		d.Every = debtsEvery
	}
	every(ctx, d.Every, func() { d.round(ctx) })
}

// round tries each debt once. One that can't be paid holds up no other.
func (d Debts) round(ctx context.Context) {
	all, err := d.Engine.Debts(ctx, d.DB.Pool, d.Of)
	if err != nil {
		if ctx.Err() == nil {
			d.Log.WarnContext(ctx, "debts can't be read", "error", redact.Text(err.Error()))
		}
		return
	}
	for _, one := range all {
		pay, ok := d.Pay[one.Kind]
		if !ok || ctx.Err() != nil {
			continue
		}
		log := d.Log.With("operation", one.OperationID, "kind", string(one.Kind), "resource", one.Ref)
		if err := pay(ctx, one); err != nil {
			log.WarnContext(ctx, "a debt stays unpaid", "error", redact.Text(err.Error()))
			continue
		}
		log.InfoContext(ctx, "a debt is paid")
	}
}
