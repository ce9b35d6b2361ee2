package compute

// The body of POST /servers: what is read of it and what is refused.

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
)

// createRequest is what the service takes from the body now.
type createRequest struct {
	Name        string
	FlavorRef   string
	ImageRef    string
	Description *string
	Metadata    map[string]string
}

// createField is one property of "server": which microversions have it, whether
// it must be there, and how it is read.
type createField struct {
	name     string
	versions microversion.Range
	required microversion.Range
	read     func(*createRequest, json.RawMessage) error
}

// never is a range without versions: a property that is not required.
var never = microversion.Range{Min: microversion.V(3, 0)}

var createFields = []createField{
	{name: "name", read: readName},
	{name: "flavorRef", read: readFlavorRef},
	{name: "imageRef", required: never, read: readImageRef},
	{name: "metadata", required: never, read: readMetadata},
	{name: "description", versions: microversion.From(19), required: never, read: readDescription},
	{name: "networks", versions: microversion.From(37), required: microversion.From(37), read: readNetworks},
}

// readCreate reads the body. Errors: faults.Invalid with the originals' words.
func readCreate(r *rest.Request) (*createRequest, error) {
	body, err := r.Object()
	if err != nil {
		return nil, err
	}
	raw, ok := body["server"]
	if !ok {
		return nil, faults.New(faults.Invalid, "ValidationError", "'server' is a required property")
	}
	for key := range body {
		if key != "server" {
			return nil, unexpected(key)
		}
	}
	var server map[string]json.RawMessage
	if json.Unmarshal(raw, &server) != nil || server == nil {
		return nil, invalidField("server", raw, "%s is not of type 'object'", rest.PyRepr(raw))
	}
	asked, err := readFields(r, raw, server)
	if err != nil {
		return nil, err
	}
	if asked.ImageRef == "" {
		return nil, faults.New(faults.Invalid, "MissingImage", "Missing imageRef attribute")
	}
	return asked, nil
}

func readFields(r *rest.Request, raw json.RawMessage, server map[string]json.RawMessage) (*createRequest, error) {
	asked := &createRequest{}
	for _, field := range createFields {
		value, sent := server[field.name]
		switch {
		case sent && field.versions.Has(r.Version):
			if err := field.read(asked, value); err != nil {
				return nil, err
			}
			delete(server, field.name)
		case !sent && field.versions.Has(r.Version) && field.required.Has(r.Version):
			return nil, invalidField("server", raw, "'%s' is a required property", field.name)
		}
	}
	for _, left := range slices.Sorted(maps.Keys(server)) {
		return nil, invalidField("server", raw, "Additional properties are not allowed ('%s' was unexpected)", left)
	}
	return asked, nil
}

func readName(asked *createRequest, raw json.RawMessage) error {
	var name string
	switch {
	case json.Unmarshal(raw, &name) != nil || string(raw) == "null":
		return notOfType("name", raw, "string")
	case name == "":
		return invalidField("name", raw, "'' is too short")
	case utf8.RuneCountInString(name) > 255:
		return invalidField("name", raw, "%s is too long", rest.PyRepr(raw))
	case !printable(name) || strings.TrimSpace(name) != name:
		return faults.New(faults.Invalid, "ValidationError",
			"An invalid 'name' value was provided. The name must be: printable characters. Can not start or end with whitespace.")
	}
	asked.Name = name
	return nil
}

// printable is the originals' "name" format (contracts: formats.json).
func printable(name string) bool {
	for _, c := range name {
		if c > 0xFFFE || unicode.In(c, unicode.C) || unicode.In(c, unicode.Z) && !unicode.In(c, unicode.Zs) {
			return false
		}
	}
	return true
}

// readFlavorRef takes an id or a URL that ends in one.
func readFlavorRef(asked *createRequest, raw json.RawMessage) error {
	var ref string
	if json.Unmarshal(raw, &ref) != nil || string(raw) == "null" {
		var number int64
		if json.Unmarshal(raw, &number) != nil || string(raw) == "null" {
			return notOfType("flavorRef", raw, "string', 'integer")
		}
		ref = fmt.Sprint(number)
	}
	if ref == "" {
		return invalidField("flavorRef", raw, "'' is too short")
	}
	path, _, _ := strings.Cut(ref, "?")
	asked.FlavorRef = path[strings.LastIndex(path, "/")+1:]
	return nil
}

func readImageRef(asked *createRequest, raw json.RawMessage) error {
	var ref string
	if json.Unmarshal(raw, &ref) != nil || string(raw) == "null" {
		return notOfType("imageRef", raw, "string")
	}
	if ref == "" {
		return nil
	}
	id, err := uuid.Parse(ref)
	if err != nil {
		return invalidField("imageRef", raw, "%s is not a 'uuid'", rest.PyRepr(raw))
	}
	asked.ImageRef = id.String()
	return nil
}

var metadataKey = regexp.MustCompile(`^[a-zA-Z0-9-_:. ]{1,255}$`)

func readMetadata(asked *createRequest, raw json.RawMessage) error {
	var metadata map[string]json.RawMessage
	if json.Unmarshal(raw, &metadata) != nil || metadata == nil {
		return notOfType("metadata", raw, "object")
	}
	asked.Metadata = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		var value string
		switch item := metadata[key]; {
		case !metadataKey.MatchString(key):
			return invalidField("metadata", raw, "'%s' does not match any of the regexes: '^[a-zA-Z0-9-_:. ]{1,255}$'", key)
		case json.Unmarshal(item, &value) != nil || string(item) == "null":
			return notOfType(key, item, "string")
		case utf8.RuneCountInString(value) > 255:
			return invalidField(key, item, "%s is too long", rest.PyRepr(item))
		}
		asked.Metadata[key] = value
	}
	return nil
}

func readDescription(asked *createRequest, raw json.RawMessage) error {
	if json.Unmarshal(raw, &asked.Description) != nil {
		return notOfType("description", raw, "string', 'null")
	}
	if asked.Description != nil && utf8.RuneCountInString(*asked.Description) > 255 {
		return invalidField("description", raw, "%s is too long", rest.PyRepr(raw))
	}
	return nil
}

// readNetworks takes the two words; without a network service both mean none.
func readNetworks(_ *createRequest, raw json.RawMessage) error {
	var word string
	if json.Unmarshal(raw, &word) != nil || word != "none" && word != "auto" {
		return invalidField("networks", raw, "%s is not one of ['none', 'auto']", rest.PyRepr(raw))
	}
	return nil
}

// invalidField is the originals' schema error (contracts: formats.json, error_messages).
func invalidField(field string, value json.RawMessage, format string, args ...any) error {
	return faults.New(faults.Invalid, "ValidationError", "Invalid input for field/attribute %s. Value: %s. %s",
		field, pyStr(value), fmt.Sprintf(format, args...))
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

func unexpected(key string) error {
	return faults.New(faults.Invalid, "ValidationError", "Additional properties are not allowed ('%s' was unexpected)", key)
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
