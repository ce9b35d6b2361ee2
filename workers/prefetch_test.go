package workers

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
)

// Few images are got at once, each once at a time; what can't be had is given up, and what
// was cut short is still wanted.
func TestPrefetch(t *testing.T) {
	t.Parallel()
	begun, goOn := make(chan string, 10), make(chan error)
	var mu sync.Mutex
	var settled []string
	p := &prefetcher{
		log: slog.New(slog.DiscardHandler),
		get: func(ctx context.Context, id string) error {
			begun <- id
			select {
			case err := <-goOn:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		settled: func(_ context.Context, id string) error {
			mu.Lock()
			defer mu.Unlock()
			settled = append(settled, id)
			return errors.New("the API is away") // it lists the image again
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	images := []string{"a", "b", "c"}
	for range 2 {
		p.begin(ctx, images)
	}
	got := []string{<-begun, <-begun}
	goOn <- errors.New("no such image")
	goOn <- nil
	p.under.wait.Wait()
	slices.Sort(got)
	slices.Sort(settled)
	if want := images[:2]; !slices.Equal(got, want) || !slices.Equal(settled, want) || len(begun) > 0 {
		t.Errorf("got %v, settled %v, %d more begun, want %v", got, settled, len(begun), want)
	}
	p.begin(ctx, images[2:])
	<-begun
	stop()
	p.under.wait.Wait()
	if len(settled) != 2 {
		t.Errorf("settled %v, and the last was cut short", settled)
	}
}
