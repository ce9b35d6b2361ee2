package workflowtest

// The world: a model of what the steps of an operation read and change, kept by
// the rules that internal/engine and the hosts keep.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// ServerID is the server that every world is about.
const ServerID = "5f0c8b9e-6a3d-4f43-9a51-0c2b7f0e1d11"

// MigrationID is the move that a world may have left unconfirmed.
const MigrationID = "c2f8a6de-4c0b-4a19-8f0d-7be3a1c95d22"

// Epoch is when an operation is accepted. It is no fixed date, since the SDK
// compares the test's clock with the real one.
var Epoch = time.Now().Truncate(time.Second)

// World is one server, the operation that holds it, and the hosts around it.
// Its fields are set up by a Scenario and read by tests once a run has ended.
type World struct {
	Op     Operation
	Server Server
	Ledger []operations.Effect
	Hosts  map[string]*Host
	// Neutron has the server's ports.
	Neutron Neutron
	// Cinder has the server's volumes.
	Cinder Cinder
	// Left is the host that an unconfirmed move has left; empty if there is none.
	Left string
	// Migrated is the status that the server's move has ended with.
	Migrated string
	// Device is a volume or a port that comes or goes; nil if none does.
	Device *Device
	// Swap is a volume that another is to take the place of; nil if none is.
	Swap *Swap
	// Glance has the image that is made of the server.
	Glance Glance
	// Moves is the move that the server makes.
	Moves Moves
	// Recovers is what Begin tells a recover operation.
	Recovers *steps.Recovered
	// BadImage makes every build fail as one that can never work.
	BadImage bool
	// Refills says that a rebuild is to fill the volume that the server boots from.
	Refills bool
	// Linger makes a build, or the first change of power, stay at work until it
	// is cancelled.
	Linger bool

	mu       sync.Mutex
	calls    []Call
	incident Incident
	struck   *Call // the call that the incident struck first
	beyond   bool  // the operation was past its point of no return by then
	open     bool  // hypervisors had yet to decide what becomes of it
	lost     bool  // the workflow is lost: nothing that it calls arrives
	cancel   func()
	signal   func()
	faulty   []string // what broke a rule while it ran
	frozen   string   // the world when another operation took over
}

// Operation is the row of the operation.
type Operation struct {
	ID       string
	Kind     operations.Kind
	Deadline time.Time
	// Input is what the request asked for.
	Input json.RawMessage
	Step  string
	// Beyond is the last step past the point of no return that it has come to.
	Beyond string
	// crossed is the call that has led past it; 0 for none.
	crossed         int
	Attempt         int
	RunID           string
	CancelRequested bool
	Finished        int
	Result          operations.Result
	Fault           *steps.Fault
	// Resets counts the runs that were made by a reset.
	Resets int
	Note   string
}

// Server is the row of the server.
type Server struct {
	VMState    string
	TaskState  string
	PowerState int
	Host       string
	Launched   bool
	Deleted    bool
	// CPUs is its size by the row; 0 is the one that it has had from the start.
	CPUs int
	// Rebuilt is the name that a rebuild has published; empty if none has.
	Rebuilt string
	// ShelvedImage is the image that it starts from when it leaves the shelf.
	ShelvedImage string
	// Owner is the operation that holds the lock.
	Owner      string
	Generation int64
}

// Host is a host: what the database says of it and what is really there.
type Host struct {
	// Up is what heartbeats say, Answers whether its worker takes work.
	Up, Answers bool
	// SilentFor makes it ignore that many steps and then answer again.
	SilentFor int
	// BackAfter is the step of which the first call has it be heard of again, and
	// answer; empty is none.
	BackAfter string
	// Broken makes every build and every change of power on it fail, as a full
	// disk would.
	Broken bool
	// Unable has its driver know no change of power.
	Unable bool
	// FailedBuilds counts the claims that were given back because it failed.
	FailedBuilds int
	// Room is for how many servers it has room.
	Room           int
	Claims, Guests map[string]bool
	// Power is the power state of its guest.
	Power int
	// Rescue is that of its guest.
	Rescue Rescue
	// Image is what its guest has been rebuilt as; empty if it hasn't.
	Image string
	// CPUs is the size of its guest that a move has made, Aside that it keeps what
	// that was made of before.
	CPUs  int
	Aside bool
	seen  steps.Token
}

// Neutron is what the network service has of the server.
type Neutron struct {
	// Asked is how many ports the server asks for.
	Asked int
	// Bound is the host that its ports are bound to; empty if there are none.
	Bound string
	// Down answers nothing.
	Down bool
	// Full refuses to make ports, Unbindable is a host that can't be bound to.
	Full       bool
	Unbindable string
	// Slow has plugged only when looked at twice, Silent never says so, Fails
	// says that it can't.
	Slow, Silent, Fails bool

	looks int
}

