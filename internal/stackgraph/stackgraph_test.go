package stackgraph

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"holdfast.dev/internal/store/orchestration"
)

// some are a stack with a port, a server that needs it, and a group with one member.
func some() *Graph {
	return Of([]*orchestration.Stack{
		{ID: "s", Name: "mine", Action: "UPDATE", Status: "IN_PROGRESS"},
		{ID: "n", Name: "mine-group", Action: "CREATE", Status: "COMPLETE"},
	}, []*orchestration.Resource{
		{ID: 1, StackID: "s", Name: "group", Type: "OS::Heat::ResourceGroup", Action: "CREATE", Status: "COMPLETE", PhysicalID: "n"},
		{ID: 2, StackID: "s", Name: "server", Type: "OS::Nova::Server", Action: "INIT", Status: "COMPLETE", Requires: []int64{4, 1, 99}},
		{ID: 4, StackID: "s", Name: "port", Type: "OS::Neutron::Port", Action: "CREATE", Status: "FAILED"},
		{ID: 5, StackID: "n", Name: "0", Type: "OS::Heat::None", Action: "CREATE", Status: "IN_PROGRESS"},
	}, []orchestration.Span{
		{StackID: "s", ResourceName: "group", Action: "CREATE", Began: at, Ended: &later},
		{StackID: "s", ResourceName: "port", Action: "DELETE", Began: at, Ended: &later},
		{StackID: "n", ResourceName: "0", Action: "CREATE", Began: later},
	})
}

// at and later are when something began, and ended.
var (
	at    = time.Date(2026, 11, 30, 20, 11, 2, 0, time.UTC)
	later = at.Add(3240 * time.Millisecond)
)

