package devcloud

// What the command line client sends to the compute service, replayed:
// contracts/client/osc-calls.json.

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/internal/contracttest"
	"holdfast.dev/internal/microversion"
)

// notServed are operations that the client calls and that aren't there yet, with
// what they wait for. One that is served must not be here.
var notServed = map[string]string{
	"POST /servers/{id}/action changePassword":  "guests aren't changed in place yet",
	"GET /servers/{server_id}/shares":           "there is no Manila beside it yet",
	"GET /servers/{server_id}/shares/{id}":      "there is no Manila beside it yet",
	"POST /servers/{server_id}/shares":          "there is no Manila beside it yet",
	"DELETE /servers/{server_id}/shares/{id}":   "there is no Manila beside it yet",
	"GET /os-console-auth-tokens/{id}":          "consoles are only read yet",
	"POST /servers/{server_id}/remote-consoles": "consoles are only read yet",
	"GET /os-simple-tenant-usage":               "usage isn't summed up yet",
	"GET /os-simple-tenant-usage/{id}":          "usage isn't summed up yet",
}

// noSubject are operations that are served and whose subject can't come to be
// yet, so that it isn't found, or its server has no such task.
var noSubject = map[string]string{
	"GET /servers/{server_id}/migrations/{id}":                        "with one host nothing is on its way",
	"DELETE /servers/{server_id}/migrations/{id}":                     "with one host nothing is on its way",
	"POST /servers/{server_id}/migrations/{id}/action force_complete": "with one host nothing is on its way",
}

// operation is a row of contracts/compute/operations.json.
type operation struct {
	Method, Path, Action string
	Microversion         struct{ Min, Max string }
	Removed              bool `json:"removed_410"`
	Success              []struct {
		Code     int
		Min, Max string
	}
}

// success are the codes that the contract has for the operation at a version;
// what it doesn't have then isn't there.
func (o operation) success(t *testing.T, version string) (codes []int) {
	t.Helper()
	if !within(t, version, o.Microversion.Min, o.Microversion.Max) {
		return []int{http.StatusNotFound}
	}
	if o.Removed {
		return []int{http.StatusGone}
	}
	for _, s := range o.Success {
		if within(t, version, s.Min, s.Max) {
			codes = append(codes, s.Code)
		}
	}
	return codes
}

// within says whether a version lies between two, each of which may be open.
func within(t *testing.T, version, low, high string) bool {
	t.Helper()
	minor := func(text string, open int) int {
		if text == "" {
			return open
		}
		v, err := microversion.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return int(v.Minor)
	}
	at := minor(version, 1)
	return minor(low, 1) <= at && at <= minor(high, at)
}

// call is a request that the client sends.
type call struct {
	Service, Method, Path, Microversion string
	Query                               map[string]string
	Body                                json.RawMessage
	StubAnswer                          int `json:"stub_answer"`
}

func (c call) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// computeCalls are the calls to the compute service, each once, what takes hosts
// away last.
func computeCalls(t *testing.T) []call {
	t.Helper()
	var contract struct {
		Families struct {
			Compute []struct{ Runs []struct{ Calls []call } }
		}
	}
	contracttest.Read(t, "client/osc-calls.json", &contract)
	all := map[string]call{}
	for _, command := range contract.Families.Compute {
		for _, run := range command.Runs {
			for _, c := range run.Calls {
				if c.Service == "compute" {
					all[c.String()] = c
				}
			}
		}
	}
	var calls []call
	for _, name := range slices.Sorted(maps.Keys(all)) {
		calls = append(calls, all[name])
	}
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(a.rank(), b.rank()) })
	return calls
}

// rank says how much a call takes away from the calls after it: nothing, a host
// that is disabled or down, a host.
func (c call) rank() int {
	switch {
	case !strings.HasPrefix(c.Path, "/os-services") || c.Method == http.MethodGet:
		return 0
	case c.Method == http.MethodPut:
		return 1
	}
	return 2
}

// collection is the first part of the path, "servers".
func (c call) collection() string { return strings.Split(c.Path, "/")[1] }

// action is the key of an action's body.
func (c call) action() string {
	var body map[string]json.RawMessage
	if !strings.HasSuffix(c.Path, "/action") || json.Unmarshal(c.Body, &body) != nil {
		return ""
	}
	for key := range body {
		return key
	}
	return ""
}

// of finds the operation that a call is of.
func (c call) of(all []operation) (operation, bool) {
	path := strings.Split(c.Path, "/")
	i := slices.IndexFunc(all, func(o operation) bool {
		return o.Method == c.Method && o.Action == c.action() && slices.EqualFunc(strings.Split(o.Path, "/"), path, func(pattern, segment string) bool {
			return pattern == segment || strings.HasPrefix(pattern, "{")
		})
	})
	if i < 0 {
		return operation{}, false
	}
	return all[i], true
}

// ready gives the path and body of a call about things that are there, or, where
// the client looks for something by a name that nothing has, that aren't.
func (s *stage) ready(c call) (path, body string) {
	s.Helper()
	about := subject{}
	if c.StubAnswer == http.StatusNotFound {
		path = strings.ReplaceAll(c.Path, "{name}", "nothing")
	} else {
		path, about = s.place(c)
	}
	query := url.Values{}
	for key, value := range c.Query {
		query.Set(key, s.word(c, about, "", key, value))
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if len(c.Body) == 0 {
		return path, ""
	}
	var asked any
	err := json.Unmarshal(c.Body, &asked)
	var text []byte
	if err == nil {
		text, err = json.Marshal(s.fill(c, about, "", asked))
	}
	if err != nil {
		s.Fatal(err)
	}
	return path, string(text)
}

// Every call of the client's to the compute service is answered with one of the
// codes that the contract has for it. The client takes 400 for "nothing has this
// name" as it takes 404.
func TestClientCalls(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var contract struct{ Operations []operation }
	contracttest.Read(t, "compute/operations.json", &contract)
	unseen := maps.Clone(notServed)
	maps.Copy(unseen, noSubject)
	asked, rank := 0, 0
	for _, c := range computeCalls(t) {
		o, known := c.of(contract.Operations)
		if !known {
			t.Errorf("the contract has no operation for %s", c)
			continue
		}
		name := strings.TrimSpace(o.Method + " " + o.Path + " " + o.Action)
		delete(unseen, name)
		if c.rank() != rank {
			rank = c.rank()
			s.clear()
		}
		path, body := s.ready(c)
		status, text := s.request(c.Microversion, c.Method, path, body)
		asked++
		want := o.success(t, c.Microversion)
		if noSubject[name] != "" {
			want = []int{http.StatusNotFound, http.StatusConflict}
		}
		missing := strings.Contains(text, "<br />") || strings.Contains(text, "There is no such action")
		switch why, waits := notServed[name]; {
		case waits && !missing:
			t.Errorf("%s is served (%d): take it out of notServed", name, status)
		case waits:
			t.Logf("%s is not served: %s", name, why)
		case missing:
			t.Errorf("%s is not served: give it a row in notServed that says what it waits for", name)
		case c.StubAnswer == http.StatusNotFound:
			if status != http.StatusNotFound && status != http.StatusBadRequest {
				t.Errorf("%s of nothing: %s\n got %d %s", name, path, status, text)
			}
		case !slices.Contains(want, status):
			t.Errorf("%s at %q: %s %s\n got %d %.500s\nwant %v", name, c.Microversion, path, body, status, text, want)
		}
	}
	for name := range unseen {
		t.Errorf("%s is listed, and the client never calls it", name)
	}
	t.Logf("%d calls", asked)
	s.clear()
	s.interrupt()
}
