package nodes

// What instance_info says of the image that a node is deployed with.

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// imageTypes are what an image may say that it is.
var imageTypes = []string{"partition", "whole-disk"}

// GlanceImage is the id of an image that a reference has Glance have; empty for one that
// has an address. Errors: Invalid, it is neither.
func GlanceImage(href string) (id string, err error) {
	id, named := strings.CutPrefix(href, "glance://")
	if of, err := uuid.Parse(path.Base(id)); err == nil && (named || id == path.Base(id)) {
		return of.String(), nil
	}
	if named {
		return "", faults.New(faults.Invalid, "InvalidImageRef", "Invalid image href %s.", href)
	}
	at, err := url.Parse(href)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return "", faults.New(faults.Invalid, "ImageRefValidationFailed", "Validation of image href %s failed, reason: this release reads images of Glance and those that http and https URLs name", href)
	}
	return "", nil
}

// GlanceImage is the id of the instance's image, if Glance has it; empty otherwise, and for
// none.
func (i Info) GlanceImage() string {
	id, err := GlanceImage(i.text("image_source"))
	if err != nil {
		return ""
	}
	return id
}

// WholeDisk says whether the image is that of a whole disk, and not of one partition;
// properties are those that Glance has of it, if that has it.
func (i Info) WholeDisk(properties map[string]any) bool {
	kind := i.text("image_type")
	if of, _ := properties["img_type"].(string); kind == "" {
		kind = of
	}
	has := func(name string) bool { return properties[name] != nil && properties[name] != "" }
	switch {
	case kind != "":
		return kind != imageTypes[0]
	case i.GlanceImage() != "":
		return !has("kernel_id") && !has("ramdisk_id")
	}
	return !i.given("kernel") && !i.given("ramdisk")
}

// FitsImage says whether the instance is as its image needs it; properties are as in
// WholeDisk. Errors: Invalid.
func (i Info) FitsImage(properties map[string]any) error {
	if i.WholeDisk(properties) {
		return nil
	}
	_, err := i.Layout()
	return err
}

// FitsMemory says whether the node's ramdisk has room for an image of a format and a size in
// bytes: one that isn't raw it has to read before it can write it. Errors: Invalid.
func (i Info) FitsMemory(format string, size int64) error {
	var properties struct {
		Memory any `json:"memory_mb"`
	}
	if err := json.Unmarshal(i.node.Properties, &properties); err != nil {
		return fmt.Errorf("properties of node %s: %w", i.node.UUID, err)
	}
	memory, err := strconv.ParseInt(fmt.Sprint(properties.Memory), 10, 64)
	if err != nil || format == "raw" || i.text("image_disk_format") == "raw" || size <= memory<<20 {
		return nil
	}
	return i.invalid("Memory size is too small for requested image, if it is less than (image size + reserved RAM size), will break the IPA deployments. "+
		"Image size: %d MiB, Memory size: %d MiB, Reserved size: 0 MiB.", size>>20, memory)
}

// MayDeploy says whether the image can be deployed, as far as the row tells, in the
// original's order. Errors: Invalid.
func (i Info) MayDeploy() error {
	if err := i.fitCapabilities(); err != nil {
		return err
	}
	source := i.text("image_source")
	if source == "" {
		return i.missing("Node %s failed to validate deploy image info. Some parameters were missing. Missing are: ['instance_info.image_source']", i.node.UUID)
	}
	kind := i.text("image_type")
	if kind != "" && !slices.Contains(imageTypes, kind) {
		return i.invalid("Invalid image_type \"%s\", valid are %s", kind, strings.Join(imageTypes, ", "))
	}
	id, err := GlanceImage(source)
	switch {
	case err != nil:
		return err
	case id != "" && kind == "":
		return nil // Glance knows the rest
	case id != "":
		return i.FitsImage(nil)
	}
	algo, value := i.text("image_os_hash_algo"), i.text("image_os_hash_value")
	if (algo == "") != (value == "") || value == "" && i.text("image_checksum") == "" {
		return i.missing("image_source's \"image_checksum\", or \"image_os_hash_algo\" and \"image_os_hash_value\" must be provided in instance_info for node %s", i.node.UUID)
	}
	return i.FitsImage(nil)
}

