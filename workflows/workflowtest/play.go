package workflowtest

// The stories of a package with worlds around a Model: told undisturbed, and with
// each incident at each call, and on a real Temporal server.

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Workflows are those of a package, by kind.
type Workflows = map[operations.Kind]func(workflow.Context, steps.Ref) error

// Play is a package's stories.
type Play[W Modelled] struct {
	Workflows Workflows
	Scenes    []Scene[W]
	// Strikes are incidents beside those of every model, at steps that aren't records.
	Strikes []Strike
	// Allowed says whether an operation that would have ended as plain may end so
	// after an incident at a call of a step. What ends as it would have is not asked.
	Allowed func(w W, s Strike, step, plain, end string) bool
}

// Scene is a world to tell its story in, and how it ends undisturbed.
type Scene[W Modelled] struct {
	Name  string
	World func() W
	Ends  string
}

// everywhere are the incidents of every call, elsewhere those of steps that aren't
// records: no step on our own rows fails for good.
var (
	everywhere = []Strike{
		{Name: "fails three times", Times: 3, Do: Fails(errBusy)},
		{Name: "the answer is lost", After: true, Do: Fails(errBusy)},
		{Name: "fails until given up", Times: serviceTries, Do: Fails(errBusy)},
		{Name: "fails until given up though it acted", Times: serviceTries, After: true, Do: Fails(errBusy)},
		{Name: "cancelled by row", Do: CancelledByRow},
		{Name: "cancelled by row afterwards", After: true, Do: CancelledByRow},
		{Name: "cancelled by Temporal", Do: CancelledByTemporal},
		{Name: "cancelled by Temporal afterwards", After: true, Do: CancelledByTemporal},
		{Name: "superseded", Do: superseded},
		{Name: "superseded afterwards", After: true, Do: superseded},
		{Name: "the workflow is lost", Do: loses},
		{Name: "the workflow is lost afterwards", After: true, Do: loses},
		{Name: "knocks", Do: func(w Modelled) error { w.model().env.SignalWorkflow(steps.Knock, nil); return nil }},
		{Name: "continues as new", After: true, Do: ContinuesAsNew},
	}
	elsewhere = []Strike{
		{Name: "fails for good", Do: Fails(errInvalid)},
		{Name: "fails for good though it acted", After: true, Do: Fails(errInvalid)},
	}
)

// Fails answers a call with an error.
func Fails(err error) func(Modelled) error { return func(Modelled) error { return err } }

// CancelledByRow is a cancel that Temporal isn't told of, CancelledByTemporal one
// that it is.
func CancelledByRow(w Modelled) error { w.model().CancelRequested = true; return nil }

// CancelledByTemporal is CancelledByRow, and the workflow hears of it at once.
func CancelledByTemporal(w Modelled) error {
	w.model().CancelRequested = true
	w.model().env.CancelWorkflow()
	return nil
}

// ContinuesAsNew has Temporal say that the history is long enough.
func ContinuesAsNew(w Modelled) error { w.model().env.SetContinueAsNewSuggested(true); return nil }

// Knock sends the workflow a knock.
func Knock(w Modelled, of steps.Knocked) { w.model().env.SignalWorkflow(steps.Knock, of) }

func superseded(w Modelled) error {
	m := w.model()
	m.foreign = true
	m.frozen = w.String()
	return nil
}

func loses(w Modelled) error { w.model().lost = true; return errSuperseded }

// Every tells each story undisturbed, and with each incident at each call.
func (p Play[W]) Every(t *testing.T) {
	for _, scene := range p.Scenes {
		t.Run(scene.Name, func(t *testing.T) {
			t.Parallel()
			plain := p.Told(t, scene.World())
			if plain.End() != scene.Ends {
				t.Fatalf("it ended as %q, want %q; calls %v", plain.End(), scene.Ends, plain.model().Calls)
			}
			for at, step := range plain.model().Calls {
				strikes := everywhere
				if !strings.HasPrefix(step, "records.") {
					strikes = append(append(strikes[:len(strikes):len(strikes)], elsewhere...), p.Strikes...)
				}
				for _, s := range strikes {
					s.At = at
					t.Run(fmt.Sprintf("%02d %s: %s", at, step, s.Name), func(t *testing.T) { p.disturbed(t, scene, s, step) })
				}
			}
		})
	}
}

