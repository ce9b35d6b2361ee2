// Package ipmitest has BMCs of simulated machines that speak IPMI 2.0, for tests. The
// protocol is go-ipmi's, so that what Holdfast makes of it is tried on another's reading.
//
// Only tests import it.
package ipmitest

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/types"

	sim "holdfast.dev/dev/bmc"
)

// Options of a BMC.
type Options struct {
	Username, Password string
	// Kg is its own key; none for none.
	Kg []byte
	// Suites are its cipher suites; none is 3 and 17.
	Suites []byte
	// Forgets has it refuse to keep what the machine is to start from, and Keeps to take
	// that back.
	Forgets, Keeps bool
}

// BMC is one that runs.
type BMC struct {
	Address string

	o       Options
	machine *sim.Machine
	conn    *net.UDPConn
	state   *bmc.BMC

	mu    sync.Mutex
	flags []byte
	// loses has the next answers be lost, and spoils be nonsense.
	loses, spoils int
	losesResets   bool
	commands      []byte
}

// Serve starts one of a machine.
func Serve(t testing.TB, m *sim.Machine, o Options) *BMC {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	b := &BMC{Address: conn.LocalAddr().String(), o: o, machine: m, conn: conn, flags: make([]byte, 5)}
	b.state = bmc.New(bmc.DeviceInfo{IPMIVersion: 0x20}, [16]byte{1}, mock.New(), bmc.WithKG(o.Kg))
	var suites []types.CipherSuiteID
	for _, s := range o.Suites {
		suites = append(suites, types.CipherSuiteID(s))
	}
	b.state.SetCipherSuites(suites)
	user, err := b.state.Users.Add(2, o.Username)
	if err != nil {
		t.Fatal(err)
	}
	user.SetPassword([]byte(o.Password))
	user.Enabled = true
	user.ChannelAccess[1] = bmc.UserChannelAccess{MaxPrivilege: bmc.PrivilegeLevelAdministrator, Enabled: true}
	commands := handlers.NewRegistry()
	handlers.RegisterAllHandlers(commands)
	for command, do := range map[types.Command]func([]byte) ([]byte, types.CompletionCode){
		types.CommandGetChassisStatus: b.status, types.CommandChassisControl: b.control,
		types.CommandSetSystemBootOptions: b.setOption, types.CommandGetSystemBootOptions: b.option,
		types.CommandColdReset: b.reset(types.CommandColdReset), types.CommandWarmReset: b.reset(types.CommandWarmReset),
	} {
		commands.RegisterFunc(command, func(_ context.Context, _ *handlers.HandlerContext, data []byte) ([]byte, types.CompletionCode, error) {
			said, code := do(data)
			return said, code, nil
		})
	}
	s := server.NewServer(b.state, b, server.WithHandlerRegistry(commands))
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(context.Background()) }) // ends with Close
	t.Cleanup(func() {
		_ = s.Close()
		serving.Wait()
	})
	return b
}

// Sessions is how many are open.
func (b *BMC) Sessions() int { return b.state.Sessions.Count() }

// Lose has so many answers be lost, after what was asked is done.
func (b *BMC) Lose(answers int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loses = answers
}

// LoseResets has the BMC give no answer when it is told to begin anew.
func (b *BMC) LoseResets() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.losesResets = true
}

// Resets are what the BMC itself was told, by the codes of the commands.
func (b *BMC) Resets() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.commands)
}

func (b *BMC) reset(c types.Command) func([]byte) ([]byte, types.CompletionCode) {
	return func([]byte) ([]byte, types.CompletionCode) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.commands = append(b.commands, c.ID)
		if b.losesResets {
			b.loses++
		}
		return nil, types.CodeOK
	}
}

func (b *BMC) status([]byte) ([]byte, types.CompletionCode) {
	power := byte(0)
	if p := b.machine.Power(); p == sim.On || p == sim.PoweringOn {
		power = 1
	}
	return []byte{power, 0, 0}, types.CodeOK
}

// controls are what a chassis is told, in Redfish's words.
var controls = map[byte]string{0: "ForceOff", 1: "On", 2: "PowerCycle", 3: "ForceRestart", 4: "Nmi", 5: "GracefulShutdown"}

func (b *BMC) control(data []byte) ([]byte, types.CompletionCode) {
	if len(data) != 1 || controls[data[0]] == "" {
		return nil, types.CodeRequestDataFieldInvalid
	}
	f := b.machine.Obey(controls[data[0]])
	b.mu.Lock()
	defer b.mu.Unlock()
	switch f {
	case sim.Slow:
		time.Sleep(b.machine.Lag)
	case sim.Unavailable:
		return nil, types.CodeNodeBusy
	case sim.Refuses:
		return nil, types.CodeNotSupported
	case sim.Drops:
		b.loses++
	case sim.Garbage:
		b.spoils++
	}
	return nil, types.CodeOK
}

// What Redfish calls the devices of the boot flags.
var targets = map[byte]string{0x04: "Pxe", 0x08: "Hdd", 0x14: "Cd", 0x18: "BiosSetup"}

func (b *BMC) setOption(data []byte) ([]byte, types.CompletionCode) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(data) == 2 && data[0] == 3 && !b.o.Forgets:
		return nil, types.CodeOK
	case len(data) != 6 || data[0] != 5:
		return nil, types.CodeParameterNotSupported
	case data[1]&0x80 == 0 && b.o.Keeps:
		return nil, types.CodeRequestDataFieldInvalid
	}
	b.flags = slices.Clone(data[1:])
	from := sim.Boot{Target: targets[data[2]], Enabled: "Once", Mode: "Legacy"}
	switch {
	case data[1]&0x80 == 0:
		from = sim.Boot{Target: "None", Enabled: "Disabled", Mode: b.machine.Boot().Mode}
	case data[1]&0x40 != 0:
		from.Enabled = "Continuous"
	}
	if data[1]&0x20 != 0 {
		from.Mode = "UEFI"
	}
	b.machine.StartFrom(from)
	return nil, types.CodeOK
}

func (b *BMC) option(data []byte) ([]byte, types.CompletionCode) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(data) != 3 || data[0] != 5 {
		return nil, types.CodeParameterNotSupported
	}
	if b.machine.Boot().Enabled == "Disabled" {
		b.flags = make([]byte, 5) // the machine has started by them
	}
	return append([]byte{1, 5}, b.flags...), types.CodeOK
}

// ReadFrom, WriteTo and Close are the connection of the server.
func (b *BMC) ReadFrom(p []byte) (int, net.Addr, error) { return b.conn.ReadFrom(p) }

// WriteTo sends an answer, unless it is to be lost or spoilt.
func (b *BMC) WriteTo(p []byte, to net.Addr) (int, error) {
	b.mu.Lock()
	lost, spoilt := b.loses > 0, b.spoils > 0
	switch {
	case lost:
		b.loses--
	case spoilt:
		b.spoils--
	}
	b.mu.Unlock()
	switch {
	case lost:
		return len(p), nil
	case spoilt:
		p = slices.Clone(p)
		for i := len(p) / 2; i < len(p); i++ {
			p[i] ^= 0xa5
		}
	}
	return b.conn.WriteTo(p, to)
}

// Close is told of at ReadFrom.
func (b *BMC) Close() error { return b.conn.Close() }
