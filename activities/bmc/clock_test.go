package bmc

import (
	"fmt"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// The clock of a BMC is set to this one's, or to what the step is told, once.
func TestTheClock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.change("management_interface", "redfish")
	cleans := func(args string) {
		w.change("driver_internal_info", fmt.Sprintf(`{"clean_steps": [{"interface": "management", "step": "set_bmc_clock", "args": %s}]}`, args))
	}
	in := steps.CleanStepIn{Fence: w.Fence, Of: w.Fence.OperationID}
	for args, code := range map[string]string{`{"target_datetime": "yesterday"}`: "InvalidParameterValue", `{"target_datetime": 5}`: "InvalidParameterValue",
		`{"datetime_local_offset": "moon"}`: "InvalidParameterValue"} {
		cleans(args)
		if _, err := w.activities(w.DB).CleanStep(t.Context(), in); err == nil || faults.As(err).Code != code {
			t.Errorf("%s: %v", args, err)
		}
	}
	wanted := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	cleans(`{"target_datetime": "` + wanted + `", "datetime_local_offset": "+02:00"}`)
	w.Kill(func(db *store.DB) error {
		_, err := w.activities(db).CleanStep(t.Context(), in)
		return err
	})
	if ahead, offset := w.Machine.Clock(); ahead < 47*time.Hour || ahead > 49*time.Hour || offset != "+02:00" {
		t.Errorf("%s, %s", ahead, offset)
	}
	// Done once, it isn't done again.
	cleans(`{}`)
	if _, err := w.activities(w.DB).CleanStep(t.Context(), in); err != nil {
		t.Error(err)
	}
	if ahead, _ := w.Machine.Clock(); ahead < 47*time.Hour {
		t.Errorf("%s", ahead)
	}
}
