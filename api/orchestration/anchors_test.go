package orchestration_test

import (
	"strings"
	"testing"
)

// Row 32 of the list of failures that the original has had: a request was answered
// before its action was shown, and clients took the COMPLETE of the one before for
// its end. Here what is accepted is shown from the same transaction on, though no
// worker has heard of it.
func TestAnchor32WhatIsAcceptedIsShownAtOnce(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	at := "/stacks/one/" + id
	if got := c.state(at); got != "CREATE_IN_PROGRESS" {
		t.Errorf("the create is shown as %s", got)
	}
	for _, row := range []struct{ from, method, path, body, want string }{
		{"CREATE COMPLETE", "PATCH", at, `{"parameters": {"n": 7}}`, "UPDATE_IN_PROGRESS"},
		{"UPDATE COMPLETE", "PUT", at, `{"template": {"heat_template_version": "2021-04-16"}}`, "UPDATE_IN_PROGRESS"},
		{"UPDATE COMPLETE", "POST", at + "/actions", `{"suspend": null}`, "SUSPEND_IN_PROGRESS"},
		{"SUSPEND COMPLETE", "POST", at + "/actions", `{"resume": null}`, "RESUME_IN_PROGRESS"},
		{"RESUME COMPLETE", "POST", at + "/actions", `{"check": null}`, "CHECK_IN_PROGRESS"},
		{"CHECK COMPLETE", "DELETE", at, "", "DELETE_IN_PROGRESS"},
	} {
		action, was, _ := strings.Cut(row.from, " ")
		c.idle(id, action, was)
		status, answer, _ := c.ask("alice", row.method, row.path, row.body)
		if got := c.state(at); status >= 300 || got != row.want {
			t.Errorf("%s %s %s: %d %v, and it is %s, want %s", row.method, row.path, row.body, status, answer, got, row.want)
		}
	}
}