// Cinder is what the block storage service has of the server.
type Cinder struct {
	// Asked is how many volumes the server asks for.
	Asked int
	// Made says that they are there, Attached to which host, InUse that the
	// guest has them.
	Made     bool
	Attached string
	InUse    bool
	// Down answers nothing.
	Down bool
	// Missing has no such volume; Slow is how often one that is being made is
	// looked at before it is ready.
	Missing bool
	Slow    int
	// Filled is the image that the volume was filled anew from.
	Filled string

	looks int
}

// patience is the longest deadline of an operation in a world: what is waited for
// until then is asked for every few seconds, and a day of that takes minutes.
const patience = 20 * time.Minute

// NewWorld has an operation of kind that was accepted at Epoch, a server that
// it holds, and healthy empty hosts with the given names.
func NewWorld(kind operations.Kind, server Server, hosts ...string) *World {
	spec, _ := operations.Lookup(kind)
	id := strings.Join([]string{string(spec.Resource), ServerID, spec.Verb, "01jqzk0000000000test"}, "/")
	server.Owner, server.Generation = id, 7
	w := &World{
		Op:     Operation{ID: id, Kind: kind, Deadline: Epoch.Add(min(spec.Deadline, patience))},
		Server: server,
		Hosts:  map[string]*Host{},
	}
	for _, name := range hosts {
		w.Hosts[name] = &Host{Up: true, Answers: true, Room: 1, Claims: map[string]bool{}, Guests: map[string]bool{}}
	}
	return w
}

// Place puts the server's guest and its claim on the host, as a build leaves them.
func (w *World) Place(host string) *World {
	w.Server.Host, w.Server.Launched = host, true
	w.Hosts[host].Claims[ServerID] = true
	w.Hosts[host].Guests[ServerID], w.Hosts[host].Power = true, w.Server.PowerState
	if w.Neutron.Asked > 0 {
		w.Neutron.Bound = host
	}
	if w.Cinder.Asked > 0 {
		w.Cinder.Made, w.Cinder.Attached, w.Cinder.InUse = true, host, true
	}
	return w
}

// Down makes the host silent and lets its heartbeats stop.
func (w *World) Down(host string) *World {
	w.Hosts[host].Up, w.Hosts[host].Answers = false, false
	return w
}

// PayDebts brings every host back and lets each pay what it owes, as the host
// link has it: the guest first, then the claim that was owed with it. Services
// come back too.
func (w *World) PayDebts() {
	for _, h := range w.Hosts {
		h.Up, h.Answers, h.SilentFor = true, true, 0
	}
	w.Neutron.Down, w.Cinder.Down, w.Glance.Down = false, false, false
	for i, e := range slices.Backward(w.Ledger) {
		if e.State != operations.Owed {
			continue
		}
		w.Glance.pay(e)
		w.payMove(e)
		w.payResize(e)
		w.paySwap(e)
		switch e.Kind {
		case operations.EffectBindings, operations.EffectConnections, operations.EffectHalt:
			w.payShelf(e)
		case operations.EffectPorts:
			w.Neutron.Bound = ""
		case operations.EffectOldBindings:
			w.Neutron.Bound = w.Server.Host
		case operations.EffectOldConnections:
			w.Cinder.Attached = w.Server.Host
		case operations.EffectDevice:
			w.Device.Plugged = false
		case operations.EffectVolume, operations.EffectPort:
			w.Device.Row, w.Device.Bound, w.Device.InUse = false, false, false
		case operations.EffectVolumes:
			w.Cinder.Made, w.Cinder.Attached, w.Cinder.InUse = false, "", false
		case operations.EffectGuest:
			delete(w.Hosts[e.Host].Guests, e.Ref)
		case operations.EffectRescue:
			w.Hosts[e.Host].leaveRescue(steps.PowerUndoRescue)
		case operations.EffectClaim:
			delete(w.Hosts[e.Host].Claims, e.Ref)
		}
		w.Ledger[i].State = operations.Undone
	}
}

// Row is the server's row as an end is described: "active, power 1, on a host".
func (w *World) Row() string {
	place := "on no host"
	if w.Server.Host != "" {
		place = "on a host"
	}
	if w.Neutron.Bound != "" {
		place += ", with ports"
	}
	if w.Cinder.Made {
		place += ", with volumes"
	}
	if w.Device != nil && w.Device.Row {
		place += ", with the device"
	}
	if w.Swap != nil && w.Swap.Replaced {
		place += ", with the new volume"
	}
	return fmt.Sprintf("%s, power %d, %s", w.Server.VMState, w.Server.PowerState, place)
}

