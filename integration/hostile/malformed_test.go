package hostile

// Requests that nobody can carry out: each gets the original's answer and
// changes nothing.

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
)

// service is one whose requests have a table.
type service struct {
	table, prefix string
	// token is whose requests name nobody.
	token string
	// versions is the header that asks for a version, before what stands there before that,
	// and usual the version of requests that name none; empty is none.
	versions, before, usual string
	// least is how few requests are too few.
	least int
}

var services = []*service{
	{"testdata/malformed.jsonl", "/v2.1", "member", "Openstack-Api-Version", "compute ", "", 200},
	{"testdata/malformed_baremetal.jsonl", "/baremetal/v1", "system", "X-Openstack-Ironic-Api-Version", "", "1.115", 300},
}

// request is a line of a service's table; table.py says what its fields mean.
type request struct {
	of *service

	Do     string
	As     string
	At     string
	Body   json.RawMessage
	Raw    string
	Bytes  []byte
	Repeat map[string]int
	Header map[string]*string
	Status int
	Answer string
	// Ours is what Holdfast answers where it differs on purpose, and Why.
	Ours *struct {
		Status int
		Answer string
		Why    string
	}
}

func malformed(t *testing.T, of *service) (rows []request) {
	t.Helper()
	file, err := os.Open(of.table)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r := request{of: of}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// sent is the body's bytes.
func (r request) sent(ids *strings.Replacer) []byte {
	if r.Bytes != nil {
		return r.Bytes
	}
	text := r.Raw
	if r.Body != nil {
		text = string(r.Body)
	}
	text = ids.Replace(text)
	for piece, times := range r.Repeat {
		text = strings.ReplaceAll(text, piece, strings.Repeat(piece, times))
	}
	return []byte(text)
}

// header is what goes with the request.
func (r request) header() http.Header {
	h := http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}}
	if at := cmp.Or(r.At, r.of.usual); at != "" {
		h[r.of.versions] = []string{r.of.before + at}
	}
	for name, value := range r.Header {
		h.Del(name)
		if value != nil {
			h.Set(name, *value)
		}
	}
	return h
}

func (r request) String() string {
	text, _ := json.Marshal(r.Body)
	if r.Raw != "" {
		text = []byte(r.Raw)
	}
	if r.Bytes != nil {
		text = []byte(base64.StdEncoding.EncodeToString(r.Bytes))
	}
	return strings.TrimSpace(r.Do + " as " + r.As + " at " + r.At + " " + string(text[:min(len(text), 300)]))
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, cloud.Options{Hosts: 1})
	w.describe()
	w.rest()
	for _, of := range services {
		w.refuses(malformed(t, of), of.least)
	}
}

// refuses asks the requests of a table, and sees that each has its answer and changes nothing.
func (w *world) refuses(rows []request, least int) {
	w.t.Helper()
	before, differences := w.snapshot(), 0
	for _, row := range rows {
		status, want := row.Status, row.Answer
		if row.Ours != nil {
			status, want = row.Ours.Status, row.Ours.Answer
			differences++
		}
		answer, body := w.ask(row)
		if got := w.ids.blank.Replace(string(body)); answer.StatusCode != status || !sameAnswer(got, want) {
			w.t.Errorf("%s\n got %d %.400s\nwant %d %.400s", row, answer.StatusCode, got, status, want)
		}
		if after := w.snapshot(); after != before {
			w.t.Errorf("%s changed the database:\n%s\n%s", row, before, after)
			before = after
		}
	}
	w.t.Logf("%d requests, to %d of them another answer than the original's", len(rows), differences)
	if len(rows) < least {
		w.t.Errorf("only %d requests", len(rows))
	}
}
