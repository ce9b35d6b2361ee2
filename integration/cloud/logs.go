package cloud

// What a failed test prints of its processes: little, and what is wrong first,
// since who reads it may be shown no more than the beginning.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/workflow/v1"

	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/operations"
)

// KeepLogs names the environment variable that holds a folder to which failed
// tests copy whole logs.
const KeepLogs = "HOLDFAST_TEST_KEEP_LOGS"

const (
	// tail is how many lines of each log are printed, width how much of each.
	tail, width = 15, 300
	// unfinished is how many operations are told of.
	unfinished = 10
)

// quiet are lines that tell of nothing wrong, in either format.
var quiet = regexp.MustCompile(`(?i)\blevel=(debug|info)\b|"level":"(debug|info)"`)

// Trouble gives the last lines of a log that are warnings, errors or no lines of
// a log at all, a panic for example; a long one is cut.
func Trouble(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(line); line != "" && !quiet.MatchString(line) {
			lines = append(lines, cut(line))
		}
	}
	return strings.Join(lines[max(0, len(lines)-tail):], "\n")
}

// cut leaves the beginning and the end of a long line: what, and why.
func cut(line string) string {
	if len(line) <= width {
		return line
	}
	return strings.ToValidUTF8(line[:width/2]+" ... "+line[len(line)-width/2:], "")
}

// printLogs prints what is wrong in every log if the test has failed, the
// farthest from the user first.
func (c *Cloud) printLogs() {
	if !c.t.Failed() {
		return
	}
	for _, name := range slices.Backward(c.names()) {
		text, err := os.ReadFile(c.log(name))
		if err != nil {
			c.t.Logf("log of %s: %v", name, err)
			continue
		}
		c.t.Logf("log of %s, its last troubles:\n%s", name, Trouble(string(text)))
		if keep := os.Getenv(KeepLogs); keep != "" {
			file := fmt.Sprintf("%s-%s.log", strings.ReplaceAll(c.t.Name(), "/", "-"), name)
			if err := os.WriteFile(filepath.Join(keep, file), text, 0o600); err != nil {
				c.t.Log(err)
			}
		}
	}
}

// Story is what operations have come to, for a failed test: first those that
// have not ended and what their workflows wait for, then those that ended badly.
func (c *Cloud) Story() string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ops, err := c.Engine.Operations(ctx, c.DB.Pool, engine.Filter{Limit: 200})
	if err != nil {
		return err.Error()
	}
	var running, bad []string
	for _, op := range ops {
		line := cut(fmt.Sprintf("%s %s step %q attempt %d host %s cancel %t hold %q: %s",
			op.ID, op.State(), op.Step, op.Attempt, op.Host, op.CancelRequestedAt != nil, op.Hold, op.Message))
		switch {
		case !op.Finished():
			running = append(running, line+c.pending(ctx, op, len(running)))
		case op.Result != operations.ResultDone:
			bad = append(bad, line)
		}
	}
	return list("unfinished", running) + list("ended badly", bad)
}

// list is the first of them, a line each.
func list(title string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf("%d operations %s:\n%s\n", len(lines), title, strings.Join(lines[:min(len(lines), unfinished)], "\n"))
}

// pending says what the workflow of an operation waits for; nothing of one that
// won't be told of, the nth.
func (c *Cloud) pending(ctx context.Context, op engine.Operation, n int) (text string) {
	if n >= unfinished {
		return ""
	}
	described, err := c.Temporal.DescribeWorkflow(ctx, op.ID, "")
	if err != nil {
		return "\n    its workflow: " + cut(err.Error())
	}
	told := described.RawResponse
	if w := told.GetPendingWorkflowTask(); w != nil {
		text += fmt.Sprintf("\n    a workflow task, %s, attempt %d, scheduled %s ago", w.GetState(), w.GetAttempt(), ago(w.GetScheduledTime().AsTime()))
	}
	for _, a := range told.GetPendingActivities() {
		text += "\n    " + activity(a)
	}
	if text == "" {
		text = fmt.Sprintf("\n    its workflow, %s, has no pending activity", told.GetWorkflowExecutionInfo().GetStatus())
	}
	return text
}

// activity says how an activity that has not ended fares.
func activity(a *workflow.PendingActivityInfo) string {
	text := fmt.Sprintf("%s %s, attempt %d", a.GetActivityType().GetName(), a.GetState(), a.GetAttempt())
	if at := a.GetLastStartedTime(); at != nil {
		text += fmt.Sprintf(", started %s ago", ago(at.AsTime()))
	}
	if at := a.GetLastHeartbeatTime(); at != nil {
		text += fmt.Sprintf(", heard of %s ago", ago(at.AsTime()))
	}
	if at := a.GetScheduledTime(); at != nil {
		text += fmt.Sprintf(", scheduled for %s ago", ago(at.AsTime()))
	}
	if failure := a.GetLastFailure(); failure != nil {
		text += ", failed: " + cut(failure.GetMessage())
	}
	return text
}

func ago(at time.Time) time.Duration { return time.Since(at).Round(100 * time.Millisecond) }
