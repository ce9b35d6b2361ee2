package steps

// Family agent: what a node's ramdisk is asked and told. The conductor that does it
// reads from the node's row where the ramdisk is and what it shares with it; every
// input carries the operation's fence.

import (
	"context"
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"holdfast.dev/internal/faults"
)

// AgentPhase is a part of what ramdisks can do: each has its own list of steps.
type AgentPhase string

// The phases.
const (
	AgentClean   AgentPhase = "clean"
	AgentDeploy  AgentPhase = "deploy"
	AgentService AgentPhase = "service"
)

// NodeStep is something that is done to a node in a phase.
type NodeStep struct {
	Interface string `json:"interface"`
	Step      string `json:"step"`
	Priority  int    `json:"priority"`
	// Args are what the step is told, an object.
	Args json.RawMessage `json:"args,omitempty"`
	// RebootRequested says that the ramdisk has to start anew after it.
	RebootRequested bool `json:"reboot_requested,omitempty"`
	// Abortable says whether nothing is broken if it is cut short; nil is as the phase has
	// it.
	Abortable *bool `json:"abortable,omitempty"`
	// ArgsInfo are the arguments that it takes.
	ArgsInfo map[string]NodeArgument `json:"argsinfo,omitempty"`
}

// NodeArgument is what is known of an argument of a step.
type NodeArgument struct {
	Required bool `json:"required,omitempty"`
}

// AgentCommandIn tells a node's ramdisk something, once under an operation and a
// name, and asks what has become of it.
type AgentCommandIn struct {
	Fence Fence `json:"fence"`
	// Of and Name are as in NodePowerIn.
	Of   string `json:"of"`
	Name string `json:"name"`
	// Command is its extension and name; empty for the execution of a step.
	Command string          `json:"command,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	// Phase and Step are what is executed.
	Phase AgentPhase `json:"phase,omitempty"`
	Step  *NodeStep  `json:"step,omitempty"`
	// Row is which of the steps in the node's row it is, if it is one of those: its
	// arguments are there.
	Row *int `json:"row,omitempty"`
}

// CleanPlanIn asks by what a node is cleaned, deployed or serviced.
type CleanPlanIn struct {
	Fence Fence `json:"fence"`
	// Phase is which; empty is cleaning.
	Phase AgentPhase `json:"phase,omitempty"`
	// Asked says that a user has asked for the steps that the node's row has; otherwise
	// they are those that are due. A deployment is made of both.
	Asked bool `json:"asked,omitempty"`
}

// CleanPlanOut are the steps, in their order.
type CleanPlanOut struct {
	Steps []CleanStep `json:"steps,omitempty"`
	// Index is where among those of a deployment the one is that is being done.
	Index int `json:"index,omitempty"`
}

// FinalizeRescue has a ramdisk be one that rescues: it has the password that is kept
// for its node, and listens to nobody afterwards.
const FinalizeRescue = "rescue.finalize_rescue"

// Commands by which a node is made to start from its disk: PartitionUUIDs asks what has been
// written there, and InstallBootLoader, which is told the answer, has it be started from. If
// nothing is to be installed for that, the ramdisk isn't told.
const (
	PartitionUUIDs    = "standby.get_partition_uuids"
	InstallBootLoader = "image.install_bootloader"
)

// AgentState is what has become of a command.
type AgentState string

const (
	// AgentRunning: it isn't over. The step is to be called again, at the ramdisk's
	// next heartbeat or after a while.
	AgentRunning AgentState = "running"
	// AgentDone: it has succeeded.
	AgentDone AgentState = "done"
	// AgentOutdated: the ramdisk has other versions of its hardware managers than
	// those that its steps were asked of, and has done nothing.
	AgentOutdated AgentState = "outdated"
	// AgentRestarted: the ramdisk that was told it is gone and another one runs; what
	// has become of it nobody knows.
	AgentRestarted AgentState = "restarted"
)

// AgentCommandOut says what has become of a command.
type AgentCommandOut struct {
	State AgentState `json:"state"`
	// Result is what the ramdisk has answered to one that is done.
	Result json.RawMessage `json:"result,omitempty"`
}

// AgentActivities is implemented by activities/agent. Every method is idempotent by
// notes of what was told, which name the ramdisk and the place in its list of
// commands: what is in the list isn't told again.
type AgentActivities interface {
	// Command: errors Invalid (the ramdisk refuses, or isn't the one that it was),
	// Conflict (code AgentNotHeard: it has not called back; code AgentCommandFailed: with
	// what the ramdisk says went wrong), Unavailable, Superseded.
	Command(context.Context, AgentCommandIn) (AgentCommandOut, error)
	// CleanPlan writes in the node's row what it is cleaned, deployed or serviced by: what
	// its interfaces have, and what its ramdisk has. Errors: as Command, and Invalid (a step
	// that was asked for isn't there).
	CleanPlan(context.Context, CleanPlanIn) (CleanPlanOut, error)
	// Settle makes what the node's ramdisk has found the node's, its ports' and its
	// inventory; what has become theirs already stays. It needs no ramdisk. Errors: Invalid
	// (nothing can be made of it, or a rule says that it fails), Unavailable, Superseded.
	Settle(context.Context, NodeIn) (struct{}, error)
}

// IsAgentUnreached says whether a ramdisk may answer yet that has not answered.
func IsAgentUnreached(f *faults.Error) bool {
	return f.Kind == faults.Unavailable && f.Code == "AgentConnectionFailed"
}

// Agent is the family's caller.
var Agent agentSteps

type agentSteps struct{}

var (
	agentCommand   = conductorStep("agent.Command")
	agentCleanPlan = conductorStep("agent.CleanPlan")
	agentSettle    = conductorStep("agent.Settle")
)

// Command tells a node's ramdisk something, by a conductor of its group.
func (agentSteps) Command(ctx workflow.Context, group string, in AgentCommandIn) (AgentCommandOut, error) {
	return call[AgentCommandOut](ctx, agentCommand, ConductorQueue(group), in)
}

// CleanPlan says by what a node is cleaned, deployed or serviced, by a conductor of its
// group.
func (agentSteps) CleanPlan(ctx workflow.Context, group string, in CleanPlanIn) (CleanPlanOut, error) {
	return call[CleanPlanOut](ctx, agentCleanPlan, ConductorQueue(group), in)
}

// Settle makes what a node's ramdisk has found the node's own, by a conductor of its group.
func (agentSteps) Settle(ctx workflow.Context, group string, in NodeIn) error {
	_, err := call[struct{}](ctx, agentSettle, ConductorQueue(group), in)
	return err
}
