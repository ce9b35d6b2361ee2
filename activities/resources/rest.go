package resources

// Types that are data: resources made by the API of a service as their types'
// files say.

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/store/orchestration"
)

// REST is a type that its file says all about. A resource is born under its Mark,
// in its name or another field, and found by that if nobody has heard that it was
// made.
type REST struct {
	Type  *resourcetype.Type
	Cloud Cloud
}

// FromFiles are the types whose files say how they are made.
func FromFiles(registry *resourcetype.Registry, cloud Cloud) Types {
	types := Types{}
	for _, t := range registry.All() {
		if t.REST != nil {
			types[t.Name] = withLogic(REST{t, cloud})
		}
	}
	return types
}

// withLogic is a type that needs more than its file can say.
func withLogic(t REST) Type {
	switch t.Type.Name {
	case "OS::Neutron::SecurityGroup":
		return SecurityGroup{t}
	case "OS::Nova::Server":
		return Server{t}
	case "OS::Nova::KeyPair":
		return KeyPair{t}
	case "OS::Cinder::Volume":
		return Volume{t}
	case "OS::Cinder::EncryptedVolumeType":
		return EncryptedVolumeType{t}
	case "OS::Glance::WebImage":
		return WebImage{t}
	case "OS::Swift::Container":
		return Container{t}
	case "OS::Cinder::VolumeAttachment":
		return VolumeAttachment{t}
	}
	return t
}

const (
	// patience is how long one call waits for a resource that isn't ready; then it
	// is asked again later.
	patience = 8 * time.Second
	// pause is how long it is until then, and between two looks at most.
	pause = time.Second
	// firstPause is how long it is between the first two looks.
	firstPause = 100 * time.Millisecond
	// soon is when a call goes on that has something to be written down.
	soon = 10 * time.Millisecond
	// blockedFor is how long a resource may be in use before what is in conflict with
	// that fails: its deletion, or what makes another of it.
	blockedFor = 30 * time.Second

	// Keys of the type's data: that all requests of an action were sent, what the
	// resource's path was made of, which there were before it was made, and that one is
	// made that nothing finds.
	sentKey   = "sent_for"
	pathKey   = "path_of"
	othersKey = "others"
	madeKey   = "being_made"
	// That a list or a map was given to it, and may be there.
	givenKey = "given"
)

// work is one call of a REST type.
type work struct {
	REST
	*service
	call    *Call
	lookups *lookups
	scope   resourcetype.Scope
}

// Instant implements Type.
func (REST) Instant() bool { return false }

func (t REST) begin(ctx context.Context, c *Call) (*work, error) {
	s, err := open(ctx, t.Cloud, c, t.Type.REST.Service, t.Type.REST.Microversion)
	if err != nil {
		return nil, err
	}
	w := &work{REST: t, service: s, call: c, lookups: &lookups{t.Cloud, c, map[string]string{}}}
	w.scope = resourcetype.Scope{Properties: c.Properties, Self: value.NewMap("mark", c.Mark, "name", c.Name, "project", c.ProjectID, "short", c.Mark[max(0, len(c.Mark)-orchestration.MarkLength):])}
	w.is(c.PhysicalID)
	return w, nil
}

// is says what the resource is.
func (w *work) is(id string) {
	w.call.PhysicalID = id
	if id != "" {
		w.scope.Self.Set("id", id)
	}
}

// resolve has names in properties be ids from here on. Where only some have
// changed, the others may name what is called otherwise by now.
func (w *work) resolve(ctx context.Context, changed ...string) error {
	made := &value.Map{}
	for i := range w.call.Properties.Len() {
		key, v := w.call.Properties.At(i)
		name := value.Str(key)
		made.Set(key, v)
		p, ok := w.Type.Properties.Get(name)
		if !ok {
			continue
		}
		id, err := w.lookups.one(ctx, p, v, w.Type.REST.Lookups, name)
		switch {
		case err == nil:
			made.Set(key, id)
		case hot.Class(err) == "" || changed == nil || slices.Contains(changed, name):
			return err
		}
	}
	w.scope.Properties = made
	return nil
}

// remember keeps what the resource's path is made of, so that it can be found when
// the names in its properties mean nothing more.
func (w *work) remember() {
	texts := []any{w.path()}
	for _, r := range w.Type.REST.Delete {
		texts = append(texts, r.Path, r.Each)
		if r.Body != nil {
			texts = append(texts, r.Body.Template())
		}
	}
	kept := &value.Map{}
	for _, name := range resourcetype.Names(texts) {
		v, _ := w.scope.Properties.Get(name)
		kept.Set(name, v)
	}
	if kept.Len() > 0 {
		w.call.Data.Set(pathKey, kept)
	}
}

