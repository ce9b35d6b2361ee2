package bmc

// What an agent can be told, and how it keeps what came of it.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// What can be of a command.
const (
	running         = "RUNNING"
	succeeded       = "SUCCEEDED"
	failed          = "FAILED"
	versionMismatch = "CLEAN_VERSION_MISMATCH"
)

// command is one that the agent was told.
type command struct {
	id, name, of string
	ended        chan struct{}

	mu     sync.Mutex
	status string
	err    *agentError
	result any
}

// agentError is what went wrong, as the agent says it.
type agentError struct {
	Type    string `json:"type"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details string `json:"details"`
}

func (e *agentError) String() string { return e.Message + ": " + e.Details }

func trouble(kind, message, details string) *agentError {
	return &agentError{kind, http.StatusInternalServerError, message, details}
}

// malformed refuses what a command is told.
func malformed(format string, args ...any) *agentError {
	return &agentError{"InvalidCommandParamsError", http.StatusBadRequest, "Invalid command parameters", fmt.Sprintf(format, args...)}
}

// shown is a command as the agent tells of it.
func (c *command) shown() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	shown := map[string]any{"id": c.id, "command_name": c.name, "command_status": c.status, "command_error": nil, "command_result": c.result}
	if c.err != nil {
		shown["command_error"] = c.err
	}
	return shown
}

// await waits until the command has ended or its asker is gone.
func (c *command) await(ctx context.Context) {
	select {
	case <-c.ended:
	case <-ctx.Done():
	}
}

func (c *command) done() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status != running
}

// end says what came of the command.
func (c *command) end(result any, err *agentError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.status, c.result = succeeded, result
	case err.Type == "VersionMismatch":
		c.status, c.err = versionMismatch, err
	default:
		c.status, c.err = failed, err
	}
	close(c.ended)
}

// arguments are what a command is told.
type arguments map[string]json.RawMessage

// read reads one of them; one that isn't there changes nothing.
func (a arguments) read(name string, to any) *agentError {
	text, given := a[name]
	if !given {
		return nil
	}
	if err := json.Unmarshal(text, to); err != nil {
		return malformed("%s is %s", name, text)
	}
	return nil
}

// verb is something that the agent can be told.
type verb struct {
	// async says that the answer doesn't wait for it.
	async bool
	// check refuses what it is told at once; nil for nothing.
	check func(arguments) *agentError
	do    func(context.Context, *Agent, arguments) (any, *agentError)
}

// verbs are those by their extension and name.
func verbs() map[string]verb {
	all := map[string]verb{
		"standby.prepare_image":       {async: true, check: checkImage, do: prepareImage},
		"standby.run_image":           {async: true, do: func(_ context.Context, a *Agent, _ arguments) (any, *agentError) { return nil, a.machine.shutDown(On) }},
		"standby.power_off":           {async: true, do: func(_ context.Context, a *Agent, _ arguments) (any, *agentError) { return nil, a.machine.shutDown(Off) }},
		"standby.sync":                {do: nothing},
		"standby.get_partition_uuids": {do: partitions},
		"image.install_bootloader":    {async: true, do: installBootLoader},
		"rescue.finalize_rescue":      {do: finalizeRescue},
		"poll.get_hardware_info": {do: func(_ context.Context, a *Agent, _ arguments) (any, *agentError) {
			return a.machine.inventory()["inventory"], nil
		}},
		"poll.set_node_info": {do: nothing},
		"log.collect_system_logs": {do: func(context.Context, *Agent, arguments) (any, *agentError) {
			return map[string]any{"system_logs": ""}, nil
		}},
		"system.lockdown": {do: retire},
	}
	for _, phase := range []string{"clean", "deploy", "service"} {
		all[phase+".get_"+phase+"_steps"] = verb{do: func(_ context.Context, a *Agent, _ arguments) (any, *agentError) {
			return map[string]any{phase + "_steps": map[string]any{managerName: a.machine.steps(phase)}, "hardware_manager_version": a.machine.managerVersion()}, nil
		}}
		all[phase+".execute_"+phase+"_step"] = verb{async: true, do: func(ctx context.Context, a *Agent, told arguments) (any, *agentError) {
			return a.executeStep(ctx, phase, told)
		}}
	}
	return all
}

// finalizeRescue takes the password, which has to be hashed, and retires.
func finalizeRescue(ctx context.Context, a *Agent, told arguments) (any, *agentError) {
	var password string
	var hashed bool
	if err := told.read("rescue_password", &password); err != nil {
		return nil, err
	}
	if err := told.read("hashed", &hashed); err != nil {
		return nil, err
	}
	if password == "" || !hashed {
		return nil, malformed("the password isn't hashed")
	}
	a.machine.mu.Lock()
	a.machine.passwords = append(a.machine.passwords, password)
	a.machine.mu.Unlock()
	return retire(ctx, a, told)
}

func nothing(context.Context, *Agent, arguments) (any, *agentError) { return nil, nil }

// execute begins a command, one at a time. What it refuses isn't kept.
func (a *Agent) execute(name string, told arguments, fault Fault) (*command, *agentError) {
	c, v, refused := a.enter(name, told)
	if refused != nil {
		return nil, refused
	}
	work := func() {
		if fault == Slow && pause(a.machine.life, a.machine.Lag) != nil {
			return
		}
		result, err := v.do(a.machine.life, a, told)
		if fault == Fails {
			err = trouble("CommandExecutionError", "Command execution failed", "it was told to fail")
		}
		if text, is := result.(string); is {
			if v.async {
				text = c.name + ": " + text
			}
			result = map[string]any{"result": text}
		}
		c.end(result, err)
		if v.async {
			a.Beat()
		}
	}
	if v.async {
		a.machine.work.Go(work)
	} else {
		work()
	}
	return c, nil
}

// enter adds a command to the list, unless it is refused.
func (a *Agent) enter(name string, told arguments) (*command, verb, *agentError) {
	a.mu.Lock()
	defer a.mu.Unlock()
	extension, word, ok := strings.Cut(name, ".")
	if !ok {
		return nil, verb{}, &agentError{"InvalidCommandError", http.StatusBadRequest, "Invalid command", "Command name must be of the form <extension>.<name>"}
	}
	if n := len(a.commands); n > 0 && !a.commands[n-1].done() {
		return nil, verb{}, &agentError{"AgentIsBusy", http.StatusConflict, "Agent is busy", "executing command " + a.commands[n-1].name}
	}
	known := verbs()
	v, ok := known[name]
	if !ok {
		for other := range known {
			if strings.HasPrefix(other, extension+".") {
				return nil, verb{}, &agentError{"InvalidCommandError", http.StatusBadRequest, "Invalid command", "Unknown command: " + word}
			}
		}
		return nil, verb{}, &agentError{"RequestedObjectNotFoundError", http.StatusNotFound, "Not found", "Extension with id " + extension + " not found."}
	}
	if v.check != nil {
		if refused := v.check(told); refused != nil {
			return nil, verb{}, refused
		}
	}
	c := &command{id: uuid.NewString(), name: word, of: name, status: running, ended: make(chan struct{})}
	a.commands = append(a.commands, c)
	return c, v, nil
}

// shown are the commands, oldest first.
func (a *Agent) shown() []any {
	a.mu.Lock()
	all := slices.Clone(a.commands)
	a.mu.Unlock()
	shown := []any{}
	for _, c := range all {
		shown = append(shown, c.shown())
	}
	return shown
}

func (a *Agent) find(id string) *command {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.commands {
		if c.id == id {
			return c
		}
	}
	return nil
}

// Commands are what the ramdisk was told, by extension and name, oldest first.
func (a *Agent) Commands() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	for _, c := range a.commands {
		names = append(names, c.of)
	}
	return names
}

// executeStep does a step of its hardware manager.
func (a *Agent) executeStep(ctx context.Context, phase string, told arguments) (any, *agentError) {
	var version map[string]string
	var raw json.RawMessage
	var step struct {
		Step string
		Args arguments
	}
	for name, to := range map[string]any{phase + "_version": &version, "step": &raw} {
		if err := told.read(name, to); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(raw, &step); err != nil || step.Step == "" {
		return nil, trouble("CommandExecutionError", "Command execution failed", fmt.Sprintf("Malformed %s_step, no \"step\" key: %s", phase, raw))
	}
	if mine := a.machine.managerVersion(); version != nil && fmt.Sprint(version) != fmt.Sprint(mine) {
		return nil, &agentError{"VersionMismatch", http.StatusConflict, "Hardware managers version mismatch, reload agent with correct version",
			fmt.Sprintf("Current versions: %v, versions used by ironic: %v", mine, version)}
	}
	result, err := a.machine.doStep(ctx, phase, step.Step, step.Args, told)
	if err != nil {
		return nil, err
	}
	return map[string]any{phase + "_result": result, phase + "_step": raw}, nil
}

// retire ends the agent once the answer has been given, without a change of power.
func retire(_ context.Context, a *Agent, _ arguments) (any, *agentError) {
	a.machine.work.Go(func() {
		if pause(a.machine.life, a.seconds(0.1)) == nil {
			a.quit()
		}
	})
	return nil, nil
}
