package workers

// What OpenStack services owe: undos that could not be made while one was down.
// They are tried again until they are.

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

// ServiceDebts pays what services owe. Control workers run it beside the queue;
// two of them paying the same debt do no harm.
type ServiceDebts struct {
	DB     *store.DB
	Engine *engine.Engine
	// Pay has who can pay for each kind of effect at a service.
	Pay map[operations.EffectKind]func(context.Context, engine.Debt) error
	// Every is the time between two rounds; zero is 30 s.
	Every time.Duration
	Log   *slog.Logger
}

// Run pays until ctx ends.
func (s ServiceDebts) Run(ctx context.Context) {
	if s.Every == 0 {
		s.Every = debtsEvery
	}
	every(ctx, s.Every, func() { s.round(ctx) })
}

// round tries each debt once. One that can't be paid holds up no other.
func (s ServiceDebts) round(ctx context.Context) {
	debts, err := s.Engine.Debts(ctx, s.DB.Pool, "")
	if err != nil {
		if ctx.Err() == nil {
			s.Log.WarnContext(ctx, "the debts of services can't be read", "error", redact.Text(err.Error()))
		}
		return
	}
	for _, d := range debts {
		pay, ok := s.Pay[d.Kind]
		if !ok || ctx.Err() != nil {
			continue
		}
		log := s.Log.With("operation", d.OperationID, "server", d.Ref, "kind", string(d.Kind))
		if err := pay(ctx, d); err != nil {
			log.WarnContext(ctx, "a service still owes", "error", redact.Text(err.Error()))
			continue
		}
		log.InfoContext(ctx, "a service has paid")
	}
}
