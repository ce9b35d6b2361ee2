package agent

// Inspection rules: carried out on what a node's ramdisk has found.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/inspection"
	"holdfast.dev/internal/netguard"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/redact"
	"holdfast.dev/internal/store/baremetal"
)

// carryOut has the inspection rules be carried out on a node whose row is to be after, and
// says what becomes of its row, its traits and its ports.
func (a *Activities) carryOut(ctx context.Context, n, after *baremetal.Node, found *baremetal.Findings) (*baremetal.Settled, error) {
	to := &baremetal.Settled{Node: after, Findings: found}
	rules, err := a.rules(ctx)
	if err != nil || len(rules) == 0 {
		return to, err
	}
	s, err := a.subject(ctx, after, found)
	if err != nil {
		return nil, fmt.Errorf("inspection rules on node %s: %w", n.UUID, err)
	}
	before, err := json.Marshal(s.Node)
	if err != nil {
		return nil, fmt.Errorf("inspection rules on node %s: %w", n.UUID, err)
	}
	ports := map[string][]byte{}
	for id, port := range s.Ports {
		if ports[id], err = json.Marshal(port); err != nil {
			return nil, fmt.Errorf("port %s: %w", id, err)
		}
	}
	if err := inspection.Carry(ctx, rules, s, a.MaskSecrets); err != nil {
		return nil, err
	}
	changed, err := changes(before, s.Node, append(s.Fields, "traits"))
	if err != nil {
		return nil, err
	}
	if err := a.changeNode(n, to, changed); err != nil {
		return nil, err
	}
	to.Ports = map[string]json.RawMessage{}
	for id, was := range ports {
		changed, err := changes(was, s.Ports[id], s.PortFields)
		if err != nil {
			return nil, err
		}
		if len(changed) == 0 {
			continue
		}
		if to.Ports[id], err = json.Marshal(changed); err != nil {
			return nil, fmt.Errorf("port %s: %w", id, err)
		}
		if err := json.Unmarshal(to.Ports[id], &baremetal.Port{}); err != nil {
			return nil, unfit("port "+id, err)
		}
	}
	text, err := json.Marshal(s.Plugin)
	found.Plugin = nil
	if err == nil {
		err = json.Unmarshal(text, &found.Plugin)
	}
	if err != nil {
		return nil, fmt.Errorf("what was found on node %s: %w", n.UUID, err)
	}
	return to, nil
}

// changeNode makes the changes of rules in a node's row, its secrets sealed.
func (a *Activities) changeNode(n *baremetal.Node, to *baremetal.Settled, changed map[string]any) error {
	if traits, ok := changed["traits"]; ok {
		list, _ := traits.([]any)
		to.Traits = []string{}
		for _, t := range list {
			name, _ := t.(string)
			to.Traits = append(to.Traits, name)
		}
		delete(changed, "traits")
	}
	if len(changed) == 0 {
		return nil
	}
	text, err := json.Marshal(changed)
	if err != nil {
		return fmt.Errorf("inspection rules on node %s: %w", n.UUID, err)
	}
	if err := json.Unmarshal(text, to.Node); err != nil {
		return unfit("node "+n.UUID, err)
	}
	return nodes.Conceal(a.box, to.Node, n)
}

// unfit is the verdict on a value that a field can't have.
func unfit(what string, err error) error {
	var wrong *json.UnmarshalTypeError
	field := ""
	if errors.As(err, &wrong) {
		field = wrong.Field
	}
	return faults.Wrap(err, faults.Invalid, "RuleActionExecutionFailure", "Inspection rule action execution failed. Reason: Failed to set attribute %s of %s: it can't have such a value", field, what)
}

// changes are the fields whose values are others now.
func changes(before []byte, now *pyjson.Object, fields []string) (map[string]any, error) {
	value, _, err := pyjson.Parse(before)
	was, ok := value.(*pyjson.Object)
	if err != nil || !ok {
		return nil, fmt.Errorf("inspection rules: %w", err)
	}
	changed := map[string]any{}
	for _, name := range fields {
		is, _ := now.Get(name)
		if old, _ := was.Get(name); !pyjson.Equal(is, old) {
			changed[name] = is
		}
	}
	return changed, nil
}

