package resources

// OS::Nova::KeyPair: a key, which may be made here and told to those who read the
// stack.

import (
	"context"
	"strings"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/sshkeys"
)

// KeyPair is OS::Nova::KeyPair.
type KeyPair struct{ REST }

const (
	// oursKey is where the public key is kept by which a key of the name is ours.
	oursKey = "public_key"
	// privateKey is where the key is kept that belongs to it, if it is to be told.
	privateKey = "private_key"
)

// Create is idempotent by the public key, which is written down before it is sent,
// while nobody has a key of the name: whoever has the name after that with that very
// key is a try that nobody has heard of.
func (t KeyPair) Create(ctx context.Context, c *Call) (time.Duration, error) {
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	if c.PhysicalID == "" {
		noted, ok := c.Data.Get(oursKey)
		if !ok {
			return soon, w.note(ctx)
		}
		w.scope.Properties = c.Properties.Copy()
		w.scope.Properties.Set("public_key", noted)
		id, refused := w.make(ctx, t.Type.REST.Create[0])
		if faults.Is(refused, faults.Conflict) {
			if id, err = w.ours(ctx); err != nil {
				return 0, err
			}
		}
		if id == "" {
			return 0, refused
		}
		w.is(id)
	}
	wait, err := w.ready(ctx)
	kept, _ := c.Data.Get(privateKey)
	text, _ := kept.(string)
	c.Attributes.Set("private_key", text)
	return wait, err
}

// Delete is idempotent as that of any type is; what nobody has heard of is found by
// its public key.
func (t KeyPair) Delete(ctx context.Context, c *Call) (time.Duration, error) {
	if c.PhysicalID == "" && c.Data.Has(oursKey) {
		w, err := t.begin(ctx, c)
		if err != nil {
			return 0, err
		}
		if c.PhysicalID, err = w.ours(ctx); c.PhysicalID == "" {
			return 0, err
		}
	}
	return t.REST.Delete(ctx, c)
}

// note writes down which key is to be ours: the one that is given, or a new one.
// Errors: Conflict, the name is taken.
func (w *work) note(ctx context.Context) error {
	c, name := w.call, w.call.text("name")
	held, err := w.held(ctx)
	if err != nil {
		return err
	}
	if held != "" {
		return faults.New(faults.Conflict, "Conflict", "Key pair '%s' already exists. (HTTP 409)", name)
	}
	public := c.text("public_key")
	if public == "" {
		var private string
		if public, private, err = sshkeys.Generate(c.text("type"), c.UserID); err != nil {
			return err
		}
		if save, _ := c.Properties.Get("save_private_key"); save == true {
			c.Data.Set(privateKey, private)
		}
	}
	c.Data.Set(oursKey, public)
	return nil
}

// ours is the id of the key that has the name, if it is ours.
func (w *work) ours(ctx context.Context) (string, error) {
	held, err := w.held(ctx)
	noted, _ := w.call.Data.Get(oursKey)
	if key, _ := noted.(string); held == "" || held != strings.TrimSpace(key) {
		return "", err
	}
	return w.call.text("name"), nil
}

// held is the public key that somebody has under the name; empty is nobody.
func (w *work) held(ctx context.Context) (string, error) {
	object, err := w.get(ctx, w.scope.Path("os-keypairs/$(name)"), w.Type.REST.One)
	if faults.Is(err, faults.NotFound) {
		return "", nil
	}
	m, _ := object.(*value.Map)
	key, _ := m.Get("public_key")
	text, _ := key.(string)
	return strings.TrimSpace(text), err
}
