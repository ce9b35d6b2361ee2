package hostile

// Templates that nobody should write, asked of a server that runs.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/hot/hottest"
)

const (
	stacksPath = "/orchestration/v1/demo"
	// verdictWithin is far longer than any takes on a quiet machine.
	verdictWithin = 20 * time.Second
	// mostMemory is what the API may take of its own, whatever it is asked.
	mostMemory = 512 << 20
)

// Whatever a template is, there is a verdict on it, in time and in the form of all of
// them: it is made, or it is refused and nothing is left. Those who send slowly, or
// without an end, are cut off, and keep nobody else from being answered.
func TestHostileTemplates(t *testing.T) {
	t.Parallel()
	h := &hostile{t, cloud.Start(t, cloud.Options{Hosts: 1, Config: map[string]any{"api.request_timeout": "10s", "orchestration.max_stacks_per_tenant": -1}})}
	slow := h.sendSlowly()

	bombs := hottest.Bombs()
	for i, name := range slices.Sorted(maps.Keys(bombs)) {
		h.verdict(name, "/validate", map[string]any{"template": bombs[name]})
		h.verdict(name, "/stacks", map[string]any{"stack_name": fmt.Sprintf("bomb-%d", i), "template": bombs[name]})
	}
	h.nested()
	h.crowd()
	valid, n := h.mutants()
	t.Logf("%d of %d mutants were made", valid, n)

	h.gone()
	slow()
	if _, own := h.Memory(cloud.API); own > mostMemory {
		t.Errorf("the API takes %d MB", own>>20)
	} else {
		t.Logf("the API takes %d MB", own>>20)
	}
	if log := h.Log(cloud.API); strings.Contains(log, "panic") || strings.Contains(log, "goroutine ") {
		t.Errorf("the API has panicked:\n%s", cloud.Trouble(log))
	}
	h.Audit()
}

type hostile struct {
	*testing.T
	*cloud.Cloud
}

// verdict asks for something, and fails the test unless that is done or refused, as
// the service refuses. What was made is deleted.
func (h *hostile) verdict(name, path string, body map[string]any) (status int, message string) {
	h.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(h.Context(), verdictWithin)
	defer cancel()
	answer, said, err := h.Ask(ctx, cloud.UserToken, http.MethodPost, stacksPath+path, http.Header{"Content-Type": {"application/json"}}, text)
	if err != nil {
		h.Errorf("%s: %v", name, err)
		return 0, ""
	}
	var refused struct {
		Code  int
		Title string
		Error struct{ Type, Message, Traceback string }
	}
	var made struct{ Stack struct{ ID string } }
	switch {
	case answer.StatusCode == http.StatusBadRequest:
		if err := json.Unmarshal(said, &refused); err != nil || refused.Code != 400 || refused.Error.Type == "" || len(said) > 2*len(text)+20_000 {
			h.Errorf("%s: %v: %d bytes: %.300s", name, err, len(said), said)
		}
	case path == "/stacks" && answer.StatusCode == http.StatusCreated:
		err := json.Unmarshal(said, &made)
		if err == nil {
			err = h.Do(h.Context(), http.MethodDelete, stacksPath+"/stacks/"+fmt.Sprint(body["stack_name"])+"/"+made.Stack.ID, nil, http.StatusNoContent, nil)
		}
		if err != nil {
			h.Errorf("%s: %v", name, err)
		}
	case answer.StatusCode != http.StatusOK:
		h.Errorf("%s: %d %.300s", name, answer.StatusCode, said)
	}
	return answer.StatusCode, refused.Error.Message
}

// nested asks for templates that are in each other.
func (h *hostile) nested() {
	h.Helper()
	of := func(types ...string) string {
		text := "heat_template_version: 2021-04-16\nresources:\n"
		for i, typ := range types {
			text += fmt.Sprintf("  r%d: {type: '%s'}\n", i, typ)
		}
		return text
	}
	wide := map[string]string{}
	for i := range 6 {
		wide[fmt.Sprintf("%d.yaml", i)] = of(strings.Fields(strings.Repeat(fmt.Sprintf("%d.yaml ", i+1), 30))...)
	}
	for name, row := range map[string]struct {
		files  map[string]string
		reason string
	}{
		"itself":     {map[string]string{"0.yaml": of("0.yaml")}, "exceed"},
		"each other": {map[string]string{"0.yaml": of("1.yaml"), "1.yaml": of("0.yaml")}, "exceed"},
		"by a type":  {map[string]string{"0.yaml": of("My::Type")}, "The Resource Type (My::Type) could not be found."},
		"ever wider": {wide, "exceed"},
		"in a group": {map[string]string{"0.yaml": group("count: 30, resource_def: {type: 0.yaml}")}, "exceed"},
	} {
		status, message := h.verdict(name, "/stacks", map[string]any{"stack_name": "nested", "template": of("0.yaml"), "files": row.files,
			"environment": "resource_registry: {'My::Type': 0.yaml}"})
		if status != http.StatusBadRequest || !strings.Contains(message, row.reason) {
			h.Errorf("%s: %d %s", name, status, message)
		}
	}
}

