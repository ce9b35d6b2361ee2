package bmc

// Management: what a machine starts from and how, its lamps, and its interrupt, by the
// node's management interface.

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/common"
	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/provision"
)

// manager is a management interface at work on one machine. What it can't do is
// UnsupportedDriverExtension; each change is observed first, and made under a lease.
type manager interface {
	bootDevice(ctx context.Context) (bootDevice, error)
	setBootDevice(ctx context.Context, device string, persistent bool) error
	// startAsUsual takes back what the machine was told to start from.
	startAsUsual(ctx context.Context) error
	// bootMode is empty, and secureBoot nil, if the machine doesn't say.
	bootMode(ctx context.Context) (string, error)
	setBootMode(ctx context.Context, mode string) error
	secureBoot(ctx context.Context) (*bool, error)
	setSecureBoot(ctx context.Context, on bool) error
	injectNMI(ctx context.Context) error
	// lamps are the machine's, by component and name.
	lamps(ctx context.Context) (map[string]map[string]lamp, error)
	lampState(ctx context.Context, component, name string) (string, error)
	setLamp(ctx context.Context, component, name, state string) error
	// media are what is in the machine's drives: attachMedia has an image be in a drive of
	// a kind, detachMedia nothing in those of some kinds, or of all.
	media(ctx context.Context) ([]medium, error)
	attachMedia(ctx context.Context, kind, image string) error
	detachMedia(ctx context.Context, kinds ...string) error
}

// bootDevice is what a machine starts from; nil is not known.
type bootDevice struct {
	Device     *string `json:"boot_device"`
	Persistent *bool   `json:"persistent"`
}

// lamp is what is known of a lamp beside its state.
type lamp struct {
	ReadOnly bool     `json:"readonly"`
	States   []string `json:"states"`
}

// manager is the session's; its node must have a management interface that this
// release has.
func (s *session) manager() (manager, error) {
	switch name := nodes.Interfaces(s.node)["management"]; name {
	case "redfish":
		d, err := s.byRedfish("management")
		if err != nil {
			return nil, err
		}
		return &redfishManager{redfish: d, driver: s.node.Driver, uuid: s.node.UUID}, nil
	case "ipmitool":
		d, ok := s.driver.(*ipmiBMC)
		if !ok {
			return nil, faults.New(faults.Invalid, "InvalidParameterValue", "this release has the management interface ipmitool with the power interface ipmitool alone")
		}
		instance, err := nodes.InstanceInfo(s.box, s.node)
		return &ipmiManager{unmanaged: unmanaged(s.node.Driver), ipmiBMC: d, instance: instance}, err
	case "fake":
		return fakeManager{unmanaged(s.node.Driver)}, nil
	case "noop":
		return noopManager{unmanaged(s.node.Driver)}, nil
	default:
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "this release has no management interface %q", name)
	}
}

// unmanaged is a management interface of a hardware type that can do nothing.
type unmanaged string

func (u unmanaged) not(what string) error { return hardware.Unsupported(string(u), what) }

func (u unmanaged) bootMode(context.Context) (string, error)  { return "", u.not("get_boot_mode") }
func (u unmanaged) setBootMode(context.Context, string) error { return u.not("set_boot_mode") }
func (u unmanaged) secureBoot(context.Context) (*bool, error) {
	return nil, u.not("get_secure_boot_state")
}
func (u unmanaged) setSecureBoot(context.Context, bool) error { return u.not("set_secure_boot_state") }
func (u unmanaged) injectNMI(context.Context) error           { return u.not("inject_nmi") }
func (u unmanaged) lamps(context.Context) (map[string]map[string]lamp, error) {
	return nil, u.not("get_supported_indicators")
}

func (u unmanaged) lampState(context.Context, string, string) (string, error) {
	return "", u.not("get_indicator_state")
}

func (u unmanaged) setLamp(context.Context, string, string, string) error {
	return u.not("set_indicator_state")
}

func (u unmanaged) media(context.Context) ([]medium, error) { return nil, u.not(nodes.GetMedia) }
func (u unmanaged) attachMedia(context.Context, string, string) error {
	return u.not(nodes.AttachMedia)
}
func (u unmanaged) detachMedia(context.Context, ...string) error { return u.not(nodes.DetachMedia) }

// noopManager believes that the machine starts from the network, and its disk then.
type noopManager struct{ unmanaged }

func (noopManager) bootDevice(context.Context) (bootDevice, error) {
	return startsFrom(provision.BootPXE, true), nil
}

func (noopManager) setBootDevice(context.Context, string, bool) error { return nil }
func (noopManager) startAsUsual(context.Context) error                { return nil }

// fakeManager has a machine that starts from the network, and two lamps that are lit.
type fakeManager struct{ unmanaged }

func (fakeManager) bootDevice(context.Context) (bootDevice, error) {
	return startsFrom(provision.BootPXE, false), nil
}

func (fakeManager) setBootDevice(context.Context, string, bool) error { return nil }
func (fakeManager) startAsUsual(context.Context) error                { return nil }

