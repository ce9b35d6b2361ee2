package bmc

import (
	"net/url"
	"testing"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/nodes"
	"holdfast.dev/internal/steps"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// subscription has the world's BMC tell somebody of its events.
func (w *world) subscription(of string) steps.NodeCommandIn {
	return w.told(steps.NodeCommandInput{Command: steps.Subscribe, Secret: w.Box.Seal([]byte(of), nodes.CommandPlace(w.Node))})
}

// Somebody is subscribed once, however often the step is run, killed anywhere or without
// an answer, and unsubscribed once.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	const whom = `{"Destination": "https://192.0.2.1/events", "Context": "c", "HttpHeaders": [{"Authorization": "s3cret"}]}`
	for name, drops := range map[string]bool{"killed": false, "without an answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "redfish", nil)
			in := w.subscription(whom)
			if drops {
				w.Service.DropSubscription()
				if _, err := w.activities(w.DB).Command(t.Context(), in); !faults.Is(err, faults.Unavailable) {
					t.Errorf("%v", err)
				}
			}
			w.Kill(func(db *store.DB) error {
				_, err := w.activities(db).Command(t.Context(), in)
				return err
			})
			acts, err := baremetal.Acts(t.Context(), w.DB.Pool, w.Fence.OperationID)
			want := `{"Context":"c","Destination":"https://192.0.2.1/events","EventTypes":["Alert"],"Id":"1","Protocol":"Redfish"}`
			if said := acts[steps.CommandAct].About; err != nil || said != want || w.Service.Subscriptions() != 1 {
				t.Errorf("%s, %v: %d", said, err, w.Service.Subscriptions())
			}
			all, err := w.activities(w.DB).Ask(t.Context(), w.Node.UUID, nodes.GetAllSubscriptions, nil)
			one, oneErr := w.activities(w.DB).Ask(t.Context(), w.Node.UUID, nodes.GetSubscription, url.Values{"id": {"1"}})
			if err != nil || oneErr != nil || len(all) == 0 || string(one) != want {
				t.Errorf("%s, %v; %s, %v", all, err, one, oneErr)
			}
		})
	}
}

func TestUnsubscribe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "redfish", nil)
	w.Service.Subscribe(map[string]any{"Destination": "https://192.0.2.1/"})
	in := w.told(steps.NodeCommandInput{Command: steps.Unsubscribe, Subscription: "1"})
	w.Kill(func(db *store.DB) error {
		_, err := w.activities(db).Command(t.Context(), in)
		return err
	})
	if n := w.Service.Subscriptions(); n != 0 {
		t.Errorf("%d are left", n)
	}
	other := newWorld(t, "redfish", nil)
	if _, err := other.activities(other.DB).Command(t.Context(), other.told(steps.NodeCommandInput{Command: steps.Unsubscribe, Subscription: "7"})); !faults.Is(err, faults.NotFound) {
		t.Errorf("%v", err)
	}
	bad := other.subscription(`{"Destination": "https://192.0.2.1/", "EventTypes": ["Gossip"]}`)
	_, err := other.activities(other.DB).Command(t.Context(), bad)
	if f := faults.As(err); f.Kind != faults.Invalid || f.Message != "EventTypes ['Gossip'] is not a valid value, allowed values Alert, StatusChange" {
		t.Errorf("%v", err)
	}
	fake := newWorld(t, "fake", nil)
	if _, err := fake.activities(fake.DB).Command(t.Context(), fake.subscription(`{}`)); !faults.Is(err, faults.Invalid) {
		t.Errorf("%v", err)
	}
}
