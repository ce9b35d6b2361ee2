package bmc

// IPMI: the power of a machine, what it starts from, and its interrupt.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/ipmi"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/baremetal"
)

// ipmiBMC is a session with a BMC that speaks IPMI.
type ipmiBMC struct {
	session *ipmi.Session
	lease   *baremetal.Lease
	// keeps has the BMC remember what its machine is to start from.
	keeps bool
	// leave gives the BMC back, with the last error.
	leave func(error)
	last  error
}

// openIPMI opens a session with a BMC. It is bounded like one request, though it is several.
func (s *session) openIPMI(ctx context.Context, to nodes.IPMI) (driver, error) {
	leave, err := s.limits.enter(ctx, to.Address)
	if err != nil {
		return nil, err
	}
	d := &ipmiBMC{lease: s.Lease, keeps: to.KeepsBootDevice, leave: leave}
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, ipmi.ErrSilent)
	defer cancel()
	guard := s.guard
	guard.Packets = true
	conn, err := guard.Dialer().DialContext(ctx, "udp", to.Address)
	if err == nil {
		d.session, err = ipmi.Open(ctx, conn, ipmi.Config{Username: to.Username, Password: to.Password, Kg: to.Kg, Suites: to.Suites,
			Privilege: to.Privilege, Retry: s.Retry})
	}
	if err != nil {
		err = d.fault("session open", err)
		d.leave(d.last)
		return nil, err
	}
	return d, nil
}

// The commands for a chassis.
const (
	chassisStatus  = 0x01
	chassisControl = 0x02
	setBootOptions = 0x08
	getBootOptions = 0x09
)

// send gives what the BMC answers a command, which name is for those who read that it failed.
func (d *ipmiBMC) send(ctx context.Context, name string, c ipmi.Command) ([]byte, error) {
	data, err := d.session.Send(ctx, c)
	return data, d.fault(name, err)
}

// short is the fault of an answer that ends too early.
func (d *ipmiBMC) short(name string) error {
	return d.fault(name, errors.New("the BMC's answer is too short"))
}

func (d *ipmiBMC) power(ctx context.Context) (provision.Power, error) {
	said, err := d.send(ctx, "power status", ipmi.Command{NetFn: ipmi.Chassis, Code: chassisStatus})
	switch {
	case err != nil:
		return "", err
	case len(said) == 0:
		return "", d.short("power status")
	case said[0]&1 != 0:
		return provision.PowerOn, nil
	}
	return provision.PowerOff, nil
}

// controls are what a chassis is told, and the names of that.
var controls = map[reset]struct {
	code byte
	name string
}{forceOff: {0, "power off"}, turnOn: {1, "power on"}, forceRestart: {3, "power reset"}, nonMaskable: {4, "power diag"}, gracefulShutdown: {5, "power soft"}}

// nonMaskable interrupts what a machine runs, and leaves its power.
const nonMaskable reset = "Nmi"

func (d *ipmiBMC) reset(ctx context.Context, r reset) error {
	control, known := controls[r]
	if !known {
		return faults.New(faults.Invalid, "InvalidParameterValue", "IPMI has no %s", r)
	}
	_, err := d.send(ctx, control.name, ipmi.Command{NetFn: ipmi.Chassis, Code: chassisControl, Data: []byte{control.code}, Once: r == nonMaskable || !r.again()})
	return err
}

func (d *ipmiBMC) restarts() bool { return false }

// boots: nothing in IPMI says it.
func (d *ipmiBMC) boots(context.Context) firmware { return firmware{} }

func (d *ipmiBMC) close(ctx context.Context) {
	_ = d.session.Close(ctx) // what isn't closed now ends by itself
	d.leave(d.last)
}

// fault words an error, and remembers it. What the BMC refuses is Invalid, its login too;
// what it can't do now is Unavailable. That the step was told to end says nothing of the BMC.
func (d *ipmiBMC) fault(name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	d.last = ipmiFault(name, err)
	return d.last
}

func ipmiFault(name string, err error) error {
	var known *faults.Error
	if errors.As(err, &known) {
		return known
	}
	var code ipmi.Code
	var status ipmi.Status
	kind := faults.Unavailable
	switch {
	case errors.As(err, &code) && !code.Temporary(), errors.As(err, &status) && !status.Temporary(), errors.Is(err, ipmi.ErrKey), errors.Is(err, ipmi.ErrSuite):
		kind = faults.Invalid
	}
	said := err
	if errors.Is(err, ipmi.ErrSilent) || errors.Is(err, context.DeadlineExceeded) {
		said = ipmi.ErrSilent
	}
	return faults.Wrap(err, kind, "IPMIFailure", "IPMI call failed: %s. %s", name, said)
}

// ipmiManager is the management interface of IPMI.
type ipmiManager struct {
	unmanaged
	*ipmiBMC
	// instance says whether the machine is to start by UEFI.
	instance nodes.Info
}

// Parameters of the boot options: what keeps the flags valid, and the flags.
const (
	validBitClearing = 3
	bootFlags        = 5
	// afterTimeout keeps them valid though no command to the chassis comes for a minute.
	afterTimeout = 0x08
)

