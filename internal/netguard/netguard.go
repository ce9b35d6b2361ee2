package netguard

// The policy, its dialer and its HTTP client.

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"holdfast.dev/internal/faults"
)

// Policy is what one use may connect to.
type Policy struct {
	// Use names it in errors: "image download".
	Use string
	// Schemes of URLs; empty is http and https.
	Schemes []string
	// Ports that are allowed; empty is all.
	Ports []uint16
	// Allow are the networks that are reached; empty is all but those below.
	Allow []netip.Prefix
	// Deny are networks that aren't, whatever Allow says.
	Deny []netip.Prefix
	// Redirects is how many are followed.
	Redirects int
	// MaxBody bounds an answer, in bytes; 0 is 1 MiB.
	MaxBody int64
	// Packets has the dialer connect by UDP, and by nothing else.
	Packets bool
	// TLS says which certificates are believed; nil is those that the machine does.
	TLS *tls.Config
	// Timeout bounds a request from the connect to the last byte; 0 is a minute.
	Timeout time.Duration
	// HeaderTimeout bounds the wait for an answer to begin; 0 is half a minute.
	HeaderTimeout time.Duration
}

// dialTime bounds the wait for one connection, headerTime is what HeaderTimeout usually is.
const (
	dialTime   = 10 * time.Second
	headerTime = 30 * time.Second
)

// Metadata are the networks that no policy reaches unless it names them: link
// local ones (a cloud's own metadata service), "any" and multicast.
var Metadata = prefixes("169.254.0.0/16", "fe80::/10", "0.0.0.0/8", "::/128", "224.0.0.0/4", "ff00::/8", "255.255.255.255/32")

// Loopback are the machine's own: no ramdisk, BMC or boot image is there.
var Loopback = prefixes("127.0.0.0/8", "::1/128")

// Private are networks that aren't on the Internet: a policy for what users name
// denies them.
var Private = prefixes("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
	"fc00::/7", "198.18.0.0/15", "192.0.0.0/24", "240.0.0.0/4", "64:ff9b::/96", "2002::/16")

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// refused is the fault of what a policy doesn't allow.
func (p Policy) refused(format string, args ...any) error {
	return faults.New(faults.Forbidden, "AddressRefused", "%s: %s", p.Use, fmt.Sprintf(format, args...))
}

// Check says whether the policy lets an address be reached.
func (p Policy) Check(address netip.AddrPort) error {
	ip := address.Addr().Unmap()
	if len(p.Ports) > 0 && !slices.Contains(p.Ports, address.Port()) {
		return p.refused("port %d is not allowed", address.Port())
	}
	in := func(networks []netip.Prefix) bool {
		return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(ip) })
	}
	named := in(p.Allow)
	if len(p.Allow) > 0 && !named || in(p.Deny) || !named && in(Metadata) {
		return p.refused("address %s is not allowed", ip)
	}
	return nil
}

// Within is the policy for networks that an operator names; without any, every one is
// reached but the machine's own.
func (p Policy) Within(networks []netip.Prefix) Policy {
	if p.Allow = networks; len(networks) == 0 {
		p.Deny = Loopback
	}
	return p
}

// Dialer connects within the policy: each address that a name resolves to is
// checked right before the connect.
func (p Policy) Dialer() *net.Dialer {
	by := "tcp"
	if p.Packets {
		by = "udp"
	}
	return &net.Dialer{Timeout: dialTime, ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
		if !strings.HasPrefix(network, by) {
			return p.refused("network %s is not allowed", network)
		}
		resolved, err := netip.ParseAddrPort(address)
		if err != nil {
			return p.refused("address %s is not allowed", address)
		}
		return p.Check(resolved)
	}}
}

// Client makes requests within the policy, without a proxy.
func (p Policy) Client() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.DialContext = p.Dialer().DialContext
	if p.TLS != nil {
		transport.TLSClientConfig = p.TLS.Clone()
	}
	transport.ResponseHeaderTimeout = cmp.Or(p.HeaderTimeout, headerTime)
	transport.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{Transport: guarded{p, transport}, Timeout: cmp.Or(p.Timeout, time.Minute), CheckRedirect: p.redirect}
}

// secrets are headers that must not follow a redirect to another place.
var secrets = []string{"X-Auth-Token", "X-Service-Token", "X-Subject-Token", "Authorization", "Cookie"}

func (p Policy) redirect(next *http.Request, via []*http.Request) error {
	if len(via) > p.Redirects {
		if p.Redirects == 0 {
			return http.ErrUseLastResponse
		}
		return p.refused("more than %d redirects", p.Redirects)
	}
	if first := via[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme {
		for _, name := range secrets {
			next.Header.Del(name)
		}
	}
	return nil
}

// guarded checks each request's scheme, a redirect's included, and bounds what
// comes back.
type guarded struct {
	policy Policy
	next   *http.Transport
}

func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	schemes := g.policy.Schemes
	if len(schemes) == 0 {
		schemes = []string{"http", "https"}
	}
	if !slices.Contains(schemes, r.URL.Scheme) {
		return nil, g.policy.refused("scheme %q is not allowed", r.URL.Scheme)
	}
	resp, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	limit := g.policy.MaxBody
	if limit == 0 {
		limit = 1 << 20
	}
	if resp.ContentLength > limit {
		return nil, errors.Join(g.policy.tooLarge(limit), resp.Body.Close())
	}
	resp.Body = &bounded{Reader: io.LimitReader(resp.Body, limit+1), Closer: resp.Body, left: limit, full: g.policy.tooLarge(limit)}
	return resp, nil
}

// CloseIdleConnections lets http.Client's reach the transport.
func (g guarded) CloseIdleConnections() { g.next.CloseIdleConnections() }

func (p Policy) tooLarge(limit int64) error {
	return faults.New(faults.OverLimit, "TooLarge", "%s: the answer is larger than %d bytes", p.Use, limit)
}

// bounded ends with an error where a body goes on beyond its limit.
type bounded struct {
	io.Reader
	io.Closer
	left int64
	full error
}

func (b *bounded) Read(data []byte) (int, error) {
	if b.left < 0 {
		return 0, b.full
	}
	n, err := b.Reader.Read(data)
	if b.left -= int64(n); b.left < 0 {
		return n + int(b.left), b.full
	}
	return n, err
}
