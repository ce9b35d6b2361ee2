package resources

// OS::Neutron::SecurityGroup: a group, and the rules that it is to have.

import (
	"context"
	"net/http"
	"slices"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// SecurityGroup is OS::Neutron::SecurityGroup.
type SecurityGroup struct{ REST }

// defaultRules are what a group lets out if nothing is said of that.
var defaultRules = []*value.Map{
	value.NewMap("direction", "egress", "ethertype", "IPv4"),
	value.NewMap("direction", "egress", "ethertype", "IPv6"),
}

// ruleFields are what two rules differ in.
var ruleFields = []string{"direction", "ethertype", "port_range_min", "port_range_max", "protocol", "remote_group_id", "remote_ip_prefix"}

// Create is idempotent by the mark, and by the rules that are there.
func (t SecurityGroup) Create(ctx context.Context, c *Call) (time.Duration, error) {
	if wait, err := t.REST.Create(ctx, c); wait > 0 || err != nil {
		return wait, err
	}
	return t.rules(ctx, c)
}

// Update is idempotent as Create is.
func (t SecurityGroup) Update(ctx context.Context, c *Call, changed []string) (time.Duration, error) {
	if wait, err := t.REST.Update(ctx, c, changed); wait > 0 || err != nil || !slices.Contains(changed, "rules") {
		return wait, err
	}
	return t.rules(ctx, c)
}

// rules makes the rules those that are wanted.
func (t SecurityGroup) rules(ctx context.Context, c *Call) (time.Duration, error) {
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	if err := w.resolve(ctx); err != nil {
		return 0, err
	}
	wanted := w.wantedRules()
	there, err := w.list(ctx, w.scope.Path("security-group-rules?security_group_id=$(self.id)"), "security_group_rules")
	if err != nil {
		return 0, err
	}
	same := func(a, b *value.Map) bool {
		return !slices.ContainsFunc(ruleFields, func(field string) bool {
			x, _ := a.Get(field)
			y, _ := b.Get(field)
			return !value.Equal(x, y) && value.Str(x) != value.Str(y)
		})
	}
	for _, rule := range there {
		if slices.ContainsFunc(wanted, func(want *value.Map) bool { return same(rule, want) }) {
			continue
		}
		id, _ := rule.Get("id")
		if _, err := w.do(ctx, http.MethodDelete, "security-group-rules/"+value.Str(id), nil); err != nil && !faults.Is(err, faults.NotFound) {
			return 0, err
		}
	}
	for _, want := range wanted {
		if slices.ContainsFunc(there, func(rule *value.Map) bool { return same(rule, want) }) {
			continue
		}
		// One that is there by now is what an earlier try has made.
		if _, err := w.do(ctx, http.MethodPost, "security-group-rules", value.NewMap("security_group_rule", want)); err != nil && !faults.Is(err, faults.Conflict) {
			return 0, err
		}
	}
	return w.ready(ctx)
}

// wantedRules are the rules that the properties ask for.
func (w *work) wantedRules() []*value.Map {
	v, _ := w.scope.Properties.Get("rules")
	list, _ := v.([]any)
	var wanted []*value.Map
	egress := false
	for _, item := range list {
		given, ok := item.(*value.Map)
		if !ok {
			continue
		}
		rule := value.NewMap("security_group_id", w.call.PhysicalID)
		for _, field := range append(slices.Clone(ruleFields), "description") {
			if v, _ := given.Get(field); v != nil {
				rule.Set(field, v)
			}
		}
		if mode, _ := given.Get("remote_mode"); mode == "remote_group_id" && !rule.Has("remote_group_id") {
			rule.Set("remote_group_id", w.call.PhysicalID)
		}
		direction, _ := rule.Get("direction")
		egress = egress || direction == "egress"
		wanted = append(wanted, rule)
	}
	if !egress {
		for _, rule := range defaultRules {
			own := rule.Copy()
			own.Set("security_group_id", w.call.PhysicalID)
			wanted = append(wanted, own)
		}
	}
	return wanted
}
