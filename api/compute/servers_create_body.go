package compute

// The body of POST /servers, as its schema let it pass, and what is derived of
// it without asking anybody.

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/compute"
)

// createBody is the whole body.
type createBody struct {
	Server createRequest  `json:"server"`
	Hints  map[string]any `json:"os:scheduler_hints"`
	Older  map[string]any `json:"OS-SCH-HNT:scheduler_hints"`
}

// createRequest is the body's "server".
type createRequest struct {
	Name             string            `json:"name"`
	FlavorRef        reference         `json:"flavorRef"`
	ImageRef         reference         `json:"imageRef"`
	AdminPass        string            `json:"adminPass"`
	Metadata         map[string]string `json:"metadata"`
	Networks         json.RawMessage   `json:"networks"`
	SecurityGroups   []groupRequest    `json:"security_groups"`
	DiskConfig       string            `json:"OS-DCF:diskConfig"`
	AccessIPv4       string            `json:"accessIPv4"`
	AccessIPv6       string            `json:"accessIPv6"`
	Zone             string            `json:"availability_zone"`
	OldDevices       []blockDevice     `json:"block_device_mapping"`
	Devices          []blockDevice     `json:"block_device_mapping_v2"`
	ConfigDrive      truth             `json:"config_drive"`
	KeyName          *string           `json:"key_name"`
	MinCount         *whole            `json:"min_count"`
	MaxCount         *whole            `json:"max_count"`
	ReservationAlone truth             `json:"return_reservation_id"`
	UserData         *string           `json:"user_data"`
	Personality      []fileRequest     `json:"personality"`
	Description      *string           `json:"description"`
	Tags             []string          `json:"tags"`
	Certificates     []string          `json:"trusted_image_certificates"`
	Host             string            `json:"host"`
	Node             string            `json:"hypervisor_hostname"`
	Hostname         string            `json:"hostname"`
	hints            map[string]any
	placement        compute.Placement
	count            counts
}

type groupRequest struct {
	Name string `json:"name"`
}

// counts is how many servers are asked for.
type counts struct{ least, most int }

// reference is an id, or a URL that ends in one.
type reference string

// UnmarshalJSON implements json.Unmarshaler.
func (ref *reference) UnmarshalJSON(text []byte) error {
	path, _, _ := strings.Cut(pyStr(text), "?")
	*ref = reference(path[strings.LastIndex(path, "/")+1:])
	return nil
}

// readCreate reads the body. Errors: faults.Invalid and faults.Forbidden in the
// original's words.
func readCreate(r *rest.Request) (*createRequest, error) {
	var body createBody
	if err := r.Decode(&body); err != nil {
		return nil, err
	}
	asked := &body.Server
	asked.hints = body.Hints
	if asked.hints == nil {
		asked.hints = body.Older
	}
	for _, read := range []func(*rest.Request) error{asked.readImage, asked.readCount, asked.readPlacement, asked.readCertificates} {
		if err := read(r); err != nil {
			return nil, err
		}
	}
	return asked, nil
}

// readImage: an image may only be missing where block devices are given.
func (c *createRequest) readImage(*rest.Request) error {
	if len(c.OldDevices) > 0 && len(c.Devices) > 0 {
		return faults.New(faults.Invalid, "MixedMappings", "Using different block_device_mapping syntaxes is not allowed in the same request.")
	}
	if c.ImageRef == "" && len(c.OldDevices) == 0 && len(c.Devices) == 0 {
		return faults.New(faults.Invalid, "MissingImage", "Missing imageRef attribute")
	}
	return nil
}

// readCount reads how many; many can't have one host name.
func (c *createRequest) readCount(*rest.Request) error {
	c.count.least = 1
	if c.MinCount != nil {
		c.count.least = int(*c.MinCount)
	}
	c.count.most = c.count.least
	if c.MaxCount != nil {
		c.count.most = int(*c.MaxCount)
	}
	switch {
	case c.count.least > c.count.most:
		return faults.New(faults.Invalid, "BadCount", "min_count must be <= max_count")
	case c.count.most > 1 && c.Hostname != "":
		return faults.New(faults.Invalid, "AmbiguousHostname", "Unable to allocate a single hostname to multiple instances")
	}
	return nil
}

// readPlacement reads where the server may run: zone:host:node, or from 2.74
// host and hypervisor_hostname, each for whom its rule lets.
func (c *createRequest) readPlacement(r *rest.Request) error {
	c.placement = compute.Placement{Host: c.Host, Node: c.Node, Hints: c.hints}
	parts := strings.Split(c.Zone, ":")
	if (c.Host != "" || c.Node != "") && len(parts) > 1 {
		return faults.New(faults.Invalid, "TwoPlacements",
			"One mechanism with host and/or hypervisor_hostname and another mechanism with zone:host:node are mutually exclusive.")
	}
	if c.Host != "" || c.Node != "" {
		return r.Enforce("compute:servers:create:requested_destination", nil)
	}
	if len(parts) == 1 {
		return nil
	}
	if len(parts) > 3 {
		return faults.New(faults.Invalid, "InvalidInput", "Invalid input received: Unable to parse availability_zone")
	}
	c.Zone, c.placement.Host = parts[0], parts[1]
	if len(parts) == 3 {
		c.placement.Node = parts[2]
	}
	return r.Enforce("os_compute_api:servers:create:forced_host", nil)
}

// readCertificates: only some may say what their image is checked by, and only
// of an image.
func (c *createRequest) readCertificates(r *rest.Request) error {
	if len(c.Certificates) == 0 {
		return nil
	}
	if err := r.Enforce("os_compute_api:servers:create:trusted_certs", nil); err != nil {
		return err
	}
	if c.ImageRef == "" {
		return faults.New(faults.Invalid, "CertificateValidationFailed", "Image certificate validation is not supported when booting from volume")
	}
	return nil
}

// tags are those asked for, each once.
func (c *createRequest) tags() []string {
	return slices.Compact(slices.Sorted(slices.Values(c.Tags)))
}

// invalidField is the originals' schema error (contracts: formats.json, error_messages).
func invalidField(field string, value json.RawMessage, format string, args ...any) error {
	return faults.New(faults.Invalid, "ValidationError", "Invalid input for field/attribute %s. Value: %s. "+format,
		append([]any{field, pyStr(value)}, args...)...)
}

// pyStr is a value as it stands in a message: strings without quotes.
func pyStr(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		return text
	}
	return rest.PyRepr(value)
}

func notOfType(field string, value json.RawMessage, types string) error {
	return invalidField(field, value, "%s is not of type '%s'", rest.PyRepr(value), types)
}

// hostname makes a guest's host name of a server's name, as the original does.
func hostname(name, id string) string {
	kept := strings.Map(func(c rune) rune {
		switch {
		case c == ' ' || c == '_' || c == '.':
			return '-'
		case c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-'):
			return unicode.ToLower(c)
		}
		return -1
	}, name)
	kept = strings.Trim(kept[:min(len(kept), 63)], "-")
	if kept == "" {
		return "server-" + id
	}
	return kept
}
