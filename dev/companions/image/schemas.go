package image

// What an image and its members look like, as JSON schemas that clients ask for.

import (
	"net/http"

	"holdfast.dev/dev/companions/service"
)

// property is one of a schema's.
type property struct {
	name, kind string
	nullable   bool
	readOnly   bool
	values     []string
}

var imageProperties = []property{
	{name: "id", kind: "string"}, {name: "name", kind: "string", nullable: true},
	{name: "status", kind: "string", readOnly: true, values: []string{"queued", "saving", "active", "killed", "deleted", "uploading", "importing", "pending_delete", "deactivated"}},
	{name: "visibility", kind: "string", values: []string{"community", "public", "private", "shared"}},
	{name: "protected", kind: "boolean"}, {name: "os_hidden", kind: "boolean"}, {name: "owner", kind: "string", nullable: true},
	{name: "disk_format", kind: "string", nullable: true, values: diskFormats}, {name: "container_format", kind: "string", nullable: true, values: containerFormats},
	{name: "min_disk", kind: "integer"}, {name: "min_ram", kind: "integer"}, {name: "tags", kind: "array"},
	{name: "size", kind: "integer", nullable: true, readOnly: true}, {name: "virtual_size", kind: "integer", nullable: true, readOnly: true},
	{name: "checksum", kind: "string", nullable: true, readOnly: true}, {name: "os_hash_algo", kind: "string", nullable: true, readOnly: true},
	{name: "os_hash_value", kind: "string", nullable: true, readOnly: true}, {name: "stores", kind: "string", readOnly: true},
	{name: "created_at", kind: "string", readOnly: true}, {name: "updated_at", kind: "string", readOnly: true},
	{name: "self", kind: "string", readOnly: true}, {name: "file", kind: "string", readOnly: true}, {name: "schema", kind: "string", readOnly: true},
}

var memberProperties = []property{
	{name: "member_id", kind: "string"}, {name: "image_id", kind: "string"}, {name: "status", kind: "string", values: []string{"pending", "accepted", "rejected"}},
	{name: "created_at", kind: "string"}, {name: "updated_at", kind: "string"}, {name: "schema", kind: "string"},
}

func (p property) schema() map[string]any {
	shown := map[string]any{"type": p.kind}
	values := []any{}
	if p.nullable {
		shown["type"] = []string{"null", p.kind}
		values = append(values, nil)
	}
	for _, value := range p.values {
		values = append(values, value)
	}
	if len(p.values) > 0 {
		shown["enum"] = values
	}
	if p.kind == "array" {
		shown["items"] = map[string]any{"type": "string", "maxLength": longestName}
	}
	if p.readOnly {
		shown["readOnly"] = true
	}
	return shown
}

func schemaOf(name string, properties []property, open bool) map[string]any {
	all := map[string]any{}
	for _, p := range properties {
		all[p.name] = p.schema()
	}
	shown := map[string]any{"name": name, "properties": all}
	if open {
		shown["additionalProperties"] = map[string]any{"type": "string"}
		shown["links"] = []any{map[string]any{"rel": "self", "href": "{self}"}, map[string]any{"rel": "enclosure", "href": "{file}"},
			map[string]any{"rel": "describedby", "href": "{schema}"}}
	}
	return shown
}

func collectionOf(name string, one map[string]any) map[string]any {
	properties := map[string]any{name: map[string]any{"type": "array", "items": one}, "schema": map[string]any{"type": "string"}}
	shown := map[string]any{"name": name, "properties": properties}
	if name == "images" {
		properties["first"], properties["next"] = map[string]any{"type": "string"}, map[string]any{"type": "string"}
		shown["links"] = []any{map[string]any{"rel": "first", "href": "{first}"}, map[string]any{"rel": "next", "href": "{next}"},
			map[string]any{"rel": "describedby", "href": "{schema}"}}
	}
	return shown
}

func schemas() map[string]map[string]any {
	image, member := schemaOf("image", imageProperties, true), schemaOf("member", memberProperties, false)
	return map[string]map[string]any{"image": image, "images": collectionOf("images", image), "member": member, "members": collectionOf("members", member)}
}

func (s *Service) showSchema(w http.ResponseWriter, r *http.Request, _ *service.Caller) error {
	shown, known := schemas()[r.PathValue("name")]
	if !known {
		return service.Fail(http.StatusNotFound, "The resource could not be found.")
	}
	return service.JSON(w, http.StatusOK, shown)
}
