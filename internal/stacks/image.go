package stacks

// What of an image's properties goes together.

import (
	"slices"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// imageClass is the class of the type of images that are read from a URL.
const imageClass = "GlanceWebImage"

// image holds an image's properties against each other.
func image(properties *value.Map) error {
	container, disk := given(properties, "container_format"), given(properties, "disk_format")
	if slices.Contains([]any{"ami", "ari", "aki"}, container) && disk != nil && disk != container {
		return invalid("Invalid mix of disk and container formats. When setting a disk or container format to one of 'aki', 'ari', or 'ami', the container and disk formats must match.")
	}
	members, _ := given(properties, "members").([]any)
	if visibility := given(properties, "visibility"); len(members) > 0 && visibility != nil && visibility != "shared" {
		return &hot.Error{Class: "ResourcePropertyValueDependency", Message: "members property should only be specified for visibility with value shared."}
	}
	return nil
}
