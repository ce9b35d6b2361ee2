// Tests of what a test is given: a database with the schema, a namespace with
// the search attributes, both at once and nobody else's.

package testenv_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/store"
	"holdfast.dev/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestDatabase(t *testing.T) {
	var names sync.Map
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			db, err := store.Open(t.Context(), testenv.Database(t), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var name, user string
			var operations int
			err = db.Pool.QueryRow(t.Context(), "SELECT current_database(), current_user, (SELECT count(*) FROM engine.operations)").
				Scan(&name, &user, &operations)
			if err != nil || user != "holdfast" || operations != 0 {
				t.Errorf("user %s, %d operations, %v", user, operations, err)
			}
			if _, again := names.LoadOrStore(name, true); again {
				t.Errorf("%s was given twice", name)
			}
		})
	}
}

var (
	kind    = temporal.NewSearchAttributeKeyKeyword("Kind")
	host    = temporal.NewSearchAttributeKeyKeyword("Host")
	project = temporal.NewSearchAttributeKeyKeyword("ProjectId")
)

// Greet is a workflow that waits to be told to end, with an activity, and with
// a search attribute set half way.
func Greet(ctx workflow.Context, name string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	var greeting string
	if err := workflow.ExecuteActivity(ctx, Compose, name).Get(ctx, &greeting); err != nil {
		return "", err
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, host.ValueSet("host-1")); err != nil {
		return "", err
	}
	workflow.GetSignalChannel(ctx, "end").Receive(ctx, nil)
	return greeting, nil
}

// Compose is the activity.
func Compose(_ context.Context, name string) (string, error) { return "hello " + name, nil }

// dial returns a client, with a worker that serves Greet for as long as the test runs.
func dial(t *testing.T, address, namespace string) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := worker.New(c, "queue", worker.Options{})
	w.RegisterWorkflow(Greet)
	w.RegisterActivity(Compose)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return c
}

// within bounds what a test waits for.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func begin(t *testing.T, c client.Client, name string) client.WorkflowRun {
	t.Helper()
	run, err := c.ExecuteWorkflow(within(t, 2*time.Minute), client.StartWorkflowOptions{
		ID:                    name,
		TaskQueue:             "queue",
		TypedSearchAttributes: temporal.NewSearchAttributes(kind.ValueSet("server.build"), project.ValueSet("p-"+name)),
	}, Greet, name)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func end(t *testing.T, c client.Client, run client.WorkflowRun, name string) {
	t.Helper()
	ctx := within(t, 2*time.Minute)
	if err := c.SignalWorkflow(ctx, run.GetID(), run.GetRunID(), "end", nil); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := run.Get(ctx, &got); err != nil || got != "hello "+name {
		t.Fatalf("got %q, %v, want hello %s", got, err, name)
	}
}

// TestManyNamespacesAtOnce: the server takes one change of namespaces at a
// time, which is no test's concern.
func TestManyNamespacesAtOnce(t *testing.T) {
	var names sync.Map
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			_, name := testenv.Temporal(t)
			if _, again := names.LoadOrStore(name, true); again {
				t.Errorf("%s was given twice", name)
			}
		})
	}
}

func TestTemporal(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			address, namespace := testenv.Temporal(t)
			made := time.Since(began)
			c := dial(t, address, namespace)
			run := begin(t, c, "first")
			end(t, c, run, "first")
			t.Logf("namespace made in %s, its first workflow ended after %s", made, time.Since(began))

			query := "Kind = 'server.build' AND ProjectId = 'p-first' AND Host = 'host-1'"
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				list, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
				if err != nil {
					t.Fatal(err)
				}
				if n := len(list.GetExecutions()); n == 1 {
					break
				} else if time.Now().After(deadline) {
					t.Fatalf("%d workflows by their attributes, want 1", n)
				}
			}
			listed, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(listed.GetCustomAttributes()); n != 5 {
				t.Errorf("%d search attributes, want 5", n)
			}
			for _, name := range []string{"Kind", "ProjectId", "ResourceId", "Host", "RequestId"} {
				if got := listed.GetCustomAttributes()[name]; got != enums.INDEXED_VALUE_TYPE_KEYWORD {
					t.Errorf("%s is listed as %s, want a keyword", name, got)
				}
			}
		})
	}
}