func (fakeManager) lamps(context.Context) (map[string]map[string]lamp, error) {
	return map[string]map[string]lamp{"chassis": {"led-0": {true, []string{lampOff, lampOn}}}, "system": {"led": {false, lampStates}}}, nil
}

func (f fakeManager) lampState(ctx context.Context, component, name string) (string, error) {
	all, err := f.lamps(ctx)
	if err != nil {
		return "", err
	}
	if all[component] == nil {
		return "", faults.New(faults.Invalid, "InvalidParameterValue", "Invalid component %s specified.", component)
	}
	if _, ok := all[component][name]; !ok {
		return "", faults.New(faults.Invalid, "InvalidParameterValue", "Invalid indicator %s specified.", name)
	}
	return lampOn, nil
}

func startsFrom(device string, persistent bool) bootDevice { return bootDevice{&device, &persistent} }

// The states of lamps.
const (
	lampOn       = "on"
	lampOff      = "off"
	lampBlinking = "blinking"
	lampUnknown  = "unknown"
)

// lampStates are those that a lamp can be given.
var lampStates = []string{lampBlinking, lampOff, lampOn}

// redfishManager is a Redfish service's.
type redfishManager struct {
	*redfish
	driver, uuid string
}

// What the words of Redfish mean.
var (
	bootTargets = map[rf.BootSourceOverrideTarget]string{rf.PxeBootSourceOverrideTarget: provision.BootPXE, rf.HddBootSourceOverrideTarget: provision.BootDisk,
		rf.CdBootSourceOverrideTarget: provision.BootCDROM, rf.BiosSetupBootSourceOverrideTarget: provision.BootBIOS, rf.UefiHTTPBootSourceOverrideTarget: provision.BootUEFIHTTP}
	persistence = map[rf.BootSourceOverrideEnabled]bool{rf.ContinuousBootSourceOverrideEnabled: true, rf.OnceBootSourceOverrideEnabled: false}
	lampWords   = map[common.IndicatorLED]string{common.LitIndicatorLED: lampOn, common.OffIndicatorLED: lampOff, common.BlinkingIndicatorLED: lampBlinking,
		common.UnknownIndicatorLED: lampUnknown}
)

// wordOf is the word of Redfish that means something.
func wordOf[W comparable, M comparable](words map[W]M, meaning M) (W, bool) {
	for word, m := range words {
		if m == meaning {
			return word, true
		}
	}
	var none W
	return none, false
}

// look reads the system again.
func (m *redfishManager) look() error {
	system, err := rf.GetComputerSystem(m.client, m.system.ODataID)
	if err != nil {
		return m.fault(err)
	}
	m.system = system
	return nil
}

func (m *redfishManager) bootDevice(context.Context) (bootDevice, error) {
	var d bootDevice
	if device, known := bootTargets[m.system.Boot.BootSourceOverrideTarget]; known {
		d.Device = &device
	}
	if persistent, known := persistence[m.system.Boot.BootSourceOverrideEnabled]; known {
		d.Persistent = &persistent
	}
	return d, nil
}

// setBootDevice: a BMC that refuses to have its machine start from a device for ever
// is told to have it do so once.
func (m *redfishManager) setBootDevice(ctx context.Context, device string, persistent bool) error {
	target, known := wordOf(bootTargets, device)
	if !known {
		return faults.New(faults.Invalid, "InvalidParameterValue", "Invalid boot device %s specified.", device)
	}
	want := rf.Boot{BootSourceOverrideTarget: target}
	want.BootSourceOverrideEnabled, _ = wordOf(persistence, persistent)
	if now := m.system.Boot; now.BootSourceOverrideTarget == target && now.BootSourceOverrideEnabled == want.BootSourceOverrideEnabled {
		return nil
	}
	err := m.change(ctx, func() error { return m.system.SetBoot(want) })
	if persistent && faults.Is(err, faults.Invalid) {
		want.BootSourceOverrideEnabled = rf.OnceBootSourceOverrideEnabled
		err = m.change(ctx, func() error { return m.system.SetBoot(want) })
	}
	return m.failed(err, "Redfish set boot device failed for node %s. Error: %s")
}

func (m *redfishManager) startAsUsual(ctx context.Context) error { return m.bootFrom(ctx, AsUsual) }

// failed words what a change came to.
func (m *redfishManager) failed(err error, format string) error {
	if err == nil {
		return nil
	}
	f := faults.As(err)
	if f.Code != "RedfishError" {
		return err
	}
	said := strings.TrimPrefix(f.Message, redfishPrefix)
	return faults.Wrap(err, f.Kind, f.Code, redfishPrefix+format, m.uuid, said)
}

func (m *redfishManager) bootMode(context.Context) (string, error) {
	return bootModes[m.system.Boot.BootSourceOverrideMode], nil
}

