package resources

// OS::Nova::Server: a server, and what it takes to make another of it.

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
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

// askedKey is where it is kept, while an action is at work, what a server was asked for
// in it.
const askedKey = "asked_for"

// Create is idempotent by a tag, which is taken off once it is known which one it is.
// The ports that it is made with are found by their mark.
func (t Server) Create(ctx context.Context, c *Call) (time.Duration, error) {
	given := c.Properties
	defer func() { c.Properties = given }()
	if err := shape(ctx, c); err != nil {
		return 0, err
	}
	if c.PhysicalID == "" {
		if wait, err := t.replace(ctx, c); wait > 0 || err != nil {
			return wait, err
		}
		if wait, err := t.wire(ctx, c); wait > 0 || err != nil {
			return wait, err
		}
	}
	wait, err := t.REST.Create(ctx, c)
	if wait == 0 && err == nil {
		err = t.look(ctx, c)
	}
	return wait, err
}

// replace takes out of the server that this one takes the place of the ports that both
// are given.
func (t Server) replace(ctx context.Context, c *Call) (time.Duration, error) {
	if c.Before == nil || c.Before.PhysicalID == "" {
		return 0, nil
	}
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	ports, err := w.givenPorts(ctx)
	if err != nil {
		return 0, err
	}
	return w.takeOver(ctx, ports, c.Before.PhysicalID)
}

// shape has properties be what Nova is told of them: of user data all that the guest is
// to read, of metadata texts, and of devices what they are if nothing is said of that.
func shape(ctx context.Context, c *Call) error {
	format, text := c.text("user_data_format"), c.text("user_data")
	if format != cfnToolsFormat {
		var err error
		if text, err = c.ConfigOf(ctx, text); err != nil {
			return err
		}
	}
	text, err := userData(format, text, c.Metadata, c.Mark)
	if err != nil {
		return err
	}
	c.Properties = c.Properties.Copy()
	c.Properties.Set("user_data", text)
	given, _ := c.Properties.Get("metadata")
	metadata, _ := given.(*value.Map)
	texts := &value.Map{}
	for i := range metadata.Len() {
		key, v := metadata.At(i)
		switch v.(type) {
		case nil:
			v = ""
		case string:
		default:
			v = value.JSON(v, false)
		}
		texts.Set(key, v)
	}
	c.Properties.Set("metadata", texts)
	given, _ = c.Properties.Get("block_device_mapping_v2")
	if devices, _ := given.([]any); len(devices) > 0 {
		c.Properties.Set("block_device_mapping_v2", devicesOf(c.text("image"), devices))
	}
	return nil
}

// devicesOf are devices with the original's defaults. A server that has an image as
// well boots from a disk of that.
func devicesOf(image string, given []any) []any {
	var all []any
	if image != "" {
		all = append(all, value.NewMap("image", image, "destination", "local", "boot_index", value.Int(0), "delete_on_termination", true))
	}
	for _, one := range given {
		m, _ := one.(*value.Map)
		device := m.Copy()
		kept := has(m, "volume_id") != nil || has(m, "snapshot_id") != nil || has(m, "image") != nil
		index := -1
		if kept {
			index = 0
		}
		if has(m, "boot_index") == nil {
			device.Set("boot_index", value.Int(index))
		}
		if has(m, "delete_on_termination") == nil {
			device.Set("delete_on_termination", !kept)
		}
		all = append(all, device)
	}
	return all
}

// Replaces says that it is, where the policies say so.
func (Server) Replaces(before, asked *value.Map, changed []string) bool {
	for property, policy := range map[string]string{"flavor": "flavor_update_policy", "image": "image_update_policy", "user_data": "user_data_update_policy"} {
		says := has(asked, policy)
		if says == nil {
			says = has(before, policy)
		}
		if slices.Contains(changed, property) && says == "REPLACE" {
			return true
		}
	}
	return false
}

