package bmc

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	sim "holdfast.dev/dev/bmc"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
)

// told is what the world's BMC is told.
func (w *world) told(ask steps.NodeCommandInput) steps.NodeCommandIn {
	return steps.NodeCommandIn{Fence: w.Fence, Of: w.Fence.OperationID, Ask: ask}
}

// image is where a medium is.
const image = "http://127.0.0.1/a.iso"

// Each command does once what it says, however often it is run, and killed anywhere.
func TestCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ask  steps.NodeCommandInput
		then func(*world) string
		is   string
	}{
		{steps.NodeCommandInput{Command: steps.SetBootDevice, Device: provision.BootPXE}, func(w *world) string { return fmt.Sprint(w.Machine.Boot()) }, "{Pxe Once UEFI}"},
		{steps.NodeCommandInput{Command: steps.SetBootDevice, Device: provision.BootBIOS, Persistent: true}, func(w *world) string { return fmt.Sprint(w.Machine.Boot()) }, "{BiosSetup Continuous UEFI}"},
		{steps.NodeCommandInput{Command: steps.SetBootMode, Mode: provision.BIOS}, func(w *world) string { return w.Machine.Boot().Mode }, "Legacy"},
		{steps.NodeCommandInput{Command: steps.SetSecureBoot, Secure: true}, func(w *world) string { return fmt.Sprint(w.Machine.Secure()) }, "true"},
		{steps.NodeCommandInput{Command: steps.AttachMedia, Media: []string{"cdrom"}}, func(w *world) string { return w.Machine.Medium() + w.Machine.Stick() }, image},
		{steps.NodeCommandInput{Command: steps.DetachMedia, Media: []string{"disk"}}, func(w *world) string { return w.Machine.Medium() + w.Machine.Stick() }, ""},
		{steps.NodeCommandInput{Command: steps.SetIndicator, Component: "system", State: "blinking"}, func(w *world) string { return w.Machine.Lamp() }, "Blinking"},
	} {
		t.Run(string(c.ask.Command), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "redfish", nil)
			if c.ask.Component != "" {
				c.ask.Indicator = w.Machine.UUID
			}
			c.ask.Secret = w.Box.Seal([]byte(image), nodes.CommandPlace(w.Node))
			w.Kill(func(db *store.DB) error {
				_, err := w.activities(db).Command(t.Context(), w.told(c.ask))
				return err
			})
			out, err := w.activities(w.DB).Command(t.Context(), w.told(c.ask))
			if is := c.then(w); err != nil || out.Restart || is != c.is {
				t.Errorf("%+v, %v: %s", out, err, is)
			}
			if n := w.Service.Sessions(); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

// A machine is interrupted once; whether one was that gave no answer nobody knows.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, f := range []sim.Fault{"", sim.Drops, sim.Refuses} {
		w := newWorld(t, "redfish", nil)
		w.Machine.Put(sim.On)
		w.Machine.Misbehave(f)
		in := w.told(steps.NodeCommandInput{Command: steps.InjectNMI})
		_, first := w.activities(w.DB).Command(t.Context(), in)
		_, again := w.activities(w.DB).Command(t.Context(), in)
		asked := map[sim.Fault][]string{"": {"Nmi"}, sim.Drops: {"Nmi"}}[f]
		if (first == nil) != (f == "") || (again == nil) != (f == "") || f != "" && !faults.Is(again, faults.Conflict) || !slices.Equal(w.Machine.Asked(), asked) {
			t.Errorf("%q: %v, then %v; asked %v", f, first, again, w.Machine.Asked())
		}
	}
}

// What takes effect at the machine's next start says so, until it has.
func TestWhatTakesEffectLater(t *testing.T) {
	t.Parallel()
	for _, ask := range []steps.NodeCommandInput{{Command: steps.SetBootMode, Mode: provision.BIOS}, {Command: steps.SetSecureBoot, Secure: true}} {
		w := newWorld(t, "redfish", nil)
		w.Machine.SettleLater()
		in := w.told(ask)
		a := w.activities(w.DB)
		out, err := a.Command(t.Context(), in)
		if err != nil || !out.Restart || out.Pending || out.PowerState != string(provision.PowerOff) {
			t.Errorf("%+v, %v", out, err)
		}
		in.Restarted = true
		if out, err = a.Command(t.Context(), in); err != nil || !out.Pending || out.Restart {
			t.Errorf("%+v, %v", out, err)
		}
		if _, err := w.power(provision.PowerReboot); err != nil {
			t.Fatal(err)
		}
		if out, err = a.Command(t.Context(), in); err != nil || out.Pending || out.BootMode == nil && out.SecureBoot == nil {
			t.Errorf("%+v, %v", out, err)
		}
	}
}

