package cli

// Stacks, drawn and watched.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast.dev/internal/stackgraph"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/orchestration"
	"holdfast.dev/internal/testenv"
)

// stack makes one of two resources, of which one needs the other.
func (c *cloud) stack(project, name string) (id string) {
	c.t.Helper()
	s := &orchestration.Stack{ID: uuid.NewString(), Name: name, ProjectID: project, UserID: "u", Action: orchestration.ActionCreate, Tags: []string{}}
	err := c.db.InTx(c.t.Context(), func(tx store.Tx) error {
		if err := orchestration.InsertStack(c.t.Context(), tx, s, &orchestration.Template{Template: "{}", Environment: []byte{}, Files: "{}"}); err != nil {
			return err
		}
		made := []*orchestration.Resource{{Name: "port", Type: "OS::Neutron::Port"}, {Name: "server", Type: "OS::Nova::Server"}}
		if err := orchestration.InsertResources(c.t.Context(), tx, s.ID, s.TemplateID, made); err != nil {
			return err
		}
		made[1].Requires = []int64{made[0].ID}
		return orchestration.PutRequires(c.t.Context(), tx, made)
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return s.ID
}

func TestStackGraph(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.stack("p1", "mine")
	c.stack("p1", "twice")
	c.stack("p2", "twice")
	for _, test := range []struct {
		args []string
		code int
		want string // in what it writes, or says
	}{
		{[]string{id}, exitDone, "server  OS::Nova::Server  INIT_COMPLETE  needs port\nmine: CREATE_IN_PROGRESS\n"},
		{[]string{"mine", "--format", "dot"}, exitDone, `label="mine\nCREATE_IN_PROGRESS"`},
		{[]string{"mine", "--format", "mermaid"}, exitDone, "flowchart LR"},
		{[]string{"mine", "--format", "svg", "--depth", "0"}, exitDone, ">OS::Nova::Server</text>"},
		{[]string{"twice", "--project", "p2"}, exitDone, "twice: CREATE"},
		{[]string{"twice"}, exitRefused, "2 projects have a stack twice"},
		{[]string{"none"}, exitNotFound, "The Stack (none) could not be found."},
		{[]string{id, "--project", "p2"}, exitNotFound, "could not be found"},
		{[]string{"mine", "--format", "png"}, exitInvalid, "there are text, dot, mermaid, svg"},
		{[]string{"mine", "--depth", "-1"}, exitInvalid, "0 is the stack alone"},
		{nil, exitInvalid, "takes STACK"},
	} {
		if code, out, said := c.run(append([]string{"stack", "graph"}, test.args...)...); code != test.code || !strings.Contains(out+said, test.want) {
			t.Errorf("%v: %d %s%s; want %d with %q", test.args, code, out, said, test.code, test.want)
		}
	}
}

// A stack that is watched is drawn at each change, into a file that is always whole,
// until nothing is at work on it.
func TestStackGraphIsWatched(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.stack("p", "mine")
	file := filepath.Join(t.TempDir(), "mine.svg")
	ended := make(chan int)
	go func() {
		code, _, _ := c.run("stack", "graph", "mine", "--watch", "--format", "svg", "--output", file)
		ended <- code
	}()
	drawn := func(what string) {
		t.Helper()
		var text []byte
		for deadline := time.Now().Add(testenv.Patience); !strings.Contains(string(text), what) || !strings.HasSuffix(string(text), "</svg>\n"); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("there is no %s in\n%s", what, text)
			}
			text, _ = os.ReadFile(file) // there is none at first
		}
	}
	drawn(">INIT_COMPLETE<")
	c.exec(`UPDATE orchestration.resources SET action = 'CREATE', status = 'FAILED' WHERE name = 'port'`)
	drawn(">CREATE_FAILED<")
	c.exec(`UPDATE orchestration.stacks SET status = 'FAILED'`)
	if code := <-ended; code != exitFailed {
		t.Errorf("the watching ended with %d", code)
	}
	drawn("mine: CREATE_FAILED")
	c.exec(`UPDATE orchestration.stacks SET status = 'COMPLETE'`)
	if code, out, said := c.run("stack", "graph", "mine", "--watch"); code != exitDone || strings.Count(out, "mine: ") != 1 {
		t.Errorf("of one at which nothing is at work: %d %s%s", code, out, said)
	}
}

// Of a text the lines that have changed are written, though there were others like them.
func TestStackGraphTellsWhatIsNew(t *testing.T) {
	t.Parallel()
	const before, now = "a\n  0 asked\nb\n  0 made\n", "a\n  0 made\nb\n  0 made\n"
	var out strings.Builder
	d := drawing{format: stackgraph.Lookup("text")}
	if err := d.write(&out, now, before); err != nil || out.String() != "  0 made\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
