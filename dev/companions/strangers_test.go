package companions_test

// Every call of the clients, asked by those who may not: strangers are not let
// in, and another project neither sees nor changes what isn't its own.

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// open are the calls that one needs no token for.
var open = []string{"identity POST /auth/tokens", "identity GET /", "identity POST /ec2tokens"}

func TestEveryCallByStrangers(t *testing.T) {
	t.Parallel()
	cloud, tokens := start(t)
	tokens["nobody"], tokens["worthless"] = "", "gAAAAAnothing"
	asked := 0
	for name, one := range readContract(t).distinct(t) {
		if one.Service == "compute" || slices.Contains(open, one.line()) {
			continue
		}
		asked++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cloud, tokens)
			body, header := w.body(one)
			path := w.path(one)
			for _, stranger := range []string{"nobody", "worthless"} {
				w.refused(stranger, one.Service, one.Method, path, body, header, http.StatusUnauthorized)
			}
			if !strings.Contains(one.Path, "{id}") || strings.HasPrefix(one.Path, "/extensions/") {
				return
			}
			w.refused("other", one.Service, one.Method, path, body, header, http.StatusForbidden, http.StatusNotFound)
		})
	}
	if asked < 60 {
		t.Errorf("only %d calls", asked)
	}
}
