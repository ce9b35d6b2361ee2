package hostile

// Requests that nobody can carry out: each gets the original's answer and
// changes nothing.

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
)

// request is a line of testdata/malformed.jsonl; original.py says what its
// fields mean.
type request struct {
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

func malformed(t *testing.T) (rows []request) {
	t.Helper()
	file, err := os.Open("testdata/malformed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
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
	if r.At != "" {
		h["Openstack-Api-Version"] = []string{"compute " + r.At}
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
	w.rest()
	rows := malformed(t)
	before, differences := w.snapshot(), 0
	for _, row := range rows {
		status, want := row.Status, row.Answer
		if row.Ours != nil {
			status, want = row.Ours.Status, row.Ours.Answer
			differences++
		}
		answer, body := w.ask(row)
		if got := w.ids.blank.Replace(string(body)); answer.StatusCode != status || !sameAnswer(got, want) {
			t.Errorf("%s\n got %d %.400s\nwant %d %.400s", row, answer.StatusCode, got, status, want)
		}
		if after := w.snapshot(); after != before {
			t.Errorf("%s changed the database:\n%s\n%s", row, before, after)
			before = after
		}
	}
	t.Logf("%d requests, to %d of them another answer than the original's", len(rows), differences)
	if len(rows) < 200 {
		t.Errorf("only %d requests", len(rows))
	}
}
