package resources

// OS::Glance::WebImage: an image that Glance reads from a URL.

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast.dev/internal/hot/value"
)

// WebImage is OS::Glance::WebImage.
type WebImage struct{ REST }

// pointed has a key be a part of a path into a document.
var pointed = strings.NewReplacer("~", "~0", "/", "~1")

// Update is idempotent as the service is: an image is given a property again.
func (t WebImage) Update(ctx context.Context, c *Call, changed []string) (time.Duration, error) {
	if given, _ := c.Properties.Get("extra_properties"); slices.Contains(changed, "extra_properties") {
		w, err := t.begin(ctx, c)
		if err != nil {
			return 0, err
		}
		all, _ := given.(*value.Map)
		patch := []any{}
		for i := range all.Len() {
			key, v := all.At(i)
			patch = append(patch, value.NewMap("op", "add", "path", "/"+pointed.Replace(value.Str(key)), "value", v))
		}
		if len(patch) > 0 {
			if _, err := w.do(ctx, http.MethodPatch, w.scope.Path(w.path()), patch); err != nil {
				return 0, err
			}
		}
	}
	return t.REST.Update(ctx, c, changed)
}
