package metadata

// The OpenStack tree: /openstack/<version>/<file>.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
)

// Versions of the OpenStack tree, oldest first; "latest" is the last of them.
const (
	folsom    = "2012-08-10"
	grizzly   = "2013-04-04"
	havana    = "2013-10-17"
	liberty   = "2015-10-15"
	newtonOne = "2016-06-30"
	newtonTwo = "2016-10-06"
	ocata     = "2017-02-22"
	rocky     = "2018-08-27"
	victoria  = "2020-10-14"
)

var openstackVersions = []string{folsom, grizzly, havana, liberty, newtonOne, newtonTwo, ocata, rocky, victoria}

const latest = "latest"

// file is one of a version's files.
type file struct {
	name string
	// since is the first version that has it.
	since string
	mime  string
	// content gives nil if this server has no such file.
	content func(i *Instance, version string) ([]byte, error)
}

// The order is the one in which a version lists them.
var openstackFiles = []file{
	{"meta_data.json", folsom, mimeJSON, metaDataJSON},
	{"user_data", folsom, mimeText, func(i *Instance, _ string) ([]byte, error) { return i.UserData, nil }},
	{"password", grizzly, mimeText, func(i *Instance, _ string) ([]byte, error) { return []byte(i.Password), nil }},
	{"vendor_data.json", havana, mimeJSON, vendorDataJSON},
	{"network_data.json", liberty, mimeJSON, networkDataJSON},
	{"vendor_data2.json", newtonTwo, mimeJSON, func(*Instance, string) ([]byte, error) { return []byte("{}"), nil }},
}

// has says whether version is the first to have something, or later.
func has(version, since string) bool {
	return slices.Index(openstackVersions, version) >= slices.Index(openstackVersions, since)
}

// openstackVersion resolves "latest"; false for one that there is not.
func openstackVersion(name string) (string, bool) {
	if name == latest {
		return victoria, true
	}
	return name, slices.Contains(openstackVersions, name)
}

// metaDataJSON is what the guest's agent reads first.
func metaDataJSON(i *Instance, version string) ([]byte, error) {
	doc := map[string]any{
		"uuid":              i.ID,
		"hostname":          i.Hostname,
		"name":              i.Name,
		"launch_index":      i.LaunchIndex,
		"availability_zone": i.AvailabilityZone,
	}
	if len(i.Meta) > 0 {
		doc["meta"] = i.Meta
	}
	if i.Key != nil {
		doc["public_keys"] = map[string]string{i.Key.Name: i.Key.Data}
		doc["keys"] = []Key{*i.Key}
	}
	if i.AdminPassword != "" {
		doc["admin_pass"] = i.AdminPassword
	}
	if len(i.Files) > 0 {
		doc["files"] = i.fileList()
	}
	if has(version, grizzly) {
		doc["random_seed"] = base64.StdEncoding.EncodeToString(i.RandomSeed)
	}
	if has(version, liberty) {
		doc["project_id"] = i.ProjectID
	}
	if has(version, newtonOne) {
		doc["devices"] = append([]Device{}, i.Devices...)
	}
	if has(version, victoria) {
		doc["dedicated_cpus"] = []int{}
	}
	return json.Marshal(doc)
}

// fileList says where on the config drive the files' contents are.
func (i *Instance) fileList() []map[string]string {
	list := make([]map[string]string, len(i.Files))
	for n, f := range i.Files {
		list[n] = map[string]string{"path": f.Path, "content_path": contentPath(n)}
	}
	return list
}

// contentPath is a file's place below the tree's root.
func contentPath(n int) string { return fmt.Sprintf("/content/%04d", n) }

func vendorDataJSON(i *Instance, _ string) ([]byte, error) {
	if i.VendorData == nil {
		return []byte("{}"), nil
	}
	return i.VendorData, nil
}
