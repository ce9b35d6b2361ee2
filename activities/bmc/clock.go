package bmc

// The clock of a BMC, which a step of cleaning sets by Redfish, and one of verifying.

import (
	"context"
	"time"

	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
)

// How BMCs write times, with fractions of seconds and without.
const (
	wholeSeconds = "2006-01-02T15:04:05-07:00"
	microseconds = "2006-01-02T15:04:05.000000-07:00"
)

// utc is the offset of a clock that has this one's time.
const utc = "+00:00"

// setClock sets the clock of the machine's BMC to a time, or to this one's, once.
func setClock(ctx context.Context, s *session, c cleaning) (steps.Effect, error) {
	at, err := wantedTime(c.args, "target_datetime", time.RFC3339Nano)
	if err != nil {
		return steps.Effect{}, err
	}
	if _, err := wantedTime(c.args, "datetime_local_offset", "-07:00"); err != nil {
		return steps.Effect{}, err
	}
	d, m, err := s.clock()
	if err != nil {
		return steps.Effect{}, err
	}
	return steps.Effect{}, s.once(ctx, d, c.act, func() error { return d.setClock(m, at, c.args["datetime_local_offset"]) })
}

// clock is the manager whose clock the machine's BMC has.
func (s *session) clock() (*redfish, *rf.Manager, error) {
	d, err := s.byRedfish("management")
	if err != nil {
		return nil, nil, err
	}
	managers, err := d.system.ManagedBy()
	switch {
	case err != nil:
		return nil, nil, d.fault(err)
	case len(managers) == 0:
		return nil, nil, faults.New(faults.Invalid, "RedfishError", redfishPrefix+"nobody manages node %s", s.node.UUID)
	}
	return d, managers[0], nil
}

// setClock has a manager have a time, at an offset from UTC if that is given, and looks
// whether it has.
func (d *redfish) setClock(m *rf.Manager, at time.Time, offset any) error {
	form := wholeSeconds
	if now, err := time.Parse(time.RFC3339Nano, m.DateTime); err == nil && now.Nanosecond() != 0 {
		form = microseconds
	}
	wanted := map[string]any{"DateTime": at.Format(form)}
	if offset != nil {
		wanted["DateTimeLocalOffset"] = offset
	}
	began := time.Now()
	resp, err := d.client.Patch(m.ODataID, wanted)
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // the manager is asked for it
	after, err := rf.GetManager(d.client, m.ODataID)
	if err != nil {
		return err
	}
	now, err := time.Parse(time.RFC3339Nano, after.DateTime)
	if late := now.Sub(at); err != nil || late < -2*time.Second || late > time.Since(began)+2*time.Second {
		return faults.New(faults.Conflict, "RedfishError", redfishPrefix+"BMC clock update failed: mismatch after setting datetime")
	}
	return nil
}

// wantedTime is an argument that is a time, of a form; now if it isn't given. Errors: Invalid.
func wantedTime(args map[string]any, name, form string) (time.Time, error) {
	value := args[name]
	if value == nil {
		return time.Now().UTC(), nil
	}
	text, _ := value.(string)
	at, err := time.Parse(form, text)
	if err != nil {
		return at, faults.Wrap(err, faults.Invalid, "InvalidParameterValue", "%s: a time as 2026-01-02T03:04:05+00:00 is expected, or an offset as +00:00", name)
	}
	return at, nil
}
