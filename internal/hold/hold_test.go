package hold_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hold"
)

func TestNoFolderHoldsNothing(t *testing.T) {
	t.Parallel()
	if err := hold.Points("").At(t.Context(), "r", "p"); err != nil {
		t.Error(err)
	}
}

func TestHeldUntilReleased(t *testing.T) {
	t.Parallel()
	for _, ordered := range []string{"r", hold.Any} {
		t.Run(ordered, func(t *testing.T) {
			t.Parallel()
			p := hold.Points(t.TempDir())
			must(t, p.Order(ordered, "p"))
			must(t, p.At(t.Context(), "r", "another"))
			done := make(chan error, 1)
			go func() { done <- p.At(t.Context(), "r", "p") }()
			for here := false; !here; {
				time.Sleep(time.Millisecond)
				var err error
				if here, err = p.Here("r", "p"); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case err := <-done:
				t.Fatalf("it went on with the order there: %v", err)
			default:
			}
			must(t, p.Release(ordered))
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := hold.Points(t.TempDir())
	must(t, p.Order("r", "p"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.At(ctx, "r", "p"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFailsOnce(t *testing.T) {
	t.Parallel()
	p := hold.Points(t.TempDir())
	must(t, p.Fail("r", "p"))
	must(t, p.At(t.Context(), "r", "another"))
	must(t, p.At(t.Context(), "another", "p"))
	if failed, err := p.Failed("r", "p"); err != nil || failed {
		t.Errorf("nothing came there, and it has failed: %v, %v", failed, err)
	}
	if err := p.At(t.Context(), "r", "p"); !faults.Is(err, faults.Invalid) {
		t.Errorf("got %v", err)
	}
	if failed, err := p.Failed("r", "p"); err != nil || !failed {
		t.Errorf("it came there, and has failed: %v, %v", failed, err)
	}
	must(t, p.At(t.Context(), "r", "p"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
