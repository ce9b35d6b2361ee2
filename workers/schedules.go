package workers

// Periodic work: Temporal Schedules, made true of a table when a control worker
// starts.

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"holdfast.dev/internal/steps"
)

// Schedule is a workflow that is started again and again.
type Schedule struct {
	// Workflow is its type and, in the schedule's id, its name.
	Workflow string
	// Every is the time between two starts; 0 starts none.
	Every time.Duration
}

// schedulePrefix begins the ids of the schedules that are Holdfast's: others of
// the namespace are left alone.
const schedulePrefix = "holdfast/"

func (s Schedule) id() string { return schedulePrefix + s.Workflow }

func (s Schedule) spec() client.ScheduleSpec {
	return client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: s.Every}}}
}

// action starts the workflow under the schedule's id and the time. A run that
// lasts into the next one's time is left to itself, and that one is left out.
func (s Schedule) action() *client.ScheduleWorkflowAction {
	return &client.ScheduleWorkflowAction{ID: s.id(), Workflow: s.Workflow, TaskQueue: steps.ControlQueue, WorkflowExecutionTimeout: time.Hour}
}

// Schedules corrects the schedules once, as soon as Temporal answers: missing
// ones are made, others than the table's are changed or, if there is no row for
// them, deleted. It may be run beside the queue, by any number of workers.
func Schedules(c client.Client, table []Schedule, log *slog.Logger) func(context.Context) {
	return func(ctx context.Context) {
		for wait := newBackoff(time.Second, 30*time.Second); ; {
			err := correct(ctx, c.ScheduleClient(), table)
			if err == nil || ctx.Err() != nil {
				return
			}
			log.WarnContext(ctx, "schedules can't be corrected yet", "error", err)
			if wait.pause(ctx) != nil {
				return
			}
		}
	}
}

func correct(ctx context.Context, c client.ScheduleClient, table []Schedule) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	wanted := map[string]bool{}
	for _, s := range table {
		if s.Every <= 0 {
			continue
		}
		wanted[s.id()] = true
		if err := s.ensure(ctx, c); err != nil {
			return err
		}
	}
	all, err := c.List(ctx, client.ScheduleListOptions{PageSize: 100})
	if err != nil {
		return err
	}
	for all.HasNext() {
		found, err := all.Next()
		if err != nil {
			return err
		}
		if strings.HasPrefix(found.ID, schedulePrefix) && !wanted[found.ID] {
			var gone *serviceerror.NotFound
			if err := c.GetHandle(ctx, found.ID).Delete(ctx); err != nil && !errors.As(err, &gone) {
				return err
			}
		}
	}
	return nil
}

// ensure makes the schedule, or makes it what the table says. Whether an
// operator has paused it stays.
func (s Schedule) ensure(ctx context.Context, c client.ScheduleClient) error {
	handle := c.GetHandle(ctx, s.id())
	_, err := handle.Describe(ctx)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		_, err = c.Create(ctx, client.ScheduleOptions{ID: s.id(), Spec: s.spec(), Action: s.action(),
			Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: time.Minute})
		var already *serviceerror.AlreadyExists
		if errors.As(err, &already) {
			return nil // another worker was quicker
		}
		return err
	}
	if err != nil {
		return err
	}
	return handle.Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
		now := in.Description.Schedule
		spec := s.spec()
		now.Spec, now.Action = &spec, s.action()
		now.Policy = &client.SchedulePolicies{Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: time.Minute}
		return &client.ScheduleUpdate{Schedule: &now}, nil
	}})
}