// Traits are those that the instance is to have: deploy templates are called by them.
// Errors: Invalid, they are none, or the node has others.
func (i Info) Traits() ([]string, error) {
	if !i.given("traits") {
		return nil, nil
	}
	list, ok := i.get("traits").([]any)
	traits, missing := make([]string, len(list)), []string(nil)
	for at, value := range list {
		trait, is := value.(string)
		if ok = ok && is; is && !slices.Contains(i.node.Traits, trait) {
			missing = append(missing, trait)
		}
		traits[at] = trait
	}
	switch {
	case !ok:
		return nil, i.invalid("Error parsing traits from Node %s instance_info field. A list of strings is expected.", i.node.UUID)
	case len(missing) > 0:
		return nil, i.invalid("Cannot specify instance traits that are not also set on the node. Node %s is missing traits %s", i.node.UUID, strings.Join(missing, ", "))
	}
	return traits, nil
}

// templates are the deploy templates that they call. Errors: as Traits.
func (i Info) templates(ctx context.Context, q store.Queryer) ([]*baremetal.DeployTemplate, error) {
	traits, err := i.Traits()
	if err != nil || len(traits) == 0 {
		return nil, err
	}
	return baremetal.TemplatesOf(ctx, q, traits)
}

func (i Info) missing(format string, args ...any) error {
	return faults.New(faults.Invalid, "MissingParameterValue", format, args...)
}

// ImageInfo is what a ramdisk is told of the image (contracts: agent-protocol.json,
// image_info); driver is the node's driver_info, which may name proxies. If Glance has the
// image, file is what that knows of it, and its URL where the ramdisk reads it. Whole says
// whether the image is a whole disk's. Errors: Invalid.
func (i Info) ImageInfo(driver Info, file *openstack.ImageFile) (image map[string]any, whole bool, err error) {
	source := i.text("image_source")
	image = map[string]any{"id": path.Base(source), "urls": []string{source}, "disk_format": i.get("image_disk_format"), "container_format": i.get("image_container_format"),
		"stream_raw_images": true, "node_uuid": i.node.UUID}
	sums := map[string]string{"checksum": i.text("image_checksum"), "os_hash_algo": i.text("image_os_hash_algo"), "os_hash_value": i.text("image_os_hash_value")}
	var properties map[string]any
	if file != nil {
		properties = file.Properties
		image["urls"], image["disk_format"], image["container_format"] = []string{file.URL}, file.DiskFormat, file.ContainerFormat
		sums = map[string]string{"checksum": file.Checksum, "os_hash_algo": file.HashAlgo, "os_hash_value": file.HashValue}
	}
	for name, value := range sums {
		if value != "" {
			image[name] = value
		}
	}
	if secret := i.text("image_request_authorization_secret"); secret != "" {
		image["image_request_authorization"] = base64.StdEncoding.EncodeToString([]byte(secret))
	}
	proxies := map[string]string{}
	for _, scheme := range []string{"http", "https"} {
		if proxy := driver.text(fmt.Sprintf("image_%s_proxy", scheme)); proxy != "" {
			proxies[scheme] = proxy
		}
	}
	if len(proxies) > 0 {
		image["proxies"] = proxies
		if driver.given("image_no_proxy") {
			image["no_proxy"] = driver.get("image_no_proxy")
		}
	}
	if whole = i.WholeDisk(properties); whole {
		return image, whole, nil
	}
	more, err := i.partition(i.get("configdrive"))
	maps.Copy(image, more)
	return image, whole, err
}

// ConfigDrive is what instance_info has of the node's config drive: a text, or an
// object that one is made of; nil for none.
func (i Info) ConfigDrive() any {
	switch drive := i.get("configdrive").(type) {
	case string:
		if drive == "" {
			return nil
		}
		return drive
	case *pyjson.Object:
		return drive
	case map[string]any: // as it comes out of the sealed secrets
		text, err := json.Marshal(drive)
		if err != nil {
			return nil
		}
		value, _, err := pyjson.Parse(text)
		if err != nil {
			return nil
		}
		return value
	}
	return nil
}
