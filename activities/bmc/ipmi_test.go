package bmc

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/dev/bmc/ipmitest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// byIPMI has a node whose BMC speaks IPMI.
func byIPMI(t *testing.T, o ipmitest.Options, change func(info map[string]any)) (*world, *ipmitest.BMC) {
	t.Helper()
	var b *ipmitest.BMC
	w := &world{bmctest.New(t, sim.Options{Delay: 30 * time.Millisecond}, func(w *bmctest.World, info map[string]any) {
		b = w.ByIPMI(o, info)
		if change != nil {
			change(info)
		}
	})}
	return w, b
}

// What each word has a machine do by IPMI, from each power: a system that ends by itself is
// started anew afterwards, since IPMI has no word for both.
func TestPowerByIPMI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from   sim.Power
		target provision.Power
		asked  []string
		turns  []sim.Power
	}{
		{sim.Off, provision.PowerOn, []string{"On"}, []sim.Power{sim.On}},
		{sim.On, provision.PowerOn, nil, nil},
		{sim.On, provision.PowerOff, []string{"ForceOff"}, []sim.Power{sim.Off}},
		{sim.On, provision.PowerSoftOff, []string{"GracefulShutdown"}, []sim.Power{sim.Off}},
		{sim.On, provision.PowerReboot, []string{"ForceOff", "On"}, []sim.Power{sim.Off, sim.On}},
		{sim.Off, provision.PowerReboot, []string{"On"}, []sim.Power{sim.On}},
		{sim.On, provision.PowerSoft, []string{"GracefulShutdown", "On"}, []sim.Power{sim.Off, sim.On}},
		{sim.Off, provision.PowerSoft, []string{"On"}, []sim.Power{sim.On}},
	} {
		t.Run(fmt.Sprintf("%s from %s", c.target, c.from), func(t *testing.T) {
			t.Parallel()
			w, b := byIPMI(t, ipmitest.Options{}, nil)
			w.Machine.Put(c.from)
			for again := range 2 {
				out, err := w.power(c.target)
				if err != nil || out.PowerState != string(c.target.Target()) {
					t.Errorf("time %d: %+v, %v", again, out, err)
				}
			}
			if !slices.Equal(w.Machine.Asked(), c.asked) || !slices.Equal(w.Machine.Turns(), c.turns) {
				t.Errorf("asked %v, turned %v", w.Machine.Asked(), w.Machine.Turns())
			}
			if n := b.Sessions(); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

// A node that must not be turned off is told once to restart: one that gave no answer to it
// is not told again. Its system isn't ended to begin anew.
func TestRestartByIPMI(t *testing.T) {
	t.Parallel()
	for _, f := range []sim.Fault{"", sim.Drops} {
		w, _ := byIPMI(t, ipmitest.Options{}, nil)
		w.Machine.Put(sim.On)
		w.Machine.Misbehave(f)
		if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET disable_power_off = true WHERE uuid = $1`, w.Node.UUID); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := w.power(provision.PowerReboot); (f == "") != (err == nil) || f != "" && !faults.Is(err, faults.Conflict) {
				t.Errorf("%q: %v", f, err)
			}
		}
		if asked := w.Machine.Asked(); !slices.Equal(asked, []string{"ForceRestart"}) {
			t.Errorf("%q: %v", f, asked)
		}
	}
	w, _ := byIPMI(t, ipmitest.Options{}, nil)
	w.Machine.Put(sim.On)
	if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET disable_power_off = true WHERE uuid = $1`, w.Node.UUID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.power(provision.PowerSoft); faults.As(err).Code != "UnsupportedHardwareFeature" || len(w.Machine.Asked()) > 0 {
		t.Errorf("%v, %v", err, w.Machine.Asked())
	}
}

// How a BMC is entered, and what is said of one that isn't; the password is in no word of it.
func TestEnterByIPMI(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{7}, 20)
	with := func(name string, value any) func(map[string]any) {
		return func(info map[string]any) { info[name] = value }
	}
	for name, c := range map[string]struct {
		o      ipmitest.Options
		change func(map[string]any)
		kind   faults.Kind
		says   string
	}{
		"with what it has":      {},
		"with SHA-1 alone":      {o: ipmitest.Options{Suites: []byte{3}}},
		"with SHA-256 alone":    {o: ipmitest.Options{Suites: []byte{17}}, change: with("ipmi_cipher_suite", "17")},
		"with a key of its own": {o: ipmitest.Options{Kg: key}, change: with("ipmi_hex_kg_key", fmt.Sprintf("%x", key))},
		"as an operator":        {change: with("ipmi_priv_level", "OPERATOR")},
		"without its key":       {o: ipmitest.Options{Kg: key}, kind: faults.Invalid, says: "IPMI call failed: session open. the BMC has another user, password or Kg key"},
		"with another suite":    {o: ipmitest.Options{Suites: []byte{3}}, change: with("ipmi_cipher_suite", 17), kind: faults.Invalid, says: "IPMI call failed: session open. the BMC has none of the cipher suites that are asked for: the BMC gives no session: invalid authentication algorithm (0x04)"},
		"with another name":     {change: with("ipmi_username", "other"), kind: faults.Invalid, says: "IPMI call failed: session open. the BMC has another user, password or Kg key"},
		"as one who may not":    {change: with("ipmi_priv_level", "USER"), kind: faults.Invalid, says: "IPMI call failed: power on. the BMC says: insufficient privilege level (0xd4)"},
		"where nobody listens":  {change: with("ipmi_port", 1), kind: faults.Unavailable, says: "IPMI call failed: session open. the BMC does not answer"},
		"where it must not be":  {change: with("ipmi_address", "192.0.2.1"), kind: faults.Forbidden, says: "BMC: address 192.0.2.1 is not allowed"},
		"without an address":    {change: with("ipmi_address", ""), kind: faults.Invalid, says: "Missing the following IPMI credentials in node's driver_info: ['ipmi_address']."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, b := byIPMI(t, c.o, c.change)
			_, err := w.power(provision.PowerOn)
			switch {
			case c.kind == "" && err != nil, c.kind != "" && (!faults.Is(err, c.kind) || faults.As(err).Message != c.says):
				t.Errorf("%v", err)
			case (c.kind == "") != (len(w.Machine.Turns()) > 0):
				t.Errorf("%v", w.Machine.Turns())
			}
			if n := b.Sessions(); c.kind == "" && n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

// Each command does once what it says, however often it is run, and killed anywhere.
func TestCommandByIPMI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ask    steps.NodeCommandInput
		change func(map[string]any)
		o      ipmitest.Options
		boot   string
	}{
		{steps.NodeCommandInput{Command: steps.SetBootDevice, Device: provision.BootPXE}, nil, ipmitest.Options{}, "{Pxe Once UEFI}"},
		{steps.NodeCommandInput{Command: steps.SetBootDevice, Device: provision.BootDisk, Persistent: true}, nil, ipmitest.Options{}, "{Hdd Continuous UEFI}"},
		{steps.NodeCommandInput{Command: steps.SetBootDevice, Device: provision.BootCDROM}, func(info map[string]any) { info["ipmi_disable_boot_timeout"] = "false" }, ipmitest.Options{Forgets: true}, "{Cd Once UEFI}"},
	} {
		t.Run(c.ask.Device, func(t *testing.T) {
			t.Parallel()
			w, b := byIPMI(t, c.o, c.change)
			w.Kill(func(db *store.DB) error {
				_, err := w.activities(db).Command(t.Context(), w.told(c.ask))
				return err
			})
			_, err := w.activities(w.DB).Command(t.Context(), w.told(c.ask))
			if is := fmt.Sprint(w.Machine.Boot()); err != nil || is != c.boot {
				t.Errorf("%v: %s", err, is)
			}
			said, err := w.activities(w.DB).Ask(t.Context(), w.Node.UUID, "boot_device", nil)
			if want := fmt.Sprintf(`{"boot_device":%q,"persistent":%v}`, c.ask.Device, c.ask.Persistent); err != nil || string(said) != want {
				t.Errorf("%s, %v", said, err)
			}
			if n := b.Sessions(); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

// What a BMC can't be told is said.
func TestCommandRefusedByIPMI(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask   steps.NodeCommandInput
		fault string
	}{
		"one that forgets": {steps.NodeCommandInput{Command: steps.SetBootDevice, Device: provision.BootPXE}, "IPMI call failed: chassis bootparam set 3. the BMC says: 0x80"},
		"a device":         {steps.NodeCommandInput{Command: steps.SetBootDevice, Device: "uefihttp"}, "Invalid boot device uefihttp specified."},
		"a boot mode":      {steps.NodeCommandInput{Command: steps.SetBootMode, Mode: "uefi"}, "Driver ipmi does not support set_boot_mode (disabled or not implemented)."},
		"a lamp":           {steps.NodeCommandInput{Command: steps.SetIndicator}, "Driver ipmi does not support set_indicator_state (disabled or not implemented)."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := byIPMI(t, ipmitest.Options{Forgets: true}, nil)
			_, err := w.activities(w.DB).Command(t.Context(), w.told(c.ask))
			if f := faults.As(err); f.Kind != faults.Invalid || f.Message != c.fault {
				t.Errorf("%v", err)
			}
		})
	}
}

// A machine is told to start as its instance and its node say, and nothing if they contradict
// each other.
func TestBootModeByIPMI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ instance, properties, boot, fault string }{
		{`{"capabilities": {"boot_mode": "bios"}}`, `{}`, "{Hdd Once Legacy}", ""},
		{`{"capabilities": "{\"boot_mode\": \"bios\"}"}`, `{}`, "{Hdd Once Legacy}", ""},
		{`{"capabilities": {"secure_boot": "true"}}`, `{"capabilities": "boot_mode:bios"}`, "{Hdd Once UEFI}", ""},
		{`{}`, `{"capabilities": "a:b,boot_mode:bios"}`, "{Hdd Once Legacy}", ""},
		{`{"capabilities": {"boot_mode": "bios"}}`, `{"capabilities": "boot_mode:uefi"}`, "{None Disabled UEFI}", "boot mode bios violates node properties/capabilities uefi"},
	} {
		w, _ := byIPMI(t, ipmitest.Options{}, nil)
		if _, err := w.DB.Pool.Exec(t.Context(), `UPDATE baremetal.nodes SET instance_info = $2, properties = $3 WHERE uuid = $1`, w.Node.UUID, c.instance, c.properties); err != nil {
			t.Fatal(err)
		}
		_, err := w.activities(w.DB).Command(t.Context(), w.told(steps.NodeCommandInput{Command: steps.SetBootDevice, Device: provision.BootDisk}))
		if is := fmt.Sprint(w.Machine.Boot()); is != c.boot || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s over %s: %s, %v", c.instance, c.properties, is, err)
		}
	}
}

// A machine is interrupted once; whether one was that gave no answer nobody knows.
func TestInterruptByIPMI(t *testing.T) {
	t.Parallel()
	for _, f := range []sim.Fault{"", sim.Drops} {
		w, _ := byIPMI(t, ipmitest.Options{}, nil)
		w.Machine.Put(sim.On)
		w.Machine.Misbehave(f)
		in := w.told(steps.NodeCommandInput{Command: steps.InjectNMI})
		_, first := w.activities(w.DB).Command(t.Context(), in)
		_, again := w.activities(w.DB).Command(t.Context(), in)
		if (first == nil) != (f == "") || (again == nil) != (f == "") || f != "" && !faults.Is(again, faults.Conflict) || !slices.Equal(w.Machine.Asked(), []string{"Nmi"}) {
			t.Errorf("%q: %v, then %v; asked %v", f, first, again, w.Machine.Asked())
		}
	}
}

// Answers that are lost are asked for again, wherever in a session.
func TestAnswersThatAreLost(t *testing.T) {
	t.Parallel()
	w, b := byIPMI(t, ipmitest.Options{}, nil)
	for lost := range 3 {
		b.Lose(lost)
		if now, err := w.activities(w.DB).seen(t.Context(), w.Node); err != nil || now != provision.PowerOff {
			t.Errorf("%d lost: %q, %v", lost, now, err)
		}
	}
}

// What is sent as it is, and a BMC's new beginning, are sent once, however often the step is
// run and killed; one that gave no answer is not sent again.
func TestRawByIPMI(t *testing.T) {
	t.Parallel()
	w, _ := byIPMI(t, ipmitest.Options{}, nil)
	raw := steps.NodeCommandInput{Command: steps.SendRaw, Secret: w.Box.Seal([]byte(`{"raw_bytes": "0x00 0x08 0x05 0xe0 8 0 0 0"}`), nodes.CommandPlace(w.Node))}
	for range 2 {
		if _, err := w.activities(w.DB).Command(t.Context(), w.told(raw)); err != nil || fmt.Sprint(w.Machine.Boot()) != "{Hdd Continuous UEFI}" {
			t.Errorf("%v: %v", err, w.Machine.Boot())
		}
	}
	for cold, code := range map[bool]byte{false: 3, true: 2} {
		w, b := byIPMI(t, ipmitest.Options{}, nil)
		for range 2 {
			if _, err := w.activities(w.DB).Command(t.Context(), w.told(steps.NodeCommandInput{Command: steps.ResetBMC, Cold: cold})); err != nil {
				t.Error(err)
			}
		}
		if told := b.Resets(); !slices.Equal(told, []byte{code}) {
			t.Errorf("%v", told)
		}
	}
	w, b := byIPMI(t, ipmitest.Options{}, nil)
	b.LoseResets()
	in := w.told(steps.NodeCommandInput{Command: steps.ResetBMC})
	_, first := w.activities(w.DB).Command(t.Context(), in)
	_, again := w.activities(w.DB).Command(t.Context(), in)
	if !faults.Is(first, faults.Unavailable) || !faults.Is(again, faults.Conflict) || len(b.Resets()) != 1 {
		t.Errorf("%v, then %v; told %v", first, again, b.Resets())
	}
	other := newWorld(t, "redfish", nil)
	if _, err := other.activities(other.DB).Command(t.Context(), other.told(in.Ask)); faults.As(err).Code != "UnsupportedDriverExtension" {
		t.Errorf("by Redfish: %v", err)
	}
}
