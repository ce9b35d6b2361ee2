package steps_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/testenv"
)

// families are the interfaces that activities implement, with the callers that
// workflows use.
var families = map[string]struct{ activities, caller reflect.Type }{
	"records":     {reflect.TypeFor[steps.RecordsActivities](), reflect.TypeOf(steps.Records)},
	"placement":   {reflect.TypeFor[steps.PlacementActivities](), reflect.TypeOf(steps.Placement)},
	"neutron":     {reflect.TypeFor[steps.NeutronActivities](), reflect.TypeOf(steps.Neutron)},
	"cinder":      {reflect.TypeFor[steps.CinderActivities](), reflect.TypeOf(steps.Cinder)},
	"glance":      {reflect.TypeFor[steps.GlanceActivities](), reflect.TypeOf(steps.Glance)},
	"resources":   {reflect.TypeFor[steps.ResourcesActivities](), reflect.TypeOf(steps.Resources)},
	"maintenance": {reflect.TypeFor[steps.MaintenanceActivities](), reflect.TypeOf(steps.Maintenance)},
	"agent":       {reflect.TypeFor[steps.AgentActivities](), reflect.TypeOf(steps.Agent)},
	"boot":        {reflect.TypeFor[steps.BootActivities](), reflect.TypeOf(steps.Boot)},
	"network":     {reflect.TypeFor[steps.NetworkActivities](), reflect.TypeOf(steps.Network)},
	"bmc":         {reflect.TypeFor[steps.BMCActivities](), reflect.TypeOf(steps.BMC)},
	"libvirt":     {reflect.TypeFor[steps.LibvirtActivities](), reflect.TypeOf(steps.Libvirt)},
}

func TestEveryStepIsAMethodOfItsFamily(t *testing.T) {
	t.Parallel()
	defined := map[string]bool{}
	for _, s := range steps.All() {
		if defined[s.Name] {
			t.Errorf("%s is defined twice", s.Name)
		}
		defined[s.Name] = true
		family, method, _ := strings.Cut(s.Name, ".")
		f, ok := families[family]
		if !ok {
			t.Errorf("%s: there is no family %q", s.Name, family)
			continue
		}
		if _, ok := f.activities.MethodByName(method); !ok {
			t.Errorf("%s: %s has no such method", s.Name, f.activities)
		}
		if _, ok := f.caller.MethodByName(method); !ok {
			t.Errorf("%s: %s has no such method", s.Name, f.caller)
		}
	}
	for family, f := range families {
		for i := range f.activities.NumMethod() {
			if name := family + "." + f.activities.Method(i).Name; !defined[name] {
				t.Errorf("%s is an activity without a step", name)
			}
		}
	}
}

// longestLocal keeps a workflow task, which runs local steps, short of its timeout.
const longestLocal = 10 * time.Second

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, s := range steps.All() {
		if s.StartToClose <= 0 {
			t.Errorf("%s has no start-to-close", s.Name)
		}
		if s.Retry.Initial <= 0 || s.Retry.Max < s.Retry.Initial {
			t.Errorf("%s has no row of the retry table: %+v", s.Name, s.Retry)
		}
		switch s.Place {
		case steps.Local:
			// An operation whose rows this release can't read ends before it is late.
			if s.Retry.Attempts != 0 || s.Retry.Broken != 0 && s.Retry.Broken != 10 {
				t.Errorf("%s is tried %d times, and broken %d times", s.Name, s.Retry.Attempts, s.Retry.Broken)
			}
			if s.StartToClose > longestLocal || s.Heartbeat != 0 || s.ScheduleToStart != 0 {
				t.Errorf("%s is local and has %+v", s.Name, s)
			}
		case steps.Control, steps.OnHost, steps.OnConductor:
			// After a kill of its worker the step is silent for as long, and the
			// operation has still to end within a minute.
			longest := 15 * time.Second
			if s.Place != steps.Control {
				longest = 10 * time.Second
			}
			if s.Heartbeat <= 0 || s.Heartbeat > longest {
				t.Errorf("%s: no cancel reaches it with a heartbeat of %s", s.Name, s.Heartbeat)
			}
			if s.Place != steps.Control && s.ScheduleToStart != steps.HostPatience {
				t.Errorf("%s waits %s for a host", s.Name, s.ScheduleToStart)
			}
		default:
			t.Errorf("%s is at no place: %q", s.Name, s.Place)
		}
	}
}

