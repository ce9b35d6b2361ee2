package stacks

// Scaling: groups whose members come and go by policies.

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/store/orchestration"
)

const (
	// scalingClass is the class of the type of groups that are scaled, policyClass
	// that of what scales them.
	scalingClass = "AutoScalingResourceGroup"
	policyClass  = "AutoScalingPolicy"
	accessClass  = "AccessPolicy"
	// scaledType is the type of groups that are scaled.
	scaledType = "OS::Heat::AutoScalingGroup"
)

// IsScaled says whether resources of a type are groups that are scaled.
func IsScaled(t *resourcetype.Type) bool { return t != nil && t.Class == scalingClass }

// Scales says whether resources of a type scale a group when they are signalled.
func Scales(t *resourcetype.Type) bool { return t != nil && t.Class == policyClass }

// rules are what types say of a resource's properties together; what isn't known yet is
// null, and unsure says that there may be such.
var rules = map[string]func(d *Definition, r *hot.Resource, properties *value.Map, unsure bool) error{
	scalingClass: func(_ *Definition, _ *hot.Resource, properties *value.Map, _ bool) error {
		of := func(name string) (float64, bool) { v, _ := properties.Get(name); n, is := float(v); return n, is }
		least, sized := of("min_size")
		most, bounded := of("max_size")
		wanted, said := of("desired_capacity")
		switch {
		case sized && bounded && most < least:
			return invalid("MinSize can not be greater than MaxSize")
		case said && (sized && wanted < least || bounded && wanted > most):
			return invalid("DesiredCapacity must be between MinSize and MaxSize")
		}
		return nil
	},
	policyClass: func(_ *Definition, _ *hot.Resource, properties *value.Map, _ bool) error {
		typ, _ := properties.Get("adjustment_type")
		if step, _ := properties.Get("min_adjustment_step"); step != nil && typ != nil && typ != percentChange {
			return &hot.Error{Class: "ResourcePropertyValueDependency",
				Message: "min_adjustment_step property should only be specified for adjustment_type with value " + percentChange + "."}
		}
		return nil
	},
	accessClass: func(d *Definition, _ *hot.Resource, properties *value.Map, _ bool) error {
		given, _ := properties.Get("AllowedResources")
		list, _ := given.([]any)
		for _, name := range list {
			if text, _ := name.(string); d.Resource(text) == nil {
				return invalid("AccessPolicy resource " + value.Clip(value.Str(name), maxShown) + " not in stack")
			}
		}
		return nil
	},
	imageClass: func(_ *Definition, _ *hot.Resource, properties *value.Map, _ bool) error { return image(properties) },
	serverClass: func(_ *Definition, r *hot.Resource, properties *value.Map, unsure bool) error {
		return server(r, properties, unsure)
	},
}

func invalid(why string) error { return &hot.Error{Class: hot.ValidationFailed, Message: why} }

// float is a value as a number, if it is one; what no number holds is the largest.
func float(v any) (float64, bool) {
	n, err := value.ToNumber(v)
	if v == nil || err != nil {
		return 0, false
	}
	if f, is := n.(float64); is {
		return f, true
	}
	f, err := strconv.ParseFloat(value.Str(n), 64)
	return max(min(f, math.MaxFloat64), -math.MaxFloat64), err == nil || errors.Is(err, strconv.ErrRange)
}

// The ways in which a policy says by how much.
const (
	exactCapacity = "exact_capacity"
	percentChange = "percent_change_in_capacity"
)

// Adjustment is by how much a policy changes a group.
type Adjustment struct {
	Type string
	By   float64
	// Step is the least number of members that a percentage stands for.
	Step float64
}

// AdjustmentOf is what the properties of a policy say.
func AdjustmentOf(properties *value.Map) Adjustment {
	of := func(name string) float64 { v, _ := properties.Get(name); n, _ := float(v); return n }
	typ, _ := properties.Get("adjustment_type")
	return Adjustment{Type: value.Str(typ), By: of("scaling_adjustment"), Step: of("min_adjustment_step")}
}

