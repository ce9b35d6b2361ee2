package rest

// What surrounds services, and what their tables say beyond a path.

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/policy"
	"holdfast.dev/internal/validation"
)

// gadgets is a second service, with everything that a row can say.
func gadgets() *Service {
	return &Service{
		Name: "gadget", Mount: "/gadgetry", Prefix: "/v1", Versions: widgets.Versions, Faults: widgets.Faults,
		Schemas: func() (*validation.Set, error) {
			return validation.Load([]byte(`{
"body": [{"method": "POST", "path": "/gadgets", "action": "", "schemas": [{"min": "2.2", "max": "", "schema": "create"}]}],
"query": [{"method": "GET", "path": "/gadgets", "action": "", "schemas": [{"min": "", "max": "2.4", "schema": "open"}, {"min": "2.5", "max": "", "schema": "closed"}]}],
"schemas": {
"create": {"type": "object", "properties": {"gadget": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}, "required": ["gadget"], "additionalProperties": false},
"open": {"type": "object", "properties": {"limit": {"type": "array", "items": {"type": "string", "pattern": "^[0-9]*$"}, "maxItems": 1}, "marker": {}}, "additionalProperties": true},
"closed": {"type": "object", "properties": {"limit": {}}, "additionalProperties": false}}}`))
		},
		Operations: []Operation{
			{Method: "GET", Path: "/", Success: 200, Anonymous: true, Handler: func(r *Request) (*Response, error) { return JSON(r.Link("x")), nil }},
			{Method: "GET", Path: "/gadgets", Success: 200, Handler: func(r *Request) (*Response, error) {
				p := r.Page(10)
				return JSON(map[string]any{"query": r.Query, "limit": p.Limit, "next": r.Next("gadgets", p, 2, "é")}), nil
			}},
			{Method: "POST", Path: "/gadgets", Success: 202, Statuses: []Status{{microversion.Until(1), 200}}, Handler: func(r *Request) (*Response, error) {
				var body struct{ Gadget struct{ Name string } }
				return JSON(&body), r.Decode(&body)
			}},
			{Method: "GET", Path: "/gadgets/{id}", Success: 200, Handler: func(r *Request) (*Response, error) { return JSON(r.Param("id")), nil }},
			{Method: "DELETE", Path: "/gadgets/{id}", Removed: true},
		},
	}
}

