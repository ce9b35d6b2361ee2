package workers

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/operations"
)

// Volumes that are copied hold up no other debt, are copied once at a time, and only so
// many at once; they have the time that it takes.
func TestCopiesArePaidBeside(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan string, 10), make(chan struct{})
	var mu sync.Mutex
	var reported []string
	p := &payer{
		log: slog.New(slog.DiscardHandler),
		pay: func(ctx context.Context, d libvirt.Debt) error {
			until, _ := ctx.Deadline()
			if left := time.Until(until); (left > payTime) != (d.Kind == operations.EffectSwapped) {
				t.Errorf("%s has %s", d.Kind, left)
			}
			if d.Kind != operations.EffectSwapped {
				return nil
			}
			begun <- d.Device
			<-goOn
			return nil
		},
		report: func(_ context.Context, d hostlink.Debt) error {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, d.Ref)
			return nil
		},
	}
	var debts []hostlink.Debt
	for _, ref := range strings.Fields("a b c d e") {
		debts = append(debts, hostlink.Debt{OperationID: "server/s/swap-volume/" + ref, Kind: string(operations.EffectSwapped), Ref: ref})
	}
	guest := hostlink.Debt{OperationID: "server/s/delete/g", Kind: string(operations.EffectGuest), Ref: "g"}
	for range 2 {
		if unpaid := p.payAll(t.Context(), append(debts, guest)); unpaid != len(debts) {
			t.Errorf("%d are unpaid", unpaid)
		}
	}
	var copied []string
	for range maxCopies {
		copied = append(copied, <-begun)
	}
	mu.Lock()
	if !slices.Equal(reported, []string{"g", "g"}) {
		t.Errorf("paid while volumes are copied: %v", reported)
	}
	mu.Unlock()
	close(goOn)
	p.copies.wait.Wait()
	p.payAll(t.Context(), debts[maxCopies:])
	copied = append(copied, <-begun)
	p.copies.wait.Wait()
	slices.Sort(copied)
	slices.Sort(reported)
	if !slices.Equal(copied, strings.Fields("a b c d e")) || !slices.Equal(reported, strings.Fields("a b c d e g g")) || len(begun) > 0 {
		t.Errorf("copied %v, paid %v, %d more begun", copied, reported, len(begun))
	}
}
