package bench

// Figures, as Markdown.

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
)

// sample is durations from many goroutines, between the first's start and the
// last's end.
type sample struct {
	mu    sync.Mutex
	all   []time.Duration
	began time.Time
	ended time.Time
}

func (s *sample) add(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.began.IsZero() || now.Add(-d).Before(s.began) {
		s.began = now.Add(-d)
	}
	s.ended = now
	s.all = append(s.all, d)
}

// quantile of what was added, 0 to 1.
func (s *sample) quantile(q float64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return 0
	}
	slices.Sort(s.all)
	return s.all[int(q*float64(len(s.all)-1))].Round(100 * time.Microsecond)
}

func (s *sample) rate() float64 { return float64(len(s.all)) / s.ended.Sub(s.began).Seconds() }

// report collects lines.
type report struct{ strings.Builder }

// save adds them to the file that HOLDFAST_TEST_REPORT names, or to the log.
func (r *report) save(b *testing.B) {
	b.Helper()
	path := os.Getenv("HOLDFAST_TEST_REPORT")
	if path == "" {
		b.Log("\n" + r.String())
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(r.String())
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		b.Fatal(err)
	}
}

func (r *report) line(format string, args ...any) { fmt.Fprintf(r, "- "+format+"\n", args...) }

func (r *report) latencies(what string, s *sample) {
	r.line("%s: %d requests at %.1f a second, p50 **%s**, p99 **%s**", what, len(s.all), s.rate(), s.quantile(0.5), s.quantile(0.99))
}

func (r *report) throughput(what string, s *sample) {
	r.line("%s, %d clients: **%.0f a second**, p50 %s, p99 %s", what, readClients, s.rate(), s.quantile(0.5), s.quantile(0.99))
}

// processor does something n times and says what each took of every process. Unlike
// rates it hardly depends on what else the machine does.
func (r *report) processor(what string, c *cloud.Cloud, n int, do func()) {
	names := cloud.Names
	if c.BMC != nil {
		names = append(slices.Clone(names), cloud.Conductor)
	}
	before := map[cloud.Name]time.Duration{}
	for _, name := range names {
		before[name] = c.Processor(name)
	}
	do()
	var parts []string
	for _, name := range names {
		each := (c.Processor(name) - before[name]) / time.Duration(n)
		parts = append(parts, fmt.Sprintf("%s %.1f ms", name, each.Seconds()*1000))
	}
	r.line("processor time of %s: %s", what, strings.Join(parts, ", "))
}

func (r *report) memory(when string, c *cloud.Cloud) {
	var parts []string
	names := []cloud.Name{cloud.API, cloud.Control, cloud.Host}
	if c.BMC != nil {
		names = append(names, cloud.Conductor)
	}
	for _, name := range names {
		all, own := c.Memory(name)
		parts = append(parts, fmt.Sprintf("%s %d MB (%d)", name, all>>20, own>>20))
	}
	r.line("resident memory %s, and what of it is the process's own: %s", when, strings.Join(parts, ", "))
}