// What the table says arrives at the activity, and Until bounds it.
func TestACallCarriesItsOptions(t *testing.T) {
	t.Parallel()
	env := testenv.Workflow()
	var info activity.Info
	env.RegisterActivityWithOptions(func(ctx context.Context, _ steps.BuildIn) (steps.BuildOut, error) {
		info = activity.GetInfo(ctx)
		return steps.BuildOut{PowerState: 1}, nil
	}, activity.RegisterOptions{Name: "libvirt.Build"})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		bounded := steps.Until(ctx, workflow.Now(ctx).Add(30*time.Minute))
		if _, err := steps.Libvirt.Build(bounded, "h", steps.BuildIn{}); err != nil {
			return err
		}
		over := steps.Until(ctx, workflow.Now(ctx))
		if _, err := steps.Libvirt.Build(over, "h", steps.BuildIn{}); err != error(steps.ErrDeadline) {
			t.Errorf("a step out of time ended with %v", err)
		}
		return nil
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if info.TaskQueue != "host/h" || info.StartToCloseTimeout != 20*time.Minute || info.HeartbeatTimeout != 10*time.Second || info.ScheduleToCloseTimeout != 30*time.Minute {
		t.Errorf("queue %s, start-to-close %s, heartbeat %s, schedule-to-close %s",
			info.TaskQueue, info.StartToCloseTimeout, info.HeartbeatTimeout, info.ScheduleToCloseTimeout)
	}
}

// How often a step is tried by the kind of its fault: a bug of a host's once,
// unless it is an undo, which is repeated until it is done.
func TestTries(t *testing.T) {
	t.Parallel()
	build := func(ctx workflow.Context) error {
		_, err := steps.Libvirt.Build(ctx, "h", steps.BuildIn{})
		return err
	}
	destroy := func(ctx workflow.Context) error { return steps.Libvirt.Destroy(ctx, "h", steps.DestroyIn{}) }
	allocate := func(ctx workflow.Context) error {
		_, err := steps.Neutron.Allocate(ctx, steps.AllocateIn{})
		return err
	}
	const most = 7 // the activity works then
	for _, c := range []struct {
		step  string
		story func(workflow.Context) error
		kind  faults.Kind
		tries int
	}{
		{"libvirt.Build", build, faults.Internal, 1},
		{"libvirt.Build", build, faults.Unavailable, 5},
		{"libvirt.Build", build, faults.Invalid, 1},
		{"libvirt.Destroy", destroy, faults.Internal, most},
		{"neutron.Allocate", allocate, faults.Internal, 5},
	} {
		env, tries := testenv.Workflow(), 0
		env.RegisterActivityWithOptions(func(context.Context, map[string]any) (map[string]any, error) {
			if tries++; tries == most {
				return nil, nil
			}
			return nil, steps.Encode(faults.New(c.kind, "X", "it failed"))
		}, activity.RegisterOptions{Name: c.step})
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			if err := c.story(ctx); err != nil && steps.Decode(err).Kind != c.kind {
				t.Errorf("%s ended with %v", c.step, err)
			}
			return nil
		})
		if tries != c.tries {
			t.Errorf("%s with a fault of kind %s is tried %d times, want %d", c.step, c.kind, tries, c.tries)
		}
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	rising := []steps.Token{
		{Generation: 1, Attempt: 2, Step: operations.StepUndo},
		{Generation: 2, Attempt: 1, Step: operations.StepGuest},
		{Generation: 2, Attempt: 1, Step: operations.StepUndo},
		{Generation: 2, Attempt: 2, Step: operations.StepGuest},
	}
	for i, a := range rising {
		for j, b := range rising {
			if got, want := a.Older(b), i < j; got != want {
				t.Errorf("%+v older than %+v: %t, want %t", a, b, got, want)
			}
		}
	}
}
