package agent

// What a ramdisk is asked and told.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

const (
	// maxSteps and maxName bound what a ramdisk says that it can do, maxResult what
	// it says came of a command.
	maxSteps     = 500
	maxArguments = 100
	maxName      = 255
	maxResult    = 16 << 10
)

// offered are the steps that a node's ramdisk has in a phase, as it orders them. The row
// caches them; asked again, the answer is the same. Errors: as in steps.AgentActivities.
func (a *Activities) offered(ctx context.Context, fence steps.Fence, phase steps.AgentPhase) ([]steps.NodeStep, error) {
	s, err := a.open(ctx, fence)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	params, err := s.about(ctx)
	if err != nil {
		return nil, err
	}
	done, err := s.answered(ctx, fmt.Sprintf("%s.get_%s_steps", phase, phase), params)
	if err != nil {
		return nil, err
	}
	if done.Status != hasDone {
		return nil, done.failure()
	}
	var said map[string]json.RawMessage
	var byManager map[string][]steps.NodeStep
	if json.Unmarshal(done.Result, &said) != nil || json.Unmarshal(said[string(phase)+"_steps"], &byManager) != nil {
		return nil, faults.New(faults.Invalid, "AgentAPIError", "the agent's list of %s steps can't be read", phase)
	}
	all, err := readSteps(phase, byManager)
	if err != nil {
		return nil, err
	}
	return all, s.write(ctx, func(tx store.Tx) error {
		byInterface := map[string][]steps.NodeStep{}
		for _, step := range all {
			byInterface[step.Interface] = append(byInterface[step.Interface], step)
		}
		return baremetal.KeepInternal(ctx, tx, s.node.UUID, map[string]any{
			fmt.Sprintf("agent_cached_%s_steps", phase): byInterface, "hardware_manager_version": said["hardware_manager_version"],
		})
	})
}

// answered is what a ramdisk says when it is asked something. One that is at work, be it
// at the answer to a conductor that is gone, is asked again.
func (s *session) answered(ctx context.Context, name string, params any) (*command, error) {
	for until := time.Now().Add(s.Patience); ; {
		done, err := s.client.run(ctx, name, params, true)
		if err == nil || faults.As(err).Code != busy || time.Now().After(until) {
			return done, err
		}
		if err := s.Wait(ctx, s.Poll); err != nil {
			return nil, err
		}
	}
}

// readSteps checks what hardware managers offer, and gives it in the order of the
// managers' names.
func readSteps(phase steps.AgentPhase, offered map[string][]steps.NodeStep) (all []steps.NodeStep, err error) {
	var managers []string
	for name := range offered {
		managers = append(managers, name)
	}
	slices.Sort(managers)
	for _, name := range managers {
		for _, step := range offered[name] {
			if step.Interface == "" || step.Step == "" || len(step.Interface) > maxName || len(step.Step) > maxName {
				return nil, faults.New(faults.Invalid, "AgentAPIError", "the agent offers a %s step without an interface or a name", phase)
			}
			if step.Args = nil; len(step.ArgsInfo) > maxArguments {
				return nil, faults.New(faults.Invalid, "AgentAPIError", "the agent offers a %s step with more than %d arguments", phase, maxArguments)
			}
			all = append(all, step)
		}
	}
	if len(all) > maxSteps {
		return nil, faults.New(faults.Invalid, "AgentAPIError", "the agent offers more than %d %s steps", maxSteps, phase)
	}
	return all, nil
}

// Command is idempotent by a note of the ramdisk and of the place in its list that
// the command has: it is told only if it isn't there, and what is there is waited
// for. Errors: as in steps.AgentActivities.
func (a *Activities) Command(ctx context.Context, in steps.AgentCommandIn) (out steps.AgentCommandOut, err error) {
	if retired, err := a.hasRetired(ctx, in); err != nil || retired {
		return steps.AgentCommandOut{State: steps.AgentDone}, err
	}
	s, err := a.open(ctx, in.Fence)
	if err != nil {
		return out, err
	}
	defer s.close(ctx)
	if out, err = s.execute(ctx, in); err == nil && out.State == steps.AgentDone {
		err = s.keepRAID(ctx, in, out.Result)
	}
	return out, err
}