// Update is idempotent by what the server is.
func (t Server) Update(ctx context.Context, c *Call, changed []string) (time.Duration, error) {
	given := c.Properties
	defer func() { c.Properties = given }()
	if err := shape(ctx, c); err != nil {
		return 0, err
	}
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
		if wait, err := t.REST.Update(ctx, c, without(changed)); wait > 0 || err != nil {
			return wait, err
		}
	}
	for _, property := range []string{"networks", "flavor", "user_data", "image"} {
		if !slices.Contains(changed, property) {
			continue
		}
		if wait, err := w.become(ctx, property); wait > 0 || err != nil {
			return wait, err
		}
	}
	c.Data.Set(askedKey, nil)
	wait, err := w.ready(ctx)
	if wait == 0 && err == nil {
		err = t.look(ctx, c)
	}
	return wait, err
}

// without are changed properties but for the password of a server that gets another
// image: it comes with that.
func without(changed []string) []string {
	if !slices.Contains(changed, "image") {
		return changed
	}
	return slices.DeleteFunc(slices.Clone(changed), func(name string) bool { return name == "admin_pass" })
}

// become has the server be what a property says, which takes more than a request.
func (w *work) become(ctx context.Context, property string) (time.Duration, error) {
	switch property {
	case "networks":
		return w.rewire(ctx)
	case "flavor":
		return w.resize(ctx)
	case "image":
		return w.rebuild(ctx)
	case "user_data":
		if w.call.text("user_data_update_policy") == "REBUILD" {
			return w.retell(ctx)
		}
	}
	return 0, nil
}

// Delete is idempotent as that of any type is; the ports that were made for the server
// go after it.
func (t Server) Delete(ctx context.Context, c *Call) (time.Duration, error) {
	wait, err := t.REST.Delete(ctx, c)
	if wait == 0 && err == nil {
		err = t.unwire(ctx, c)
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
// it was.
func (w *work) once(ctx context.Context, name, why string, body any) (time.Duration, error) {
	if asked, _ := w.call.Data.Get(askedKey); asked == name {
		return 0, faults.New(faults.Invalid, "ResourceUnknownStatus", "%s failed - Unknown status ACTIVE due to \"Unknown\"", why)
	}
	return w.ask(ctx, name, body)
}

// ask sends an action, and writes down that it was asked for. What keeps it is waited
// for, and then told.
func (w *work) ask(ctx context.Context, name string, body any) (time.Duration, error) {
	switch err := w.act(ctx, name, body); {
	case w.blocked(err):
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
	return w.once(ctx, "rebuild", "Rebuilding server", w.rebuilt(image))
}

// rebuilt is the body of a rebuild to an image.
func (w *work) rebuilt(image any) *value.Map {
	body := value.NewMap("imageRef", image)
	if password := w.call.text("admin_pass"); password != "" {
		body.Set("adminPass", password)
	}
	if metadata, _ := has(w.scope.Properties, "metadata").(*value.Map); metadata.Len() > 0 {
		body.Set("metadata", metadata)
	}
	if w.call.text("image_update_policy") == "REBUILD_PRESERVE_EPHEMERAL" {
		body.Set("preserve_ephemeral", true)
	}
	return body
}

// retoldKey is where it is kept that a server is rebuilt for the sake of its user data,
// and which.
const retoldKey = "told_anew"

// retell rebuilds the server of the image that it has, to be told other user data. It is
// idempotent by what is kept of that: Nova shows none.
func (w *work) retell(ctx context.Context) (time.Duration, error) {
	_, status, err := w.server(ctx)
	if err != nil {
		return 0, err
	}
	text := w.call.text("user_data")
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	switch {
	case slices.Contains(moving, status):
		return pause, nil
	case has(w.call.Data, retoldKey) == sum:
		return 0, nil
	}
	body := w.rebuilt(has(w.scope.Properties, "image"))
	body.Set("user_data", base64.StdEncoding.EncodeToString([]byte(text)))
	switch err := w.act(ctx, "rebuild", body); {
	case w.blocked(err):
		return pause, nil
	case err != nil:
		return 0, err
	}
	w.call.Data.Set(retoldKey, sum)
	return pause, nil
}
