package stacks

// Availability zones, as templates ask for them.

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
)

// asksForZones gives the zones by an output of its own, by a resource, and by a nested
// stack.
var asksForZones = map[string]any{
	"template": `
HeatTemplateFormatVersion: '2012-12-12'
Resources:
  made: {Type: "OS::Heat::Value", Properties: {value: {"Fn::Join": [" ", {"Fn::GetAZs": ""}]}}}
  inner: {Type: inner.yaml}
Outputs:
  own: {Value: {"Fn::Join": [" ", {"Fn::GetAZs": ""}]}}
  made: {Value: {"Fn::GetAtt": [made, value]}}
  inner: {Value: {"Fn::GetAtt": [inner, zones]}}
`,
	"files": map[string]any{"inner.yaml": `
HeatTemplateFormatVersion: '2012-12-12'
Outputs: {zones: {Value: {"Fn::Join": [" ", {"Fn::GetAZs": ""}]}}}
`},
}

// aggregate has the administrator do something with aggregates of hosts, and gives the
// aggregate.
func (u user) aggregate(path string, body any) string {
	u.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		u.Fatal(err)
	}
	answer, got, err := u.Ask(u.Context(), cloud.AdminToken, http.MethodPost, "/v2.1/os-aggregates"+path, http.Header{"Content-Type": {"application/json"}}, text)
	if err != nil || answer.StatusCode != http.StatusOK {
		u.Fatalf("%v %v %s", answer, err, got)
	}
	var of struct{ Aggregate struct{ ID int64 } }
	if err := json.Unmarshal(got, &of); err != nil {
		u.Fatal(err)
	}
	return fmt.Sprint("/", of.Aggregate.ID)
}

// have fails the test unless all outputs of a stack are these zones, in the order in which
// the compute service lists them.
func (u user) have(path string, want ...string) {
	u.Helper()
	_, got, err := u.Ask(u.Context(), cloud.UserToken, http.MethodGet, "/v2.1/os-availability-zone", nil, nil)
	var listed struct {
		AvailabilityZoneInfo []struct{ ZoneName string }
	}
	if err == nil {
		err = json.Unmarshal(got, &listed)
	}
	if err != nil {
		u.Fatal(err)
	}
	var names []string
	for _, zone := range listed.AvailabilityZoneInfo {
		names = append(names, zone.ZoneName)
	}
	text := strings.Join(names, " ")
	if slices.Sort(names); !slices.Equal(names, want) {
		u.Fatalf("the compute service has %v, want %v", names, want)
	}
	outputs := u.show(path)["outputs"].([]any)
	for _, o := range outputs {
		if o := o.(map[string]any); o["output_value"] != text {
			u.Errorf("%v, want %s", o, text)
		}
	}
	if len(outputs) != 3 {
		u.Errorf("outputs %v", outputs)
	}
}

// A template that asks for the zones of a cloud with two has both, by whatever asks for
// them; an update asks anew.
func TestZones(t *testing.T) {
	t.Parallel()
	u := user{t, cloud.Start(t, cloud.Options{Hosts: 2, Services: true})}
	apart := u.aggregate("", map[string]any{"aggregate": map[string]any{"name": "apart", "availability_zone": "second"}})
	u.aggregate(apart+"/action", map[string]any{"add_host": map[string]any{"host": u.HostNames(cloud.Host)[1]}})
	asked := maps.Clone(asksForZones)
	asked["stack_name"] = "zoned"
	made := u.ask("POST", "/stacks", asked, 201)["stack"].(map[string]any)
	path := "/stacks/zoned/" + made["id"].(string)
	u.await(path, "CREATE_COMPLETE", cloud.Patience)
	u.have(path, "nova", "second")
	u.aggregate(apart+"/action", map[string]any{"set_metadata": map[string]any{"metadata": map[string]any{"availability_zone": "third"}}})
	u.ask("PUT", path, asksForZones, 202)
	u.await(path, "UPDATE_COMPLETE", cloud.Patience)
	u.have(path, "nova", "third")
	u.ask("DELETE", path, nil, 204)
	u.await(path, "DELETE_COMPLETE", cloud.Patience)
	u.Audit()
}
