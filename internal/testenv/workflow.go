package testenv

// An environment for one workflow, without a server.

import (
	"log/slog"
	"time"

	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
)

// computes is how long a workflow may compute in a test without yielding: the SDK's one
// second says that a machine is busy, not that a workflow is stuck.
const computes = time.Minute

// Workflow is an environment in which a workflow is run by the SDK's own clock, between
// interceptors; it logs nothing.
func Workflow(between ...interceptor.WorkerInterceptor) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: computes, Interceptors: between})
	return env
}
