package resources

// What guests are told, taken apart again.

import (
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/hot/value"
)

func TestUserData(t *testing.T) {
	t.Parallel()
	const script, ignited = "#!/bin/sh\necho hé", `{"ignition": {"version": "3.0.0"}}`
	two, err := joined([]part{{"one", "x-shellscript", "one.sh"}, {"two", "cloud-config", "two"}}, "mark")
	if err != nil {
		t.Fatal(err)
	}
	common := []string{"cloud-config", "boothook.sh", "part-handler.py"}
	for name, c := range map[string]struct {
		format, text, metadata string
		want                   []string // the names of the parts; nil is the text as it is
	}{
		"raw":             {rawFormat, script, `{"a": 1}`, nil},
		"tools":           {cfnToolsFormat, script, "{}", append(slices.Clone(common), "cfn-userdata", "provision.sh")},
		"tools, metadata": {cfnToolsFormat, script, `{"a": 1}`, append(slices.Clone(common), "cfn-userdata", "provision.sh", "cfn-init-data")},
		"nothing said":    {cfnToolsFormat, "", "", append(slices.Clone(common), "cfn-userdata", "provision.sh")},
		"config":          {configFormat, script, "{}", append(slices.Clone(common), "")},
		"config of parts": {configFormat, two, `{"a": 1}`, append(slices.Clone(common), "one.sh", "two", "cfn-init-data")},
		"ignition":        {configFormat, ignited, "{}", nil},
	} {
		got, err := userData(c.format, c.text, c.metadata, "a-mark")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.want == nil {
			if got != c.text {
				t.Errorf("%s: %q", name, got)
			}
			continue
		}
		var names []string
		for _, p := range partsOf(got) {
			names = append(names, p.filename)
			if (p.filename == "cfn-userdata" || p.filename == "") && strings.TrimRight(p.text, "\n") != c.text {
				t.Errorf("%s: the text is %q", name, p.text)
			}
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s: %q, want %q", name, names, c.want)
		}
	}
	got, err := userData(configFormat, ignited, `{"a": 1}`, "a-mark")
	if err != nil || strings.Count(got, "data:,%7B%22a%22:%201%7D") != 2 || !strings.Contains(got, "/var/lib/heat-cfntools/cfn-init-data") {
		t.Errorf("%s (%v)", got, err)
	}
	for _, text := range []string{`{"ignition": {"version": "3"}, "storage": 1}`, `{"ignition": {"version": "3"}, "storage": {"files": 1}}`} {
		if _, err := userData(configFormat, text, `{"a": 1}`, "a-mark"); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// Devices have the original's defaults.
func TestDevicesOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ image, given, want string }{
		{"", `[{"volume_id": "v"}, {"swap_size": 1}]`, `[{"volume_id": "v", "boot_index": 0, "delete_on_termination": false}, {"swap_size": 1, "boot_index": -1, "delete_on_termination": true}]`},
		{"i", `[{"volume_id": "v", "boot_index": 1, "delete_on_termination": true}]`,
			`[{"image": "i", "destination": "local", "boot_index": 0, "delete_on_termination": true}, {"volume_id": "v", "boot_index": 1, "delete_on_termination": true}]`},
	} {
		v, err := value.ParseJSON(c.given)
		if err != nil {
			t.Fatal(err)
		}
		if got := value.JSON(devicesOf(c.image, v.([]any)), false); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