// group is a template of a group.
func group(properties string) string {
	return "heat_template_version: 2021-04-16\nresources: {g: {type: OS::Heat::ResourceGroup, properties: {" + properties + "}}}"
}

// crowd asks for a group of far too many members, which is refused when it is made.
func (h *hostile) crowd() {
	h.Helper()
	type stack struct {
		ID           string
		StackStatus  string `json:"stack_status"`
		StatusReason string `json:"stack_status_reason"`
	}
	var made, now struct{ Stack stack }
	if err := h.Do(h.Context(), http.MethodPost, stacksPath+"/stacks", map[string]any{"stack_name": "crowd",
		"template": group("count: 1000000, resource_def: {type: OS::Heat::None}")}, http.StatusCreated, &made); err != nil {
		h.Fatal(err)
	}
	at := stacksPath + "/stacks/crowd/" + made.Stack.ID
	h.Eventually("the crowd is refused", cloud.Patience, func(ctx context.Context) error {
		err := h.Do(ctx, http.MethodGet, at, nil, http.StatusOK, &now)
		if err == nil && now.Stack.StackStatus != "CREATE_FAILED" {
			err = errors.New(now.Stack.StackStatus)
		}
		return err
	})
	if !strings.Contains(now.Stack.StatusReason, "Request limit exceeded") {
		h.Errorf("%s", now.Stack.StatusReason)
	}
	if err := h.Do(h.Context(), http.MethodDelete, at, nil, http.StatusNoContent, nil); err != nil {
		h.Error(err)
	}
}

// mutants asks for mutated templates, of which some are good: 5,000 in full.
func (h *hostile) mutants() (valid, n int) {
	h.Helper()
	n = 150
	if os.Getenv("HOLDFAST_TEST_FULL") != "" {
		n = 5000
	}
	good, err := hottest.Seeds()
	if err != nil {
		h.Fatal(err)
	}
	for _, typ := range []string{"Value", "RandomString", "ResourceGroup", "WaitCondition"} {
		properties := map[string]string{"Value": "value: {get_param: p}", "RandomString": "length: 5", "WaitCondition": "handle: {get_resource: b}, timeout: 60",
			"ResourceGroup": "count: 2, resource_def: {type: OS::Heat::RandomString}"}[typ]
		good = append(good, fmt.Sprintf(`heat_template_version: 2021-04-16
parameters:
  p: {type: string, default: x}
resources:
  a:
    type: OS::Heat::%s
    properties: {%s}
  b: {type: OS::Heat::WaitConditionHandle}
outputs:
  o:
    value: {get_attr: [a, value]}
`, typ, properties))
	}
	random := rand.New(rand.NewPCG(4, 28))
	for i := range n {
		text := hottest.Mutant(random, good)
		status, _ := h.verdict(fmt.Sprintf("mutant %d:\n%s", i, text), "/stacks", map[string]any{"stack_name": fmt.Sprintf("mutant-%d", i), "template": text})
		if status == http.StatusCreated {
			valid++
		}
	}
	if valid < n/50 || valid > n*9/10 {
		h.Errorf("%d of %d mutants were made: the mutations are too weak or too strong", valid, n)
	}
	return valid, n
}

// gone waits until no stack is there.
func (h *hostile) gone() {
	h.Helper()
	h.Eventually("all stacks are gone", cloud.Patience, func(ctx context.Context) error {
		var list struct{ Stacks []any }
		err := h.Do(ctx, http.MethodGet, stacksPath+"/stacks", nil, http.StatusOK, &list)
		if err == nil && len(list.Stacks) > 0 {
			err = fmt.Errorf("%d are there", len(list.Stacks))
		}
		return err
	})
}

// sendSlowly sends bodies a byte at a time, and one that has no end. It gives what
// fails the test unless all of them are cut off.
func (h *hostile) sendSlowly() (ended func()) {
	h.Helper()
	const head = "POST " + stacksPath + "/stacks HTTP/1.1\r\nHost: cloud\r\nX-Auth-Token: " + cloud.UserToken + "\r\nContent-Type: application/json\r\n"
	var all sync.WaitGroup
	send := func(header string, piece []byte, pause time.Duration) {
		connection, err := net.Dial("tcp", strings.TrimPrefix(h.URL(), "http://"))
		if err == nil {
			err = connection.SetDeadline(time.Now().Add(time.Minute))
		}
		if err == nil {
			_, err = io.WriteString(connection, head+header+"\r\n")
		}
		if err != nil {
			h.Fatal(err)
		}
		all.Go(func() {
			defer connection.Close()
			for began := time.Now(); ; time.Sleep(pause) {
				if _, err := connection.Write(piece); err != nil {
					return // it is cut off
				}
				if time.Since(began) > 50*time.Second {
					h.Errorf("who sends %d bytes every %s is never cut off", len(piece), pause)
					return
				}
			}
		})
	}
	for range 20 {
		send("Content-Length: 1000000\r\n", []byte(" "), 200*time.Millisecond)
	}
	send("Transfer-Encoding: chunked\r\n", []byte("10000\r\n"+strings.Repeat(" ", 1<<16)+"\r\n"), 0)
	return all.Wait
}
