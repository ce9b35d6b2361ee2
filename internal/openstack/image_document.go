package openstack

// Glance's flat document of an image, read into what a build needs.

import (
	"encoding/json"
	"fmt"
)

// basics are the fields of an image that aren't its properties; those with a
// name are kept with the properties, as servers show them.
var basics = map[string]string{
	"container_format": "container_format", "disk_format": "disk_format", "min_disk": "min_disk", "min_ram": "min_ram", "owner": "owner",
	"id": "", "name": "", "status": "", "visibility": "", "protected": "", "checksum": "", "size": "", "virtual_size": "",
	"created_at": "", "updated_at": "", "file": "", "schema": "", "self": "", "tags": "", "locations": "", "direct_url": "",
	"os_hidden": "", "os_hash_algo": "", "os_hash_value": "", "stores": "",
}

func readImage(document map[string]any) *Image {
	number := func(name string) int64 {
		switch n := document[name].(type) {
		case float64:
			return int64(n)
		case json.Number:
			i, err := n.Int64()
			if err == nil {
				return i
			}
		}
		return 0
	}
	text := func(name string) string { s, _ := document[name].(string); return s }
	image := &Image{
		ID: text("id"), Status: text("status"), MinDiskGB: number("min_disk"), MinRAMMB: number("min_ram"), SizeBytes: number("size"),
		Properties: map[string]string{},
	}
	for name, value := range document {
		kept, basic := basics[name]
		if basic && kept == "" || value == nil {
			continue
		}
		image.Properties[name] = fmt.Sprint(value)
	}
	return image
}