func drawn(t *testing.T, draw func(io.Writer, *Graph) error, g *Graph) string {
	t.Helper()
	var b strings.Builder
	if err := draw(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDot(t *testing.T) {
	t.Parallel()
	const want = `digraph stack {
  graph [label="mine\nUPDATE_IN_PROGRESS", labelloc=t, rankdir=LR, fontname="sans-serif"];
  node [shape=box, style="rounded,filled", fontname="sans-serif"];
  subgraph cluster_1 {
    label="mine-group";
    r1 [label="group\nOS::Heat::ResourceGroup\nCREATE_COMPLETE in 3.2 s", fillcolor="#d3f2d9", color="#2f855a"];
    r5 [label="0\nOS::Heat::None\nCREATE_IN_PROGRESS since 20:11:05", fillcolor="#fff3c4", color="#b7791f"];
  }
  r4 [label="port\nOS::Neutron::Port\nCREATE_FAILED", fillcolor="#fbd5d5", color="#c53030"];
  r2 [label="server\nOS::Nova::Server\nINIT_COMPLETE", fillcolor="#edf0f3", color="#718096"];
  r1 -> r2;
  r4 -> r2;
}
`
	if got := drawn(t, Dot, some()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	g := some()
	g.Nodes[0].Name = "gr\x1bou\np"
	const want = `gr?ou?p  OS::Heat::ResourceGroup  CREATE_COMPLETE in 3.2 s
  0  OS::Heat::None  CREATE_IN_PROGRESS since 20:11:05
port  OS::Neutron::Port  CREATE_FAILED
server  OS::Nova::Server  INIT_COMPLETE  needs gr?ou?p, port
mine: UPDATE_IN_PROGRESS
`
	if got := drawn(t, Text, g); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestMermaid(t *testing.T) {
	t.Parallel()
	const want = `---
title: "mine: UPDATE_IN_PROGRESS"
---
flowchart LR
  subgraph r1["group<br/>OS::Heat::ResourceGroup<br/>CREATE_COMPLETE in 3.2 s"]
    r5["0<br/>OS::Heat::None<br/>CREATE_IN_PROGRESS since 20:11:05"]:::progress
  end
  class r1 complete
  r4["port<br/>OS::Neutron::Port<br/>CREATE_FAILED"]:::failed
  r2["server<br/>OS::Nova::Server<br/>INIT_COMPLETE"]:::asked
  r1 --> r2
  r4 --> r2
  classDef progress fill:#fff3c4,stroke:#b7791f
  classDef failed fill:#fbd5d5,stroke:#c53030
  classDef complete fill:#d3f2d9,stroke:#2f855a
  classDef asked fill:#edf0f3,stroke:#718096
`
	if got := drawn(t, Mermaid, some()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// picture is what there is in a drawing.
type picture struct {
	Groups []struct {
		Class string `xml:"class,attr"`
		Rect  struct {
			X      float64 `xml:"x,attr"`
			Y      float64 `xml:"y,attr"`
			Width  float64 `xml:"width,attr"`
			Height float64 `xml:"height,attr"`
		} `xml:"rect"`
		Texts []string `xml:"text"`
	} `xml:"g"`
	Paths []struct{} `xml:"path"`
}

// Boxes lie beside each other, what needs another to the right of it, and one of a
// nested stack in the one that it is.
func TestSVG(t *testing.T) {
	t.Parallel()
	var p picture
	if err := xml.Unmarshal([]byte(drawn(t, SVG, some())), &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Groups) != 4 || len(p.Paths) != 2 {
		t.Fatalf("there are %+v", p)
	}
	at := map[string]int{}
	for i, g := range p.Groups {
		at[g.Texts[0]] = i
	}
	group, member, port, server := p.Groups[at["group"]], p.Groups[at["0"]], p.Groups[at["port"]], p.Groups[at["server"]]
	if group.Class != "complete" || member.Class != "progress" || port.Class != "failed" || server.Class != "asked" {
		t.Errorf("they look like %+v", p.Groups)
	}
	if m, g := member.Rect, group.Rect; m.X <= g.X || m.Y <= g.Y || m.X+m.Width >= g.X+g.Width || m.Y+m.Height >= g.Y+g.Height {
		t.Errorf("the member at %+v is not in the group at %+v", m, g)
	}
	if s := server.Rect; s.X <= group.Rect.X+group.Rect.Width || s.X <= port.Rect.X+port.Rect.Width {
		t.Errorf("the server at %+v is not to the right of what it needs", s)
	}
	if port.Rect.Y <= group.Rect.Y+group.Rect.Height {
		t.Errorf("the port at %+v lies on the group at %+v", port.Rect, group.Rect)
	}
}

// Whatever a resource is called is text, and rows that lead in a circle are drawn.
func TestWhateverThereIs(t *testing.T) {
	t.Parallel()
	const name = "a\"]\n<b>&\\\x01#`"
	g := Of([]*orchestration.Stack{{ID: "s", Name: name, Action: "CREATE", Status: "COMPLETE"}}, []*orchestration.Resource{
		{ID: 1, StackID: "s", Name: name, Type: name, Action: "CREATE", Status: "COMPLETE", Requires: []int64{2}},
		{ID: 2, StackID: "s", Name: "b", Type: "T", Action: "CREATE", Status: "COMPLETE", Requires: []int64{1, 2}},
	}, nil)
	var p picture
	if err := xml.Unmarshal([]byte(drawn(t, SVG, g)), &p); err != nil || len(p.Groups) != 2 {
		t.Errorf("%v, %+v", err, p)
	}
	for what, draw := range map[string]func(io.Writer, *Graph) error{`label="a\"]\n<b>&\\` + "\x01#`" + `\na`: Dot, `r1["a#quot;] #lt;b#gt;#amp;\` + "\x01#35;#96;": Mermaid} {
		if got := drawn(t, draw, g); !strings.Contains(got, what) {
			t.Errorf("there is no %q in\n%s", what, got)
		}
	}
	if empty := Of([]*orchestration.Stack{{ID: "s", Name: "none", Action: "DELETE", Status: "COMPLETE"}}, nil, nil); drawn(t, SVG, empty) == "" || empty.Running() || empty.Failed() {
		t.Error("a stack of nothing isn't drawn")
	}
}