// String is the adjustment as a group's metadata have it.
func (a Adjustment) String() string { return a.Type + " : " + strconv.FormatFloat(a.By, 'f', -1, 64) }

// Of is how many members a group of a size has after the adjustment, within the bounds
// that its properties say.
func (a Adjustment) Of(size int, properties *value.Map) int {
	after := float64(size)
	switch a.Type {
	case exactCapacity:
		after = a.By
	case percentChange:
		by := float64(size) * a.By / 100
		if math.Abs(by) < 1 {
			by = math.Copysign(math.Ceil(math.Abs(by)), by)
		} else {
			by = math.Trunc(by)
		}
		if a.Step > math.Abs(by) {
			if by > 0 {
				by = a.Step
			} else {
				by = -a.Step
			}
		}
		after += by
	default:
		after += a.By
	}
	return Sized(after, properties)
}

// Sized is a number of members within the bounds of a group's properties; more than
// any group has are alike.
func Sized(n float64, properties *value.Map) int {
	const most = math.MaxInt32
	of := func(name string) float64 { v, _ := properties.Get(name); n, _ := float(v); return n }
	return int(min(max(min(n, of("max_size")), of("min_size")), most))
}

// ScaledMember is what a group that is scaled says of each of its members.
func ScaledMember(properties *value.Map) *value.Map {
	given, _ := properties.Get("resource")
	m, _ := given.(*value.Map)
	if m == nil {
		m = &value.Map{}
	}
	return m
}

const (
	// cooldownKey is where a group's metadata say until when it cools down, and why.
	cooldownKey = "cooldown_end"
	// cooldownTime is how it writes times.
	cooldownTime = "2006-01-02T15:04:05.000000"
)

// Cooldown is for how long a group isn't scaled again after a change, by the value of
// a property.
func Cooldown(v any) time.Duration {
	const most = 1e9
	n, _ := float(v)
	return time.Duration(max(min(n, most), 0) * float64(time.Second))
}

// CoolsDown says whether a group isn't to be scaled at a time.
func CoolsDown(r *orchestration.Resource, now time.Time) (bool, error) {
	all, err := mapping(r.Metadata)
	if err != nil {
		return false, err
	}
	ends, _ := cooldown(all)
	return now.UTC().Format(cooldownTime) < ends, nil
}

func cooldown(metadata *value.Map) (ends string, why any) {
	given, _ := metadata.Get(cooldownKey)
	if m, _ := given.(*value.Map); m.Len() > 0 {
		key, why := m.At(0)
		return value.Str(key), why
	}
	return "", nil
}

// CoolDown has a group not be scaled until a time, unless it isn't until a later one.
func CoolDown(r *orchestration.Resource, until time.Time, why string) error {
	all, err := mapping(r.Metadata)
	if err != nil {
		return err
	}
	ends, _ := cooldown(all)
	all.Set(cooldownKey, value.NewMap(max(ends, until.UTC().Format(cooldownTime)), why))
	text, err := all.MarshalJSON()
	r.Metadata = string(text)
	return err
}

// placed is what is read of the members of a group that is scaled: of one by its place,
// of all by their names, or of all in their order.
func (all members) placed(group, name string, path []any) (any, error) {
	if rest, one := strings.CutPrefix(name, "resource."); one {
		place, attribute, further := strings.Cut(rest, ".")
		at, err := strconv.Atoi(place)
		if err != nil || at < 0 || at >= len(all) {
			return nil, faults.New(faults.NotFound, "NotFound", "Member '%s' not found in group resource '%s'.", place, group)
		}
		return all[at].through(attribute, further, path), nil
	}
	if len(path) > 0 && (name == "outputs" || name == "outputs_list") {
		if name == "outputs" {
			return all.named(path), nil
		}
		list := make([]any, len(all))
		for i, m := range all {
			list[i] = m.read(value.Str(path[0]), path[1:])
		}
		return list, nil
	}
	return nil, noAttribute(group, name)
}
