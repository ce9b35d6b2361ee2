package resources

// Rolling changes: members of a group that are made or changed some at a time. Each
// batch is an operation of its own on the group's stack, and the next one waits for
// the pause in between.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/store/orchestration"
)

// batch is one change of a group's members.
type batch struct {
	// members is how many there are after it, fresh how many of them it makes or
	// changes as the group says now.
	members, fresh int
}

// whole is the change of all members at once.
var whole = batch{-1, -1}

// rolling is a change of a group's members in batches.
type rolling struct {
	// From is how many there are before it, To how many there are to be.
	From int `json:"from"`
	To   int `json:"to"`
	// Least is how many of them stay as they are while others change, Most how many
	// change at once; 0 is all. Pause is for how long nothing is done after a batch.
	Least int           `json:"least"`
	Most  int           `json:"most"`
	Pause time.Duration `json:"pause"`
	// Spare says that members that are there for the time of the change don't count
	// as changed, Settles that a change of all follows after the last batch.
	Spare   bool `json:"spare"`
	Settles bool `json:"settles"`
}

// paced has members change as an update policy says.
func (r rolling) paced(policy *value.Map) rolling {
	least, _ := policy.Get("min_in_service")
	most, _ := policy.Get("max_batch_size")
	pause, _ := policy.Get("pause_time")
	r.Least, r.Most, r.Pause = howMany(least), howMany(most), seconds(pause)
	return r
}

// howMany is a number of members; more than there may be are alike.
func howMany(v any) int { return int(max(min(number(v), mostMembers+1), 0)) }

// batches are those of the change, by the original's arithmetic.
func (r rolling) batches() []batch {
	var all []batch
	members, changed := r.From, 0
	for r.Most > 0 && (members != r.To || changed < members) {
		b := batch{fresh: min(r.Most, max(r.To-changed, 0))}
		b.members = b.fresh + max(min(members, r.To-b.fresh), min(r.Least, r.To, members))
		all = append(all, b)
		if changed += b.fresh; r.Spare {
			changed -= max(b.members-max(members, r.To), 0)
		}
		members = b.members
	}
	if all == nil || r.Settles {
		all = append(all, whole)
	}
	return all
}

// pauses is after how many of the batches, the first ones, nothing is done for a while.
func (r rolling) pauses() int {
	last := len(r.batches()) - 1
	if r.Settles {
		last--
	}
	return max(last, 0)
}

// paused is for how long nothing is done after one of the batches.
func (r rolling) paused(at int) time.Duration {
	if at >= r.pauses() {
		return 0
	}
	return r.Pause
}

// outlasts says whether the pauses alone take as long as a stack may.
func (r rolling) outlasts(timeout time.Duration) bool {
	paused := float64(r.pauses()) * r.Pause.Seconds() // more than a duration may hold
	return paused > 0 && paused >= timeout.Seconds()
}

// progress is how far a change has come.
type progress struct {
	rolling
	// Of is the traversal that it is a part of.
	Of string `json:"of"`
	// At is the batch that is at work, Until when it is begun.
	At    int       `json:"at"`
	Until time.Time `json:"until"`
}

// rollingKey is where a group's type keeps how far its change has come.
const rollingKey = "rolling"

func (p progress) keep(c *Call) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("change of group %s: %w", c.Name, err)
	}
	c.Data.Set(rollingKey, string(text))
	return nil
}

// part is what the operation of the batch at work is a part of.
func (p progress) part() string {
	if len(p.batches()) == 1 {
		return p.Of
	}
	return fmt.Sprintf("%s %d", p.Of, p.At)
}

// progress is that of the traversal; one that isn't begun is at its beginning.
func (n nested) progress(ctx context.Context, c *Call, kind operations.Kind) (p progress, err error) {
	p.Of = c.traversal
	if n.rolls == nil {
		return p, nil
	}
	kept, _ := c.Data.Get(rollingKey)
	if text, _ := kept.(string); text != "" {
		var begun progress
		if err := json.Unmarshal([]byte(text), &begun); err != nil {
			return p, fmt.Errorf("change of group %s: %w", c.Name, err)
		}
		if begun.Of == c.traversal {
			return begun, nil
		}
	}
	var now become
	if kind != operations.StackCreate {
		if now, err = n.become(ctx, c); err != nil {
			return p, err
		}
	}
	if p.rolling, err = n.rolls(c, now); err != nil {
		return p, err
	}
	if p.outlasts(c.parent.Timeout()) {
		return p, faults.New(faults.Invalid, hot.ValueError, "The current update policy will result in stack update timeout.")
	}
	return p, p.keep(c)
}

// roll has the stack be made or changed, a batch after the other.
func (n nested) roll(ctx context.Context, c *Call, kind operations.Kind) (time.Duration, error) {
	p, err := n.progress(ctx, c, kind)
	if err != nil {
		return 0, err
	}
	for all := p.batches(); ; {
		if left := p.Until.Sub(c.Now); left > 0 {
			return left, nil
		}
		if p.At > 0 {
			kind = operations.StackUpdate
		}
		if wait, err := n.part(ctx, c, kind, p.part(), all[p.At]); wait > 0 || err != nil {
			return wait, err
		}
		if p.At == len(all)-1 {
			return 0, nil
		}
		p.Until = c.Now.Add(p.paused(p.At))
		p.At++
		if err := p.keep(c); err != nil {
			return 0, err
		}
	}
}

// groupMember is a member as it is now.
type groupMember struct {
	name   string
	failed bool
	// definition is what the group's stack says of it.
	definition *value.Map
}

// members are those of a group, in the order in which they go: those that have failed
// first, then the oldest.
func (b become) members() []groupMember {
	if b.stack == nil {
		return nil
	}
	section, _ := b.definition.Template.Body().Get("resources")
	definitions, _ := section.(*value.Map)
	rows := slices.Clone(b.rows)
	failed := func(r *orchestration.Resource) bool { return r.Status == orchestration.Failed }
	slices.SortStableFunc(rows, func(x, y *orchestration.Resource) int {
		if failed(x) != failed(y) {
			if failed(x) {
				return -1
			}
			return 1
		}
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.Name, y.Name))
	})
	var all []groupMember
	for _, r := range rows {
		said, _ := definitions.Get(r.Name)
		if definition, is := said.(*value.Map); is {
			all = append(all, groupMember{r.Name, failed(r), definition})
		}
	}
	return all
}

// made is a group's stack with some members, of which some may be what they were.
func (b become) made(members *value.Map) (*stacks.Nested, error) {
	n, err := stacks.Made(stacks.MembersTemplate(members))
	if err == nil && b.definition != nil {
		n.Files = b.definition.Files
	}
	return n, err
}

// of are the members after the batch, of which there are some already, in the order
// in which they go: what each is now, or what it is asked to be.
func (b batch) of(old []groupMember, name func() string, asked func(name string) *value.Map) *value.Map {
	old = old[max(len(old)-b.members, 0):]
	changes := b.fresh - (b.members - len(old))
	members := &value.Map{}
	for _, m := range old {
		if now := asked(m.name); changes > 0 && !value.Equal(m.definition, now) {
			changes--
			m.definition = now
		}
		members.Set(m.name, m.definition)
	}
	for members.Len() < b.members {
		one := name()
		members.Set(one, asked(one))
	}
	return members
}
