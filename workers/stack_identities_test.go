package workers_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/store/compute/computetest"
	"holdfast.dev/internal/store/orchestration"
	"holdfast.dev/workers"
)

// What Keystone knows of stacks that aren't there is ended and forgotten, each by what it
// is known by; what can't be ended stays, and keeps nothing else.
func TestStackIdentities(t *testing.T) {
	t.Parallel()
	db := computetest.Open(t)
	stack, asked := uuid.NewString(), map[string]time.Time{}
	for _, trustor := range []string{"heard", "unheard", "stubborn"} {
		goodUntil, err := orchestration.AskTrust(t.Context(), db.Pool, trustor)
		if err != nil {
			t.Fatal(err)
		}
		asked[trustor] = goodUntil
	}
	if err := orchestration.InsertTrust(t.Context(), db.Pool, stack, "given", asked["heard"]); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(), `INSERT INTO orchestration.user_projects (stack_id, name) VALUES ($1, 'users')`, stack); err != nil {
		t.Fatal(err)
	}
	var ended []string
	i := workers.StackIdentities{DB: db, Log: slog.New(slog.DiscardHandler),
		EndTrust: func(_ context.Context, id string) error {
			ended = append(ended, "trust "+id)
			return nil
		},
		EndTrustUntil: func(_ context.Context, trustor string, goodUntil time.Time) error {
			if ended = append(ended, "of "+trustor); !goodUntil.Equal(asked[trustor]) {
				t.Errorf("the trust of %s is good until %s, want %s", trustor, goodUntil, asked[trustor])
			}
			if trustor == "stubborn" {
				return errors.New("not allowed")
			}
			return nil
		},
	}
	for _, want := range [][]string{{"of stubborn", "of unheard", "trust given"}, {"of stubborn"}, {"of stubborn", "project users"}} {
		ended = nil
		if err := i.Once(t.Context()); err == nil {
			t.Error("nothing is said of the one that can't be ended")
		}
		if slices.Sort(ended); !slices.Equal(ended, want) {
			t.Errorf("ended are %v, want %v", ended, want)
		}
		if len(want) == 1 { // from then on somebody may
			i.EndProject = func(_ context.Context, name, id string) error {
				ended = append(ended, "project "+name+id)
				return nil
			}
		}
	}
}
