package stackbench

// One of those that are measured.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"holdfast.dev/integration/cloud"
)

// side is one that is measured: asked as a user, and looked at in its database, so
// that watching takes nothing from it.
type side struct {
	testing.TB
	name string
	base string // the stacks of the users' project
	pool *pgxpool.Pool
	sql  queries
	// prefix begins the names of its stacks, where another side has left some.
	prefix string
	// strict says that whatever doesn't succeed fails the run.
	strict  bool
	figures []figure

	// memory is what the process takes that works on stacks, in bytes, and process
	// says which that is.
	memory  func() (int64, error)
	process string
	// anew starts it anew, where one stack keeps it from the next; nil is never.
	anew       func()
	idle, most int64
}

// queries are what is asked of a database about the stack of a name.
type queries struct {
	// state gives the stack's state, done how many of its resources are complete.
	state, done string
	// fill makes copies of the stack "one".
	fill string
}

var ours = queries{
	state: `SELECT action || '_' || status FROM orchestration.stacks WHERE name = $1`,
	done:  `SELECT count(*) FROM orchestration.resources r JOIN orchestration.stacks s ON s.id = r.stack_id WHERE s.name = $1 AND r.status = 'COMPLETE'`,
	fill: `INSERT INTO orchestration.stacks SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'name', 'copy-' || i))).*
		FROM orchestration.stacks s, generate_series(1, $1) i WHERE s.name = 'one'`,
}

// long is how long one measure may take: ten minutes, or as many as the environment says.
var long = sync.OnceValue(func() time.Duration {
	if minutes, err := strconv.Atoi(os.Getenv("HOLDFAST_TEST_MINUTES")); err == nil {
		return time.Duration(minutes) * time.Minute
	}
	return 10 * time.Minute
})

// unended is the error of what has taken too long.
type unended struct{ so string }

func (u unended) Error() string {
	return fmt.Sprintf("not ended after %.0f min%s", long().Minutes(), u.so)
}

func isUnended(err error) bool { return errors.As(err, new(unended)) }

// measure notes how long something takes.
func (s *side) measure(what string, do func() error) {
	began := time.Now()
	err := do()
	s.note(figure{what, time.Since(began), err})
}

func (s *side) note(f figure) {
	s.figures = append(s.figures, f)
	s.Logf("%s: %s: %s", s.name, f.what, f)
	if f.err != nil && s.strict {
		s.Errorf("%s: %s: %v", s.name, f.what, f.err)
	}
}

