package nodebench

// One of those that are measured.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast.dev/integration/cloud"
)

// side is one that is measured.
type side struct {
	testing.TB
	name string
	base string // the service, with its version
	pool *pgxpool.Pool
	// fill are the statements that make copies of the node and the port that are there.
	fill    []string
	figures []figure
}

// figure is how long the answers to a question took, or why there are none.
type figure struct {
	took []time.Duration // sorted
	err  error
}

// quantile of the answers, 0 to 1.
func (f figure) quantile(q float64) time.Duration { return f.took[int(q*float64(len(f.took)-1))] }

// holds has so many nodes be there, with a port each, as copies of one.
func (s *side) holds(n int) {
	s.Helper()
	for _, statement := range s.fill {
		if _, err := s.pool.Exec(s.Context(), strings.ReplaceAll(statement, "$n", fmt.Sprint(n))); err != nil {
			s.Fatalf("%s: %v: %s", s.name, err, statement)
		}
	}
}

// measured asks everything.
func (s *side) measured() *side {
	s.Helper()
	s.holds(nodes)
	var one struct{ Nodes []struct{ UUID string } }
	if _, err := s.ask(s.base+"/nodes?fields=uuid&limit=1", &one); err != nil || len(one.Nodes) != 1 {
		s.Fatalf("%s: %v, %v", s.name, one, err)
	}
	for _, r := range reads {
		f := s.measure(r, strings.ReplaceAll(r.path, "{uuid}", one.Nodes[0].UUID))
		if f.err == nil {
			s.Logf("%s: %s: %d answers, p50 %s, p99 %s", s.name, r.what, len(f.took), f.quantile(0.5), f.quantile(0.99))
		} else {
			s.Errorf("%s: %s: %v", s.name, r.what, f.err)
		}
		s.figures = append(s.figures, f)
	}
	return s
}

// measure asks one thing for a while, through all of its pages at least once.
func (s *side) measure(r read, path string) (f figure) {
	for began := time.Now(); time.Since(began) < readTime; {
		all := 0
		for url := s.base + "/" + path; url != ""; {
			var page map[string]json.RawMessage
			took, err := s.ask(url, &page)
			var n int
			if err == nil {
				n, url, err = r.found(page)
			}
			if err != nil {
				return figure{err: err}
			}
			all += n
			f.took = append(f.took, took)
		}
		if all != r.want {
			return figure{err: fmt.Errorf("%d are told of, want %d", all, r.want)}
		}
	}
	slices.Sort(f.took)
	return f
}

// found counts what a page tells of, and gives the place of the next one.
func (r read) found(page map[string]json.RawMessage) (n int, next string, err error) {
	if r.list == "" {
		return 1, "", nil
	}
	var rows []json.RawMessage
	err = json.Unmarshal(page[r.list], &rows)
	if text, more := page["next"]; more {
		err = errors.Join(err, json.Unmarshal(text, &next))
	}
	return len(rows), next, err
}

// ask decodes an answer into out, and gives how long it took to its last byte.
func (s *side) ask(url string, out any) (took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Auth-Token", cloud.AdminToken)
	r.Header.Set("X-Openstack-Ironic-Api-Version", "1.115")
	began := time.Now()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	took = time.Since(began)
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: status %d: %.300s", url, answer.StatusCode, text)
	}
	return took, json.Unmarshal(text, out)
}
