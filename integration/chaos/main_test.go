// Package chaos kills things under load and asks for the four promises
// afterwards (DESIGN section 1): what was accepted has happened, once; nothing
// is stuck; what was cancelled has left nothing behind.
package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/testenv"
)

const patience = cloud.Patience

func TestMain(m *testing.M) {
	testenv.Waiting(3) // for what was killed to be given up
	cloud.Main(m)
}

// seeds are those of this run: one by itself, more by HOLDFAST_TEST_SEEDS.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	n := 1
	if text := os.Getenv("HOLDFAST_TEST_SEEDS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("HOLDFAST_TEST_SEEDS is %q, not a number of seeds", text)
		}
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i + 1)
	}
	return all
}

// between draws a time from a range.
func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// createAll makes a server of each name, all at the same time, each after its
// own pause, and gives their ids when the last has been accepted.
func createAll(ctx context.Context, c *cloud.Cloud, names []string, pause func(i int) time.Duration) (ids []string, err error) {
	ids = make([]string, len(names))
	errs := make(chan error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wait := pause(i)
		wg.Go(func() {
			time.Sleep(wait)
			id, err := c.CreateSurely(ctx, cloud.Flavor, name)
			if err != nil {
				errs <- fmt.Errorf("create %s: %w", name, err)
			}
			ids[i] = id
		})
	}
	wg.Wait()
	close(errs)
	return ids, <-errs
}

func atOnce(int) time.Duration { return 0 }

func numbered(word string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", word, i)
	}
	return names
}

// allAre waits until every server has the status, "" for gone.
func allAre(t *testing.T, c *cloud.Cloud, ids []string, status string, within time.Duration) {
	t.Helper()
	c.Eventually(fmt.Sprintf("all %d servers are %q", len(ids), status), within, func(ctx context.Context) error {
		for _, id := range ids {
			if err := c.Is(ctx, id, status); err != nil {
				return err
			}
		}
		return nil
	})
}

// once fails the test unless the hosts have exactly one guest of each server,
// and no other.
func once(t *testing.T, c *cloud.Cloud, ids []string) {
	t.Helper()
	guests := c.Guests()
	for _, id := range ids {
		if guests[id] != 1 {
			t.Errorf("server %s has %d guests, want 1", id, guests[id])
		}
		delete(guests, id)
	}
	if len(guests) > 0 {
		t.Errorf("guests that nobody asked for: %v", guests)
	}
}

// onlyOnce fails the test unless exactly one server has each name.
func onlyOnce(t *testing.T, c *cloud.Cloud, names []string) {
	t.Helper()
	for _, name := range names {
		if made, err := c.Named(t.Context(), name); err != nil || len(made) != 1 {
			t.Errorf("%d servers are called %s, want 1: %v", len(made), name, err)
		}
	}
}
