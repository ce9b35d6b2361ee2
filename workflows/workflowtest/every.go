package workflowtest

// Every: a story told undisturbed, and again with each incident at each call.

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/testenv"
)

// Story is a kind of operation under test.
type Story struct {
	Workflow  func(workflow.Context, steps.Ref) error
	Scenarios []Scenario
	// Ends are the server's rows (World.Row) that each result may leave.
	Ends map[operations.Result][]string
}

// Scenario is a world to tell the story in, and how it ends undisturbed.
type Scenario struct {
	Name   string
	World  func() *World
	Result operations.Result
	// Message is what the user reads of it: the fault or, of one that is done
	// without a fault, nothing.
	Message string
	// Debts is how many effects are owed at the end.
	Debts int
	// Once tells it undisturbed only: the calls are those of another scenario.
	Once bool
}

// Every tells the story in every scenario, undisturbed and with every incident
// at every call, and checks the world after each.
func Every(t *testing.T, story Story) {
	for _, scenario := range story.Scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			t.Parallel()
			calls := story.undisturbed(t, scenario)
			if scenario.Once {
				return
			}
			for _, call := range calls {
				for _, incident := range incidents(call) {
					t.Run(fmt.Sprintf("%02d %s: %s", call.N, call.Step, incident.Name), func(t *testing.T) {
						incident.at = call.N
						story.disturbed(t, scenario, call, incident)
					})
				}
			}
		})
	}
}

func (story Story) undisturbed(t *testing.T, scenario Scenario) []Call {
	w := scenario.World()
	story.tell(t, w)
	if w.Op.Result != scenario.Result {
		t.Errorf("result %q, want %q", w.Op.Result, scenario.Result)
	}
	var message string
	if w.Op.Fault != nil {
		message = w.Op.Fault.Message
	}
	if message != scenario.Message {
		t.Errorf("fault %q, want %q", message, scenario.Message)
	}
	var debts int
	for _, e := range w.Ledger {
		if e.State == operations.Owed {
			debts++
		}
	}
	if debts != scenario.Debts {
		t.Errorf("%d effects are owed, want %d", debts, scenario.Debts)
	}
	story.ended(t, w)
	if t.Failed() {
		t.FailNow()
	}
	return w.calls
}

func (story Story) disturbed(t *testing.T, scenario Scenario, call Call, incident Incident) {
	if incident.ends == noEnd && incident.After && call.Step == "records.Finish" {
		return // the operation was over
	}
	w := scenario.World()
	w.incident = incident
	err := story.tell(t, w)
	if w.lost || workflow.IsContinueAsNewError(err) {
		// A run from nothing, or another one, with what the database knows.
		w.lost, w.incident = false, Incident{}
		err = story.tell(t, w)
	}
	if incident.ends == noEnd {
		if err != nil {
			t.Errorf("the workflow ended with %v", err)
		}
		if now := w.String(); now != w.frozen {
			t.Errorf("something was touched after another operation took over:\n%s\nwas\n%s", now, w.frozen)
		}
		return
	}
	if !incident.allows(call, w.beyond, w.open, scenario.Result, w.Op.Result) {
		t.Errorf("result %q after %q: %v", w.Op.Result, incident.Name, w.Op.Fault)
	}
	story.ended(t, w)
}

// ended checks the world and that the server's row reads as the result has it.
func (story Story) ended(t *testing.T, w *World) {
	t.Helper()
	var known bool
	row := w.Row()
	for _, end := range story.Ends[w.Op.Result] {
		known = known || end == row
	}
	if !known {
		t.Errorf("%s with the server %q", w.Op.Result, row)
	}
	w.check(t)
}

// Told gives the world after the story was told in it once, undisturbed.
func Told(t *testing.T, story func(workflow.Context, steps.Ref) error, world func() *World) *World {
	t.Helper()
	w := world()
	_ = Story{Workflow: story}.tell(t, w) // checked there against the operation's row
	w.check(t)
	return w
}

// tell runs the workflow once and checks that what Temporal shows of it is
// what the operation's row says.
func (story Story) tell(t *testing.T, w *World) error {
	t.Helper()
	env := testenv.Workflow()
	env.SetStartTime(Epoch)
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflow(story.Workflow)
	w.control(env)
	w.host(env, "")
	w.cancel = env.CancelWorkflow
	w.signal = func() {
		env.SignalWorkflow(steps.Knock, nil)
		env.SignalWorkflow("stranger", map[string]int{"not": 1})
	}
	finished := w.Op.Finished
	env.ExecuteWorkflow(story.Workflow, steps.Ref{OperationID: w.Op.ID})
	if !env.IsWorkflowCompleted() {
		t.Fatalf("the workflow did not end; calls %v", w.calls)
	}
	err := env.GetWorkflowError()
	var failure *temporal.ApplicationError
	shown := map[operations.Result]bool{
		"":                         err == nil || workflow.IsContinueAsNewError(err), // superseded, or lost, or told on by another run
		operations.ResultDone:      err == nil,
		operations.ResultCancelled: temporal.IsCanceledError(err),
		operations.ResultFailed:    errors.As(err, &failure),
	}
	// A run that found the operation finished shows nothing of how it ended.
	found := err == nil && finished > 0
	if !shown[w.Op.Result] && !w.lost && !found {
		t.Errorf("Temporal shows %v of an operation that is %q", err, w.Op.Result)
	}
	return err
}