func bothServices(t *testing.T, change func(*Options)) *Server {
	t.Helper()
	o := Options{
		Authenticator: NewStaticTokens(map[string]policy.Credentials{"good": {UserID: "u", ProjectID: "abc-1"}}),
		Log:           slog.New(slog.DiscardHandler), MaxBody: 1000, Timeout: time.Minute, AuthURI: "http://keystone",
	}
	if change != nil {
		change(&o)
	}
	server, err := New(o, widgets, gadgets())
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// send asks with a token unless the header says otherwise.
func send(handler http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://cloud"+path, strings.NewReader(body))
	r.Header.Set("X-Auth-Token", "good")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

const v = "OpenStack-API-Version"

func TestRows(t *testing.T) {
	t.Parallel()
	handler := bothServices(t, nil)
	for _, c := range []struct {
		method, path, body string
		header             []string
		status             int
		want               string
	}{
		{"GET", "/gadgetry", "", []string{"X-Auth-Token", ""}, 200, `"http://cloud/gadgetry/v1/x"`},
		{"GET", "/gadgetry/", "", nil, 200, `"http://cloud/gadgetry/v1/x"`},
		{"GET", "/gadgetryx", "", nil, 404, `{"message": "The resource could not be found.<br /><br />\n\n\n", "code": "404 Not Found", "title": "Not Found"}`},
		{"GET", "/gadgetry/v1/gadgets/a%2Fb/", "", nil, 200, `"a/b"`},
		{"DELETE", "/gadgetry/v1/gadgets/1", "", nil, 410, `{"fault":{"code":410,"message":"This resource is no longer available. No forwarding address is given."}}`},
		// Schemas by version, and what they let through.
		{"POST", "/gadgetry/v1/gadgets", `{"gadget": {"name": 1}}`, []string{v, "compute 2.2"}, 400,
			`{"fault":{"code":400,"message":"Invalid input for field/attribute name. Value: 1. 1 is not of type 'string'"}}`},
		{"POST", "/gadgetry/v1/gadgets", ``, []string{v, "compute 2.2"}, 400, `{"fault":{"code":400,"message":"None is not of type 'object'"}}`},
		{"POST", "/gadgetry/v1/gadgets", `{"gadget": {"name": "a"}}`, []string{v, "compute 2.2"}, 202, `{"Gadget":{"Name":"a"}}`},
		{"POST", "/gadgetry/v1/gadgets", `{"any": 1}`, nil, 200, `{"Gadget":{"Name":""}}`},
		{"POST", "/gadgetry/v1/gadgets", `{"gadget": {"name": "a"}, "gadget": {"name": "b"}}`, []string{v, "compute 2.2"}, 202, `{"Gadget":{"Name":"b"}}`},
		// Queries: what isn't known is dropped or refused.
		{"GET", "/gadgetry/v1/gadgets?x=1&limit=2&marker=m", "", nil, 200,
			`{"limit":2,"next":[{"rel":"next","href":"http://cloud/gadgetry/v1/gadgets?limit=2\u0026marker=%C3%A9"}],"query":{"limit":["2"],"marker":["m"]}}`},
		{"GET", "/gadgetry/v1/gadgets?limit=3", "", nil, 200, `{"limit":3,"next":null,"query":{"limit":["3"]}}`},
		{"GET", "/gadgetry/v1/gadgets?limit=99999999999999999999", "", nil, 200, `{"limit":10,"next":null,"query":{"limit":["99999999999999999999"]}}`},
		{"GET", "/gadgetry/v1/gadgets?limit=-1", "", nil, 400, `{"fault":{"code":400,"message":"Invalid input for query parameters limit. Value: -1. '-1' does not match '^[0-9]*$'"}}`},
		{"GET", "/gadgetry/v1/gadgets?limit=1&limit=2", "", nil, 400, `{"fault":{"code":400,"message":"Invalid input for query parameters limit. Value: ['1', '2']. ['1', '2'] is too long"}}`},
		{"GET", "/gadgetry/v1/gadgets?x=1", "", []string{v, "compute 2.5"}, 400, `{"fault":{"code":400,"message":"Additional properties are not allowed ('x' was unexpected)"}}`},
		{"GET", "/gadgetry/v1/gadgets?x=%ff", "", nil, 400, `{"fault":{"code":400,"message":"Query string is not UTF-8 encoded"}}`},
		{"GET", "/gadgetry/v1/gadgets?marker=%zz;%41+", "", nil, 200, `{"limit":10,"next":null,"query":{"marker":["%zz;A "]}}`},
		{"GET", "/gadgetry/v1/gadgets?" + strings.Repeat("a&", 1000), "", nil, 400, `{"fault":{"code":400,"message":"Too many query parameters: 1000 at most."}}`},
	} {
		answer := send(handler, c.method, c.path, c.body, c.header...)
		if answer.Code != c.status || answer.Body.String() != c.want {
			t.Errorf("%s %.80s %s\n got %d %s\nwant %d %s", c.method, c.path, c.body, answer.Code, answer.Body, c.status, c.want)
		}
	}
}

// A dialect that tells its range does so with refusals too, in its own words.
func TestVersionDialect(t *testing.T) {
	t.Parallel()
	service := gadgets()
	service.Versions = &microversion.Scheme{Service: "baremetal", Legacy: "X-OpenStack-Ironic-API-Version", Min: microversion.V(1, 1), Max: microversion.V(1, 115), Default: microversion.V(1, 1),
		MinHeader: "X-OpenStack-Ironic-API-Minimum-Version", MaxHeader: "X-OpenStack-Ironic-API-Maximum-Version",
		Refusal: "Version %s was requested but the minor version is not supported by this service. The supported version range is: [%s, %s]."}
	handler, err := New(Options{Authenticator: NewStaticTokens(map[string]policy.Credentials{"good": {}}), Log: slog.New(slog.DiscardHandler), MaxBody: 10, Timeout: time.Minute}, service)
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]string{
		"1.69":  `"7"`,
		"1.999": `{"fault":{"code":406,"message":"Version 1.999 was requested but the minor version is not supported by this service. The supported version range is: [1.1, 1.115]."}}`,
	} {
		answer := send(handler, "GET", "/v1/gadgets/7", "", "X-OpenStack-Ironic-API-Version", asked)
		if got := answer.Body.String(); got != want {
			t.Errorf("%s: %s, want %s", asked, got, want)
		}
		if low, high := answer.Header().Get("X-OpenStack-Ironic-API-Minimum-Version"), answer.Header().Get("X-OpenStack-Ironic-API-Maximum-Version"); low != "1.1" || high != "1.115" {
			t.Errorf("%s: %s to %s", asked, low, high)
		}
		if answer.Header().Get("X-Compute-Request-Id") != "" {
			t.Error("another service's request id is sent")
		}
	}
}

// A traditional port has its own service at the root, and the others still by mount.
func TestTraditionalPort(t *testing.T) {
	t.Parallel()
	server := bothServices(t, nil)
	own, err := server.At("gadget")
	if err != nil {
		t.Fatal(err)
	}
	if got := send(own, "GET", "/", "").Body.String(); got != `"http://cloud/v1/x"` {
		t.Errorf("at the root: %s", got)
	}
	if got := send(own, "GET", "/gadgetry/v1/gadgets/7", "").Body.String(); got != `"7"` {
		t.Errorf("at its mount: %s", got)
	}
	if _, err := server.At("none"); err == nil {
		t.Error("a service that isn't there has a port")
	}
}

func TestProxies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trust  bool
		header []string
		want   string
	}{
		{false, []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil"}, `"http://cloud/gadgetry/v1/x"`},
		{true, []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "api.example:443, inner", "X-Forwarded-Prefix", "/os/"}, `"https://api.example:443/os/gadgetry/v1/x"`},
		{true, []string{"Forwarded", `for=1.2.3.4;host="[::1]:80";proto=https, host=b`, "X-Forwarded-Host", "c"}, `"https://[::1]:80/gadgetry/v1/x"`},
		{true, []string{"X-Forwarded-Proto", "javascript", "X-Forwarded-Host", "a/b?c", "X-Forwarded-Prefix", "//evil"}, `"http://cloud/gadgetry/v1/x"`},
	} {
		handler := bothServices(t, func(o *Options) { o.TrustForwarded = c.trust })
		if got := send(handler, "GET", "/gadgetry", "", c.header...).Body.String(); got != c.want {
			t.Errorf("%v: %s, want %s", c.header, got, c.want)
		}
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	handler := bothServices(t, func(o *Options) {
		o.CORS = CORS{Origins: []string{"https://good"}, Credentials: true, MaxAge: time.Hour}
	})
	for _, c := range []struct {
		name, method string
		header       []string
		status       int
		want         map[string]string
	}{
		{"a page", "GET", []string{"Origin", "https://good"}, 200, map[string]string{"Access-Control-Allow-Origin": "https://good", "Access-Control-Allow-Credentials": "true",
			"Access-Control-Expose-Headers": "X-Auth-Token,X-Openstack-Request-Id,X-Subject-Token,X-Service-Token"}},
		{"another page", "GET", []string{"Origin", "https://bad"}, 200, map[string]string{"Access-Control-Allow-Origin": "", "Vary": "Origin"}},
		{"preflight", "OPTIONS", []string{"Origin", "https://good", "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "X-Auth-Token, content-type"}, 200,
			map[string]string{"Access-Control-Allow-Origin": "https://good", "Access-Control-Allow-Methods": "PUT", "Access-Control-Allow-Headers": "x-auth-token,content-type", "Access-Control-Max-Age": "3600"}},
		{"preflight of a strange method", "OPTIONS", []string{"Origin", "https://good", "Access-Control-Request-Method", "TRACE"}, 404, map[string]string{"Access-Control-Allow-Origin": ""}},
		{"preflight of a strange header", "OPTIONS", []string{"Origin", "https://good", "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "X-Evil"}, 404,
			map[string]string{"Access-Control-Allow-Origin": ""}},
	} {
		answer := send(handler, c.method, "/gadgetry", "", c.header...)
		if answer.Code != c.status {
			t.Errorf("%s: %d", c.name, answer.Code)
		}
		for name, want := range c.want {
			if got := answer.Header().Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", c.name, name, got, want)
			}
		}
	}
}

// What is nobody's fault follows the Accept header, and lengths that are said
// or not said are held to the limit before anybody asks for a token.
func TestBareAnswers(t *testing.T) {
	t.Parallel()
	handler := bothServices(t, nil)
	for accept, want := range map[string]string{"": "application/json", "*/*": "application/json", "text/html,*/*": "text/html; charset=UTF-8", "text/plain": "text/plain; charset=UTF-8"} {
		answer := send(handler, "GET", "/gadgetry/v1/none", "", "Accept", accept)
		if got := answer.Header().Get("Content-Type"); answer.Code != 404 || got != want || !strings.Contains(answer.Body.String(), "could not be found") {
			t.Errorf("%q: %d %s %s", accept, answer.Code, got, answer.Body)
		}
	}
	long := strings.Repeat(" ", 1001)
	if answer := send(handler, "POST", "/gadgetry/v1/gadgets", long, "X-Auth-Token", ""); answer.Code != 413 {
		t.Errorf("too long from a stranger: %d", answer.Code)
	}
	unsaid := httptest.NewRequest("POST", "http://cloud/gadgetry/v1/gadgets", io.MultiReader(strings.NewReader(long)))
	unsaid.Header.Set("X-Auth-Token", "good")
	answer := httptest.NewRecorder()
	if handler.ServeHTTP(answer, unsaid); answer.Code != 413 {
		t.Errorf("too long without saying so: %d", answer.Code)
	}
	cut := httptest.NewRequest("POST", "http://cloud/gadgetry/v1/gadgets", io.MultiReader(strings.NewReader("{"), broken{}))
	cut.Header.Set("X-Auth-Token", "good")
	answer = httptest.NewRecorder()
	if handler.ServeHTTP(answer, cut); answer.Code != 400 {
		t.Errorf("cut off: %d", answer.Code)
	}
	if got := send(handler, "GET", "/gadgetry/v1/none", "", "X-Auth-Token", "").Header().Get("WWW-Authenticate"); got != `Keystone uri="http://keystone"` {
		t.Errorf("WWW-Authenticate %q", got)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
