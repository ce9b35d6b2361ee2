package resources

// OS::Nova::Server: a server, and what it takes to make another of it.

import (
	"context"
	"net/http"
	"slices"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// Server is OS::Nova::Server.
type Server struct{ REST }

// verifyResize is the status of a server that has another flavor, to be confirmed.
const verifyResize = "VERIFY_RESIZE"

// moving are the statuses of servers that are on their way.
var moving = []string{"BUILD", "RESIZE", "REBUILD", "REBOOT", "HARD_REBOOT", "MIGRATING", "PASSWORD"}

// askedKey is where it is kept that a server was asked to become another.
const askedKey = "asked_for"

// Create is idempotent by a tag, which is taken off once it is known which one it is.
func (t Server) Create(ctx context.Context, c *Call) (time.Duration, error) {
	restore, err := withUserData(ctx, c)
	if err != nil {
		return 0, err
	}
	defer restore()
	if c.PhysicalID == "" && c.Before != nil && c.Before.PhysicalID != "" {
		w, err := t.begin(ctx, c)
		if err != nil {
			return 0, err
		}
		ports, err := w.givenPorts(ctx)
		if err != nil {
			return 0, err
		}
		if wait, err := w.takeOver(ctx, ports, c.Before.PhysicalID); wait > 0 || err != nil {
			return wait, err
		}
	}
	wait, err := t.REST.Create(ctx, c)
	if wait == 0 && err == nil {
		addresses(c)
	}
	return wait, err
}

// withUserData has user data that is the id of a software config be what that says,
// until it is restored.
func withUserData(ctx context.Context, c *Call) (restore func(), err error) {
	given := c.Properties
	restore = func() { c.Properties = given }
	if format := c.text("user_data_format"); format != "RAW" && format != "SOFTWARE_CONFIG" {
		return restore, nil
	}
	text, err := c.ConfigOf(ctx, c.text("user_data"))
	if err != nil {
		return restore, err
	}
	c.Properties = given.Copy()
	c.Properties.Set("user_data", text)
	return restore, nil
}

// addresses fills in what follows from a server's addresses.
func addresses(c *Call) {
	v, _ := c.Attributes.Get("addresses")
	all, _ := v.(*value.Map)
	networks, first := &value.Map{}, any("")
	for i := range all.Len() {
		name, v := all.At(i)
		list, _ := v.([]any)
		ips := []any{}
		for _, one := range list {
			m, _ := one.(*value.Map)
			if ip, _ := m.Get("addr"); ip != nil {
				ips = append(ips, ip)
				if first == "" {
					first = ip
				}
			}
		}
		networks.Set(name, ips)
	}
	c.Attributes.Set("networks", networks)
	c.Attributes.Set("first_address", first)
}

// Replaces says that it is, where the policies say so or it can't be changed in
// place.
func (Server) Replaces(_, asked *value.Map, changed []string) bool {
	for property, policy := range map[string]string{"flavor": "flavor_update_policy", "image": "image_update_policy", "user_data": "user_data_update_policy"} {
		if said, _ := asked.Get(policy); slices.Contains(changed, property) && said == "REPLACE" {
			return true
		}
	}
	return slices.Contains(changed, "networks")
}

// Update is idempotent by what the server is.
func (t Server) Update(ctx context.Context, c *Call, changed []string) (time.Duration, error) {
	restore, err := withUserData(ctx, c)
	if err != nil {
		return 0, err
	}
	defer restore()
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	if err := w.resolve(ctx, changed...); err != nil {
		return 0, err
	}
	_, status, err := w.server(ctx)
	if err != nil {
		return 0, err
	}
	// Whoever has asked it to become another has sent the rest before.
	if asked, _ := c.Data.Get(askedKey); asked == nil && status != verifyResize && !slices.Contains(moving, status) {
		if wait, err := t.REST.Update(ctx, c, changed); wait > 0 || err != nil {
			return wait, err
		}
	}
	var wait time.Duration
	if slices.Contains(changed, "flavor") {
		wait, err = w.resize(ctx)
	}
	if wait == 0 && err == nil && slices.Contains(changed, "image") {
		wait, err = w.rebuild(ctx)
	}
	if wait > 0 || err != nil {
		return wait, err
	}
	c.Data.Set(askedKey, nil)
	wait, err = w.ready(ctx)
	if wait == 0 && err == nil {
		addresses(c)
	}
	return wait, err
}

// server gives the server and its status. An ERROR is told.
func (w *work) server(ctx context.Context) (*value.Map, string, error) {
	object, err := w.get(ctx, w.scope.Path(w.path()), w.Type.REST.One)
	if err != nil {
		return nil, "", err
	}
	m, _ := object.(*value.Map)
	v, _ := m.Get("status")
	status := value.Str(v)
	if status == "ERROR" {
		return nil, "", inError(status, w.scope, w.Type.REST.Ready.Why, object)
	}
	return m, status, nil
}

// act sends an action.
func (w *work) act(ctx context.Context, name string, body any) error {
	_, err := w.do(ctx, http.MethodPost, w.scope.Path(w.path()+"/action"), value.NewMap(name, body))
	return err
}

// once has a server asked to become another: once, and it fails if it then is what
// it was. What keeps it is waited for, and then told.
func (w *work) once(ctx context.Context, name, why string, body any) (time.Duration, error) {
	if asked, _ := w.call.Data.Get(askedKey); asked == name {
		return 0, faults.New(faults.Invalid, "ResourceUnknownStatus", "%s failed - Unknown status ACTIVE due to \"Unknown\"", why)
	}
	switch err := w.act(ctx, name, body); {
	case faults.Is(err, faults.Conflict) && w.call.until(blockedFor) > 0:
		return pause, nil
	case err != nil:
		return 0, err
	}
	w.call.Data.Set(askedKey, name)
	return pause, nil
}

// resize gives the server its flavor, and confirms that.
func (w *work) resize(ctx context.Context) (time.Duration, error) {
	flavor, _ := w.scope.Properties.Get("flavor")
	server, status, err := w.server(ctx)
	if err != nil {
		return 0, err
	}
	if status == verifyResize {
		if err := w.act(ctx, "confirmResize", nil); err != nil && !faults.Is(err, faults.Conflict) {
			return 0, err
		}
		return pause, nil
	}
	if slices.Contains(moving, status) {
		return pause, nil
	}
	wanted, err := w.get(ctx, w.scope.Path("flavors/$(flavor)"), "flavor")
	if err != nil {
		return 0, err
	}
	m, _ := wanted.(*value.Map)
	name, _ := m.Get("name")
	has, _ := server.Get("flavor")
	if now, _ := has.(*value.Map); contains(now, value.NewMap("original_name", name)) {
		return 0, nil
	}
	return w.once(ctx, "resize", "Resizing to '"+value.Str(flavor)+"'", value.NewMap("flavorRef", flavor))
}

// rebuild gives the server its image.
func (w *work) rebuild(ctx context.Context) (time.Duration, error) {
	image, _ := w.scope.Properties.Get("image")
	server, status, err := w.server(ctx)
	if err != nil {
		return 0, err
	}
	if slices.Contains(moving, status) {
		return pause, nil
	}
	if has, _ := server.Get("image"); contains(has, value.NewMap("id", image)) {
		return 0, nil
	}
	body := value.NewMap("imageRef", image)
	if password := w.call.text("admin_pass"); password != "" {
		body.Set("adminPass", password)
	}
	return w.once(ctx, "rebuild", "Rebuilding server", body)
}
