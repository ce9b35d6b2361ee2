package bmc

// Questions: what the API asks a node's BMC, with nobody at work on the node. Nothing is
// changed by them, so they take no lease.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hostlink"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/store/baremetal"
)

var _ hostlink.Nodes = (*Activities)(nil)

// questions are what can be asked, by name.
var questions = map[string]func(context.Context, manager, url.Values) (any, error){
	"boot_device": func(ctx context.Context, m manager, _ url.Values) (any, error) { return m.bootDevice(ctx) },
	"indicators":  func(ctx context.Context, m manager, _ url.Values) (any, error) { return m.lamps(ctx) },
	"indicator": func(ctx context.Context, m manager, about url.Values) (any, error) {
		return m.lampState(ctx, about.Get("component"), about.Get("indicator"))
	},
	"vmedia": func(ctx context.Context, m manager, _ url.Values) (any, error) { return m.media(ctx) },
	nodes.GetAllSubscriptions: func(ctx context.Context, m manager, _ url.Values) (any, error) {
		s, err := subscriber(m)
		if err != nil {
			return nil, err
		}
		return s.collection()
	},
	nodes.GetSubscription: func(ctx context.Context, m manager, about url.Values) (any, error) {
		s, err := subscriber(m)
		if err != nil {
			return nil, err
		}
		return s.one(about.Get("id"))
	},
}

// Ask implements hostlink.Nodes.
func (a *Activities) Ask(ctx context.Context, nodeID, question string, about url.Values) (json.RawMessage, error) {
	answer, known := questions[question]
	if !known {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "this release has no answer to %q", question)
	}
	n, err := baremetal.Nodes.Find(ctx, a.db.Pool, nodeID, false)
	if err != nil {
		return nil, err
	}
	s := &session{Activities: a, node: n}
	if s.driver, err = s.openDriver(ctx); err != nil {
		return nil, err
	}
	defer s.driver.close(ctx)
	m, err := s.manager()
	if err != nil {
		return nil, err
	}
	said, err := answer(ctx, m, about)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(said)
	if err != nil {
		return nil, fmt.Errorf("the answer to %s: %w", question, err)
	}
	return text, nil
}
