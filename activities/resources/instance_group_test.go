package resources_test

// Groups of servers that a launch configuration says what they are like.

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store/orchestration"
)

// server is a type of servers that are nowhere.
type server struct{ resources.None }

// Create gives it an address, and has it be read what it is made of.
func (s server) Create(ctx context.Context, c *resources.Call) (time.Duration, error) {
	c.Attributes.Set("first_address", "192.0.2."+c.Mark[len(c.Mark)-1:])
	c.Attributes.Set("value", value.JSON(c.Properties.Without("metadata"), false))
	return s.None.Create(ctx, c)
}

func (s server) Update(ctx context.Context, c *resources.Call, _ []string) (time.Duration, error) {
	return s.Create(ctx, c)
}

const instances = `
heat_template_version: 2021-04-16
resources:
  g:
    type: OS::Heat::InstanceGroup
    update_policy: {RollingUpdate: {MinInstancesInService: 1, MaxBatchSize: 1, PauseTime: PT0S}}
    properties: {AvailabilityZones: [nova], LaunchConfigurationName: {get_resource: like}, Size: 2, Tags: [{Key: k, Value: v}]}
  like:
    type: AWS::AutoScaling::LaunchConfiguration
    properties: {ImageId: first, InstanceType: m1.nano, KeyName: mine, UserData: hello, SecurityGroups: [web], NovaSchedulerHints: [{Key: a, Value: "1"}, {Key: a, Value: "2"}],
      BlockDeviceMappings: [{DeviceName: vdb, Ebs: {SnapshotId: s, VolumeSize: "1"}}]}
`

func TestInstanceGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, instances)
	w.types["OS::Nova::Server"] = server{}
	plan := w.plan(steps.Make)
	ids := map[string]int64{}
	for name, r := range w.rows() {
		ids[name] = r.ID
	}
	if out := w.batch(steps.Make, ids["like"]); out.Failed != nil {
		t.Fatalf("%+v", out.Failed)
	}
	if told, failed := w.batches(ids["g"]); len(told) != 1 || failed != "" {
		t.Fatalf("%q, %s", told, failed)
	}
	images := func() string {
		t.Helper()
		rows, err := orchestration.Resources(t.Context(), w.db.Pool, w.rows()["g"].PhysicalID)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, r := range rows {
			state, err := stacks.OpenState(r, w.box)
			if err != nil {
				t.Fatal(err)
			}
			image, _ := state.Properties.Get("image")
			all = append(all, value.Str(image))
		}
		return strings.Join(all, " ")
	}
	rows, err := orchestration.Resources(t.Context(), w.db.Pool, w.rows()["g"].PhysicalID)
	if err != nil || len(rows) != 2 || rows[0].Type != "OS::Nova::Server" || len(rows[0].Name) != 12 {
		t.Fatalf("%v, %v", rows, err)
	}
	state, err := stacks.OpenState(rows[0], w.box)
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) string { v, _ := state.Properties.Get(name); return value.JSON(v, false) }
	for name, want := range map[string]string{"image": `"first"`, "flavor": `"m1.nano"`, "key_name": `"mine"`, "user_data": `"hello"`, "security_groups": `["web"]`,
		"scheduler_hints": `{"a": ["1", "2"]}`, "metadata": fmt.Sprintf(`{"k": "v", "metering.groupname": "%s"}`, w.rows()["g"].PhysicalID)} {
		if got := of(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := of("block_device_mapping_v2"); !strings.Contains(got, `"device_name": "vdb"`) || !strings.Contains(got, `"snapshot_id": "s"`) || !strings.Contains(got, `"volume_size": 1`) {
		t.Errorf("its volumes are %s", got)
	}
	group := stacks.NewWorld([]*orchestration.Resource{w.rows()["g"]}, w.box)
	if list, err := group.Attribute("g", "InstanceList", nil); err != nil || strings.Count(value.Str(list), "192.0.2.") != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if out := w.batch(steps.Make, plan.IDs...); out.Failed != nil || len(out.Waiting) > 0 {
		t.Fatalf("%+v", out)
	}
	w.end("CREATE", "COMPLETE")

	// Another configuration has the members be others, one after the other.
	w.ask(strings.NewReplacer("ImageId: first", "ImageId: second", "Size: 2", "Size: 3").Replace(instances))
	w.plan(steps.Make)
	if out := w.batch(steps.Make, ids["like"]); out.Failed != nil || len(out.Waiting) > 0 {
		t.Fatalf("%+v", out)
	}
	told, failed := w.batches(ids["g"])
	if len(told) != 3 || failed != "" || images() != "second second second" {
		t.Errorf("%d batches, %s: %s", len(told), failed, images())
	}
	w.end("UPDATE", "COMPLETE")

	// Without a policy those that are there stay what they are.
	w.ask(strings.NewReplacer("ImageId: first", "ImageId: third", "Size: 2", "Size: 4", "{RollingUpdate: {MinInstancesInService: 1, MaxBatchSize: 1, PauseTime: PT0S}}", "{}").Replace(instances))
	w.plan(steps.Make)
	w.batch(steps.Make, ids["like"])
	if told, failed := w.batches(ids["g"]); len(told) != 1 || failed != "" || images() != "second second second third" {
		t.Errorf("%d batches, %s: %s", len(told), failed, images())
	}
}

// What groups and configurations can't be is told when they are asked for, or made.
func TestInstanceGroupsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ old, new, want string }{
		"no reference":     {"{get_resource: like}", "like", "LaunchConfigurationName (like) requires a reference to the configuration not just the name of the resource."},
		"no configuration": {"{get_resource: like}", "x", "LaunchConfigurationName (x) reference can not be found."},
	} {
		request, err := stacks.ParseRequest(value.NewMap("template", strings.Replace(instances, row.old, row.new, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		registry, err := resourcetype.Builtin()
		if err != nil {
			t.Fatal(err)
		}
		d, err := request.Define(hot.Identity{Project: "p", Name: "s", ID: "i"}, registry)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Validate(); faults.As(err).Message != row.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := newWorld(t, strings.NewReplacer("ImageId: first, ", "", "BlockDeviceMappings: [{DeviceName: vdb, Ebs: {SnapshotId: s, VolumeSize: \"1\"}}]", "").Replace(instances))
	w.plan(steps.Make)
	if out := w.batch(steps.Make, w.rows()["like"].ID); out.Failed == nil || out.Failed.Reason != "Resource CREATE failed: StackValidationFailed: resources.like: If without InstanceId, ImageId and InstanceType are required." {
		t.Errorf("%+v", out.Failed)
	}
}
