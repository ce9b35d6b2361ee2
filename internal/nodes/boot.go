package nodes

// What a node's rows say of the ramdisk that it is booted from.

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/secrets"
	"holdfast.dev/internal/store/baremetal"
)

// Boot interfaces that ramdisks are booted by, beside those by the network (netboot.go).
const (
	BootVirtualMedia = "redfish-virtual-media"
	BootFake         = "fake"
)

// BootInterface names a node's boot interface; empty if it has none.
func BootInterface(n *baremetal.Node) string {
	if n.BootInterface == nil {
		return ""
	}
	return *n.BootInterface
}

// RamdiskMode is what a ramdisk is booted for: its kernel and its image have their
// own names in driver_info.
type RamdiskMode string

// The modes.
const (
	RamdiskDeploy RamdiskMode = "deploy"
	RamdiskRescue RamdiskMode = "rescue"
)

// BootDefaults are what nodes are booted from that don't say it themselves.
type BootDefaults struct {
	Kernel, Ramdisk, Bootloader, Append string
}

// BootImage is what a ramdisk is booted from, by address.
type BootImage struct {
	// ISO is a medium that is there already; the others are empty then.
	ISO string
	// Kernel and Ramdisk are its files, Bootloader the image of an EFI system
	// partition that starts them from a medium.
	Kernel, Ramdisk, Bootloader string
	// Append are words of the kernel's command line.
	Append []string
}

// Boot reads it, for the node's boot interface. Errors: Invalid.
func (i Info) Boot(mode RamdiskMode, usual BootDefaults) (BootImage, error) {
	pick := func(name, usual string) string {
		if text := i.text(name); text != "" {
			return text
		}
		return usual
	}
	words, err := i.appended(pick("kernel_append_params", usual.Append), usual.Append)
	if err != nil {
		return BootImage{}, err
	}
	kernel, ramdisk := string(mode)+"_kernel", string(mode)+"_ramdisk"
	if _, ok := NetbootOf(i.node); ok {
		b := BootImage{Kernel: i.text(kernel), Ramdisk: i.text(ramdisk), Append: words}
		if b.Kernel == "" && b.Ramdisk == "" { // half of them from elsewhere would hide a mistake
			b.Kernel, b.Ramdisk = usual.Kernel, usual.Ramdisk
		}
		return b, lacking("Cannot validate PXE bootloader. Some parameters were missing in node's driver_info and configuration", map[string]string{kernel: b.Kernel, ramdisk: b.Ramdisk})
	}
	b := BootImage{ISO: i.text(string(mode) + "_iso"), Append: words}
	if b.ISO != "" {
		return b, nil
	}
	b.Kernel, b.Ramdisk = pick(kernel, usual.Kernel), pick(ramdisk, usual.Ramdisk)
	b.Bootloader = pick("bootloader", usual.Bootloader)
	return b, lacking(fmt.Sprintf("Error validating %s for redfish virtual media. Some parameters were missing in node's driver_info", mode),
		map[string]string{kernel: b.Kernel, ramdisk: b.Ramdisk, "bootloader": b.Bootloader})
}

// lacking names those of some parameters that are empty. Errors: Invalid.
func lacking(text string, parameters map[string]string) error {
	var missing []string
	for name, value := range parameters {
		if value == "" {
			missing = append(missing, fmt.Sprintf("'%s'", name))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return faults.New(faults.Invalid, "MissingParameterValue", "%s. Missing are: [%s]", text, strings.Join(missing, ", "))
}

// word is what a kernel's command line may have: nothing by which a boot loader's
// configuration would go on.
var word = regexp.MustCompile(`^[\w.,:/=@%+-]+$`)

// appended are the words of a text for a kernel's command line; %default% in it is
// what others have.
func (i Info) appended(text, usual string) ([]string, error) {
	words := strings.Fields(strings.ReplaceAll(text, "%default%", usual))
	for _, w := range words {
		if !word.MatchString(w) {
			return nil, i.invalid("Invalid value \"%s\" set in kernel_append_params on node %s", w, i.node.UUID)
		}
	}
	return words, nil
}

// What is served for a node has an unguessable name, which ends by what it is: a medium with
// its ramdisk, or a folder of files that it is booted from by the network. That with
// ImageSuffix is what Glance has for its disk.
const (
	MediumSuffix  = ".iso"
	NetbootSuffix = ".net"
	ImageSuffix   = ".img"
)

// ServedAt is where what has a name is served.
func ServedAt(url, name string) string { return strings.TrimSuffix(url, "/") + "/" + name }

// ImageAt is where the image is served of a node that is booted from what has a name.
func ImageAt(url, name string) string { return ServedAt(url, name) + ImageSuffix }

// agentKeys are what is known of a node's ramdisk while it runs.
var agentKeys = []string{"agent_url", "agent_version", "agent_last_heartbeat", "agent_verify_ca", "agent_status", "agent_status_message"}

// tokenPath is where a node's secrets have what it and its ramdisk share.
const tokenPath = "/agent_secret_token"

// Internal are a node's driver_internal_info and its sealed secrets.
type Internal struct {
	Info    json.RawMessage
	Secrets []byte
}

// Expect is what is known of a node from now on: nothing of any ramdisk, and the
// token of the one that is about to be booted; empty for none.
func Expect(box *secrets.Box, n *baremetal.Node, token string) (Internal, error) {
	value, _, err := pyjson.Parse(n.DriverInternalInfo)
	known, ok := value.(*pyjson.Object)
	if err != nil || !ok {
		return Internal{}, fmt.Errorf("driver_internal_info of node %s: %w", n.UUID, err)
	}
	all, err := Opened(box, n)
	if err != nil {
		return Internal{}, err
	}
	for _, key := range append(agentKeys, tokenPath[1:]) {
		known.Delete(key)
	}
	delete(all["driver_internal_info"], tokenPath)
	if token != "" {
		known.Set(tokenPath[1:], Mask)
		if all["driver_internal_info"] == nil {
			all["driver_internal_info"] = map[string]any{}
		}
		all["driver_internal_info"][tokenPath] = token
	}
	text, err := json.Marshal(known)
	if err != nil {
		return Internal{}, fmt.Errorf("driver_internal_info of node %s: %w", n.UUID, err)
	}
	kept, err := json.Marshal(all)
	if err != nil {
		return Internal{}, fmt.Errorf("secrets of node %s: %w", n.UUID, err)
	}
	return Internal{text, box.Seal(kept, Place(n))}, nil
}

// NewToken makes what a node and its ramdisk are to share.
func NewToken() (string, error) {
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return "", fmt.Errorf("a ramdisk's token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(secret), nil
}

// Token is what a node and its ramdisk share; empty if there is nothing.
func Token(box *secrets.Box, n *baremetal.Node) (string, error) {
	all, err := Opened(box, n)
	if err != nil {
		return "", err
	}
	token, _ := all["driver_internal_info"][tokenPath].(string)
	return token, nil
}