// String is everything there is, for comparison and for the reader of a failure.
func (w *World) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "server %+v\nstep %s attempt %d finished %d %s\n", w.Server, w.Op.Step, w.Op.Attempt, w.Op.Finished, w.Op.Result)
	for _, e := range w.Ledger {
		fmt.Fprintf(&b, "  %d %s %s attempt %d %s\n", e.Seq, e.Kind, e.Host, e.Attempt, e.State)
	}
	fmt.Fprintf(&b, "  ports %d bound to %q\n", w.Neutron.Asked, w.Neutron.Bound)
	fmt.Fprintf(&b, "  volumes %d made %t attached to %q in use %t\n", w.Cinder.Asked, w.Cinder.Made, w.Cinder.Attached, w.Cinder.InUse)
	if w.Device != nil {
		fmt.Fprintf(&b, "  device %+v\n", *w.Device)
	}
	if w.Swap != nil {
		fmt.Fprintf(&b, "  swap %+v\n", *w.Swap)
	}
	fmt.Fprintf(&b, "  %s\n", w.Glance)
	for _, name := range slices.Sorted(maps.Keys(w.Hosts)) {
		h := w.Hosts[name]
		fmt.Fprintf(&b, "  %s up %t answers %t claims %d guests %d power %d rescue %t CPUs %d aside %t\n", name, h.Up, h.Answers, len(h.Claims), len(h.Guests), h.Power, h.Rescue.On, h.CPUs, h.Aside)
	}
	return b.String()
}

// has is what the server has by its own rows: a claim that is owed is the
// debtor's.
func (w *World) has() []operations.Effect {
	var holds []operations.Effect
	if w.Server.ShelvedImage != "" {
		holds = append(holds, operations.Effect{Kind: operations.EffectImage, Ref: w.Server.ShelvedImage})
	}
	for _, host := range slices.Sorted(maps.Keys(w.Hosts)) {
		if w.Hosts[host].Claims[ServerID] && !w.owes(operations.EffectClaim, host) {
			holds = append(holds, operations.Effect{Kind: operations.EffectClaim, Ref: ServerID, Host: host})
		}
	}
	if w.Left != "" && !w.owes(operations.EffectClaim, w.Left) {
		holds = append(holds, operations.Effect{Kind: operations.EffectClaim, Ref: MigrationID, Host: w.Left})
	}
	if w.Neutron.Bound != "" {
		holds = append(holds, operations.Effect{Kind: operations.EffectPorts, Ref: ServerID})
	}
	if w.Cinder.Made {
		holds = append(holds, operations.Effect{Kind: operations.EffectVolumes, Ref: ServerID})
	}
	if w.Left != "" && w.Left != w.Server.Host {
		holds = append(holds, operations.Effect{Kind: operations.EffectGuest, Ref: ServerID, Host: w.Left})
	}
	if w.Server.Host != "" {
		holds = append(holds, operations.Effect{Kind: operations.EffectGuest, Ref: ServerID, Host: w.Server.Host})
	}
	return holds
}

func (w *World) owes(kind operations.EffectKind, host string) bool {
	return slices.ContainsFunc(w.Ledger, func(e operations.Effect) bool {
		return e.Kind == kind && e.Host == host && e.State == operations.Owed
	})
}

// owesClaim is owes for a consumer's claim.
func (w *World) owesClaim(consumer, host string) bool {
	return slices.ContainsFunc(w.Ledger, func(e operations.Effect) bool {
		return e.Kind == operations.EffectClaim && e.Ref == consumer && e.Host == host && e.State == operations.Owed
	})
}

// intend writes a line to the ledger. What is intended twice is one line; one
// that was undone or is owed is open again.
func (w *World) intend(e operations.Effect) {
	for i, o := range w.Ledger {
		if o.Kind == e.Kind && o.Ref == e.Ref && o.Host == e.Host && o.Attempt == e.Attempt {
			if o.State == operations.Undone || o.State == operations.Owed {
				w.Ledger[i].State = operations.Intended
			}
			return
		}
	}
	e.Seq, e.State = 1, operations.Intended
	if n := len(w.Ledger); n > 0 {
		e.Seq = w.Ledger[n-1].Seq + 1
	}
	w.Ledger = append(w.Ledger, e)
}

// broke notes that a rule was broken.
func (w *World) broke(format string, args ...any) {
	w.faulty = append(w.faulty, fmt.Sprintf(format, args...))
}
