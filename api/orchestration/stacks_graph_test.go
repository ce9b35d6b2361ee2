package orchestration_test

import (
	"net/http/httptest"
	"testing"
)

// A stack is drawn in the format that is asked for, how long its resources took with
// them, to those who may see it.
func TestGraph(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.create("one")
	if _, err := c.db.Pool.Exec(t.Context(), `INSERT INTO orchestration.resources (stack_id, template_id, name, type, action, status) SELECT id, template_id, 'port', 'OS::Neutron::Port', 'CREATE', 'COMPLETE' FROM orchestration.stacks WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.db.Pool.Exec(t.Context(), `INSERT INTO orchestration.events (stack_id, resource_name, resource_type, action, status, created_at) VALUES
		($1, 'port', 'OS::Neutron::Port', 'CREATE', 'IN_PROGRESS', '2026-11-30 20:00:00Z'), ($1, 'port', 'OS::Neutron::Port', 'CREATE', 'COMPLETE', '2026-11-30 20:00:01.5Z')`, id); err != nil {
		t.Fatal(err)
	}
	const drawn = "port  OS::Neutron::Port  CREATE_COMPLETE in 1.5 s\none: CREATE_IN_PROGRESS\n"
	for _, test := range []struct {
		token, query string
		status       int
		media, body  string
	}{
		{"alice", "", 200, "text/plain; charset=UTF-8", drawn},
		{"reader", "?format=text&nested_depth=0", 200, "text/plain; charset=UTF-8", drawn},
		{"alice", "?format=mermaid", 200, "text/plain; charset=UTF-8", ""},
		{"alice", "?format=dot", 200, "text/vnd.graphviz; charset=UTF-8", ""},
		{"alice", "?format=svg", 200, "image/svg+xml", ""},
		{"alice", "?format=png", 400, "application/json", ""},
		{"alice", "?nested_depth=-1", 400, "application/json", ""},
		{"inner", "", 403, "application/json", ""},
	} {
		from := httptest.NewRequest("GET", "/v1/p1/stacks/one/"+id+"/graph"+test.query, nil)
		from.Header.Set("X-Auth-Token", test.token)
		answer := httptest.NewRecorder()
		c.ServeHTTP(answer, from)
		if answer.Code != test.status || answer.Header().Get("Content-Type") != test.media || test.body != "" && answer.Body.String() != test.body {
			t.Errorf("%s %s: %d %q\n%s", test.token, test.query, answer.Code, answer.Header().Get("Content-Type"), answer.Body)
		}
	}
	if status, _, _ := c.ask("alice", "GET", "/stacks/none/"+id+"/graph", ""); status != 404 {
		t.Errorf("of a stack that isn't there: %d", status)
	}
}
