package bmc

// Subscriptions: whom a Redfish service tells of its events.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/common"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hardware"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// events is the event service of a Redfish service: where its subscriptions are, and of
// what kinds of events they may be.
type events struct {
	*redfishManager
	at    string
	kinds []string
}

// subscriber is the event service of a node's BMC.
func subscriber(m manager) (*events, error) {
	r, ok := m.(*redfishManager)
	if !ok {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "the node's BMC has no subscriptions")
	}
	var said struct {
		Subscriptions struct {
			ODataID string `json:"@odata.id"`
		}
		EventTypesForSubscription []string
	}
	if err := r.read(common.DefaultServiceRoot+"EventService", &said); err != nil {
		return nil, err
	}
	if said.Subscriptions.ODataID == "" {
		return nil, hardware.Unsupported(r.driver, "subscriptions")
	}
	return &events{r, strings.TrimSuffix(said.Subscriptions.ODataID, "/"), said.EventTypesForSubscription}, nil
}

// maxDocument bounds what is read of a service, beside the guard's own bound.
const maxDocument = 8 << 20

// read reads a document of the service.
func (d *redfish) read(at string, into any) error {
	resp, err := d.client.Get(at)
	if err != nil {
		return d.fault(err)
	}
	return d.fault(decode(resp, into))
}

func decode(resp *http.Response, into any) error {
	err := json.NewDecoder(io.LimitReader(resp.Body, maxDocument)).Decode(into)
	return errors.Join(err, resp.Body.Close())
}

// collection is the list of them, as the service has it.
func (e *events) collection() (map[string]any, error) {
	var all map[string]any
	err := e.read(e.at, &all)
	return all, e.failed(err, "Redfish get_subscriptions failed for node %s. Error: %s")
}

// subscriptionFields are what is told of one.
var subscriptionFields = []string{"Id", "Context", "Protocol", "Destination", "EventTypes"}

// one is what is told of one of them.
func (e *events) one(id string) (map[string]any, error) {
	var all map[string]any
	err := e.read(e.at+"/"+id, &all)
	if err != nil {
		return nil, e.failed(err, "Redfish get_subscription failed for subscription "+id+" on node %s. Error: %s")
	}
	told := map[string]any{}
	for _, name := range subscriptionFields {
		if value, has := all[name]; has {
			told[name] = value
		}
	}
	return told, nil
}

// like finds one that is made of the same.
func (e *events) like(wanted map[string]any) (map[string]any, error) {
	all, err := e.collection()
	if err != nil {
		return nil, err
	}
	members, _ := all["Members"].([]any)
	for _, member := range members {
		link, _ := member.(map[string]any)
		at, _ := link["@odata.id"].(string)
		one, err := e.one(path.Base(at))
		if err != nil {
			return nil, err
		}
		if one["Destination"] == wanted["Destination"] && one["Context"] == wanted["Context"] && one["Protocol"] == wanted["Protocol"] {
			return one, nil
		}
	}
	return nil, nil
}

// subscribe makes a subscription once: it is noted before, and one that gave no answer
// is looked for before another is made.
func subscribe(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
	e, err := subscriber(c.manager)
	if err != nil {
		return out, err
	}
	wanted, err := c.subscription(e)
	if err != nil {
		return out, err
	}
	act, sent := c.acts[theCommand]
	if act.Answered {
		return out, nil
	}
	var made map[string]any
	if sent {
		if made, err = e.like(wanted); err != nil {
			return out, err
		}
	}
	if made == nil {
		if err := c.note(ctx, theCommand); err != nil {
			return out, err
		}
		if made, err = e.create(ctx, wanted); err != nil {
			return out, e.failed(err, "Failed to create subscription on node %s. Error: %s")
		}
	}
	said, err := json.Marshal(made)
	if err != nil {
		return out, err
	}
	return out, c.db.InTx(ctx, func(tx store.Tx) error { return baremetal.TellAct(ctx, tx, c.of, theCommand, string(said)) })
}

// subscription is what one is to be made of.
func (c command) subscription(e *events) (map[string]any, error) {
	plain, err := c.box.Open(c.Ask.Secret, nodes.CommandPlace(c.node))
	if err != nil {
		return nil, err
	}
	wanted := map[string]any{"Protocol": "Redfish", "Context": "", "EventTypes": []any{"Alert"}}
	if err := json.Unmarshal(plain, &wanted); err != nil {
		return nil, err
	}
	types, ok := wanted["EventTypes"].([]any)
	for _, kind := range types {
		name, text := kind.(string)
		ok = ok && text && (len(e.kinds) == 0 || slices.Contains(e.kinds, name))
	}
	if !ok {
		return nil, faults.New(faults.Invalid, "InvalidParameterValue", "EventTypes %s is not a valid value, allowed values %s",
			pyjson.Repr(wanted["EventTypes"]), strings.Join(e.kinds, ", "))
	}
	return wanted, nil
}

func (e *events) create(ctx context.Context, wanted map[string]any) (made map[string]any, err error) {
	at := ""
	err = e.change(ctx, func() error {
		resp, err := e.client.Post(e.at, wanted)
		if err != nil {
			return err
		}
		at = resp.Header.Get("Location")
		return resp.Body.Close()
	})
	if err != nil {
		return nil, err
	}
	return e.one(path.Base(at))
}

// unsubscribe is idempotent by what it finds: one that is gone after it was told to go
// is success.
func unsubscribe(ctx context.Context, c command) (out steps.NodeCommandOut, err error) {
	e, err := subscriber(c.manager)
	if err != nil {
		return out, err
	}
	_, sent := c.acts[theCommand]
	if _, err := e.one(c.Ask.Subscription); err != nil {
		if sent && faults.Is(err, faults.Invalid) {
			return out, nil
		}
		return out, gone(err)
	}
	if err := c.note(ctx, theCommand); err != nil {
		return out, err
	}
	err = e.change(ctx, func() error {
		resp, err := e.client.Delete(e.at + "/" + c.Ask.Subscription)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	return out, e.failed(err, "Redfish delete_subscription failed for node %s. Error: %s")
}

// gone is the refusal of what the BMC doesn't have.
func gone(err error) error {
	f := faults.As(err)
	if f.Kind != faults.Invalid {
		return err
	}
	return faults.Wrap(err, faults.NotFound, "SubscriptionNotFound", "%s", f.Message)
}
