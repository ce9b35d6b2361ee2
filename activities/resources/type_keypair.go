package resources

// OS::Nova::KeyPair: a key, which may be made here and told once.

import (
	"context"
	"net/http"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// KeyPair is OS::Nova::KeyPair.
type KeyPair struct{ REST }

const (
	// unheldKey is where it is kept that nobody has had a key of the name.
	unheldKey = "name_was_free"
	// privateKey is where the key is kept that is told once.
	privateKey = "private_key"
)

// Create is idempotent by what is known of the name from before: a key that is there
// although nobody had one is our own, of a try that nobody has heard of. It is made
// anew, since what it told is lost.
func (t KeyPair) Create(ctx context.Context, c *Call) (time.Duration, error) {
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	if c.PhysicalID == "" {
		free, _ := c.Data.Get(unheldKey)
		there, err := w.held(ctx)
		switch {
		case err != nil:
			return 0, err
		case !there && free != true:
			c.Data.Set(unheldKey, true)
			return soon, nil // first that is written down
		case there && free == true:
			if _, err := w.do(ctx, http.MethodDelete, w.named(), nil); err != nil && !faults.Is(err, faults.NotFound) {
				return 0, err
			}
		}
		first := t.Type.REST.Create[0]
		answer, err := w.do(ctx, first.Method, first.Path, w.body(first))
		if err != nil {
			return 0, err
		}
		made := under(answer, t.Type.REST.One)
		id, err := w.idOf(made)
		if err != nil {
			return 0, err
		}
		w.is(id)
		m, _ := made.(*value.Map)
		if key, _ := m.Get(privateKey); key != nil {
			if save, _ := c.Properties.Get("save_private_key"); save == true {
				c.Data.Set(privateKey, key)
			}
		}
	}
	wait, err := w.ready(ctx)
	kept, _ := c.Data.Get(privateKey)
	text, _ := kept.(string)
	c.Attributes.Set("private_key", text)
	return wait, err
}

// named is the path of the key of the name that is asked for.
func (w *work) named() string {
	return w.scope.Path("os-keypairs/$(name)")
}

// held says whether somebody has a key of the name.
func (w *work) held(ctx context.Context) (bool, error) {
	_, err := w.get(ctx, w.named(), "")
	if faults.Is(err, faults.NotFound) {
		return false, nil
	}
	return err == nil, err
}
