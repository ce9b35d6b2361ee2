package libvirt_test

// The fence: who is let in, who is told to leave, what is remembered.

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast.dev/activities/libvirt"
	"holdfast.dev/activities/libvirt/simulated"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

func build(generation int64, attempt int) steps.BuildIn {
	return steps.BuildIn{Token: token(generation, attempt), Spec: spec()}
}

// The order of tokens, over a restart of the worker between any two.
func TestFenceOrder(t *testing.T) {
	t.Parallel()
	undo := func(generation int64, attempt int) steps.Token {
		u := token(generation, attempt)
		u.Step = "undo"
		return u
	}
	for _, c := range []struct {
		name        string
		first, then steps.Token
		refused     bool
	}{
		{"same", token(2, 1), token(2, 1), false},
		{"next generation", token(2, 2), token(3, 1), false},
		{"next attempt", token(2, 1), token(2, 2), false},
		{"undo of the same attempt", token(2, 1), undo(2, 1), false},
		{"older generation", token(2, 1), token(1, 9), true},
		{"older attempt", token(2, 2), token(2, 1), true},
		{"the attempt that is undone", undo(2, 1), token(2, 1), true},
		{"undo of an older attempt", token(2, 2), undo(2, 1), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i, tok := range []steps.Token{c.first, c.then} {
				_, err := host(t, dir, simulated.Options{}).Destroy(context.Background(), steps.DestroyIn{Token: tok})
				refused := i == 1 && c.refused
				if faults.Is(err, faults.Superseded) != refused || !refused && err != nil {
					t.Fatalf("%+v after %+v: %v, want refused %v", tok, c.first, err, refused)
				}
			}
		})
	}
}

// A newer owner ends the step of an older one that is at work, and has the
// server only when that has left.
func TestNewerEndsOlder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	began := make(chan struct{})
	a := host(t, dir, simulated.Options{Delay: "build.start=hang", OnStep: func(_, step string) {
		if step == "build.start" {
			close(began)
		}
	}})
	older := make(chan error, 1)
	go func() {
		_, err := a.Build(context.Background(), build(1, 1))
		older <- err
	}()
	<-began
	if _, err := a.Destroy(context.Background(), steps.DestroyIn{Token: token(2, 1)}); err != nil {
		t.Fatal(err)
	}
	if err := <-older; !faults.Is(err, faults.Superseded) {
		t.Errorf("the older build: %v, want superseded", err)
	}
	actNamed("destroy").check(t, dir)
}

// A driver that doesn't look at its context is stopped at the line that can't
// be taken back.
func TestConfirmStopsOlder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := &stubborn{inBuild: make(chan struct{}), goOn: make(chan struct{})}
	a, err := libvirt.New(libvirt.Options{Driver: d, StateDir: dir, Heartbeat: func(context.Context) {}})
	if err != nil {
		t.Fatal(err)
	}
	older, newer := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := a.Build(context.Background(), build(1, 1))
		older <- err
	}()
	<-d.inBuild
	go func() {
		_, err := a.Destroy(context.Background(), steps.DestroyIn{Token: token(2, 1)})
		newer <- err
	}()
	for { // until the fence is raised
		if data, err := os.ReadFile(filepath.Join(dir, "fences", serverID+".json")); err == nil && holds(data, `"generation":2`) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	close(d.goOn)
	if err := <-older; !faults.Is(err, faults.Superseded) {
		t.Errorf("the older build: %v, want superseded", err)
	}
	if err := <-newer; err != nil {
		t.Errorf("the newer destroy: %v", err)
	}
	if d.crossed {
		t.Error("the older build crossed the line")
	}
}

func holds(data []byte, text string) bool {
	for i := range len(data) - len(text) + 1 {
		if string(data[i:i+len(text)]) == text {
			return true
		}
	}
	return false
}

type stubborn struct {
	libvirt.Driver
	inBuild, goOn chan struct{}
	crossed       bool
}

func (d *stubborn) Build(_ context.Context, _ steps.ServerSpec, confirm libvirt.Confirm) (libvirt.Guest, error) {
	close(d.inBuild)
	<-d.goOn
	if err := confirm(); err != nil {
		return libvirt.Guest{}, err
	}
	d.crossed = true
	return libvirt.Guest{}, nil
}

