package cli

// holdfast operations list, show, watch

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/store"
)

// Operations are the commands about long operations.
func Operations(env *Env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "operations",
		Aliases: []string{"operation", "op"},
		Short:   "Look at long operations, cancel and retry them",
		Long:    "Look at long operations, cancel and retry them. Temporal isn't needed: what is accepted here is\nstarted, and what is cancelled is told, when it is back.\n\n" + exitCodes,
	}, operationsList(env), operationsShow(env), operationsWatch(env), operationsCancel(env), operationsRetry(env))
}

// shownOperation is an operation as JSON output has it.
type shownOperation struct {
	ID              string                  `json:"id"`
	Kind            operations.Kind         `json:"kind"`
	State           string                  `json:"state"`
	ResourceType    operations.ResourceType `json:"resource_type"`
	ResourceID      string                  `json:"resource_id"`
	ProjectID       string                  `json:"project_id"`
	UserID          string                  `json:"user_id"`
	RequestID       string                  `json:"request_id"`
	Step            string                  `json:"step"`
	Attempt         int                     `json:"attempt"`
	Host            string                  `json:"host,omitempty"`
	CreatedAt       time.Time               `json:"created_at"`
	Deadline        time.Time               `json:"deadline"`
	DispatchedAt    *time.Time              `json:"dispatched_at,omitempty"`
	FinishedAt      *time.Time              `json:"finished_at,omitempty"`
	CancelRequested *time.Time              `json:"cancel_requested_at,omitempty"`
	ErrorCode       string                  `json:"error_code,omitempty"`
	Message         string                  `json:"message,omitempty"`
	Parent          string                  `json:"parent_operation_id,omitempty"`
	RetryOf         string                  `json:"retry_of,omitempty"`
	RunID           string                  `json:"run_id,omitempty"`
}

func showOperation(o engine.Operation) shownOperation {
	return shownOperation{ID: o.ID, Kind: o.Kind, State: stateOf(o), ResourceType: o.ResourceType, ResourceID: o.ResourceID,
		ProjectID: o.ProjectID, UserID: o.UserID, RequestID: o.RequestID, Step: o.Step, Attempt: o.Attempt, Host: o.Host,
		CreatedAt: o.CreatedAt, Deadline: o.Deadline, DispatchedAt: o.DispatchedAt, FinishedAt: o.FinishedAt,
		CancelRequested: o.CancelRequestedAt, ErrorCode: o.ErrorCode, Message: o.Message, Parent: o.ParentID, RetryOf: o.RetryOf, RunID: o.RunID}
}

// stateOf is the operation's state, or "cancelling" if it runs on its way out.
func stateOf(o engine.Operation) string {
	if !o.Finished() && o.CancelRequestedAt != nil {
		return string(engine.Cancelling)
	}
	return string(o.State())
}

func operationsList(env *Env) *cobra.Command {
	var filter operationFilter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List operations, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withDB(cmd.Context(), func(db *store.DB) error {
				found, err := filter.find(cmd.Context(), db, "")
				if err != nil {
					return err
				}
				return writeOperations(cmd.OutOrStdout(), found, asJSON)
			})
		},
	}
	filter.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func writeOperations(w io.Writer, found []engine.Operation, asJSON bool) error {
	if asJSON {
		shown := make([]shownOperation, len(found))
		for i, o := range found {
			shown[i] = showOperation(o)
		}
		return writeJSON(w, shown)
	}
	rows := make([][]string, len(found))
	for i, o := range found {
		rows[i] = []string{o.ID, stateOf(o), orDash(o.Step), orDash(o.Host), ago(o.CreatedAt), orDash(o.Message)}
	}
	return writeTable(w, []string{"ID", "STATE", "STEP", "HOST", "AGE", "MESSAGE"}, rows)
}

