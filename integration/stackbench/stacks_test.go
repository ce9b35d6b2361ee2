package stackbench

// What is measured, and what is told of it.

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

func TestMain(m *testing.M) { cloud.Main(m) }

// kind is a kind of stack whose life is measured.
type kind struct {
	what, name string
	body       func() map[string]any
	// first says that the first of its resources is looked out for.
	first bool
}

// kinds are all of them. The last takes so long that it may not come to its end.
var kinds = []kind{
	{what: "100 resources that do nothing", name: "flat-100", body: func() map[string]any { return flat(100, false) }},
	{what: "1000 resources that do nothing", name: "flat-1000", body: func() map[string]any { return flat(1000, false) }, first: true},
	{what: "a chain of 500", name: "chain", body: func() map[string]any { return flat(500, true) }},
	{what: "200 nested stacks of 10", name: "nested", body: func() map[string]any { return nested(200, 10) }},
	{what: "5000 resources that do nothing", name: "flat-5000", body: func() map[string]any { return flat(5000, false) }},
}

func (s *side) lives(kinds ...kind) {
	for _, k := range kinds {
		s.life(k)
	}
}

// reads measures what changes nothing.
func (s *side) reads() {
	text := huge()
	s.measure("a template of 500 kB, validated", func() error { return s.validate(text) })
	if err := s.fill(10_000); err != nil {
		s.Fatalf("%s: fill: %v", s.name, err)
	}
	s.measure("10,000 stacks, listed by pages of 1,000", func() error { return s.list(10_000) })
}

// measured is Holdfast, of which everything was measured.
func measured(b *testing.B) (*cloud.Cloud, *side) {
	b.Helper()
	c := cloud.Start(b, cloud.Options{Hosts: 1, Services: true, Config: map[string]any{"log.level": "warn", "dev.hold_dir": "",
		"orchestration.max_resources_per_stack": -1, "orchestration.max_stacks_per_tenant": -1}})
	s := &side{TB: b, name: "Holdfast", base: c.URL() + "/orchestration/v1/" + c.Project(), pool: c.DB.Pool, sql: ours, strict: true,
		process: "The control worker's resident memory", memory: func() (int64, error) { all, _ := c.Memory(cloud.Control); return all, nil }}
	s.watched(func() {
		s.reads()
		s.lives(kinds...)
	})
	return c, s
}

// BenchmarkStacks measures Holdfast alone.
func BenchmarkStacks(b *testing.B) {
	_, s := measured(b)
	report(b, s)
}

// report tells what was measured of the sides, and how often as long as the first one
// the others took.
func report(b *testing.B, sides ...*side) {
	b.Helper()
	var out strings.Builder
	line := func(cells ...string) { fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | ")) }
	own, others := sides[0], sides[1:]
	head := []string{"", own.name}
	for _, s := range others {
		head = append(head, s.name, "times")
	}
	line(head...)
	line(slices.Repeat([]string{"---"}, len(head))...)
	for _, f := range own.figures {
		cells := []string{f.what, f.String()}
		for _, s := range others {
			i := slices.IndexFunc(s.figures, func(other figure) bool { return other.what == f.what })
			if i < 0 {
				cells = append(cells, "", "")
				continue
			}
			cells = append(cells, s.figures[i].String(), s.figures[i].times(f))
		}
		line(cells...)
	}
	out.WriteString("\n")
	for _, s := range sides {
		fmt.Fprintf(&out, "%s: %d MB idle, %d MB at most.\n", s.process, s.idle>>20, s.most>>20)
	}
	path := os.Getenv("HOLDFAST_TEST_REPORT")
	if path == "" {
		b.Log("\n" + out.String())
		return
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		b.Fatal(err)
	}
}

// figure is how long something took, or why it has no end.
type figure struct {
	what string
	took time.Duration
	err  error
}

func (f figure) String() string {
	if f.err != nil {
		return f.err.Error()
	}
	return f.took.Round(time.Millisecond).String()
}

// times is how often as long as another it took.
func (f figure) times(as figure) string {
	ratio := float64(f.took) / float64(as.took)
	switch {
	case as.err != nil || f.err != nil && !isUnended(f.err):
		return "-"
	case f.err != nil:
		return fmt.Sprintf("over %.0f", ratio)
	case ratio < 10:
		return fmt.Sprintf("%.1f", ratio)
	}
	return fmt.Sprintf("%.0f", ratio)
}