// Told gives the world after its story was told in it once.
func (p Play[W]) Told(t *testing.T, w W) W {
	t.Helper()
	_ = Tell(t, p.Workflows, w) // checked there against the operation's row
	check(t, w)
	return w
}

// maxRuns bounds how often a workflow is started from nothing, or continues as new.
const maxRuns = 20

func (p Play[W]) disturbed(t *testing.T, scene Scene[W], s Strike, step string) {
	w := scene.World()
	m := w.model()
	m.Strike = s
	err := Tell(t, p.Workflows, w)
	for runs := 0; runs < maxRuns && (m.lost || workflow.IsContinueAsNewError(err)); runs++ {
		m.lost, m.Strike = false, Strike{}
		err = Tell(t, p.Workflows, w)
	}
	if m.foreign {
		if now := w.String(); now != m.frozen {
			t.Errorf("something was touched after another operation took over:\n%s\nwas\n%s", now, m.frozen)
		}
		return
	}
	check(t, w)
	if end := w.End(); end != scene.Ends && !p.Allowed(w, s, step, scene.Ends, end) {
		t.Errorf("it ended as %q, undisturbed as %q; calls %v", end, scene.Ends, m.Calls)
	}
}

// Recital is a story that is told on a real server.
type Recital[W Modelled] struct {
	World func() W
	// Cancel is the call at which it is cancelled, if that is more than 0: in the row,
	// and by Temporal too unless ByRow says not to, for a local call is made again
	// with the rest of its workflow task then.
	Cancel int
	ByRow  bool
	Status enums.WorkflowExecutionStatus
	Ends   string
}

// OnTemporal tells the stories side by side, on a server with workers for the queues,
// and saves their histories in a folder if record is true.
func (p Play[W]) OnTemporal(t *testing.T, address, namespace string, queues []string, recitals map[string]Recital[W], folder string, record bool) {
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Identity: "workflowtest",
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	worlds := map[string]Modelled{}
	for name, recital := range recitals {
		w := recital.World()
		worlds[w.model().id(name)] = w
	}
	for _, queue := range queues {
		served := worker.New(c, queue, worker.Options{Identity: "workflowtest", WorkerStopTimeout: 5 * time.Second})
		for kind, f := range p.Workflows {
			served.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: string(kind)})
		}
		for step, method := range stepsOfAll(worlds) {
			served.RegisterActivityWithOptions(method, activity.RegisterOptions{Name: step})
		}
		if err := served.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(served.Stop)
	}
	for id, w := range worlds {
		name := strings.Split(id, "/")[2]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recitals[name].tell(t, c, id, w)
			if record && !t.Failed() {
				SaveHistory(t, c, id, filepath.Join(folder, name+".json"))
			}
		})
	}
}

// stepsOfAll are the steps of several worlds, each world's by its operation.
func stepsOfAll(worlds map[string]Modelled) map[string]any {
	all := map[string]any{}
	for _, one := range worlds {
		for name, method := range stepsOf(one) {
			all[name] = reflect.MakeFunc(reflect.TypeOf(method), func(args []reflect.Value) []reflect.Value {
				in := args[1]
				if fence := in.FieldByName("Fence"); fence.IsValid() {
					in = fence
				}
				w := worlds[in.FieldByName("OperationID").String()]
				return reflect.ValueOf(stepsOf(w)[name]).Call(args)
			}).Interface()
		}
	}
	return all
}

func (r Recital[W]) tell(t *testing.T, c client.Client, id string, w Modelled) {
	m := w.model()
	m.Since = time.Now()
	if r.Cancel > 0 {
		m.Strike = Strike{At: r.Cancel, Do: func(Modelled) error {
			m.CancelRequested = true
			if r.ByRow {
				return nil
			}
			return c.CancelWorkflow(context.Background(), id, "")
		}}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: steps.ControlQueue}, string(m.Kind), steps.Ref{OperationID: id})
	if err != nil {
		t.Fatal(err)
	}
	ended := run.Get(ctx, nil)
	described, err := c.DescribeWorkflow(ctx, id, "")
	if err != nil {
		t.Fatal(err)
	}
	if status := described.Status; status != r.Status || w.End() != r.Ends {
		t.Fatalf("Temporal shows %s (%v), and it ended as %q", status, ended, w.End())
	}
}
