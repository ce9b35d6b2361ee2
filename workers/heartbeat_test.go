package workers_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"holdfast.dev/internal/store/compute"
	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/workers"
)

// A control worker is heard of as two services, again and again.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	ctx, stop := context.WithTimeout(t.Context(), deadline)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		workers.Heartbeat(db, "control-1", 50*time.Millisecond, slog.New(slog.DiscardHandler))(ctx)
	}()
	defer func() { stop(); <-ended }()
	seen := func() (names []string, last time.Time) {
		services, err := compute.ListServices(t.Context(), db.Pool, "", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range services {
			names = append(names, fmt.Sprint(s.Host, " ", s.Binary, " ", s.Up(0)))
			last = *s.LastSeen
		}
		return names, last
	}
	var first time.Time
	for {
		names, last := seen()
		if len(names) > 0 {
			if got, want := fmt.Sprint(names), "[control-1 nova-conductor true control-1 nova-scheduler true]"; got != want {
				t.Fatalf("services %s, want %s", got, want)
			}
		}
		if first.IsZero() {
			first = last
		} else if last.After(first) {
			return
		}
		if ctx.Err() != nil {
			t.Fatal("it is heard of once only")
		}
		time.Sleep(20 * time.Millisecond)
	}
}
