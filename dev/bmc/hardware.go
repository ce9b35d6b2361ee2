package bmc

// The hardware of a machine as its ramdisk meets it: what it is made of, its disk,
// and what the generic hardware manager does to it.

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
)

// managerName is the hardware manager that says what it can do.
const managerName = "GenericHardwareManager"

// Step is something that a hardware manager can do.
type Step struct {
	Step            string `json:"step"`
	Interface       string `json:"interface"`
	Priority        int    `json:"priority"`
	RebootRequested bool   `json:"reboot_requested"`
	Abortable       bool   `json:"abortable,omitempty"`
	ArgsInfo        any    `json:"argsinfo,omitempty"`
}

// generic are the steps of the generic hardware manager.
var generic = map[string][]Step{
	"clean": {
		{Step: "erase_devices", Interface: "deploy", Priority: 10, Abortable: true}, {Step: "erase_devices_metadata", Interface: "deploy", Priority: 99, Abortable: true},
		{Step: "erase_devices_express", Interface: "deploy", Abortable: true}, {Step: "erase_pstore", Interface: "deploy", Abortable: true},
		{Step: "clean_uefi_nvram", Interface: "deploy", Abortable: true}, {Step: "delete_configuration", Interface: "raid", Abortable: true},
		{Step: "create_configuration", Interface: "raid", Abortable: true}, {Step: "burnin_cpu", Interface: "deploy", Abortable: true},
		{Step: "burnin_gpu", Interface: "deploy", Abortable: true}, {Step: "burnin_disk", Interface: "deploy", Abortable: true},
		{Step: "burnin_memory", Interface: "deploy", Abortable: true}, {Step: "burnin_network", Interface: "deploy", Abortable: true},
	},
	"deploy": {
		{Step: "erase_devices_metadata", Interface: "deploy"}, {Step: "apply_configuration", Interface: "raid", ArgsInfo: raidArguments},
		{Step: "clean_uefi_nvram", Interface: "deploy", ArgsInfo: map[string]any{"match_patterns": argument(false)}},
		{Step: "write_image", Interface: "deploy"}, {Step: "inject_files", Interface: "deploy", ArgsInfo: fileArguments}, {Step: "execute_bootc_install", Interface: "deploy"},
	},
	"service": {
		{Step: "delete_configuration", Interface: "raid"}, {Step: "apply_configuration", Interface: "raid", ArgsInfo: raidArguments}, {Step: "create_configuration", Interface: "raid"},
		{Step: "burnin_cpu", Interface: "deploy"}, {Step: "burnin_gpu", Interface: "deploy"}, {Step: "burnin_memory", Interface: "deploy"},
		{Step: "burnin_network", Interface: "deploy"}, {Step: "write_image", Interface: "deploy"}, {Step: "inject_files", Interface: "deploy", ArgsInfo: fileArguments},
		{Step: "execute_bootc_install", Interface: "deploy"},
	},
}

// argument is what a step says of one of its arguments.
func argument(required bool) map[string]any { return map[string]any{"required": required} }

// Arguments of steps.
var (
	raidArguments = map[string]any{"raid_config": argument(true), "delete_existing": argument(false)}
	fileArguments = map[string]any{"files": argument(false), "verify_ca": argument(false)}
)

// Content is what a machine's disk holds.
type Content struct {
	// SHA256 is the image's, in hex; empty for a disk without one. Size is how many
	// bytes it has.
	SHA256 string
	Size   int64
	// ConfigDrive is the image of the config drive's partition.
	ConfigDrive []byte
	// Partitions are those that the image was written to, if it is of one; nil otherwise.
	Partitions *Partitions
	// Installed says that a boot loader starts it.
	Installed bool
}

// hardware is what a machine is made of.
type hardware struct {
	address     string // its agent's, empty before the first
	presented   *tls.Certificate
	told        []byte // the certificate that the agent tells of
	agentFaults []Fault
	manager     string
	more        map[string][]Step
	did         []string
	passwords   []string
	disk        Content
	finds       func(map[string]any)
}

