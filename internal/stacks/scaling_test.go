package stacks

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/store/orchestration"
)

// A group has after an adjustment what openstack-heat 27.0.1 gives for the same.
func TestAdjustment(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		size, by              int
		typ                   string
		step, least, most, is int
	}{
		{3, 1, "change_in_capacity", 0, 1, 5, 4},
		{3, -5, "change_in_capacity", 0, 1, 5, 1},
		{3, 9, "exact_capacity", 0, 1, 5, 5},
		{3, 10, "percent_change_in_capacity", 0, 1, 9, 4},
		{3, -10, "percent_change_in_capacity", 0, 1, 9, 2},
		{7, 50, "percent_change_in_capacity", 0, 1, 90, 10},
		{7, -50, "percent_change_in_capacity", 0, 1, 90, 4},
		{10, 10, "percent_change_in_capacity", 3, 1, 90, 13},
		{10, -10, "percent_change_in_capacity", 3, 1, 90, 7},
		{3, 0, "percent_change_in_capacity", 2, 1, 9, 1},
		{0, 50, "percent_change_in_capacity", 0, 0, 9, 0},
	} {
		policy := value.NewMap("adjustment_type", one.typ, "scaling_adjustment", value.Int(one.by), "min_adjustment_step", value.Int(one.step))
		group := value.NewMap("min_size", value.Int(one.least), "max_size", value.Int(one.most))
		if got := AdjustmentOf(policy).Of(one.size, group); got != one.is {
			t.Errorf("%+v: %d", one, got)
		}
	}
}

// What no number holds is as much as the largest, of which no group has as many.
func TestHostileAdjustment(t *testing.T) {
	t.Parallel()
	huge := "1" + strings.Repeat("0", 400)
	for _, by := range []any{huge, "1e308", 1e300, "1e12"} {
		for _, sign := range []string{"", "-"} {
			for _, typ := range []string{exactCapacity, percentChange, "change_in_capacity"} {
				for _, most := range []any{value.Int(5), huge, 1e300} {
					for _, size := range []int{0, 3} {
						policy := value.NewMap("adjustment_type", typ, "scaling_adjustment", sign+value.Str(by), "min_adjustment_step", huge)
						got := AdjustmentOf(policy).Of(size, value.NewMap("min_size", value.Int(1), "max_size", most))
						switch {
						case got < 1, got > math.MaxInt32, value.Equal(most, value.Int(5)) && got > 5, sign == "-" && got != 1:
							t.Errorf("%s%v %s of %d, at most %v: %d", sign, by, typ, size, most, got)
						}
					}
				}
			}
		}
	}
}

// A group cools down until the later of two times.
func TestCoolDown(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r := &orchestration.Resource{Metadata: `{"own": 1}`}
	cools := func(at time.Duration) bool {
		t.Helper()
		is, err := CoolsDown(r, now.Add(at))
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if cools(0) {
		t.Error("it cools down from nothing")
	}
	for _, pause := range []time.Duration{time.Minute, time.Second} {
		if err := CoolDown(r, now.Add(pause), "change_in_capacity : 1"); err != nil {
			t.Fatal(err)
		}
		if !cools(59*time.Second) || cools(time.Minute) {
			t.Errorf("after %s: %s", pause, r.Metadata)
		}
	}
	if want := `{"own": 1, "cooldown_end": {"2026-11-30T12:01:00.000000": "change_in_capacity : 1"}}`; r.Metadata != want {
		t.Errorf("%s, want %s", r.Metadata, want)
	}
}

// What can't be scaled is refused when it is asked for, in the original's words.
func TestScalingIsChecked(t *testing.T) {
	t.Parallel()
	types, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	group := func(member, rest string) string {
		return fmt.Sprintf("{type: OS::Heat::AutoScalingGroup, properties: {resource: %s, %s}}", member, rest)
	}
	policy := func(rest string) string {
		return "{type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: g, scaling_adjustment: 1, " + rest + "}}"
	}
	for body, want := range map[string]string{
		group("{type: OS::Heat::None}", "min_size: 3, max_size: 2"):                                       "MinSize can not be greater than MaxSize",
		group("{type: OS::Heat::None}", "min_size: 1, max_size: 2, desired_capacity: 3"):                  "DesiredCapacity must be between MinSize and MaxSize",
		group("{type: OS::Heat::None}", "min_size: 1, max_size: 2, rolling_updates: {max_batch_size: 0}"): "Property error: resources.r.properties.rolling_updates.max_batch_size: 0 is out of range (min: 1, max: None)",
		group("{type: OS::No::Such}", "min_size: 1, max_size: 2"):                                         "The Resource Type (OS::No::Such) could not be found.",
		group("{type: OS::Heat::RandomString, properties: {length: 0}}", "min_size: 1, max_size: 2"):      "Property error: resources.r<nested_stack>.resources.member.properties.length: 0 is out of range (min: 1, max: 512)",
		group("{type: OS::Heat::None}", "min_size: 1, max_size: {get_attr: [v, value]}"):                  "",
		policy("adjustment_type: change_in_capacity, min_adjustment_step: 1"):                             "min_adjustment_step property should only be specified for adjustment_type with value percent_change_in_capacity.",
		policy("adjustment_type: percent_change_in_capacity, min_adjustment_step: 1"):                     "",
		"{type: OS::Heat::AccessPolicy, properties: {AllowedResources: [r, q]}}":                          "AccessPolicy resource q not in stack",
		"{type: OS::Heat::AccessPolicy, properties: {AllowedResources: [r, v]}}":                          "",
	} {
		request, err := ParseRequest(value.NewMap("template", "heat_template_version: 2021-04-16\nresources: {v: {type: OS::Heat::Value, properties: {value: 3}}, r: "+body+"}"), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := request.Define(hot.Identity{}, types)
		if err == nil {
			err = d.Validate()
		}
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