// recall has properties be what was remembered of them.
func (w *work) recall() {
	kept, _ := w.call.Data.Get(pathKey)
	m, ok := kept.(*value.Map)
	if !ok {
		return
	}
	w.scope.Properties = w.scope.Properties.Copy()
	for i := range m.Len() {
		w.scope.Properties.Set(m.At(i))
	}
}

// path is the path of the resource.
func (w *work) path() string {
	if r := w.Type.REST; r.Path != "" {
		return r.Path
	}
	return w.Type.REST.Collection + "/$(self.id)"
}

// Create is idempotent by the mark, by which what was made is found again; what
// comes after that may be sent again.
func (t REST) Create(ctx context.Context, c *Call) (time.Duration, error) {
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	if done, _ := c.Data.Get(sentKey); done == c.Action {
		w.recall()
		return w.settle(ctx)
	}
	if err := w.resolve(ctx); err != nil {
		return 0, err
	}
	first, more := t.Type.REST.Create[0], t.Type.REST.Create[1:]
	if c.PhysicalID == "" {
		switch {
		case w.unnoted():
			return soon, w.noteOthers(ctx)
		case t.Type.REST.Find == nil && !c.Data.Has(madeKey):
			c.Data.Set(madeKey, true)
			return soon, nil
		}
		found, err := w.find(ctx)
		if err == nil && found == "" {
			found, err = w.make(ctx, first)
		}
		if err != nil {
			if !faults.Is(err, faults.Unavailable) {
				c.Data = c.Data.Without(madeKey) // it is refused
			}
			return 0, err
		}
		w.is(found)
		w.remember()
		if slices.ContainsFunc(more, w.isDue) || len(t.Type.REST.Settle) > 0 {
			return soon, nil // first it is written down which one it is
		}
	}
	w.remember()
	if w.mayHave() {
		return soon, nil
	}
	for _, r := range more {
		if err := w.send(ctx, r, nil); err != nil {
			return 0, err
		}
	}
	c.Data.Set(sentKey, c.Action)
	return w.settle(ctx)
}

// settle waits until the resource may be used, and sends what can be sent then.
func (w *work) settle(ctx context.Context) (time.Duration, error) {
	wait, err := w.ready(ctx)
	if wait > 0 || err != nil || len(w.Type.REST.Settle) == 0 {
		return wait, err
	}
	for _, r := range w.Type.REST.Settle {
		if err := w.send(ctx, r, nil); err != nil {
			return 0, err
		}
	}
	return w.ready(ctx)
}

// make sends the request that makes the resource, and gives its id.
func (w *work) make(ctx context.Context, r *resourcetype.Request) (string, error) {
	answer, err := w.do(ctx, r.Method, w.scope.Path(r.Path), w.body(r))
	if err != nil && !slices.Contains(r.Done, statusOf(err)) {
		return "", err
	}
	return w.idOf(under(answer, w.Type.REST.One))
}

// body is what a request sends; nil is nothing.
func (w *work) body(r *resourcetype.Request) any { return w.scope.Value(r.Body) }

// idOf is the physical id of what a service says.
func (w *work) idOf(object any) (string, error) {
	scope := w.scope
	scope.Object = object
	texts := w.Type.REST.ID
	if texts == nil {
		texts = []string{"$(object.id)"}
	}
	id := scope.First(texts)
	if id == nil || id == "" {
		return "", faults.New(faults.Invalid, "NoID", "the service gave no id for %s", w.Type.Name)
	}
	return value.Str(id), nil
}

// find gives the id of what an earlier call has made; empty is nothing.
func (w *work) find(ctx context.Context) (string, error) {
	if w.unnoted() {
		return "", nil // nothing is made before that
	}
	noted, _ := w.call.Data.Get(othersKey)
	others, _ := noted.([]any)
	all, err := w.listed(ctx)
	if err != nil {
		return "", err
	}
	for _, one := range all {
		if !w.matches(one) {
			continue
		}
		id, err := w.idOf(one)
		if err != nil || !value.In(id, others) {
			return id, err
		}
	}
	return "", nil
}

// listed are those of which one may be what an earlier call has made.
func (w *work) listed(ctx context.Context) ([]*value.Map, error) {
	f := w.Type.REST.Find
	if f == nil {
		return nil, nil
	}
	all, err := w.list(ctx, w.scope.Path(f.Path), f.In)
	if faults.Is(err, faults.NotFound) {
		return nil, nil
	}
	return all, err
}

// matches says whether one of them has what that has.
func (w *work) matches(one *value.Map) bool {
	for field, v := range w.Type.REST.Find.Match {
		got, _ := one.Get(field)
		if want, some := w.scope.Wanted(v); some && !contains(got, want) {
			return false
		}
	}
	return true
}