// Bits of the boot flags: of their first byte, and where the device is in the second.
const (
	flagsValid      = 0x80
	flagsPersistent = 0x40
	flagsEFI        = 0x20
	deviceMask      = 0x3c
)

// flagDevices are what devices are in the boot flags.
var flagDevices = map[byte]string{0x04: provision.BootPXE, 0x08: provision.BootDisk, 0x0c: provision.BootSafe, 0x14: provision.BootCDROM, 0x18: provision.BootBIOS}

// flags are the boot flags now.
func (m *ipmiManager) flags(ctx context.Context) (how, device byte, err error) {
	const name = "chassis bootparam get 5"
	said, err := m.send(ctx, name, ipmi.Command{NetFn: ipmi.Chassis, Code: getBootOptions, Data: []byte{bootFlags, 0, 0}})
	if err == nil && len(said) < 4 {
		err = m.short(name)
	}
	if err != nil {
		return 0, 0, err
	}
	return said[2], said[3] & deviceMask, nil
}

// bootDevice: flags that are not valid say nothing of a device.
func (m *ipmiManager) bootDevice(ctx context.Context) (d bootDevice, err error) {
	how, device, err := m.flags(ctx)
	if err != nil {
		return d, err
	}
	if name, known := flagDevices[device]; known && how&flagsValid != 0 {
		d.Device = &name
	}
	persistent := how&flagsPersistent != 0
	d.Persistent = &persistent
	return d, nil
}

func (m *ipmiManager) setBootDevice(ctx context.Context, device string, persistent bool) error {
	code, known := wordOf(flagDevices, device)
	if !known {
		return faults.New(faults.Invalid, "InvalidParameterValue", "Invalid boot device %s specified.", device)
	}
	mode, err := m.instance.BootMode()
	if err != nil {
		return err
	}
	how := byte(flagsValid)
	if persistent {
		how |= flagsPersistent
	}
	if mode == provision.UEFI {
		how |= flagsEFI
	}
	if is, at, err := m.flags(ctx); err != nil || is == how && at == code {
		return err
	}
	if m.keeps {
		if err := m.option(ctx, "chassis bootparam set 3", validBitClearing, afterTimeout); err != nil {
			return err
		}
	}
	return m.option(ctx, fmt.Sprintf("chassis bootdev %s", device), bootFlags, how, code, 0, 0, 0)
}

// startAsUsual: flags that are not valid are taken back already, or the machine has started
// by them. One whose BMC takes none back starts from its disk.
func (m *ipmiManager) startAsUsual(ctx context.Context) error {
	how, _, err := m.flags(ctx)
	if err != nil || how&flagsValid == 0 {
		return err
	}
	if err = m.option(ctx, "chassis bootdev none", bootFlags, 0, 0, 0, 0, 0); faults.Is(err, faults.Invalid) {
		return m.setBootDevice(ctx, provision.BootDisk, true)
	}
	return err
}

// option sets one of the boot options.
func (m *ipmiManager) option(ctx context.Context, name string, parameter ...byte) error {
	if err := m.lease.Keep(ctx); err != nil {
		return err
	}
	_, err := m.send(ctx, name, ipmi.Command{NetFn: ipmi.Chassis, Code: setBootOptions, Data: parameter})
	return err
}

func (m *ipmiManager) injectNMI(ctx context.Context) error {
	if err := m.lease.Keep(ctx); err != nil {
		return err
	}
	return m.reset(ctx, nonMaskable)
}

// resetBMC has a BMC begin anew, warm or cold, once.
func resetBMC(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
	how, code := "warm", byte(0x03)
	if c.Ask.Cold {
		how, code = "cold", 0x02
	}
	return out, c.raw(ctx, "bmc reset "+how, ipmi.Command{NetFn: ipmi.App, Code: code})
}

// sendRaw sends a BMC the bytes that somebody has given, once.
func sendRaw(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
	plain, err := c.box.Open(c.Ask.Secret, nodes.CommandPlace(c.node))
	if err != nil {
		return out, err
	}
	var args map[string]any
	if err := json.Unmarshal(plain, &args); err != nil {
		return out, fmt.Errorf("what is sent to a BMC: %w", err)
	}
	all, err := nodes.RawBytes(args)
	if err != nil {
		return out, err
	}
	return out, c.raw(ctx, "raw bytes", ipmi.Command{NetFn: ipmi.NetFn(all[0]), Code: all[1], Data: all[2:]})
}

// raw sends a command once, by IPMI.
func (c command) raw(ctx context.Context, name string, what ipmi.Command) error {
	d, ok := c.driver.(*ipmiBMC)
	if !ok {
		return hardware.Unsupported(c.node.Driver, name)
	}
	what.Once = true
	return c.sendOnce(ctx, func() error {
		_, err := d.send(ctx, name, what)
		return err
	}, faults.New(faults.Conflict, "IPMIFailure", "the BMC did not answer (%s), and nobody knows whether it has done it", name))
}