func (m *redfishManager) setBootMode(ctx context.Context, mode string) error {
	word, _ := wordOf(bootModes, mode)
	silent := m.system.Boot.BootSourceOverrideMode == ""
	err := m.change(ctx, func() error { return m.system.SetBoot(rf.Boot{BootSourceOverrideMode: word}) })
	if silent && faults.Is(err, faults.Invalid) {
		return hardware.Unsupported(m.driver, "set_boot_mode")
	}
	if err != nil {
		return m.failed(err, "Setting boot mode to "+mode+" failed for node %s. Error: %s")
	}
	return m.look()
}

func (m *redfishManager) secureBoot(context.Context) (*bool, error) {
	secure, err := m.system.SecureBoot()
	if err != nil {
		return nil, m.fault(err)
	}
	if secure == nil {
		return nil, hardware.Unsupported(m.driver, "get_secure_boot_state")
	}
	return &secure.SecureBootEnable, nil
}

func (m *redfishManager) setSecureBoot(ctx context.Context, on bool) error {
	secure, err := m.system.SecureBoot()
	if err != nil {
		return m.fault(err)
	}
	if secure == nil {
		return hardware.Unsupported(m.driver, "set_secure_boot_state")
	}
	if m.system.Boot.BootSourceOverrideMode == rf.LegacyBootSourceOverrideMode {
		return faults.New(faults.Invalid, "RedfishError", redfishPrefix+"Configuring secure boot requires UEFI for node %s", m.uuid)
	}
	secure.SecureBootEnable = on
	return m.failed(m.change(ctx, secure.Update), "Failed to set secure boot state on node %s: %s")
}

func (m *redfishManager) injectNMI(ctx context.Context) error {
	return m.failed(m.change(ctx, func() error { return m.system.Reset(rf.NmiResetType) }), "Redfish inject NMI failed for node %s. Error: %s")
}

// light is a lamp of a machine, as its part has it.
type light struct {
	component, name string
	state           common.IndicatorLED
	set             func(common.IndicatorLED) error
}

// patched sets the lamp of a resource.
func (m *redfishManager) patched(path string) func(common.IndicatorLED) error {
	return func(state common.IndicatorLED) error {
		resp, err := m.client.Patch(path, map[string]any{"IndicatorLED": state})
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
}

// lights are the lamps of the machine, its chassis and its drives. A BMC that doesn't
// tell of one of these kinds of parts has no lamps of that kind.
func (m *redfishManager) lights() []light {
	var all []light
	add := func(component, name, path string, state common.IndicatorLED) {
		if state != "" && name != "" {
			all = append(all, light{component, name, state, m.patched(path)})
		}
	}
	for _, c := range m.chassis() {
		add("chassis", c.UUID, c.ODataID, c.IndicatorLED)
	}
	add("system", m.system.UUID, m.system.ODataID, m.system.IndicatorLED)
	storages, err := m.system.Storage()
	if err != nil {
		return all
	}
	for _, s := range storages {
		drives, err := s.Drives()
		if err != nil {
			continue
		}
		for _, d := range drives {
			add("disk", s.ID+":"+d.ID, d.ODataID, d.IndicatorLED)
		}
	}
	return all
}

// chassis are those that the system is in.
func (m *redfishManager) chassis() (all []*rf.Chassis) {
	var said struct {
		Links struct{ Chassis common.Links }
	}
	if json.Unmarshal(m.system.RawData, &said) != nil {
		return nil
	}
	for _, path := range said.Links.Chassis.ToStrings() {
		if c, err := rf.GetChassis(m.client, path); err == nil {
			all = append(all, c)
		}
	}
	return all
}

func (m *redfishManager) lamps(context.Context) (map[string]map[string]lamp, error) {
	found := map[string]map[string]lamp{}
	for _, l := range m.lights() {
		if found[l.component] == nil {
			found[l.component] = map[string]lamp{}
		}
		found[l.component][l.name] = lamp{States: lampStates}
	}
	return found, nil
}

func (m *redfishManager) light(component, name string) (light, error) {
	all := m.lights()
	i := slices.IndexFunc(all, func(l light) bool { return l.component == component && l.name == name })
	if i < 0 {
		return light{}, faults.New(faults.Invalid, "MissingParameterValue", "Unknown indicator %s for component %s of node %s", name, component, m.uuid)
	}
	return all[i], nil
}

func (m *redfishManager) lampState(_ context.Context, component, name string) (string, error) {
	l, err := m.light(component, name)
	if err != nil {
		return "", err
	}
	if state, known := lampWords[l.state]; known {
		return state, nil
	}
	return lampUnknown, nil
}

func (m *redfishManager) setLamp(ctx context.Context, component, name, state string) error {
	l, err := m.light(component, name)
	if err != nil {
		return err
	}
	word, known := wordOf(lampWords, state)
	if !known || !slices.Contains(lampStates, state) {
		return faults.New(faults.Invalid, "InvalidParameterValue", "Invalid indicator state %s requested. Allowed states are: %s", state, strings.Join(lampStates, ", "))
	}
	return m.failed(m.change(ctx, func() error { return l.set(word) }), "Redfish set indicator failed for node %s. Error: %s")
}
