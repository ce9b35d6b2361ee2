package rest

// What a proxy says of the request that it passes on, as oslo.middleware's
// http_proxy_to_wsgi reads it, and only if it is trusted.

import (
	"net/http"
	"regexp"
	"strings"
)

// hostname is what may stand in a link as host and port.
var hostname = regexp.MustCompile(`^[A-Za-z0-9._~-]+(:[0-9]{1,5})?$|^\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?$`)

// prefixPath is what may stand in a link before our own path.
var prefixPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// root is what links begin with: scheme, host, and the path that a proxy took off.
func (s *Server) root(r *http.Request) string {
	if s.PublicURL != "" {
		return strings.TrimSuffix(s.PublicURL, "/")
	}
	scheme, host, prefix := "http", r.Host, ""
	if r.TLS != nil {
		scheme = "https"
	}
	if s.TrustForwarded {
		said := forwarded(r.Header)
		if said["proto"] == "http" || said["proto"] == "https" {
			scheme = said["proto"]
		}
		if hostname.MatchString(said["host"]) {
			host = said["host"]
		}
		if sent := strings.TrimSuffix(r.Header.Get("X-Forwarded-Prefix"), "/"); prefixPath.MatchString(sent) {
			prefix = sent
		}
	}
	return scheme + "://" + host + prefix
}

// remote is who asked.
func (s *Server) remote(r *http.Request) string {
	if s.TrustForwarded {
		if by := forwarded(r.Header)["for"]; by != "" {
			return by
		}
	}
	return r.RemoteAddr
}

// forwarded reads the first proxy's words: of the Forwarded header (RFC 7239),
// or of the older headers if there is none.
func forwarded(h http.Header) map[string]string {
	said := map[string]string{}
	if sent := h.Get("Forwarded"); sent != "" {
		first, _, _ := strings.Cut(sent, ",")
		for pair := range strings.SplitSeq(first, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			said[strings.ToLower(name)] = strings.Trim(value, `"`)
		}
		return said
	}
	for _, name := range []string{"Proto", "Host", "For"} {
		first, _, _ := strings.Cut(h.Get("X-Forwarded-"+name), ",")
		said[strings.ToLower(name)] = strings.TrimSpace(first)
	}
	return said
}