// ask sends a request to the service and decodes the answer.
func (s *side) ask(method, url string, body any, want int, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(s.Context(), method, url, strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	r.Header.Set("X-Auth-Token", cloud.UserToken)
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: long(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	document, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != want {
		return fmt.Errorf("%s: status %d, want %d: %.300s", method, answer.StatusCode, want, document)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(document, out)
}

// life measures how a stack is made and deleted, and how long it takes until one of its
// resources is there.
func (s *side) life(k kind) {
	name := s.prefix + k.name
	var path string
	one := make(chan figure, 1)
	ctx, stop := context.WithCancel(s.Context())
	defer stop()
	if k.first {
		go func() {
			began := time.Now()
			err := s.until(ctx, func() (bool, error) {
				n, err := s.done(ctx, name)
				return n > 0, err
			})
			one <- figure{k.what + ", the first of them", time.Since(began), err}
		}()
	}
	var err error
	s.measure(k.what+", made", func() error {
		path, err = s.create(name, k.body())
		return err
	})
	if err != nil {
		stop()
	}
	if k.first {
		s.note(<-one)
	}
	if err == nil {
		s.measure(k.what+", deleted", func() error {
			err = s.remove(name, path)
			return err
		})
	} else {
		s.note(figure{what: k.what + ", deleted", err: errors.New("not measured")})
	}
	if err != nil && s.anew != nil {
		s.anew()
	}
}

// create makes a stack and waits until it is complete.
func (s *side) create(name string, body map[string]any) (path string, err error) {
	var made struct{ Stack struct{ ID string } }
	body["stack_name"] = name
	if err := s.ask(http.MethodPost, s.base+"/stacks", body, http.StatusCreated, &made); err != nil {
		return "", err
	}
	path = s.base + "/stacks/" + name + "/" + made.Stack.ID
	err = s.await(name, "CREATE_COMPLETE")
	if isUnended(err) {
		n, _ := s.done(s.Context(), name)
		err = unended{fmt.Sprintf(", %d resources are complete", n)}
	}
	if err == nil {
		err = s.shows(path, "CREATE_COMPLETE")
	}
	return path, err
}

// remove deletes a stack and waits until it is gone.
func (s *side) remove(name, path string) error {
	if err := s.ask(http.MethodDelete, path, nil, http.StatusNoContent, nil); err != nil {
		return err
	}
	if err := s.await(name, "DELETE_COMPLETE"); err != nil {
		return err
	}
	return s.shows(path, "DELETE_COMPLETE")
}

// await waits until a stack is in a state.
func (s *side) await(name, want string) error {
	return s.until(s.Context(), func() (bool, error) {
		var now string
		if err := s.pool.QueryRow(s.Context(), s.sql.state, name).Scan(&now); err != nil {
			return false, err
		}
		if strings.HasSuffix(now, "_FAILED") {
			return false, errors.New(now)
		}
		return now == want, nil
	})
}

// done is how many resources of a stack are complete.
func (s *side) done(ctx context.Context, name string) (n int, err error) {
	err = s.pool.QueryRow(ctx, s.sql.done, name).Scan(&n)
	return n, err
}

// until waits until something holds.
func (s *side) until(ctx context.Context, holds func() (bool, error)) error {
	for began := time.Now(); time.Since(began) < long(); time.Sleep(10 * time.Millisecond) {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return unended{}
}

// shows says whether the service shows the state that the database has.
func (s *side) shows(path, state string) error {
	var shown struct {
		Stack struct {
			Status string `json:"stack_status"`
		}
	}
	err := s.ask(http.MethodGet, path+"?resolve_outputs=false", nil, http.StatusOK, &shown)
	if err == nil && shown.Stack.Status != state {
		err = fmt.Errorf("it is shown as %s", shown.Stack.Status)
	}
	return err
}

func (s *side) validate(template string) error {
	return s.ask(http.MethodPost, s.base+"/validate", map[string]any{"template": template}, http.StatusOK, nil)
}

// fill has so many stacks be there, as copies of one.
func (s *side) fill(n int) error {
	if _, err := s.create("one", flat(1, false)); err != nil {
		return err
	}
	_, err := s.pool.Exec(s.Context(), s.sql.fill, n)
	return err
}

// list reads all stacks by pages, of which there must be so many.
func (s *side) list(want int) error {
	all, marker := 0, ""
	for {
		var page struct{ Stacks []struct{ ID string } }
		if err := s.ask(http.MethodGet, s.base+"/stacks?limit=1000&marker="+url.QueryEscape(marker), nil, http.StatusOK, &page); err != nil {
			return err
		}
		if len(page.Stacks) == 0 {
			break
		}
		all += len(page.Stacks)
		marker = page.Stacks[len(page.Stacks)-1].ID
	}
	if all < want {
		return fmt.Errorf("%d stacks are listed", all)
	}
	return nil
}

// watched does something, and looks how much memory is taken before it and at most.
func (s *side) watched(do func()) {
	look := func() int64 {
		now, err := s.memory()
		if err != nil {
			s.Errorf("the memory of %s: %v", s.process, err)
		}
		s.most = max(s.most, now)
		return now
	}
	s.idle = look()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			look()
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	defer func() { // what fails for good ends it too
		stop()
		<-done
	}()
	do()
}
