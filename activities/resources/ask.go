package resources

// What a template asks of a resource that may be there already.

import (
	"context"
	"slices"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/stacks"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
)

// changingKey is where the names of properties that are being changed are kept in
// a type's data.
const changingKey = "changing"

func changing(data *value.Map) []string {
	v, _ := data.Get(changingKey)
	list, _ := v.([]any)
	names := make([]string, len(list))
	for i, name := range list {
		names[i] = value.Str(name)
	}
	return names
}

// read gives the rows that the work on some nodes needs: their own, what has taken
// their places, and whatever the template has them need now.
func (s *shift) read(ctx context.Context, tx store.Tx, nodes []int64) ([]*orchestration.Resource, error) {
	ids := make([]int64, len(nodes))
	for i, id := range nodes {
		ids[i] = max(id, -id)
	}
	rows, err := orchestration.ResourcesWithNeeds(ctx, tx, s.stack.ID, ids)
	if err != nil || s.definition == nil {
		return rows, err
	}
	there := map[string]bool{}
	for _, r := range rows {
		there[r.Name] = there[r.Name] || r.ReplacedBy == 0
	}
	var names []string
	for _, r := range rows {
		def := s.definition.Resource(r.Name)
		if def == nil || !slices.Contains(ids, r.ID) && !slices.Contains(ids, r.Replaces) {
			continue
		}
		requires, err := def.Requires()
		if err != nil {
			return nil, err
		}
		for _, name := range requires {
			if !there[name] {
				there[name] = true
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return rows, nil
	}
	return orchestration.ResourcesWithNeeds(ctx, tx, s.stack.ID, ids, names...)
}

// require writes down which rows a resource needs now.
func (s *shift) require(r *orchestration.Resource) error {
	requires, err := s.definition.Resource(r.Name).Requires()
	if err != nil {
		return err
	}
	r.Requires = nil
	for _, name := range requires {
		if need := s.world.Row(name); need != nil {
			r.Requires = append(r.Requires, need.ID)
		}
	}
	slices.Sort(r.Requires)
	return nil
}

// requireToo has a resource that is about to be made or changed need what it is to need
// besides what it has needed until now: it may be taken back half-way.
func (s *shift) requireToo(r *orchestration.Resource) error {
	before := r.Requires
	if err := s.require(r); err != nil {
		return err
	}
	r.Requires = append(r.Requires, before...)
	slices.Sort(r.Requires)
	r.Requires = slices.Compact(r.Requires)
	return nil
}

// ask compares a resource with what the template says of it, and gives the row that
// is to be made or changed: itself, or one that takes its place; nil if there is
// nothing to do, or it can't be done.
func (s *shift) ask(ctx context.Context, tx store.Tx, id int64, r *orchestration.Resource) (*orchestration.Resource, error) {
	if r.Status == orchestration.InProgress {
		return r, nil // begun, and to be gone on with
	}
	def := s.definition.Resource(r.Name)
	if def == nil {
		return nil, faults.New(faults.Internal, "NoDefinition", "the template has no resource %s", r.Name)
	}
	if r.Action == orchestration.ActionInit {
		return s.made(id, r, def)
	}
	names, failure := s.definition.Changed(r, def, s.world)
	names = s.seen.changes(names)
	switch {
	case failure != nil:
		s.show(r, orchestration.ActionUpdate)
		s.fail(id, r, failure)
		return nil, nil
	case (names == nil || s.replaced(r, names)) && s.refused(id, r, "replace"):
		return nil, nil
	case names == nil || s.replaced(r, names):
		if names != nil {
			s.tellReplaced(r)
		}
		heir := &orchestration.Resource{Name: r.Name, Type: def.Type, CarriedBy: s.definition.CarriedBy(def)}
		if err := orchestration.InsertResources(ctx, tx, s.stack.ID, s.template, []*orchestration.Resource{heir}); err != nil {
			return nil, err
		}
		heir.CreatedAt, heir.Replaces, r.ReplacedBy = s.now, r.ID, heir.ID
		s.rows[heir.ID] = heir
		s.world.Put(heir)
		s.keep(r)
		return s.made(id, heir, def)
	}
	if len(names) > 0 && s.refused(id, r, "update") {
		return nil, nil
	}
	state, err := s.world.Of(r)
	if err != nil {
		return nil, err
	}
	if err := s.resolve(r, state, def); err != nil {
		return nil, err
	}
	if len(names) == 0 && !s.definition.Nests(def) && !s.returns(r) {
		r.DoneIn = s.traversal
		s.out.Done = append(s.out.Done, id)
		s.keep(r)
		return nil, s.require(r)
	}
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = name
	}
	state.Data.Set(changingKey, list)
	s.show(r, orchestration.ActionUpdate)
	return r, s.requireToo(r)
}

// tellReplaced tells that a resource was to be changed and can't be; it is what it was.
func (s *shift) tellReplaced(r *orchestration.Resource) {
	event := orchestration.EventOf(s.stack, r)
	event.Action, event.Status, event.Reason = orchestration.ActionUpdate, orchestration.InProgress, changed
	s.events = append(s.events, event)
	event.Status, event.Reason = orchestration.Complete, "The Resource "+r.Name+" requires replacement."
	s.events = append(s.events, event)
}

// made is a row that nothing was done for yet, about to be made; nil if what the
// template says of it is wrong.
func (s *shift) made(id int64, r *orchestration.Resource, def *hot.Resource) (*orchestration.Resource, error) {
	state, err := s.world.Of(r)
	if err != nil {
		return nil, err
	}
	if s.phase == steps.Adopt {
		return s.adopted(id, r, state, def)
	}
	state.Adopts = nil
	if def.External() {
		return s.external(id, r, state, def)
	}
	s.show(r, orchestration.ActionCreate)
	if err := s.resolve(r, state, def); err != nil {
		s.fail(id, r, err)
		return nil, nil
	}
	return r, s.requireToo(r)
}

// resolve works out what the template says of a resource, as things are now.
func (s *shift) resolve(r *orchestration.Resource, state *stacks.State, def *hot.Resource) error {
	t, err := s.definition.TypeOf(def)
	if err != nil {
		return err
	}
	if state.Properties, err = s.definition.Resolve(def, t, s.world); err != nil {
		return err
	}
	metadata, err := def.Metadata(s.world)
	if err != nil {
		return err
	}
	text, err := metadata.MarshalJSON()
	if err != nil {
		return err
	}
	r.DeletionPolicy, r.TemplateID = def.DeletionPolicy, s.template
	if !stacks.Signalled(t) && !stacks.IsScaled(t) || r.Metadata == "{}" {
		r.Metadata = string(text)
	}
	return nil
}

// replaced says whether changes can't be made in place.
func (s *shift) replaced(r *orchestration.Resource, names []string) bool {
	t, err := s.definition.TypeOf(s.definition.Resource(r.Name))
	if err != nil {
		return true
	}
	if !stacks.InPlace(t, names) {
		return true
	}
	replacer, ok := s.o.Types[r.Carrier()].(Replacer)
	if !ok || len(names) == 0 {
		return false
	}
	state, err := s.world.Of(r)
	if err != nil {
		return false // it is read again, and then it is told
	}
	asked, err := s.definition.Resolve(s.definition.Resource(r.Name), t, s.world)
	return err == nil && replacer.Replaces(state.Properties, asked, names)
}
