package bmc

// A machine: its power, what was asked of it, and how it misbehaves.

import (
	"slices"
	"sync"
	"time"
)

// Power is a machine's, in Redfish's words.
type Power string

// The powers.
const (
	On          Power = "On"
	Off         Power = "Off"
	PoweringOn  Power = "PoweringOn"
	PoweringOff Power = "PoweringOff"
)

// Fault is a way to misbehave when something is asked for.
type Fault string

// The faults.
const (
	// Slow answers late, by the machine's Lag.
	Slow Fault = "slow"
	// Unavailable answers 503 and does nothing.
	Unavailable Fault = "503"
	// Refuses answers 400 and does nothing.
	Refuses Fault = "400"
	// Drops acts and closes the connection without an answer.
	Drops Fault = "dropped"
	// Idle answers that it was done and does nothing.
	Idle Fault = "idle"
	// Garbage answers with what is no JSON.
	Garbage Fault = "garbage"

	// Those of ramdisks alone, which know Slow, Drops and Garbage too.

	// Fails does what it is told and says that it failed.
	Fails Fault = "fails"
	// Dies ends when it is told something, and is never heard again.
	Dies Fault = "dies"
	// Restarts begins anew when it is told something, with nothing in its mind.
	Restarts Fault = "restarts"
	// Busy says that it does something else.
	Busy Fault = "busy"
	// Endless answers without end.
	Endless Fault = "endless"
)

// Machine is one system of the service.
type Machine struct {
	ID, UUID string
	// MAC is the address of its network interface.
	MAC string
	// Delay is how long a change of power takes, Lag how late a slow answer is, and
	// what a slow command of its ramdisk takes.
	Delay, Lag time.Duration
	// Tells is how long its BMC takes to tell of the machine.
	Tells time.Duration
	// Pace is what a ramdisk takes for a second.
	Pace time.Duration

	mu      sync.Mutex
	power   Power // where it is, or is going
	settles time.Time
	asked   []string
	// turns are the changes of power that really happened.
	turns  []Power
	faults []Fault
	// readFaults are those that whoever reads of the system meets.
	readFaults []Fault

	boots
	media
	hardware
	settings
	parts   parts
	volumes volumes
	// firmware are the versions of components, and flashes the images that they were told
	// of.
	firmware map[string]string
	flashes  []string
}

// Power is the machine's power now.
func (m *Machine) Power() Power {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now()
}

func (m *Machine) now() Power {
	if time.Now().Before(m.settles) {
		return map[Power]Power{On: PoweringOn, Off: PoweringOff}[m.power]
	}
	return m.power
}

// Put gives the machine a power at once, as somebody at its front would.
func (m *Machine) Put(p Power) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.power, m.settles = p, time.Time{}
	m.powered()
}

// Asked are the resets that were asked for, and Turns what came of them.
func (m *Machine) Asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// Turns are the changes of power that really happened, in their order.
func (m *Machine) Turns() []Power {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.turns)
}

// Forget begins both lists anew.
func (m *Machine) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked, m.turns = nil, nil
}

// Misbehave has the next resets meet these faults, one each.
func (m *Machine) Misbehave(faults ...Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, faults...)
}

// MisbehaveReads has the next who read of the system meet these faults, one each: Slow,
// Unavailable or Drops.
func (m *Machine) MisbehaveReads(faults ...Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readFaults = append(m.readFaults, faults...)
}

// Behave has nobody meet any of the faults that are left.
func (m *Machine) Behave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults, m.readFaults, m.mediaFaults, m.agentFaults = nil, nil, nil, nil
}

// nmi interrupts what a machine runs, and leaves its power.
const nmi = "Nmi"

// resets are what a system can be told, and where that leads; "" is a restart.
var resets = map[string]Power{"On": On, "ForceOn": On, "ForceOff": Off, "GracefulShutdown": Off, "GracefulRestart": "", "ForceRestart": "", "PowerCycle": "", nmi: ""}

// Obey does one of resets, unless the next fault is against it, and gives that fault: it
// says how the machine's BMC answers.
func (m *Machine) Obey(how string) Fault {
	f := next(m, &m.faults)
	if f != Unavailable && f != Refuses {
		m.reset(how, f != Idle)
	}
	return f
}

// reset does one of resets.
func (m *Machine) reset(how string, acts bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, how)
	if !acts || how == nmi {
		return
	}
	to := resets[how]
	if to == "" {
		if m.power != On {
			m.turn(On)
			return
		}
		m.turns = append(m.turns, Off)
		m.power = Off
		m.powered()
		to = On
	}
	m.turn(to)
}

func (m *Machine) turn(to Power) {
	if m.power == to {
		return
	}
	m.power, m.settles = to, time.Now().Add(m.Delay)
	m.turns = append(m.turns, to)
	m.powered()
}
