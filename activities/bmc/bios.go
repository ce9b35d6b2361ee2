package bmc

// BIOS settings and firmware of a machine, by Redfish: read and kept beside the node's
// row, and changed by steps of cleaning, of deployments and of service.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stmcginnis/gofish/common"
	rf "github.com/stmcginnis/gofish/redfish"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// mostSettings bounds the BIOS settings of a machine, and the components that have
// firmware.
const mostSettings = 2000

// keepSettings reads the machine's BIOS settings and firmware, and makes them the
// node's. A BMC that doesn't tell of them has its node keep what is known.
func (s *session) keepSettings(ctx context.Context) error {
	d, ok := s.driver.(*redfish)
	if !ok {
		return nil
	}
	interfaces := nodes.Interfaces(s.node)
	var settings []baremetal.BIOSSetting
	var firmware []baremetal.FirmwareComponent
	if interfaces["bios"] == "redfish" {
		settings = d.biosSettings()
	}
	if interfaces["firmware"] == "redfish" {
		firmware = d.firmware()
	}
	if ctx.Err() != nil || settings == nil && firmware == nil {
		return context.Cause(ctx)
	}
	return s.Write(ctx, s.engine, s.fence, func(tx store.Tx) error {
		if settings != nil {
			if err := baremetal.KeepBIOS(ctx, tx, s.node.UUID, settings); err != nil {
				return err
			}
		}
		if firmware == nil {
			return nil
		}
		return baremetal.KeepFirmware(ctx, tx, s.node.UUID, firmware)
	})
}

// biosSettings are the machine's, with what its registry says of each; nil if the BMC
// doesn't tell of them.
func (d *redfish) biosSettings() []baremetal.BIOSSetting {
	bios, err := d.system.Bios()
	if err != nil || bios == nil {
		return nil
	}
	known := d.registry(bios.AttributeRegistry)
	all := []baremetal.BIOSSetting{}
	for _, name := range slices.Sorted(maps.Keys(bios.Attributes)) {
		if len(all) == mostSettings {
			break
		}
		setting := known[name]
		value := settingText(bios.Attributes[name])
		setting.Name, setting.Value = bounded(name), &value
		all = append(all, setting)
	}
	return all
}

