package baremetal

// What a node starts from and how, its lamps, and its interrupt: below
// /nodes/{node}/management, and of its states boot_mode and secure_boot.

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/engine"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// command has the BMC of the path's node be told something; may says why that can't be.
// What is awaited is answered once it is done. It gives the operation's id.
func (a *API) command(r *rest.Request, rule string, ask steps.NodeCommandInput, may func(*baremetal.Node) error) (string, error) {
	var accepted engine.Accepted
	err := a.DB.InTx(r.Context(), func(tx store.Tx) error {
		n, err := a.lockNode(r, tx, rule)
		if err == nil {
			err = may(n)
		}
		if err == nil && n.Reservation == nil {
			err = nodes.MayManage(a.Secrets, n)
		}
		if err != nil {
			return err
		}
		if accepted, err = a.begin(r, tx, n, operations.NodeCommand, ask); err != nil || ask.Command.Awaited() {
			return err
		}
		return baremetal.ForgetError(r.Context(), tx, n.UUID)
	})
	if err != nil {
		return "", err
	}
	a.offer(accepted)
	if ask.Command.Awaited() {
		err = a.await(r, accepted.OperationID)
	}
	return accepted.OperationID, err
}

// anyNode is the answer to whether something may be asked of a node that may be asked of
// every one.
func anyNode(*baremetal.Node) error { return nil }

// setBootDevice answers PUT .../management/boot_device.
func (a *API) setBootDevice(r *rest.Request) (*rest.Response, error) {
	asked, err := readArguments(r, "boot_device", "persistent")
	if err != nil {
		return nil, err
	}
	device, err := asked.text("boot_device")
	if err != nil {
		return nil, err
	}
	persistent, err := asked.truth("persistent")
	if err != nil {
		return nil, err
	}
	ask := steps.NodeCommandInput{Command: steps.SetBootDevice, Device: device, Persistent: persistent != nil && *persistent}
	_, err = a.command(r, "baremetal:node:set_boot_device", ask, func(n *baremetal.Node) error { return nodes.MayStartFrom(n, device) })
	return nil, err
}

// askable finds the node of the path, of which a question may be asked that nobody may
// be at work beside.
func (a *API) askable(r *rest.Request, rule string) (*baremetal.Node, error) {
	n, err := a.node(r, a.DB.Pool, rule)
	if err == nil {
		err = unlocked(n)
	}
	if err == nil {
		err = nodes.MayManage(a.Secrets, n)
	}
	return n, err
}

// showBootDevice answers GET .../management/boot_device.
func (a *API) showBootDevice(r *rest.Request) (*rest.Response, error) {
	n, err := a.askable(r, "baremetal:node:get_boot_device")
	if err != nil {
		return nil, err
	}
	var said struct {
		Device     *string `json:"boot_device"`
		Persistent *bool   `json:"persistent"`
	}
	if err := a.question(r, n, "boot_device", nil, &said); err != nil {
		return nil, err
	}
	return rest.JSON(said), nil
}

// listBootDevices answers GET .../management/boot_device/supported.
func (a *API) listBootDevices(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:get_boot_device")
	if err != nil {
		return nil, err
	}
	devices, err := nodes.BootDevices(n)
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"supported_boot_devices": devices}), nil
}

// injectNMI answers PUT .../management/inject_nmi.
func (a *API) injectNMI(r *rest.Request) (*rest.Response, error) {
	if body, ok := r.Body().(*pyjson.Object); ok && len(body.Keys()) > 0 {
		return nil, faults.New(faults.Invalid, "UnknownArgument", "Unexpected arguments: %s", strings.Join(body.Keys(), ", "))
	}
	_, err := a.command(r, "baremetal:node:inject_nmi", steps.NodeCommandInput{Command: steps.InjectNMI}, anyNode)
	return nil, err
}

// knowsBootModes refuses versions that set none; whoever may not set any isn't told.
func knowsBootModes(r *rest.Request) error {
	if r.At(v(76)) {
		return nil
	}
	return faults.New(faults.NotFound, "NotFound", "This endpoint is supported starting with the API version 1.76")
}

