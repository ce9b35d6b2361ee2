package agent

// Config drives: made of what instance_info says, as a ramdisk takes them.

import (
	"encoding/json"
	"fmt"

	"holdfast.dev/internal/iso"
	"holdfast.dev/internal/pyjson"
)

// driveFiles are the files of a config drive, by the names of their content.
var driveFiles = map[string]string{"meta_data": "meta_data.json", "network_data": "network_data.json", "user_data": "user_data", "vendor_data": "vendor_data2.json"}

// drive makes a config drive, gzipped and in base64. Errors: Invalid, it is too large.
func (s *session) drive(of *pyjson.Object) (string, error) {
	meta := &pyjson.Object{}
	if given, ok := of.Get("meta_data"); ok {
		if object, ok := given.(*pyjson.Object); ok {
			meta = object
		}
	}
	if _, named := meta.Get("uuid"); !named {
		meta.Set("uuid", s.node.UUID)
	}
	if _, named := meta.Get("name"); !named && s.node.Name != nil {
		meta.Set("name", *s.node.Name)
	}
	files := map[string]iso.Source{}
	for key, name := range driveFiles {
		value, given := of.Get(key)
		if key == "meta_data" {
			value, given = meta, true
		}
		if !given || value == nil {
			continue
		}
		content, err := json.Marshal(value)
		if err != nil {
			return "", fmt.Errorf("config drive: %w", err)
		}
		if plain, ok := value.(string); ok && key == "user_data" {
			content = []byte(plain)
		}
		for _, version := range []string{"latest", "2012-08-10"} {
			files["openstack/"+version+"/"+name] = iso.Source{Content: content}
		}
	}
	return iso.Packed(iso.Image{Label: iso.ConfigDrive, Files: files})
}
