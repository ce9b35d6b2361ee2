package nodes

// Methods that a node's vendor interface has of its own (contracts: drivers.json,
// vendor_passthru).

import (
	"net/url"
	"strconv"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store/baremetal"
)

// VendorMethod is one of them.
type VendorMethod struct {
	HTTPMethods []string `json:"http_methods"`
	// Async ones are answered before they are done.
	Async       bool   `json:"async"`
	Description string `json:"description"`
	// Attach has the answer be a file.
	Attach bool `json:"attach"`
	// Exclusive ones are done with nobody else at work on the node.
	Exclusive bool `json:"require_exclusive_lock"`
}

// Methods of Redfish.
const (
	CreateSubscription  = "create_subscription"
	DeleteSubscription  = "delete_subscription"
	GetSubscription     = "get_subscription"
	GetAllSubscriptions = "get_all_subscriptions"
	EjectMedia          = "eject_vmedia"
)

// Methods of IPMI.
const (
	ResetBMC = "bmc_reset"
	SendRaw  = "send_raw"
)

// vendorMethods are what vendor interfaces have, by their names.
var vendorMethods = map[string]map[string]VendorMethod{
	"redfish": {
		CreateSubscription:  {[]string{"POST"}, false, "Creates a subscription on a node. Required argument: a dictionary of {'Destination': 'destination_url'}", false, true},
		DeleteSubscription:  {[]string{"DELETE"}, false, "Delete a subscription on a node. Required argument: a dictionary of {'id': 'subscription_bmc_id'}", false, true},
		GetAllSubscriptions: {[]string{"GET"}, false, "Returns all subscriptions on the node.", false, true},
		GetSubscription:     {[]string{"GET"}, false, "Get a subscription on the node. Required argument: a dictionary of {'id': 'subscription_bmc_id'}", false, true},
		EjectMedia: {[]string{"POST"}, true, "Eject a virtual media device. If no device is provided then all attached devices will be ejected. " +
			"Optional arguments: 'boot_device' - the boot device to eject, either 'cd', 'dvd', 'usb', or 'floppy'", false, true},
	},
	"ipmitool": {
		ResetBMC: {[]string{"POST"}, true, "Reset the BMC. Required argument: 'warm' (Boolean) - for warm (True) or cold (False) reset.", false, true},
		SendRaw:  {[]string{"POST"}, true, "Send raw bytes to the BMC. Required argument: 'raw_bytes' - a string of raw bytes (e.g. '0x00 0x01').", false, true},
	},
	"fake": {
		"second_method":             {[]string{"POST"}, true, "Test if the value of bar is kazoo", false, true},
		"third_method_sync":         {[]string{"POST"}, false, "Test if the value of bar is meow", false, true},
		"fourth_method_shared_lock": {[]string{"POST"}, true, "Test if the value of bar is woof", false, false},
		"log_passthrough":           {[]string{"POST"}, true, "Test pass-through to wait.", false, true},
	},
	"FakeVendorA": {"first_method": {[]string{"POST"}, true, "Test if the value of bar is baz", false, true}},
}

// VendorMethods are those of a vendor interface.
func VendorMethods(name string) map[string]VendorMethod {
	if methods := vendorMethods[name]; methods != nil {
		return methods
	}
	return map[string]VendorMethod{}
}

// MayCall checks the arguments of a vendor method, in the original's words. Errors:
// Invalid.
func MayCall(vendor, method string, args map[string]any) error {
	wrong := func(format string, values ...any) error {
		return faults.New(faults.Invalid, "InvalidParameterValue", format, values...)
	}
	switch {
	case vendor == "fake" && method != "log_passthrough", vendor == "FakeVendorA":
		if bar := args["bar"]; bar == nil || bar == "" || bar == false {
			return faults.New(faults.Invalid, "MissingParameterValue", "Parameter 'bar' not passed to method '%s'.", method)
		}
	case method == DeleteSubscription, method == GetSubscription:
		if id, ok := args["id"].(string); !ok || id == "" || url.PathEscape(id) != id {
			return wrong("id can't be None")
		}
	case method == SendRaw:
		_, err := RawBytes(args)
		return err
	case method == CreateSubscription:
		return maySubscribe(args, wrong)
	case method == EjectMedia:
		_, err := EjectedMedia(args)
		return err
	}
	return nil
}

// maxRaw bounds what is sent to a BMC in one message.
const maxRaw = 255

// RawBytes are what send_raw is to send: the family of a command, its code, and its data.
// Errors: Invalid.
func RawBytes(args map[string]any) ([]byte, error) {
	value := args["raw_bytes"]
	if value == nil || value == "" {
		return nil, faults.New(faults.Invalid, "MissingParameterValue", "Parameter raw_bytes (string of bytes) was not specified.")
	}
	var all []byte
	words := strings.Fields(printed(value))
	for _, word := range words {
		b, err := strconv.ParseUint(word, 0, 8)
		if err != nil {
			return nil, faults.New(faults.Invalid, "InvalidParameterValue", "raw_bytes: %q is no byte", word)
		}
		all = append(all, byte(b))
	}
	if len(all) < 2 || len(all) > maxRaw || all[0]&1 != 0 || all[0] > 0x3f {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "raw_bytes are the family of a request, its command and data, of up to %d bytes", maxRaw)
	}
	return all, nil
}

// WarmReset says whether bmc_reset is to be a warm one, as usual.
func WarmReset(args map[string]any) bool {
	warm, given := args["warm"]
	return !given || truths[strings.ToLower(strings.TrimSpace(printed(warm)))]
}

// mediaDrives are the kinds of drives that virtual media are in, by what vendor methods
// call those.
var mediaDrives = map[string]string{"cd": provision.BootCDROM, "dvd": provision.BootCDROM, "usb": provision.BootDisk, "floppy": provision.BootFloppy}

// EjectedMedia are the kinds of drives that eject_vmedia empties; none are all. Errors:
// Invalid.
func EjectedMedia(args map[string]any) ([]string, error) {
	device := args["boot_device"]
	if device == nil || device == "" {
		return nil, nil
	}
	kind, known := mediaDrives[printed(device)]
	if !known {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "Boot device %s is not a valid value ", printed(device))
	}
	return []string{kind}, nil
}

func maySubscribe(args map[string]any, wrong func(string, ...any) error) error {
	for name, what := range map[string]string{"Context": "a valid string", "Protocol": "a string"} {
		if value, given := args[name]; given {
			if _, ok := value.(string); !ok {
				return wrong("%s %s is not %s", name, printed(value), what)
			}
		}
	}
	if headers := args["HttpHeaders"]; headers != nil {
		if _, ok := headers.([]any); !ok {
			return wrong("HttpHeaders %s is not a list of headers", printed(headers))
		}
	}
	destination, _ := args["Destination"].(string)
	if at, err := url.Parse(destination); err != nil || at.Scheme == "" || at.Host == "" {
		return wrong("Destination %s is not a valid URI", printed(args["Destination"]))
	}
	return nil
}

func printed(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return pyjson.Repr(value)
}

// CommandPlace is what the secrets of what a node's BMC is told are sealed for.
func CommandPlace(n *baremetal.Node) string { return Place(n) + "/command" }
