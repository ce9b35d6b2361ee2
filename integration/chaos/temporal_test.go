package chaos

// Temporal is away, or has forgotten everything.

import (
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

// What is accepted while Temporal is down happens when it is back.
func TestTemporalDownAtRequest(t *testing.T) {
	t.Parallel()
	c := cloud.Start(t, cloud.Options{})
	old := c.MustCreate("old")
	allAre(t, c, []string{old}, "ACTIVE", time.Minute)

	c.Kill(cloud.Temporal)
	young := c.MustCreate("young")
	if err := c.Delete(t.Context(), old); err != nil {
		t.Fatalf("delete without Temporal: %v", err)
	}
	if s, err := c.Show(t.Context(), young); err != nil || s.Status != "BUILD" {
		t.Errorf("without Temporal the new server is %q, %v; want BUILD", s.Status, err)
	}
	if s, err := c.Show(t.Context(), old); err != nil || s.Task != "deleting" {
		t.Errorf("without Temporal the old server's task is %q, %v; want deleting", s.Task, err)
	}

	c.Restart(cloud.Temporal)
	allAre(t, c, []string{young}, "ACTIVE", time.Minute)
	allAre(t, c, []string{old}, "", time.Minute)
	c.Audit()
	once(t, c, []string{young})
}

// Temporal's databases are dropped with twenty builds and twenty deletes in
// flight. All of them end, and no server is there twice.
func TestTemporalDatabasesLost(t *testing.T) {
	t.Parallel()
	slow := "build.disk=700ms,build.start=700ms,destroy.stop=700ms,destroy.undefine=700ms"
	c := cloud.Start(t, cloud.Options{Delay: slow})
	old, err := createAll(t.Context(), c, numbered("old", 20), atOnce)
	if err != nil {
		t.Fatal(err)
	}
	allAre(t, c, old, "ACTIVE", time.Minute)

	names := numbered("young", 20)
	young, err := createAll(t.Context(), c, names, func(i int) time.Duration { return time.Duration(i) * 50 * time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range old {
		if err := c.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	c.LoseTemporal()
	if report, err := c.Report(t.Context()); err != nil || report.Unfinished < 20 {
		t.Errorf("%d operations were in flight, want 20 at least: %v", report.Unfinished, err)
	}
	c.Restart(cloud.Temporal)

	allAre(t, c, young, "ACTIVE", 2*time.Minute)
	allAre(t, c, old, "", 2*time.Minute)
	onlyOnce(t, c, names)
	c.Audit()
	once(t, c, young)
}