// shownEvent and shownEffect are the lines of an operation's story and ledger.
type shownEvent struct {
	Step       string     `json:"step"`
	Attempt    int        `json:"attempt"`
	Host       string     `json:"host,omitempty"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Result     string     `json:"result,omitempty"`
	Message    string     `json:"message,omitempty"`
}

func operationsShow(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show an operation with its steps and its ledger",
		Args:  exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withDB(cmd.Context(), func(db *store.DB) error {
				return showOne(cmd.Context(), db, cmd.OutOrStdout(), args[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func showOne(ctx context.Context, db *store.DB, w io.Writer, id string, asJSON bool) error {
	eng := newEngine(db)
	o, err := eng.Get(ctx, db.Pool, id)
	if err != nil {
		return err
	}
	events, err := eng.Events(ctx, db.Pool, id)
	if err != nil {
		return err
	}
	effects, err := eng.Effects(ctx, db.Pool, id)
	if err != nil {
		return err
	}
	steps := make([]shownEvent, len(events))
	for i, e := range events {
		steps[i] = shownEvent{e.Step, e.Attempt, e.Host, e.StartedAt, e.FinishedAt, string(e.Result), e.Message}
	}
	if asJSON {
		return writeJSON(w, struct {
			shownOperation
			Events  []shownEvent        `json:"events"`
			Effects []operations.Effect `json:"effects"`
		}{showOperation(o), steps, effects})
	}
	return writeStory(w, showOperation(o), steps, effects)
}

func writeStory(w io.Writer, o shownOperation, events []shownEvent, effects []operations.Effect) error {
	finished := "-"
	if o.FinishedAt != nil {
		finished = o.FinishedAt.UTC().Format(time.RFC3339)
	}
	facts := [][]string{
		{"operation", o.ID}, {"kind", string(o.Kind)}, {string(o.ResourceType), o.ResourceID}, {"state", o.State},
		{"step", orDash(o.Step)}, {"attempt", fmt.Sprint(o.Attempt)}, {"host", orDash(o.Host)},
		{"project", o.ProjectID}, {"user", o.UserID}, {"request", o.RequestID},
		{"created", o.CreatedAt.UTC().Format(time.RFC3339)}, {"age", ago(o.CreatedAt)}, {"finished", finished},
		{"retry of", orDash(o.RetryOf)}, {"error code", orDash(o.ErrorCode)}, {"message", orDash(o.Message)},
	}
	if err := writeTable(w, []string{"FIELD", "VALUE"}, facts); err != nil {
		return err
	}
	rows := make([][]string, len(events))
	for i, e := range events {
		took := "-"
		if e.FinishedAt != nil {
			took = e.FinishedAt.Sub(e.StartedAt).Round(time.Millisecond).String()
		}
		rows[i] = []string{e.Step, fmt.Sprint(e.Attempt), orDash(e.Host), took, orDash(e.Result), orDash(e.Message)}
	}
	fmt.Fprintln(w)
	if err := writeTable(w, []string{"STEP", "ATTEMPT", "HOST", "TOOK", "RESULT", "MESSAGE"}, rows); err != nil {
		return err
	}
	rows = make([][]string, len(effects))
	for i, e := range effects {
		rows[i] = []string{fmt.Sprint(e.Seq), string(e.Kind), e.Ref, orDash(e.Host), string(e.State)}
	}
	fmt.Fprintln(w)
	return writeTable(w, []string{"SEQ", "EFFECT", "REF", "HOST", "STATE"}, rows)
}

// watchInterval is how often a watched operation is looked at.
const watchInterval = time.Second

func operationsWatch(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Follow an operation to its end; the exit code says how it ended",
		Long: `Writes a line for each change of an operation until it has ended. The exit code
says how: 0 done, 1 failed, 6 cancelled, 7 superseded (another operation took
its place). An interrupt ends the watching (5), not the operation.`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withDB(cmd.Context(), func(db *store.DB) error {
				return watch(cmd.Context(), db, cmd.OutOrStdout(), args[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON document a change")
	return cmd
}

// endings are how watch ends, by how the operation did.
var endings = map[operations.Result]error{
	operations.ResultFailed:     silent(exitFailed),
	operations.ResultCancelled:  silent(exitCancelled),
	operations.ResultSuperseded: silent(exitSuperseded),
}

func watch(ctx context.Context, db *store.DB, w io.Writer, id string, asJSON bool) error {
	eng := newEngine(db)
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	said := ""
	for {
		o, err := eng.Get(ctx, db.Pool, id)
		if err != nil {
			return err
		}
		if now := stateOf(o) + " " + o.Step + " " + o.Host; now != said {
			said = now
			if err := sayChange(w, o, asJSON); err != nil {
				return err
			}
		}
		if o.Finished() {
			return endings[o.Result]
		}
		select {
		case <-ctx.Done():
			return faults.New(faults.Unavailable, "Interrupted", "stopped watching; the operation goes on")
		case <-tick.C:
		}
	}
}

func sayChange(w io.Writer, o engine.Operation, asJSON bool) error {
	if asJSON {
		return writeJSON(w, showOperation(o))
	}
	_, err := fmt.Fprintf(w, "%s  %-10s  %-10s  %s  %s\n", time.Now().Format(time.TimeOnly), stateOf(o), orDash(o.Step), orDash(o.Host), o.Message)
	return err
}