// unnoted says that it isn't written down yet which of them are others'.
func (w *work) unnoted() bool {
	f := w.Type.REST.Find
	return f != nil && f.Noted && !w.call.Data.Has(othersKey)
}

// noteOthers writes that down: all that there are before anything is made.
func (w *work) noteOthers(ctx context.Context) error {
	all, err := w.listed(ctx)
	if err != nil {
		return err
	}
	others := []any{}
	for _, one := range all {
		id, err := w.idOf(one)
		if err != nil {
			return err
		}
		others = append(others, id)
	}
	w.call.Data.Set(othersKey, others)
	return nil
}

// contains says whether a value is what is wanted: in a map at least what is
// wanted of it, in a list an item for every one that is wanted, and none if none is.
func contains(got, want any) bool {
	switch x := want.(type) {
	case *value.Map:
		m, _ := got.(*value.Map)
		for i := range x.Len() {
			key, inner := x.At(i)
			if v, _ := m.Get(key); !contains(v, inner) {
				return false
			}
		}
		return true
	case []any:
		list, _ := got.([]any)
		if len(x) == 0 {
			return len(list) == 0
		}
		for _, one := range x {
			if !slices.ContainsFunc(list, func(item any) bool { return contains(item, one) }) {
				return false
			}
		}
		return true
	}
	return value.Equal(got, want)
}

// due are the items that a request is sent for, a null where it is for none.
func (w *work) due(r *resourcetype.Request) []any {
	items := []any{nil}
	if r.Each != "" {
		items, _ = w.scope.Text(r.Each).([]any)
	}
	return slices.DeleteFunc(slices.Clone(items), func(item any) bool {
		scope := w.scope
		scope.Item = item
		return r.When != "" && !value.Truth(scope.Text(r.When)) || r.Without != "" && value.Truth(scope.Text(r.Without))
	})
}

// isDue says whether a request would be sent.
func (w *work) isDue(r *resourcetype.Request) bool { return len(w.due(r)) > 0 }

// send sends a request that may have been sent before; changed are the properties
// that an update is about.
func (w *work) send(ctx context.Context, r *resourcetype.Request, changed []string) error {
	if len(r.Changed) > 0 && changed != nil && !slices.ContainsFunc(r.Changed, func(name string) bool { return slices.Contains(changed, name) }) {
		return nil
	}
	items := w.due(r)
	if len(items) == 0 {
		return nil
	}
	if r.Unless != nil {
		object, err := w.get(ctx, w.scope.Path(w.path()), w.Type.REST.One)
		if err != nil {
			return err
		}
		if contains(object, w.scope.Value(r.Unless)) {
			return nil
		}
	}
	for _, item := range items {
		w.scope.Item = item
		body := w.body(r)
		if r.OnlyChanged {
			var some bool
			if body, some = w.scope.Changed(r.Body, changed); !some {
				continue
			}
		}
		_, err := w.do(ctx, r.Method, w.scope.Path(r.Path), body)
		if err != nil && !slices.Contains(r.Done, statusOf(err)) {
			return err
		}
	}
	w.scope.Item = nil
	return nil
}

// ready waits until the resource may be used, and reads its attributes.
func (w *work) ready(ctx context.Context) (time.Duration, error) {
	r := w.Type.REST
	if r.Unseen {
		return 0, w.attributes(ctx, nil)
	}
	until := time.Now().Add(patience)
	for wait := firstPause; ; wait = min(2*wait, pause) {
		object, err := w.get(ctx, w.scope.Path(w.path()), r.One)
		if err != nil {
			return 0, err
		}
		if r.Ready == nil {
			return 0, w.attributes(ctx, object)
		}
		m, _ := object.(*value.Map)
		status, _ := m.Get(r.Ready.Field)
		text, _ := status.(string)
		switch {
		case slices.Contains(r.Ready.Done, text):
			return 0, w.attributes(ctx, object)
		case slices.Contains(r.Ready.Fails, text):
			return 0, inError(text, w.scope, r.Ready.Why, object)
		case time.Now().After(until):
			return pause, nil
		}
		if err := sleep(ctx, wait); err != nil {
			return 0, err
		}
	}
}

