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

// sent is what a BMC was sent under an act: after how many starts of the machine, the task
// that it has made of it, if it has, and how far that is.
type sent struct {
	round int
	task  string
	// now says that it was sent just now, answered that the BMC has accepted it.
	now, answered bool
	begun, over   bool
}

// send sends what a BMC does at once, or at the machine's next start, unless it was sent: it
// is noted before, with how often the step has had the machine be started until then. What
// gave no answer is sent again only after another start has shown nothing of it.
func (s *session) send(ctx context.Context, d *redfish, c cleaning, act string, send func() (*http.Response, error)) (sent, error) {
	note := s.acts[act]
	if round, task, told := readTask(note.About); told && (note.Answered || round >= c.Restarts) {
		t := sent{round: round, task: task, answered: note.Answered, over: note.Answered && task == ""}
		if task != "" {
			var err error
			if t.begun, t.over, err = d.progress(task); err != nil {
				return sent{}, err
			}
		}
		return t, nil
	}
	about := strconv.Itoa(c.Restarts)
	write := func(about string) error {
		return s.Write(ctx, s.engine, s.fence, func(tx store.Tx) error { return baremetal.NoteAct(ctx, tx, s.of, act, about) })
	}
	if err := write(about); err != nil {
		return sent{}, err
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
		return sent{}, errors.Join(err, write("")) // it was not done
	case err != nil:
		return sent{}, err
	}
	err = s.db.InTx(ctx, func(tx store.Tx) error { return baremetal.TellAct(ctx, tx, s.of, act, about+" "+task) })
	return sent{round: c.Restarts, task: task, now: true, answered: true}, err
}

// ask is send for what is seen once it is done: a task that isn't over waits for the
// machine's next start.
func (s *session) ask(ctx context.Context, d *redfish, c cleaning, act string, send func() (*http.Response, error)) (steps.Effect, error) {
	t, err := s.send(ctx, d, c, act, send)
	switch {
	case err != nil:
		return steps.Effect{}, err
	case t.now:
		return steps.Effect{Restart: t.task != ""}, nil
	}
	restart := !t.over && t.round >= c.Restarts
	return steps.Effect{Restart: restart, Pending: !restart}, nil
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

// progress says whether a task is at work, and whether it has ended; one that nobody knows
// any more has. Errors: Invalid, it has failed.
func (d *redfish) progress(task string) (begun, over bool, err error) {
	if task == "?" {
		return false, false, nil
	}
	var said struct {
		TaskState, TaskStatus string
		Messages              []struct{ Message string }
	}
	if err := d.read(task, &said); err != nil {
		return false, faults.Is(err, faults.Invalid), unlessInvalid(err)
	}
	failed := slices.Contains([]string{"Exception", "Killed", "Cancelled", "Interrupted"}, said.TaskState) || said.TaskState == "Completed" && said.TaskStatus == "Critical"
	if !failed {
		return said.TaskState == "Running", said.TaskState == "" || said.TaskState == "Completed", nil
	}
	var messages []string
	for _, m := range said.Messages[:min(len(said.Messages), most)] {
		messages = append(messages, m.Message)
	}
	return false, false, faults.New(faults.Invalid, "RedfishError", redfishPrefix+"the BMC's task has failed: %s", cmp.Or(bounded(strings.Join(messages, ", ")), said.TaskState))
}

func unlessInvalid(err error) error {
	if faults.Is(err, faults.Invalid) {
		return nil
	}
	return err
}
