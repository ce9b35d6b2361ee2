// Package workflowtest proves an operation's workflow against a model of the
// world in memory, and is used by the tests of every kind:
//
//	func TestBuild(t *testing.T) {
//		workflowtest.Every(t, workflowtest.Story{Workflow: server.Build, Scenarios: ..., Ends: ...})
//	}
//
// Every tells the story once undisturbed and then again for every call it made,
// with each kind of incident at that call (incidents.go): failures, lost
// answers, hosts that fall silent, cancels, another owner, the loss of the
// whole workflow. After each run the world is checked exactly (check.go).
//
// world.go is the model: the operation's row, its ledger, the server's row, and
// what hosts hold; activities.go puts it behind the steps. record.go runs the
// same model against a real Temporal server to record histories for replay.
//
// Only tests import it.
package workflowtest
