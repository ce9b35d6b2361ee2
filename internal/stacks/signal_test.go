package stacks

import (
	"testing"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/store/orchestration"
)

// Signals that are presumed stand beside those that came, however many there are to be.
func TestPresume(t *testing.T) {
	t.Parallel()
	const came = `{"2": {"reason": "no", "data": null, "status": "FAILURE"}}`
	r := &orchestration.Resource{Metadata: came}
	if err := Presume(r, 3); err != nil {
		t.Fatal(err)
	}
	want := `{"2": {"reason": "no", "data": null, "status": "FAILURE"}, "1": {"reason": "Signal 2 received", "data": null, "status": "SUCCESS"}, ` +
		`"3": {"reason": "Signal 3 received", "data": null, "status": "SUCCESS"}}`
	if r.Metadata != want {
		t.Errorf("%s, want %s", r.Metadata, want)
	}
	r.Metadata = came
	if err := Presume(r, 1e9); hot.Class(err) != hot.LimitExceeded || r.Metadata != came {
		t.Errorf("%v, and it keeps %.100s", err, r.Metadata)
	}
}