// inError is the original's word of a resource that has come to nothing.
func inError(status string, scope resourcetype.Scope, why string, object any) error {
	scope.Object = object
	reason, _ := scope.Text(why).(string)
	if reason == "" {
		reason = "Unknown"
	}
	return faults.New(faults.Invalid, "ResourceInError", "Went to status %s due to \"%s\"", status, value.Clip(reason, maxSaid))
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// attributes fills in what templates read of the resource.
func (w *work) attributes(ctx context.Context, object any) error {
	w.scope.Object = object
	m, _ := object.(*value.Map)
	for _, name := range w.Type.Attributes.Names {
		if v, ok := w.Type.REST.Attributes[name]; ok {
			got, err := w.attribute(ctx, w.scope.Value(v))
			if err != nil {
				return err
			}
			w.call.Attributes.Set(name, got)
			continue
		}
		v, _ := m.Get(name)
		w.call.Attributes.Set(name, v)
	}
	if object != nil {
		w.call.Attributes.Set("show", object)
	}
	if text := w.Type.REST.Reference; text != "" {
		w.call.Reference = w.scope.Text(text)
	}
	return nil
}

// attribute reads what has to be asked for: in an attribute, {GET: PATH, in: KEY}
// stands for what is there.
func (w *work) attribute(ctx context.Context, v any) (any, error) {
	switch x := v.(type) {
	case *value.Map:
		path, ok := x.Get(http.MethodGet)
		if !ok {
			return v, nil
		}
		key, _ := x.Get("in")
		text, _ := key.(string)
		got, err := w.get(ctx, value.Str(path), text)
		if faults.Is(err, faults.NotFound) {
			return nil, nil
		}
		return got, err
	case []any:
		list := make([]any, len(x))
		for i, one := range x {
			var err error
			if list[i], err = w.attribute(ctx, one); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return v, nil
}

// Update is idempotent as the service is: what it sends says what is to be so.
func (t REST) Update(ctx context.Context, c *Call, changed []string) (time.Duration, error) {
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	if began, _ := c.Data.Get(waitKey(c.Action)); began == nil {
		if err := w.resolve(ctx, changed...); err != nil {
			return 0, err
		}
		w.remember()
		if w.mayHave() {
			return soon, nil
		}
		w.scope.Gone = w.gone()
		for _, r := range t.Type.REST.Update {
			if err := w.send(ctx, r, changed); err != nil {
				return 0, err
			}
		}
		c.Data.Set(waitKey(c.Action), true)
		w.has()
		if id, ok := w.scope.First(t.Type.REST.ID).(string); ok {
			w.is(id) // for those made of properties
		}
	}
	w.recall()
	return w.ready(ctx)
}

// Delete is idempotent by the resource: what is gone is success. What keeps it is
// waited for, and then told.
func (t REST) Delete(ctx context.Context, c *Call) (time.Duration, error) {
	if t.Type.REST.Keeps {
		return 0, nil
	}
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	w.recall()
	if c.PhysicalID == "" {
		id, err := w.lost(ctx)
		if err != nil || id == "" {
			return 0, err
		}
		w.is(id)
		w.remember()
	}
	w.scope.Gone = w.all()
	requests := t.Type.REST.Delete
	if len(requests) == 0 {
		requests = []*resourcetype.Request{{Method: http.MethodDelete, Path: w.path()}}
	}
	for _, r := range requests {
		err := w.send(ctx, r, nil)
		switch {
		case err == nil, faults.Is(err, faults.NotFound):
		case faults.Is(err, faults.Conflict) && c.until(blockedFor) > 0:
			c.Blocked = faults.As(err).Message
			return pause, nil
		default:
			return 0, err
		}
	}
	if !t.Type.REST.Lingers {
		return 0, nil
	}
	return w.over(ctx)
}

// lost finds what was made and never told of; what can't be looked for any more
// because what it was to be made of is gone was not made.
func (w *work) lost(ctx context.Context) (string, error) {
	switch err := w.resolve(ctx); {
	case hot.Class(err) != "":
		return "", nil // what it names isn't there
	case err != nil:
		return "", err
	case w.Type.REST.Find == nil && w.call.Data.Has(madeKey):
		id, _ := w.scope.First(w.Type.REST.ID).(string) // of those made of properties
		return id, nil
	}
	return w.find(ctx)
}

// over waits until the resource is no more.
func (w *work) over(ctx context.Context) (time.Duration, error) {
	until := time.Now().Add(patience)
	for wait := firstPause; ; wait = min(2*wait, pause) {
		object, err := w.get(ctx, w.scope.Path(w.path()), w.Type.REST.One)
		if faults.Is(err, faults.NotFound) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if r := w.Type.REST.Ready; r != nil {
			m, _ := object.(*value.Map)
			status, _ := m.Get(r.Field)
			text, _ := status.(string)
			if slices.Contains(r.Gone, text) {
				return 0, nil
			}
			if slices.Contains(r.Fails, text) && strings.HasSuffix(text, "_deleting") {
				return 0, inError(text, w.scope, r.Why, object)
			}
		}
		if time.Now().After(until) {
			return pause, nil
		}
		if err := sleep(ctx, wait); err != nil {
			return 0, err
		}
	}
}
