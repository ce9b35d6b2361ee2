package rest

// Pages of other origins, as oslo.middleware's cors filter admits them.

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CORS says which origins' pages may ask; none by default.
type CORS struct {
	// Origins are exact, "https://dashboard.example"; "*" is every origin.
	Origins []string
	// Credentials lets browsers send what they keep for us.
	Credentials bool
	// MaxAge is how long a browser may remember a preflight's answer.
	MaxAge time.Duration
}

var (
	corsMethods = []string{"GET", "PUT", "POST", "DELETE", "PATCH"}
	// corsExposed are headers that a page may read, corsAllowed those that it
	// may send beside the ones that every page may.
	corsExposed = []string{"X-Auth-Token", "X-Openstack-Request-Id", "X-Subject-Token", "X-Service-Token"}
	corsAllowed = []string{"x-auth-token", "x-openstack-request-id", "x-identity-status", "x-roles", "x-service-catalog", "x-user-id", "x-tenant-id",
		"openstack-api-version", "x-openstack-nova-api-version", "accept", "accept-language", "content-type", "cache-control", "content-language",
		"expires", "last-modified", "pragma"}
)

// answer sets the headers for an origin that may ask, and answers the request
// itself if it is a preflight that passes.
func (c CORS) answer(w http.ResponseWriter, r *http.Request) (done bool) {
	if len(c.Origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(c.Origins, origin) && !slices.Contains(c.Origins, "*") {
		return false
	}
	if r.Method == http.MethodOptions {
		return c.preflight(w, r, origin)
	}
	c.admit(h, origin)
	h.Set("Access-Control-Expose-Headers", strings.Join(corsExposed, ","))
	return false
}

func (c CORS) preflight(w http.ResponseWriter, r *http.Request, origin string) (done bool) {
	method := r.Header.Get("Access-Control-Request-Method")
	if !slices.Contains(corsMethods, method) {
		return false
	}
	var asked []string
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
			continue
		}
		if !slices.Contains(corsAllowed, name) {
			return false
		}
		asked = append(asked, name)
	}
	h := w.Header()
	c.admit(h, origin)
	h.Set("Access-Control-Allow-Methods", method)
	if len(asked) > 0 {
		h.Set("Access-Control-Allow-Headers", strings.Join(asked, ","))
	}
	if c.MaxAge > 0 {
		h.Set("Access-Control-Max-Age", strconv.Itoa(int(c.MaxAge.Seconds())))
	}
	w.WriteHeader(http.StatusOK)
	return true
}

func (c CORS) admit(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	if c.Credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
}