// settingText is a setting's value as clients read it: Python's words for JSON's.
func settingText(value any) string {
	switch value := value.(type) {
	case nil:
		return "None"
	case string:
		return bounded(value)
	case bool:
		return map[bool]string{true: "True", false: "False"}[value]
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return bounded(string(text))
}

// attribute is what a registry says of a setting.
type attribute struct {
	AttributeName, Type                             string
	LowerBound, UpperBound, MinLength, MaxLength    *int64
	ReadOnly, ResetRequired, IsSystemUniqueProperty *bool
	Value                                           []struct{ ValueName, ValueDisplayName string }
}

// registry is what a registry says of settings, by name; empty if it can't be read.
func (d *redfish) registry(name string) map[string]baremetal.BIOSSetting {
	all := map[string]baremetal.BIOSSetting{}
	if name == "" || strings.ContainsAny(name, "/?#") {
		return all
	}
	var file struct {
		Location []struct {
			Language string
			Uri      string
		}
	}
	if d.read(common.DefaultServiceRoot+"Registries/"+name, &file) != nil {
		return all
	}
	for _, at := range file.Location {
		if at.Uri == "" || at.Language != "" && !strings.HasPrefix(at.Language, "en") {
			continue
		}
		var said struct {
			RegistryEntries struct{ Attributes []attribute }
		}
		if d.read(at.Uri, &said) != nil {
			return all
		}
		for _, a := range said.RegistryEntries.Attributes[:min(len(said.RegistryEntries.Attributes), mostSettings)] {
			all[a.AttributeName] = a.setting()
		}
		break
	}
	return all
}

func (a attribute) setting() baremetal.BIOSSetting {
	s := baremetal.BIOSSetting{LowerBound: a.LowerBound, UpperBound: a.UpperBound, MinLength: a.MinLength, MaxLength: a.MaxLength,
		ReadOnly: a.ReadOnly, ResetRequired: a.ResetRequired, Unique: a.IsSystemUniqueProperty}
	if a.Type != "" {
		kind := bounded(a.Type)
		s.AttributeType = &kind
	}
	for _, v := range a.Value {
		if word := cmp.Or(v.ValueName, v.ValueDisplayName); word != "" {
			s.AllowableValues = append(s.AllowableValues, bounded(word))
		}
	}
	return s
}

// firmware is that of the machine's BIOS and of its BMC; nil if they don't tell.
func (d *redfish) firmware() (all []baremetal.FirmwareComponent) {
	if v := d.system.BIOSVersion; v != "" {
		all = append(all, baremetal.FirmwareComponent{Component: "bios", InitialVersion: bounded(v)})
	}
	managers, err := d.system.ManagedBy()
	if err != nil {
		return all
	}
	for _, m := range managers[:min(len(managers), 1)] {
		if m.FirmwareVersion != "" {
			all = append(all, baremetal.FirmwareComponent{Component: "bmc", InitialVersion: bounded(m.FirmwareVersion)})
		}
	}
	return all
}

// bios is the machine's BIOS.
func (s *session) bios() (*redfish, *rf.Bios, error) {
	d, err := s.byRedfish("BIOS")
	if err != nil {
		return nil, nil, err
	}
	bios, err := d.system.Bios()
	if err != nil {
		return nil, nil, d.fault(err)
	}
	if bios == nil {
		return nil, nil, faults.New(faults.Invalid, "RedfishError", redfishPrefix+"BIOS settings are not supported by node %s", s.node.UUID)
	}
	return d, bios, nil
}

// applyBIOS sends what is other than it is to be; what is sent twice is the same.
func applyBIOS(ctx context.Context, s *session, c cleaning) (steps.Effect, error) {
	wanted, err := s.wantedSettings(ctx, c.args["settings"])
	if err != nil {
		return steps.Effect{}, err
	}
	d, bios, err := s.bios()
	if err != nil {
		return steps.Effect{}, err
	}
	differs := rf.SettingsAttributes{}
	for name, value := range wanted {
		if settingText(bios.Attributes[name]) != settingText(value) {
			differs[name] = value
		}
	}
	switch {
	case len(differs) == 0:
		return steps.Effect{}, nil
	case c.Restarted:
		return steps.Effect{Pending: true}, nil
	}
	when := common.ApplyTime("")
	if slices.Contains(bios.AllowedAttributeUpdateApplyTimes(), common.OnResetApplyTime) {
		when = common.OnResetApplyTime
	}
	err = d.change(ctx, func() error { return bios.UpdateBiosAttributesApplyAt(differs, when) })
	return steps.Effect{Restart: true}, err
}

// resetBIOS is sent once.
func resetBIOS(ctx context.Context, s *session, c cleaning) (steps.Effect, error) {
	if c.Restarted {
		return steps.Effect{}, nil
	}
	d, bios, err := s.bios()
	if err == nil {
		err = s.once(ctx, d, c.act, bios.ResetBios)
	}
	return steps.Effect{Restart: err == nil}, err
}

// wantedSettings are those of a step's arguments, as the machine takes them. Errors:
// Invalid, one that the machine can't have.
func (s *session) wantedSettings(ctx context.Context, given any) (map[string]any, error) {
	list, ok := given.([]any)
	if !ok || len(list) == 0 || len(list) > mostSettings {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "settings: a list of names and values is expected")
	}
	kept, err := baremetal.BIOSSettings(ctx, s.db.Pool, s.node.UUID)
	if err != nil {
		return nil, err
	}
	known := map[string]*baremetal.BIOSSetting{}
	for _, k := range kept {
		known[k.Name] = k
	}
	wanted, wrong := map[string]any{}, []string(nil)
	for _, one := range list {
		setting, _ := one.(map[string]any)
		name, ok := setting["name"].(string)
		value, has := setting["value"]
		if !ok || !has {
			return nil, faults.New(faults.Invalid, "InvalidParameterValue", "settings: each has a name and a value")
		}
		taken, ok := fits(known[name], value)
		if !ok {
			wrong = append(wrong, name)
		}
		wanted[name] = taken
	}
	if len(wrong) > 0 {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "Redfish BIOS apply_configuration failed for node %s: invalid value for setting(s): %s", s.node.UUID, strings.Join(wrong, ", "))
	}
	return wanted, nil
}

// fits gives a value as a setting takes it, and whether it does; one of which nothing is
// known takes any.
func fits(k *baremetal.BIOSSetting, value any) (any, bool) {
	if k == nil || k.AttributeType == nil {
		return value, k == nil || k.ReadOnly == nil || !*k.ReadOnly
	}
	if k.ReadOnly != nil && *k.ReadOnly {
		return value, false
	}
	text := fmt.Sprint(value)
	switch *k.AttributeType {
	case "Enumeration":
		return value, len(k.AllowableValues) == 0 || slices.Contains(k.AllowableValues, text)
	case "Integer":
		n, err := strconv.ParseInt(settingText(value), 10, 64)
		return n, err == nil && (k.LowerBound == nil || n >= *k.LowerBound) && (k.UpperBound == nil || n <= *k.UpperBound)
	case "Boolean":
		if word, ok := value.(string); ok {
			return strings.EqualFold(word, "true"), true
		}
	case "String":
		length := int64(len(text))
		return value, (k.MinLength == nil || length >= *k.MinLength) && (k.MaxLength == nil || length <= *k.MaxLength)
	}
	return value, true
}
