package resources

// What a server is told at its first start: the text of its template, and with it what
// has the guest's cloud-init put down what heat-cfntools read.

import (
	"net/url"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
)

// The formats of user data.
const (
	cfnToolsFormat = "HEAT_CFNTOOLS"
	rawFormat      = "RAW"
	configFormat   = "SOFTWARE_CONFIG"
)

const (
	// initData is the subtype of parts that partHandler puts into files.
	initData = "x-cfninitdata"

	// cloudConfig keeps what the parts say while they run.
	cloudConfig = "output: {all: '| tee -a /var/log/cloud-init-output.log'}\n"

	// cfnLinks has heat-cfntools be where templates look for them, if there are any.
	cfnLinks = `#!/bin/sh
command -v cfn-create-aws-symlinks >/dev/null && cfn-create-aws-symlinks
exit 0
`

	// partHandler is what cloud-init runs to put parts into files.
	partHandler = `#part-handler
import os

FOLDERS = ("/var/lib/heat-cfntools", "/var/lib/cloud/data")


def list_types():
    return ["text/x-cfninitdata"]


def handle_part(data, ctype, filename, payload):
    if ctype == "__begin__":
        for folder in FOLDERS:
            os.makedirs(folder, 0o700, exist_ok=True)
    elif ctype in list_types():
        for folder in FOLDERS:
            mode = "wb" if isinstance(payload, bytes) else "w"
            with open(os.path.join(folder, filename), mode) as file:
                file.write(payload)
`

	// runUserData runs what the template says, if that is something to be run.
	runUserData = `#!/bin/sh
said=/var/lib/heat-cfntools/cfn-userdata
[ -s $said ] || exit 0
chmod 700 $said
$said >>/var/log/heat-provision.log 2>&1 || exit
touch /var/lib/heat-cfntools/provision-finished
`
)

// userData is what a server is given of a text. Metadata are the resource's, in JSON.
func userData(format, text, metadata, mark string) (string, error) {
	if metadata == "{}" {
		metadata = ""
	}
	switch format {
	case rawFormat:
		return text, nil
	case configFormat:
		if config := ignition(text); config != nil {
			return ignited(config, text, metadata)
		}
	}
	parts := []part{{cloudConfig, "cloud-config", "cloud-config"}, {cfnLinks, "cloud-boothook", "boothook.sh"}, {partHandler, "part-handler", "part-handler.py"}}
	if format == cfnToolsFormat {
		parts = append(parts, part{text, initData, "cfn-userdata"}, part{runUserData, "x-shellscript", "provision.sh"})
	} else if several := partsOf(text); len(several) > 0 {
		parts = append(parts, several...)
	} else {
		parts = append(parts, part{text: text})
	}
	if metadata != "" {
		parts = append(parts, part{metadata, initData, "cfn-init-data"})
	}
	return joined(parts, mark)
}

// ignition is a text that is for Ignition; nil is any other.
func ignition(text string) *value.Map {
	v, err := value.ParseJSON(text)
	if err != nil {
		return nil
	}
	config, _ := v.(*value.Map)
	given, _ := config.Get("ignition")
	of, _ := given.(*value.Map)
	if version, _ := of.Get("version"); !value.Truth(version) {
		return nil
	}
	return config
}

// ignited has Ignition put metadata where heat-cfntools read them.
func ignited(config *value.Map, text, metadata string) (string, error) {
	if metadata == "" {
		return text, nil
	}
	given, _ := config.Get("storage")
	storage, ok := given.(*value.Map)
	if given != nil && !ok {
		return "", faults.New(faults.Invalid, hot.ValueError, `Ignition "storage" section must be a map`)
	}
	given, _ = storage.Get("files")
	files, ok := given.([]any)
	if given != nil && !ok {
		return "", faults.New(faults.Invalid, hot.ValueError, `Ignition "files" section must be a list`)
	}
	root := value.NewMap("name", "root")
	for _, path := range []string{"/var/lib/heat-cfntools/cfn-init-data", "/var/lib/cloud/data/cfn-init-data"} {
		files = append(files, value.NewMap("filesystem", "root", "group", root, "path", path, "user", root,
			"contents", value.NewMap("source", "data:,"+url.PathEscape(metadata), "verification", &value.Map{}), "mode", value.Int(0o640)))
	}
	storage = storage.Copy()
	storage.Set("files", files)
	config = config.Copy()
	config.Set("storage", storage)
	return value.JSON(config, false), nil
}