func newHardware() hardware {
	return hardware{manager: "1.2", more: map[string][]Step{}}
}

// Content is what the machine's disk holds.
func (m *Machine) Content() Content {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disk
}

// Did are the steps that ramdisks have done on the machine.
func (m *Machine) Did() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.did)
}

// Passwords are those that ramdisks were given that rescue, hashed.
func (m *Machine) Passwords() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.passwords)
}

// Can has the machine's ramdisks offer one more step.
func (m *Machine) Can(phase string, step Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.more[phase] = append(m.more[phase], step)
}

// ChangeManager gives the machine's ramdisks another version of their hardware manager.
func (m *Machine) ChangeManager(version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.manager = version
}

func (m *Machine) steps(phase string) []Step {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append(slices.Clone(generic[phase]), m.more[phase]...)
}

func (m *Machine) managerVersion() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return map[string]string{"generic_hardware_manager": m.manager}
}

func (m *Machine) presents(certificate []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = certificate
}

func (m *Machine) certificate() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

// shutDown has the machine's system turn it off, or start it anew.
func (m *Machine) shutDown(to Power) *agentError {
	m.mu.Lock()
	defer m.mu.Unlock()
	if to == On {
		m.power = Off
	}
	m.power = to
	m.turns = append(m.turns, to)
	m.powered()
	return nil
}