// hasRetired says whether the ramdisk has answered what it is told last: it listens to
// nobody afterwards, and the node's row may not say any more where it was.
func (a *Activities) hasRetired(ctx context.Context, in steps.AgentCommandIn) (bool, error) {
	if in.Command != steps.FinalizeRescue {
		return false, nil
	}
	acts, err := baremetal.Acts(ctx, a.db.Pool, in.Of)
	return acts[in.Name].Answered, err
}

// execute tells the ramdisk what it wasn't told, and waits for a while for what becomes of
// it.
func (s *session) execute(ctx context.Context, in steps.AgentCommandIn) (out steps.AgentCommandOut, err error) {
	acts, err := baremetal.Acts(ctx, s.db.Pool, in.Of)
	if err != nil {
		return out, err
	}
	act, told := acts[in.Name]
	last := in.Command == steps.FinalizeRescue // it listens to nobody afterwards
	boot, err := s.client.boot(ctx)
	if last && told && s.retired(act, err) {
		return steps.AgentCommandOut{State: steps.AgentDone}, nil
	}
	if err != nil {
		return out, err
	}
	list, err := s.client.commands(ctx)
	if err != nil {
		return out, err
	}
	place := spot{boot, len(list)}
	if told {
		was, known := readSpot(act.About)
		switch {
		case !known || was.boot != boot || act.Answered && was.at >= len(list):
			return steps.AgentCommandOut{State: steps.AgentRestarted}, nil
		case was.at < len(list):
			return s.follow(ctx, list[was.at], was.at)
		}
	}
	if len(list) > 0 && list[len(list)-1].Status == isRunning {
		return steps.AgentCommandOut{State: steps.AgentRunning}, nil
	}
	begun, err := s.tell(ctx, in, place)
	if err == nil && last && begun.Status == isRunning {
		begun.Status = hasDone // what else there is to say it can't be asked any more
	}
	if err != nil {
		if faults.As(err).Code == busy {
			return steps.AgentCommandOut{State: steps.AgentRunning}, nil
		}
		return out, err
	}
	return s.follow(ctx, *begun, place.at)
}

// silence is how long a ramdisk that runs is not heard of at most (api/baremetal,
// heartbeat_timeout).
const silence = 5 * time.Minute

// retired says whether a ramdisk listens to nobody that was told so, and whose answer was
// lost: it can't be reached, and was not heard of for long. One that was at work on it may
// have said meanwhile that it is alive.
func (s *session) retired(told baremetal.Act, err error) bool {
	now := told.SentAt.Add(told.Age)
	return err != nil && steps.IsAgentUnreached(faults.As(err)) && told.Age > silence && now.Sub(baremetal.RamdiskHeard(s.node)) > silence
}

// spot is a place in the list of a ramdisk.
type spot struct {
	boot string
	at   int
}

func (p spot) String() string { return fmt.Sprintf("%s %d", p.boot, p.at) }

func readSpot(text string) (spot, bool) {
	boot, at, _ := strings.Cut(text, " ")
	number, err := strconv.Atoi(at)
	return spot{boot, number}, err == nil
}

// tell notes where in the list the command will be, and sends it.
func (s *session) tell(ctx context.Context, in steps.AgentCommandIn, place spot) (*command, error) {
	name, params, err := s.words(ctx, in)
	if err != nil {
		return nil, err
	}
	if params == nil {
		return &command{Status: hasDone}, nil
	}
	if err := s.write(ctx, func(tx store.Tx) error { return baremetal.NoteAct(ctx, tx, in.Of, in.Name, place.String()) }); err != nil {
		return nil, err
	}
	told, err := s.client.run(ctx, name, params, false)
	if err != nil {
		return nil, err
	}
	return told, s.db.InTx(ctx, func(tx store.Tx) error { return baremetal.AnswerAct(ctx, tx, in.Of, in.Name) })
}

// writeImage is the step of deployments whose arguments are in the node's row.
const writeImage = "write_image"