func (*stubborn) Destroy(_ context.Context, _ string, confirm libvirt.Confirm) error {
	return confirm()
}

// What a debt does to the guest, by who came after it was made.
func TestDebts(t *testing.T) {
	t.Parallel()
	debt := libvirt.Debt{OperationID: "op", ServerID: serverID, Generation: 2, Attempt: 1}
	destroy := func(generation int64) func(context.Context, *libvirt.Activities) error {
		return func(ctx context.Context, a *libvirt.Activities) error {
			_, err := a.Destroy(ctx, steps.DestroyIn{Token: token(generation, 1)})
			return err
		}
	}
	make := func(generation int64) func(context.Context, *libvirt.Activities) error {
		return func(ctx context.Context, a *libvirt.Activities) error {
			_, err := a.Build(ctx, build(generation, 1))
			return err
		}
	}
	for _, c := range []struct {
		name   string
		before []func(context.Context, *libvirt.Activities) error
		fails  string // a sub-step at which every destroy fails until the debt is paid
		after  string // the act whose end state is expected
	}{
		{name: "nothing was made", after: "destroy"},
		{name: "made and not removed", before: []func(context.Context, *libvirt.Activities) error{make(2)}, after: "debt"},
		{name: "a newer owner built it again", before: []func(context.Context, *libvirt.Activities) error{make(3)}, after: "build"},
		{name: "removed by a newer owner", before: []func(context.Context, *libvirt.Activities) error{make(2), destroy(3)}, after: "destroy"},
		// recover undoes under its own, higher generation, and then owes.
		{name: "a newer owner failed to remove it", before: []func(context.Context, *libvirt.Activities) error{make(2), destroy(3)},
			fails: "destroy.stop", after: "debt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, dir := context.Background(), t.TempDir()
			o := simulated.Options{}
			if c.fails != "" {
				o.Fail = c.fails + "=unavailable"
			}
			a := host(t, dir, o)
			for _, f := range c.before {
				if err := f(ctx, a); err != nil && !(c.fails != "" && faults.Is(err, faults.Unavailable)) {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := host(t, dir, simulated.Options{}).Pay(ctx, debt); err != nil {
					t.Fatal(err)
				}
			}
			actNamed(c.after).check(t, dir)
		})
	}
}

// Fences of guests that are gone don't pile up, and not one that matters goes.
func TestSweepFences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := host(t, dir, simulated.Options{})
	if _, err := a.Build(context.Background(), build(1, 1)); err != nil {
		t.Fatal(err)
	}
	other := steps.Token{ServerID: "aaaaaaaa-2222-4333-8444-555555555555", Generation: 1}
	fresh := steps.Token{ServerID: "bbbbbbbb-2222-4333-8444-555555555555", Generation: 1}
	for _, tok := range []steps.Token{other, fresh} {
		if _, err := a.Destroy(context.Background(), steps.DestroyIn{Token: tok}); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-49 * time.Hour)
	for _, id := range []string{serverID, other.ServerID} {
		if err := os.Chtimes(filepath.Join(dir, "fences", id+".json"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.SweepFences([]libvirt.Guest{{ServerID: serverID}}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{serverID: true, other.ServerID: false, fresh.ServerID: true} {
		if _, err := os.Stat(filepath.Join(dir, "fences", id+".json")); (err == nil) != want {
			t.Errorf("fence of %s: %v, want it kept: %v", id, err, want)
		}
	}
}

// A host makes no more guests at once than it may; a destroy doesn't wait.
func TestBuildsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	driver, err := simulated.New(simulated.Options{StateDir: dir, Delay: "build.image=hang"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := libvirt.New(libvirt.Options{Driver: driver, StateDir: dir, Builds: 1, Heartbeat: func(context.Context) {}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	for _, id := range []string{"aaaaaaaa-2222-4333-8444-555555555555", "bbbbbbbb-2222-4333-8444-555555555555"} {
		go func() {
			in := build(1, 1)
			in.Token.ServerID, in.Spec.ServerID = id, id
			_, err := a.Build(ctx, in)
			done <- err
		}()
	}
	if _, err := a.Destroy(ctx, steps.DestroyIn{Token: token(1, 1)}); err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 2 {
		if err := <-done; err != context.Canceled {
			t.Errorf("build: %v, want cancelled", err)
		}
	}
}
