package netguard

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/faults"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	public := Policy{Use: "test", Deny: Private, Ports: []uint16{80, 443}}
	inside := Policy{Use: "test", Allow: prefixes("10.1.0.0/16")}
	operator := Policy{Use: "test"}
	for _, c := range []struct {
		policy  Policy
		address string
		want    bool
	}{
		{public, "93.184.216.34:443", true}, {public, "93.184.216.34:22", false}, {public, "127.0.0.1:80", false},
		{public, "[::1]:80", false}, {public, "[::ffff:127.0.0.1]:80", false}, {public, "10.0.0.1:80", false},
		{public, "169.254.169.254:80", false}, {public, "0.0.0.0:80", false}, {public, "[fe80::1]:80", false}, {public, "100.64.0.1:80", false},
		{inside, "10.1.2.3:9999", true}, {inside, "10.2.0.1:9999", false}, {inside, "93.184.216.34:443", false},
		{operator, "127.0.0.1:9292", true}, {operator, "169.254.169.254:80", false}, {operator, "[::ffff:169.254.169.254]:80", false},
		{Policy{Use: "test", Allow: prefixes("169.254.169.254/32")}, "169.254.169.254:80", true},
		{operator.Within(nil), "10.1.2.3:443", true}, {operator.Within(nil), "127.0.0.1:443", false},
		{operator.Within(prefixes("127.0.0.0/8")), "127.0.0.1:443", true}, {operator.Within(prefixes("127.0.0.0/8")), "10.1.2.3:443", false},
	} {
		err := c.policy.Check(netip.MustParseAddrPort(c.address))
		if (err == nil) != c.want || err != nil && !faults.Is(err, faults.Forbidden) {
			t.Errorf("%+v to %s: %v, want allowed: %v", c.policy, c.address, err, c.want)
		}
	}
}

// The address that counts is the one that a name resolves to, at a redirect too.
func TestNamesAndRedirects(t *testing.T) {
	t.Parallel()
	var seen string
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Get("X-Auth-Token")
		_, _ = io.WriteString(w, "reached")
	}))
	defer target.Close()
	first := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusFound))
	defer first.Close()
	get := func(p Policy, address string) (*http.Response, error) {
		r, err := http.NewRequest(http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Auth-Token", "secret")
		p.Use = "test"
		resp, err := p.Client().Do(r)
		if err == nil {
			t.Cleanup(func() { _ = resp.Body.Close() })
		}
		return resp, err
	}
	port := func(address string) uint16 {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		return uint16(n)
	}
	if _, err := get(Policy{Deny: Private}, strings.Replace(first.URL, "127.0.0.1", "localhost", 1)); !faults.Is(err, faults.Forbidden) {
		t.Errorf("a name of a denied address: %v", err)
	}
	if resp, err := get(Policy{}, first.URL); err != nil || resp.StatusCode != http.StatusFound {
		t.Errorf("no redirects: %v, %v", resp, err)
	}
	if resp, err := get(Policy{Redirects: 1}, first.URL); err != nil || resp.StatusCode != http.StatusOK || seen != "" {
		t.Errorf("one redirect: %v, %v; the token went along: %q", resp, err, seen)
	}
	if _, err := get(Policy{Redirects: 1, Ports: []uint16{port(first.URL)}}, first.URL); !faults.Is(err, faults.Forbidden) {
		t.Errorf("a redirect to a port that is not allowed: %v", err)
	}
	if _, err := get(Policy{Schemes: []string{"https"}}, target.URL); !faults.Is(err, faults.Forbidden) {
		t.Errorf("a scheme that is not allowed: %v", err)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/known":
			_, _ = io.WriteString(w, strings.Repeat("x", 11))
		case "/chunked":
			for range 11 {
				_, _ = io.WriteString(w, "x")
				w.(http.Flusher).Flush()
			}
		case "/slow":
			<-release
		case "/fits":
			_, _ = io.WriteString(w, strings.Repeat("x", 10))
		}
	}))
	defer server.Close()
	defer close(release)
	client := Policy{Use: "test", MaxBody: 10, Timeout: 500 * time.Millisecond}.Client()
	read := func(path string) (string, error) {
		resp, err := client.Get(server.URL + path)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if n, again := resp.Body.Read(make([]byte, 5)); err != nil && (n != 0 || again == nil || again.Error() != err.Error()) {
			t.Errorf("%s: then %d bytes, %v", path, n, again)
		}
		return string(data), err
	}
	if got, err := read("/fits"); err != nil || got != "xxxxxxxxxx" {
		t.Errorf("10 bytes: %q, %v", got, err)
	}
	if _, err := read("/known"); !faults.Is(err, faults.OverLimit) {
		t.Errorf("11 bytes: %v", err)
	}
	if got, err := read("/chunked"); !faults.Is(err, faults.OverLimit) || len(got) != 10 {
		t.Errorf("11 bytes without a length: %q, %v", got, err)
	}
	if _, err := read("/slow"); err == nil {
		t.Error("an answer that never comes is waited for")
	}
	client = Policy{Use: "test", HeaderTimeout: 10 * time.Millisecond}.Client()
	if _, err := read("/slow"); err == nil || !strings.Contains(err.Error(), "awaiting response headers") {
		t.Errorf("an answer that doesn't begin is waited for: %v", err)
	}
}
