package provision

// Power: what a node can be asked for by PUT /v1/nodes/{node}/states/power.

import "slices"

// Power is the word of a request about a node's power, and, of those, PowerOn
// and PowerOff are what it can be found with.
type Power string

// The words of clients.
const (
	PowerOn      Power = "power on"
	PowerOff     Power = "power off"
	PowerReboot  Power = "rebooting"
	PowerSoftOff Power = "soft power off"
	PowerSoft    Power = "soft rebooting"
)

// Powers gives every word that a request may have.
func Powers() []Power { return []Power{PowerOn, PowerOff, PowerReboot, PowerSoft, PowerSoftOff} }

// Known says whether a request may have the word.
func (p Power) Known() bool { return slices.Contains(Powers(), p) }

// Soft says whether the node's own system is asked, which takes its time.
func (p Power) Soft() bool { return p == PowerSoft || p == PowerSoftOff }

// Target is what the node is to be found with afterwards.
func (p Power) Target() Power {
	if p == PowerOff || p == PowerSoftOff {
		return PowerOff
	}
	return PowerOn
}
