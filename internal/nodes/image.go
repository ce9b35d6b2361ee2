package nodes

// What instance_info says of the image that a node is deployed with.

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// imageTypes are what an image may say that it is.
var imageTypes = []string{"partition", "whole-disk"}

// partitionKeys say of an image that it is one partition, to be started by a kernel
// beside it.
var partitionKeys = []string{"kernel", "ramdisk"}

// MayDeploy says whether the image can be deployed, in the original's order. Errors:
// Invalid.
func (i Info) MayDeploy() error {
	source := i.text("image_source")
	if source == "" {
		return i.missing("Node %s failed to validate deploy image info. Some parameters were missing. Missing are: ['instance_info.image_source']", i.node.UUID)
	}
	kind := i.text("image_type")
	if kind != "" && !slices.Contains(imageTypes, kind) {
		return i.invalid("Invalid image_type \"%s\", valid are %s", kind, strings.Join(imageTypes, ", "))
	}
	at, err := url.Parse(source)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return i.invalid("Validation of image href %s failed, reason: this release deploys what http and https URLs name", source)
	}
	algo, value := i.text("image_os_hash_algo"), i.text("image_os_hash_value")
	if (algo == "") != (value == "") || value == "" && i.text("image_checksum") == "" {
		return i.missing("image_source's \"image_checksum\", or \"image_os_hash_algo\" and \"image_os_hash_value\" must be provided in instance_info for node %s", i.node.UUID)
	}
	if kind == "partition" || slices.ContainsFunc(partitionKeys, i.given) {
		return i.invalid("image_type partition: this release deploys whole-disk images")
	}
	return nil
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
// image_info); driver is the node's driver_info, which may name proxies.
func (i Info) ImageInfo(driver Info) map[string]any {
	source := i.text("image_source")
	image := map[string]any{"id": path.Base(source), "urls": []string{source}, "disk_format": i.get("image_disk_format"), "container_format": i.get("image_container_format"),
		"stream_raw_images": true, "node_uuid": i.node.UUID}
	for to, from := range map[string]string{"checksum": "image_checksum", "os_hash_algo": "image_os_hash_algo", "os_hash_value": "image_os_hash_value"} {
		if value := i.text(from); value != "" {
			image[to] = value
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
	return image
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