// rules are all there are, as they are carried out.
func (a *Activities) rules(ctx context.Context) ([]inspection.Rule, error) {
	rows, err := baremetal.MainRules(ctx, a.db.Pool)
	if err != nil {
		return nil, err
	}
	all := make([]inspection.Rule, len(rows))
	for i, r := range rows {
		all[i] = inspection.Rule{UUID: r.UUID, Sensitive: r.Sensitive}
		if all[i].Conditions, err = inspection.ReadOperations(r.Conditions); err == nil {
			all[i].Actions, err = inspection.ReadOperations(r.Actions)
		}
		if err != nil {
			return nil, fmt.Errorf("inspection rule %s: %w", r.UUID, err)
		}
	}
	return all, nil
}

// subject is a node as rules see it.
func (a *Activities) subject(ctx context.Context, n *baremetal.Node, found *baremetal.Findings) (*inspection.Subject, error) {
	s := &inspection.Subject{UUID: n.UUID, Fields: baremetal.Nodes.Writable(), PortFields: baremetal.Ports.Writable(), Ports: map[string]*pyjson.Object{}}
	var err error
	if s.Node, err = object(n); err != nil {
		return nil, err
	}
	for _, f := range nodes.SecretFields {
		plain, err := nodes.Revealed(a.box, n, f.Name, *f.Of(n))
		if err != nil {
			return nil, err
		}
		s.Node.Set(f.Name, plain)
	}
	ports, err := baremetal.Ports.List(ctx, a.db.Pool, baremetal.List{Filters: []baremetal.Filter{{SQL: "t.node_uuid = $", Value: n.UUID}}, Limit: maxPorts})
	if err != nil {
		return nil, err
	}
	for _, p := range ports {
		if s.Ports[p.UUID], err = object(p); err != nil {
			return nil, err
		}
	}
	if s.Inventory, err = object(found.Inventory); err != nil {
		return nil, err
	}
	if s.Plugin, err = object(found.Plugin); err != nil {
		return nil, err
	}
	s.Log = func(level, text string) {
		levels := map[string]slog.Level{"debug": slog.LevelDebug, "warning": slog.LevelWarn, "error": slog.LevelError, "critical": slog.LevelError}
		a.Log.Log(ctx, levels[level], "an inspection rule says", "node", n.UUID, "text", redact.Text(bounded(text)))
	}
	s.Call = a.call
	return s, nil
}

// object is a value as JSON has it.
func object(value any) (*pyjson.Object, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	parsed, _, err := pyjson.Parse(text)
	if err != nil {
		return nil, err
	}
	o, ok := parsed.(*pyjson.Object)
	if !ok {
		o = &pyjson.Object{}
	}
	return o, nil
}

// again are the statuses after which a rule's request is made again.
var again = map[int]bool{429: true, 500: true, 502: true, 503: true, 504: true}

// call makes the request of a rule, and reads no answer.
func (a *Activities) call(ctx context.Context, c inspection.Call) error {
	guard := netguard.Policy{Use: "inspection rule", MaxBody: maxAnswer, Timeout: time.Duration(c.Timeout * float64(time.Second))}.Within(a.RuleNetworks)
	client := guard.Client()
	defer client.CloseIdleConnections()
	for try := 0; ; try++ {
		status, err := get(ctx, client, c)
		switch {
		case err == nil && status < 400:
			return nil
		case try < c.Retries && (err != nil || again[status]):
		case err != nil:
			var known *faults.Error
			if errors.As(err, &known) {
				return errors.New(known.Message)
			}
			return errors.New("it could not be reached or did not answer in time")
		default:
			return fmt.Errorf("status %d", status)
		}
		pause := time.Duration(c.Backoff * float64(int(1)<<try) * float64(time.Second))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(pause, maxPause)):
		}
	}
}

// maxPause bounds the time between two tries.
const maxPause = 10 * time.Second

func get(ctx context.Context, client *http.Client, c inspection.Call) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, bytes.NewReader(nil))
	if err != nil {
		return 0, err
	}
	for name, value := range c.Headers {
		r.Header.Set(name, value)
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}