// setBootMode answers PUT .../states/boot_mode.
func (a *API) setBootMode(r *rest.Request) (*rest.Response, error) {
	asked, err := readArguments(r, "target")
	if err != nil {
		return nil, err
	}
	mode, err := asked.text("target")
	if err != nil {
		return nil, err
	}
	_, err = a.command(r, "baremetal:node:set_boot_mode", steps.NodeCommandInput{Command: steps.SetBootMode, Mode: mode}, func(n *baremetal.Node) error {
		if err := knowsBootModes(r); err != nil {
			return err
		}
		if mode != provision.BIOS && mode != provision.UEFI {
			return invalid("Invalid boot mode %s requested for node. Allowed boot modes are: %s, %s", mode, provision.BIOS, provision.UEFI)
		}
		return steady(n)
	})
	if err != nil {
		return nil, err
	}
	return underWay(r), nil
}

// setSecureBoot answers PUT .../states/secure_boot.
func (a *API) setSecureBoot(r *rest.Request) (*rest.Response, error) {
	asked, err := readArguments(r, "target")
	if err != nil {
		return nil, err
	}
	secure, err := asked.truth("target")
	if err != nil {
		return nil, err
	}
	_, err = a.command(r, "baremetal:node:set_secure_boot", steps.NodeCommandInput{Command: steps.SetSecureBoot, Secure: *secure}, func(n *baremetal.Node) error {
		if err := knowsBootModes(r); err != nil {
			return err
		}
		return steady(n)
	})
	if err != nil {
		return nil, err
	}
	return underWay(r), nil
}

// steady refuses a node that is on its way from one state to another.
func steady(n *baremetal.Node) error {
	if !n.ProvisionState.Transient() {
		return nil
	}
	return faults.New(faults.Conflict, "Conflict", "Node is in %s state. Since node is transitioning, the boot mode will not be set as this may interfere with ongoing "+
		"changes and result in erroneous modification. Try again later.", n.ProvisionState)
}

// listIndicators answers GET .../management/indicators.
func (a *API) listIndicators(r *rest.Request) (*rest.Response, error) {
	n, err := a.node(r, a.DB.Pool, "baremetal:node:get_indicator_state")
	if err == nil {
		err = nodes.MayManage(a.Secrets, n)
	}
	if err != nil {
		return nil, err
	}
	var found map[string]map[string]struct {
		ReadOnly bool     `json:"readonly"`
		States   []string `json:"states"`
	}
	if err := a.question(r, n, "indicators", nil, &found); err != nil {
		return nil, err
	}
	all := []map[string]any{}
	for _, component := range slices.Sorted(maps.Keys(found)) {
		for _, name := range slices.Sorted(maps.Keys(found[component])) {
			one, whole := found[component][name], name+"@"+component
			all = append(all, map[string]any{"name": whole, "component": component, "readonly": one.ReadOnly, "states": one.States,
				"links": links(r, "nodes", r.Param("node"), "management", "indicators", whole)})
		}
	}
	return rest.JSON(map[string]any{"indicators": all}), nil
}

// indicatorOf is which lamp a path names: name@component, or both apart.
func indicatorOf(r *rest.Request) (component, name string, err error) {
	if name = r.Param("name"); name != "" {
		return r.Param("indicator"), name, nil
	}
	name, component, ok := strings.Cut(r.Param("indicator"), "@")
	if !ok {
		return "", "", invalid("Malformed indicator name \"%s\"", r.Param("indicator"))
	}
	return component, name, nil
}

// showIndicator answers GET .../management/indicators/{indicator}.
func (a *API) showIndicator(r *rest.Request) (*rest.Response, error) {
	n, err := a.askable(r, "baremetal:node:get_indicator_state")
	if err != nil {
		return nil, err
	}
	component, name, err := indicatorOf(r)
	if err != nil {
		return nil, err
	}
	var state string
	if err := a.question(r, n, "indicator", url.Values{"component": {component}, "indicator": {name}}, &state); err != nil {
		return nil, err
	}
	return rest.JSON(map[string]string{"state": state}), nil
}

// setIndicator answers PUT .../management/indicators/{indicator}.
func (a *API) setIndicator(r *rest.Request) (*rest.Response, error) {
	asked, err := readArguments(r, "state")
	if err != nil {
		return nil, err
	}
	state, err := asked.text("state")
	if err != nil {
		return nil, err
	}
	component, name, err := indicatorOf(r)
	if err != nil {
		return nil, err
	}
	ask := steps.NodeCommandInput{Command: steps.SetIndicator, Component: component, Indicator: name, State: state}
	_, err = a.command(r, "baremetal:node:set_indicator_state", ask, anyNode)
	return nil, err
}
