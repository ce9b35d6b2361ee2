package bmc

// BMCs that answer what no BMC would, and addresses that are no BMC's.

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast.dev/dev/bmc/bmctest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/provision"
)

// says is a BMC whose every answer is the same.
func says(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // to somebody who may have had enough
	}
}

// system is a BMC that is one but for what it says of its system.
func system(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		const links = `{"@odata.id": "/redfish/v1/", "Id": "RootService", "Name": "Root", "Systems": {"@odata.id": "/redfish/v1/Systems"},
			"SessionService": {"@odata.id": "/redfish/v1/SessionService"}, "Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}}}`
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/Sessions"):
			w.Header().Set("X-Auth-Token", "t")
			w.Header().Set("Location", "/redfish/v1/SessionService/Sessions/1")
			says(http.StatusCreated, "application/json", `{}`)(w, r)
		case strings.Contains(r.URL.Path, "/Systems/"):
			says(http.StatusOK, "application/json", body)(w, r)
		default:
			says(http.StatusOK, "application/json", links)(w, r)
		}
	}
}

// Whatever a BMC answers, a step fails with a word for its user, and its node is as it
// was.
func TestABMCThatIsNone(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]http.HandlerFunc{
		"nothing":           says(200, "application/json", ""),
		"null":              says(200, "application/json", "null"),
		"a list":            says(200, "application/json", "[]"),
		"a page":            says(200, "text/html", "<html><body>Log in</body></html>"),
		"a page that fails": says(500, "text/html", strings.Repeat("<b>\x00oops</b>", 1<<16)),
		"nobody is let in":  says(401, "application/json", `{"error": {"message": "`+strings.Repeat("no\\u0000", 1<<16)+`"}}`),
		"too deep":          says(200, "application/json", strings.Repeat("[", 1<<20)),
		"too long":          says(200, "application/json", `{"Id": "`+strings.Repeat("x", 50<<20)+`"}`),
		"bytes":             says(200, "application/json", strings.Repeat("\xff\x00", 1000)),
		"without end": func(w http.ResponseWriter, r *http.Request) {
			for line := []byte(strings.Repeat(" ", 1<<16)); r.Context().Err() == nil; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		},
		"half": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			says(200, "application/json", `{"Id":`)(w, r)
		},
		"another place": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		},
		"round and round": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		},
		"a system of nothing":      system(`{}`),
		"a system of other types":  system(`{"@odata.id": 7, "Id": {}, "PowerState": [1], "Boot": "x", "Actions": 3}`),
		"a system without actions": system(`{"@odata.id": "/redfish/v1/Systems/1", "Id": "1", "Name": "s", "PowerState": "Off"}`),
		"a power that nobody knows": system(`{"@odata.id": "/redfish/v1/Systems/1", "Id": "1", "Name": "s", "PowerState": "Molten",
			"Actions": {"#ComputerSystem.Reset": {"target": "http://169.254.169.254/reset"}}}`),
		"a system elsewhere": system(`{"@odata.id": "http://169.254.169.254/", "Id": "1", "Name": "s", "PowerState": "Off",
			"Actions": {"#ComputerSystem.Reset": {"target": "//169.254.169.254/reset"}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewTLSServer(answers)
			t.Cleanup(server.Close)
			w := newWorld(t, "redfish", func(info map[string]any) {
				info["redfish_address"], info["redfish_verify_ca"] = server.URL, false
			})
			before := w.Row()
			in := w.in(provision.PowerOn)
			in.Timeout = time.Second
			_, err := w.activities(w.DB).Power(t.Context(), in)
			f := faults.As(err)
			if err == nil || f.Kind == faults.Internal {
				t.Fatalf("%v", err)
			}
			if len(f.Message) > 500 || strings.ContainsAny(f.Message, "\x00") || strings.Contains(f.Message, "s3cret") {
				t.Errorf("its user reads %d bytes: %.600q", len(f.Message), f.Message)
			}
			if after := w.Row(); !reflect.DeepEqual(after, before) {
				t.Errorf("the node was\n%+v and is\n%+v", *before, *after)
			}
		})
	}
}

// A BMC at an address of the conductor's own machine, or of its link, is asked nothing,
// unless its network is allowed.
func TestABMCOnTheConductorsMachine(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var calls atomic.Int64
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			_ = c.Close()
		}
	}()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	for _, host := range []string{"127.0.0.1", "127.1.2.3", "localhost", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "redfish", func(info map[string]any) { info["redfish_address"] = "https://" + host + ":" + port })
			before := w.Row()
			a := New(w.DB, bmctest.Engine(w.DB), w.Box, Options{Patience: time.Second})
			if _, err := a.Power(t.Context(), w.in(provision.PowerOn)); !faults.Is(err, faults.Forbidden) || faults.As(err).Code != "AddressRefused" {
				t.Errorf("%v", err)
			}
			if after := w.Row(); !reflect.DeepEqual(after, before) {
				t.Errorf("the node was\n%+v and is\n%+v", *before, *after)
			}
		})
	}
	t.Cleanup(func() {
		if n := calls.Load(); n > 0 {
			t.Errorf("this machine was called %d times", n)
		}
	})
}

// said is a transport whose every answer is the same.
type said string

// RoundTrip implements http.RoundTripper.
func (s said) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{Body: io.NopCloser(strings.NewReader(string(s)))}, nil
}

// An answer that is null is refused, and no other that begins as one, as a proxy's word may.
func TestAnswersThatAreNull(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{"": "", "{}": "{}", " \n[]": "[]", "n": "n", "no healthy upstream": "no healthy upstream", "null": "refused", "\t\r null\n": "refused"} {
		is := "refused"
		if answer, err := (things{said(body)}).RoundTrip(nil); err == nil {
			read, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Error(err)
			}
			is = string(read)
		}
		if is != want {
			t.Errorf("%q: %q, want %q", body, is, want)
		}
	}
}