// words are what the ramdisk is told; without params it isn't told anything.
func (s *session) words(ctx context.Context, in steps.AgentCommandIn) (name string, params any, err error) {
	if in.Step == nil {
		switch {
		case in.Command == steps.FinalizeRescue:
			params, err = s.rescue(ctx)
			return in.Command, params, err
		case in.Command == steps.InstallBootLoader:
			params, err = s.bootLoader(ctx, in.Params)
			return in.Command, params, err
		case in.Params == nil:
			in.Params = json.RawMessage(`{}`)
		}
		return in.Command, in.Params, nil
	}
	about, err := s.about(ctx)
	if err != nil {
		return "", nil, err
	}
	step := map[string]any{"interface": in.Step.Interface, "step": in.Step.Step, "priority": in.Step.Priority, "args": in.Step.Args,
		"reboot_requested": in.Step.RebootRequested, "abortable": in.Step.Abortable}
	if in.Row != nil {
		if step, err = s.stored(in.Phase, *in.Row); err != nil {
			return "", nil, err
		}
	}
	if in.Phase == steps.AgentDeploy && in.Step.Step == writeImage {
		args, err := s.imageArgs(ctx)
		if err != nil {
			return "", nil, err
		}
		step["args"] = args
	}
	about["step"], about[string(in.Phase)+"_version"] = step, s.known["hardware_manager_version"]
	return fmt.Sprintf("%s.execute_%s_step", in.Phase, in.Phase), about, nil
}

// rescue is the password that is kept for the node, as the ramdisk takes it.
func (s *session) rescue(ctx context.Context) (map[string]any, error) {
	sealed, err := baremetal.RescueOf(ctx, s.db.Pool, s.node.UUID)
	if err != nil {
		return nil, err
	}
	if sealed == nil {
		return nil, faults.New(faults.Invalid, "InstanceRescueFailure", "Agent rescue requires rescue_password in instance_info")
	}
	hashed, err := s.box.Open(sealed, nodes.RescuePlace(s.node))
	if err != nil {
		return nil, fmt.Errorf("rescue of node %s: %w", s.node.UUID, err)
	}
	return map[string]any{"rescue_password": string(hashed), "hashed": true}, nil
}

// follow waits for a while for what becomes of a command.
func (s *session) follow(ctx context.Context, c command, at int) (steps.AgentCommandOut, error) {
	for until := time.Now().Add(s.Patience); c.Status == isRunning; {
		if time.Now().After(until) {
			return steps.AgentCommandOut{State: steps.AgentRunning}, nil
		}
		if err := s.Wait(ctx, s.Poll); err != nil {
			return steps.AgentCommandOut{}, err
		}
		list, err := s.client.commands(ctx)
		switch {
		case err != nil:
			return steps.AgentCommandOut{}, err
		case at >= len(list) || list[at].ID != c.ID:
			return steps.AgentCommandOut{State: steps.AgentRestarted}, nil
		}
		c = list[at]
	}
	switch c.Status {
	case hasDone:
		if len(c.Result) > maxResult {
			c.Result = nil // what is that long is no result that anybody asked for
		}
		return steps.AgentCommandOut{State: steps.AgentDone, Result: c.Result}, nil
	case isOutdated, isOutdated2:
		return steps.AgentCommandOut{State: steps.AgentOutdated}, nil
	}
	return steps.AgentCommandOut{}, c.failure()
}

// failure is what a ramdisk says went wrong.
func (c command) failure() error {
	if c.Status != hasFailed {
		return faults.New(faults.Conflict, "AgentCommandFailed", "Agent returned unknown status %q for command %s", bounded(c.Status), bounded(c.Name))
	}
	var said struct{ Details, Message, Error string }
	if err := json.Unmarshal(c.Error, &said); err != nil {
		return faults.Wrap(err, faults.Conflict, "AgentCommandFailed", "the agent gave no reason")
	}
	for _, text := range []string{said.Details, said.Message, said.Error} {
		if text != "" {
			return faults.New(faults.Conflict, "AgentCommandFailed", "%s", bounded(text))
		}
	}
	return faults.New(faults.Conflict, "AgentCommandFailed", "the agent gave no reason")
}