// What a BMC can't be told is said, and nothing comes of it.
func TestCommandRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		driver string
		ask    steps.NodeCommandInput
		fault  string
	}{
		"a lamp that there is not": {"redfish", steps.NodeCommandInput{Command: steps.SetIndicator, Component: "disk", Indicator: "1:9", State: "on"}, "Unknown indicator 1:9 for component disk of node "},
		"a state that no lamp has": {"redfish", steps.NodeCommandInput{Command: steps.SetIndicator, Component: "system", State: "red"}, "Invalid indicator state red requested. Allowed states are: blinking, off, on"},
		"a device":                 {"redfish", steps.NodeCommandInput{Command: steps.SetBootDevice, Device: "wax"}, "Invalid boot device wax specified."},
		"a boot mode":              {"fake", steps.NodeCommandInput{Command: steps.SetBootMode, Mode: "uefi"}, "Driver fake does not support set_boot_mode (disabled or not implemented)."},
		"secure boot":              {"fake", steps.NodeCommandInput{Command: steps.SetSecureBoot}, "Driver fake does not support set_secure_boot_state (disabled or not implemented)."},
		"an interrupt":             {"fake", steps.NodeCommandInput{Command: steps.InjectNMI}, "Driver fake does not support inject_nmi (disabled or not implemented)."},
		"a fake lamp":              {"fake", steps.NodeCommandInput{Command: steps.SetIndicator}, "Driver fake does not support set_indicator_state (disabled or not implemented)."},
		"a medium":                 {"fake", steps.NodeCommandInput{Command: steps.AttachMedia}, "Driver fake does not support attach_virtual_media (disabled or not implemented)."},
		"empty drives":             {"fake", steps.NodeCommandInput{Command: steps.DetachMedia}, "Driver fake does not support detach_virtual_media (disabled or not implemented)."},
		"a drive that there isn't": {"redfish", steps.NodeCommandInput{Command: steps.AttachMedia, Media: []string{"tape"}}, "No suitable virtual media device found"},
		"nonsense":                 {"fake", steps.NodeCommandInput{Command: "fly"}, `this release has no command "fly"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.driver, nil)
			if c.ask.State == "red" {
				c.ask.Indicator = w.Machine.UUID
			}
			if c.ask.Component == "disk" {
				c.fault += w.Node.UUID
			}
			c.ask.Secret = w.Box.Seal([]byte(image), nodes.CommandPlace(w.Node))
			_, err := w.activities(w.DB).Command(t.Context(), w.told(c.ask))
			if f := faults.As(err); f.Kind != faults.Invalid || f.Message != c.fault {
				t.Errorf("%v", err)
			}
		})
	}
}

// What BMCs say when they are asked.
func TestAsk(t *testing.T) {
	t.Parallel()
	real, fake := newWorld(t, "redfish", nil), newWorld(t, "fake", nil)
	led := real.Machine.UUID
	for _, c := range []struct {
		of       *world
		question string
		about    url.Values
		said     string
		fault    string
	}{
		{real, "boot_device", nil, `{"boot_device":null,"persistent":null}`, ""},
		{fake, "boot_device", nil, `{"boot_device":"pxe","persistent":false}`, ""},
		{real, "indicators", nil, `{"system":{"` + led + `":{"readonly":false,"states":["blinking","off","on"]}}}`, ""},
		{real, "indicator", url.Values{"component": {"system"}, "indicator": {led}}, `"off"`, ""},
		{fake, "indicator", url.Values{"component": {"system"}, "indicator": {"led"}}, `"on"`, ""},
		{fake, "indicator", url.Values{"component": {"wing"}, "indicator": {"led"}}, "", "Invalid component wing specified."},
		{fake, "indicator", url.Values{"component": {"system"}, "indicator": {"x"}}, "", "Invalid indicator x specified."},
		{real, "indicator", url.Values{"component": {"chassis"}, "indicator": {led}}, "", "Unknown indicator " + led + " for component chassis of node " + real.Node.UUID},
		{real, "vmedia", nil, `[{"media_types":["CD","DVD"],"inserted":false,"image":null},{"media_types":["USBStick","Floppy"],"inserted":false,"image":null}]`, ""},
		{fake, "vmedia", nil, "", "Driver fake does not support get_virtual_media (disabled or not implemented)."},
		{fake, "weather", nil, "", `this release has no answer to "weather"`},
	} {
		said, err := c.of.activities(c.of.DB).Ask(t.Context(), c.of.Node.UUID, c.question, c.about)
		if string(said) != c.said || c.fault == "" && err != nil || c.fault != "" && faults.As(err).Message != c.fault {
			t.Errorf("%s %v: %s, %v", c.question, c.about, said, err)
		}
	}
	if n := real.Service.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}
