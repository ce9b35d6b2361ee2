package bmc

// Tasks: what a BMC does at once, or begins and ends at the machine's next start.

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stmcginnis/gofish/common"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// ask sends what a BMC does at once, or at the machine's next start, unless it was sent: it
// is noted before, with how often the step has had the machine be started until then. What
// gave no answer is sent again only after another start has shown nothing of it.
func (s *session) ask(ctx context.Context, d *redfish, c cleaning, act string, send func() (*http.Response, error)) (steps.Effect, error) {
	note := s.acts[act]
	if round, task, told := readTask(note.About); told && (note.Answered || round >= c.Restarts) {
		over := note.Answered && task == ""
		if task != "" {
			var err error
			if over, err = d.over(task); err != nil {
				return steps.Effect{}, err
			}
		}
		restart := !over && round >= c.Restarts
		return steps.Effect{Restart: restart, Pending: !restart}, nil
	}
	about := strconv.Itoa(c.Restarts)
	write := func(about string) error {
		return s.Write(ctx, s.engine, s.fence, func(tx store.Tx) error { return baremetal.NoteAct(ctx, tx, s.of, act, about) })
	}
	if err := write(about); err != nil {
		return steps.Effect{}, err
	}
	task := ""
	err := d.change(ctx, func() error {
		resp, err := send()
		if err == nil && resp.StatusCode == http.StatusAccepted {
			task = taskAt(resp)
		}
		if err == nil {
			_ = resp.Body.Close() // what it has made is looked at
		}
		return err
	})
	var said *common.Error
	switch {
	case errors.As(err, &said):
		return steps.Effect{}, errors.Join(err, write("")) // it was not done
	case err != nil:
		return steps.Effect{}, err
	}
	err = s.db.InTx(ctx, func(tx store.Tx) error { return baremetal.TellAct(ctx, tx, s.of, act, about+" "+task) })
	return steps.Effect{Restart: task != ""}, err
}

// readTask reads what a note is about: when something was sent, and the task that the BMC
// has made of it, if it has.
func readTask(about string) (round int, task string, ok bool) {
	number, task, _ := strings.Cut(about, " ")
	round, err := strconv.Atoi(number)
	return round, task, err == nil
}

// taskAt is where an answer says that its task is; "?" if it doesn't.
func taskAt(resp *http.Response) string {
	at, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || !strings.HasPrefix(at.Path, "/") {
		return "?"
	}
	return at.Path
}

// over says whether a task has ended; one that nobody knows any more has. Errors: Invalid,
// it has failed.
func (d *redfish) over(task string) (bool, error) {
	if task == "?" {
		return false, nil
	}
	var said struct {
		TaskState, TaskStatus string
		Messages              []struct{ Message string }
	}
	if err := d.read(task, &said); err != nil {
		return faults.Is(err, faults.Invalid), unlessInvalid(err)
	}
	failed := slices.Contains([]string{"Exception", "Killed", "Cancelled", "Interrupted"}, said.TaskState) || said.TaskState == "Completed" && said.TaskStatus == "Critical"
	if !failed {
		return said.TaskState == "" || said.TaskState == "Completed", nil
	}
	var messages []string
	for _, m := range said.Messages[:min(len(said.Messages), most)] {
		messages = append(messages, m.Message)
	}
	return false, faults.New(faults.Invalid, "RedfishError", redfishPrefix+"the BMC's task has failed: %s", cmp.Or(bounded(strings.Join(messages, ", ")), said.TaskState))
}

func unlessInvalid(err error) error {
	if faults.Is(err, faults.Invalid) {
		return nil
	}
	return err
}