// inventory is what a ramdisk finds in the machine: its interfaces but the first have no
// address, and the first of its disks that has four GiB is its root.
func (m *Machine) inventory() map[string]any {
	made := m.made()
	interfaces := []any{map[string]any{"name": "lo", "mac_address": "00:00:00:00:00:00", "ipv4_address": "127.0.0.1", "has_carrier": true}}
	for i, mac := range made.macs {
		one := map[string]any{"name": fmt.Sprintf("eth%d", i), "mac_address": mac, "ipv4_address": nil, "ipv6_address": nil, "has_carrier": i == 0, "lldp": nil,
			"vendor": "0x1af4", "product": "0x0001", "client_id": nil, "biosdevname": nil, "speed_mbps": 1000, "pci_address": fmt.Sprintf("0000:00:0%d.0", i+2), "driver": "virtio_net"}
		if i == 0 {
			one["ipv4_address"] = "192.0.2.10"
		}
		interfaces = append(interfaces, one)
	}
	disks, root := []any{}, any(nil)
	for i, size := range made.disks {
		disk := map[string]any{"name": fmt.Sprintf("/dev/sd%c", 'a'+i), "model": "simulated", "size": size, "rotational": false, "wwn": nil, "serial": fmt.Sprintf("%s-%d", m.UUID, i),
			"vendor": "Holdfast", "wwn_with_extension": nil, "wwn_vendor_extension": nil, "hctl": fmt.Sprintf("0:0:0:%d", i), "by_path": fmt.Sprintf("/dev/disk/by-path/sim-%d", i),
			"logical_sectors": 512, "physical_sectors": 4096, "tran": "sata"}
		if disks = append(disks, disk); root == nil && size >= 4<<30 {
			root = disk
		}
	}
	found := map[string]any{
		"inventory": map[string]any{
			"interfaces": interfaces,
			"cpu":        map[string]any{"model_name": "simulated", "count": 4, "architecture": "x86_64", "flags": []string{"fpu", "aes", "vmx"}, "frequency": "2000.0", "socket_count": 1},
			"disks":      disks, "memory": map[string]any{"total": int64(made.memory) << 30, "physical_mb": made.memory << 10},
			"bmc_address": "0.0.0.0", "bmc_v6address": "::/0", "bmc_mac": nil,
			"system_vendor": map[string]any{"product_name": "simulated", "serial_number": m.UUID, "manufacturer": "Holdfast", "firmware": map[string]any{"vendor": "", "version": "1", "build_date": ""}},
			"boot":          map[string]any{"current_boot_mode": "uefi", "pxe_interface": m.MAC}, "hostname": "ramdisk",
		},
		"boot_interface": m.MAC, "root_disk": root, "error": nil,
		"configuration": map[string]any{"collectors": []string{"default", "pci-devices"}, "managers": []any{map[string]any{"name": "generic_hardware_manager", "version": "1.2"}}},
		"pci_devices":   []any{map[string]any{"vendor_id": "1af4", "product_id": "1000", "class": "020000", "revision": "00", "bus": "0000:00:02.0"}},
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finds != nil {
		m.finds(found)
	}
	return found
}

// Finds has the machine's ramdisks find something else than they would.
func (m *Machine) Finds(change func(found map[string]any)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finds = change
}

// doStep does one of the machine's steps, with what else the command was told. Logical
// disks are believed to be made.
func (m *Machine) doStep(ctx context.Context, phase, step string, args, told arguments) (any, *agentError) {
	if !slices.ContainsFunc(m.steps(phase), func(s Step) bool { return s.Step == step }) {
		return nil, trouble("HardwareManagerMethodNotFound", "No HardwareManager found to handle method", "Could not find method: "+step)
	}
	m.mu.Lock()
	m.did = append(m.did, step)
	m.mu.Unlock()
	switch step {
	case "erase_devices", "erase_devices_metadata", "erase_devices_express":
		m.mu.Lock()
		m.disk = Content{}
		m.mu.Unlock()
	case "write_image":
		if refused := checkImage(args); refused != nil {
			return nil, refused
		}
		return m.writeImage(ctx, args)
	case "create_configuration":
		var node struct {
			Target json.RawMessage `json:"target_raid_config"`
		}
		err := told.read("node", &node)
		return node.Target, err
	case "apply_configuration":
		return args["raid_config"], nil
	}
	return nil, nil
}

// image is what an agent is told of the one that it is to write.
type image struct {
	ID          string   `json:"id"`
	URLs        []string `json:"urls"`
	Checksum    string   `json:"checksum"`
	HashAlgo    string   `json:"os_hash_algo"`
	HashValue   string   `json:"os_hash_value"`
	ConfigDrive string   `json:"configdrive"`
	Type        string   `json:"image_type"`
}

func checkImage(told arguments) *agentError {
	var i image
	switch err := told.read("image_info", &i); {
	case err != nil:
		return err
	case i.ID == "":
		return malformed("Image is missing 'id' field.")
	case len(i.URLs) == 0:
		return malformed("Image 'urls' must be a list with at least one element.")
	case len(i.Checksum) < 32 && !isURL(i.Checksum) && (i.HashAlgo == "" || i.HashValue == ""):
		return malformed("Image checksum is not available, either the 'checksum' field or the 'os_hash_algo' and 'os_hash_value' fields pair must " +
			"be set for image verification.")
	}
	return nil
}

func prepareImage(ctx context.Context, a *Agent, told arguments) (any, *agentError) {
	return a.machine.writeImage(ctx, told)
}

// hashes are what images are checked by.
var hashes = map[string]func() hash.Hash{"md5": md5.New, "sha256": sha256.New, "sha512": sha512.New}

func isURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// checksum is the one of an image: itself, or what the file at an address says of it.
func (i image) checksum(ctx context.Context) (string, *agentError) {
	if !isURL(i.Checksum) {
		return i.Checksum, nil
	}
	var text bytes.Buffer
	if _, err := fetch(ctx, i.Checksum, &text, maxSums); err != nil {
		return "", trouble("ImageDownloadError", "Error downloading image", "Download of image "+i.ID+" failed: "+err.Error())
	}
	of := path.Base(i.URLs[0])
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	for _, line := range lines {
		switch words := strings.Fields(line); {
		case len(words) == 1 && len(lines) == 1, len(words) == 2 && strings.TrimPrefix(words[1], "*") == of:
			return words[0], nil
		case len(words) == 4 && words[1] == "("+of+")":
			return words[3], nil
		}
	}
	return "", trouble("ImageDownloadError", "Error downloading image", "Checksum file does not contain name "+of)
}

// writeImage writes an image and a config drive to the machine's disk.
func (m *Machine) writeImage(ctx context.Context, told arguments) (any, *agentError) {
	var i image
	drive := ""
	if err := told.read("image_info", &i); err != nil {
		return nil, err
	}
	if err := told.read("configdrive", &drive); err != nil {
		return nil, err
	}
	if drive == "" {
		drive = i.ConfigDrive
	}
	algo, want := i.HashAlgo, i.HashValue
	if want == "" {
		var err *agentError
		if want, err = i.checksum(ctx); err != nil {
			return nil, err
		}
		algo = map[int]string{32: "md5", 64: "sha256", 128: "sha512"}[len(want)]
	}
	known := hashes[algo]
	if known == nil {
		return nil, trouble("ImageChecksumError", "Error verifying image checksum", fmt.Sprintf("the algorithm of %q is unknown", want))
	}
	check, sum := known(), sha256.New()
	size, err := fetch(ctx, i.URLs[0], io.MultiWriter(check, sum), maxImage)
	if err != nil {
		return nil, trouble("ImageDownloadError", "Error downloading image", "Download of image "+i.ID+" failed: "+err.Error())
	}
	if got := hex.EncodeToString(check.Sum(nil)); got != strings.ToLower(want) {
		return nil, trouble("ImageChecksumError", "Error verifying image checksum", fmt.Sprintf("Image failed to verify against checksum. location: %s; image ID: %s; "+
			"image checksum: %s; verification checksum: %s", i.URLs[0], i.ID, want, got))
	}
	content, refused := readDrive(ctx, drive)
	if refused != nil {
		return nil, refused
	}
	var parts *Partitions
	if i.Type == "partition" {
		if parts, refused = m.partition(told, size); refused != nil {
			return nil, refused
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.disk = Content{SHA256: hex.EncodeToString(sum.Sum(nil)), Size: size, ConfigDrive: content, Partitions: parts}
	return fmt.Sprintf("image (%s) written to device /dev/sda ", i.ID), nil
}

const (
	// maxImage bounds an image, and maxDrive is what fits into the partition of a
	// config drive.
	maxImage = 64 << 30
	maxDrive = 64 << 20
	// maxSums bounds a file of checksums.
	maxSums = 1 << 20
)

// readDrive reads a config drive: text, or where it is.
func readDrive(ctx context.Context, drive string) ([]byte, *agentError) {
	if drive == "" {
		return nil, nil
	}
	text := []byte(drive)
	if isURL(drive) {
		var got bytes.Buffer
		if _, err := fetch(ctx, drive, &got, 2*maxDrive); err != nil {
			return nil, trouble("InstanceDeployFailure", "Failed to create config drive", err.Error())
		}
		text = got.Bytes()
	}
	packed, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return nil, trouble("InstanceDeployFailure", "Failed to create config drive", "it isn't base64")
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, trouble("InstanceDeployFailure", "Failed to create config drive", "it isn't gzipped")
	}
	content, err := io.ReadAll(io.LimitReader(plain, maxDrive+1))
	if err != nil || len(content) > maxDrive {
		return nil, trouble("InstanceDeployFailure", "Failed to create config drive", "its size exceeds maximum limit of 64MiB")
	}
	return content, nil
}

// fetch reads what is at an address, and no more of it than most.
func fetch(ctx context.Context, from string, to io.Writer, most int64) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	if resp.StatusCode != http.StatusOK {
		//lint:ignore ST1005 the agent's own words
		return 0, fmt.Errorf("Received status code %d from %s, expected 200", resp.StatusCode, from)
	}
	return io.Copy(to, io.LimitReader(resp.Body, most))
}
