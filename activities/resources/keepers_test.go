package resources_test

// Handles whose signals another service would keep.

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/activities/resources"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/openstack"
	"holdfast.dev/internal/resourcetype"
	"holdfast.dev/internal/steps"
)

// catalog answers whoever looks for a service.
type catalog struct {
	asked []string
	says  error
}

func (c *catalog) Client(_ context.Context, _, _, service string) (*gophercloud.ServiceClient, error) {
	c.asked = append(c.asked, service)
	return &gophercloud.ServiceClient{}, c.says
}

// unlisted says that the catalog has no such service.
var unlisted = faults.Wrap(&gophercloud.ErrEndpointNotFound{}, faults.Unavailable, openstack.CodeNoEndpoint, "the catalog has no such service")

// anybody can make users, and is never asked to.
type anybody struct{ resources.Users }

// A handle that is to be signalled by what another service keeps fails: in the original's
// words where there is no such service, in words of its own where there is. Where nobody
// knows, it is asked again; and no handle is left that nobody can signal.
func TestSignalsThatAreKeptElsewhere(t *testing.T) {
	t.Parallel()
	const here = "Resource CREATE failed: NotSupported: resources.handle: Signal transport %s is not supported."
	for transport, service := range map[string]string{"TEMP_URL_SIGNAL": "object-store", "ZAQAR_SIGNAL": "messaging"} {
		missing := fmt.Sprintf("Resource CREATE failed: EndpointNotFound: resources.handle: public endpoint for %s service in one region not found", service)
		for _, test := range []struct {
			what string
			says error
			want string
		}{
			{"there is one", nil, fmt.Sprintf(here, transport)},
			{"there is none", unlisted, missing},
			{"nobody knows", faults.New(faults.Unavailable, "Down", "no answer"), ""},
		} {
			t.Run(transport+" "+test.what, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "heat_template_version: 2021-04-16\nresources: {handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: "+transport+"}}}")
				c := &catalog{says: test.says}
				w.users, w.cloud = anybody{}, c
				plan := w.plan(steps.Make)
				out, err := w.on(w.db).Work(t.Context(), steps.WorkIn{Fence: w.fence, Phase: steps.Make, IDs: plan.IDs})
				switch {
				case test.want == "" && !faults.Is(err, faults.Unavailable):
					t.Errorf("%+v, %v; want it asked again", out, err)
				case test.want != "" && (err != nil || out.Failed == nil || out.Failed.Reason != test.want):
					t.Errorf("%+v, %v; want %s", out.Failed, err, test.want)
				}
				if !slices.Equal(c.asked, []string{service}) {
					t.Errorf("asked for was %v", c.asked)
				}
				if r := w.rows()["handle"]; test.want != "" && r.Status != "FAILED" {
					t.Errorf("the handle is %s_%s", r.Action, r.Status)
				}
			})
		}
		t.Run(transport+" without services", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "heat_template_version: 2021-04-16\nresources: {handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: "+transport+"}}}")
			plan := w.plan(steps.Make)
			if out := w.batch(steps.Make, plan.IDs...); out.Failed == nil || out.Failed.Reason != fmt.Sprintf(here, transport) {
				t.Errorf("%+v", out.Failed)
			}
		})
	}
}

// What is of a service that the catalog doesn't have fails, and isn't asked for until the
// stack has taken too long: whatever is done with it, and whatever type it is of.
func TestTypesOfServicesThatThereAreNot(t *testing.T) {
	t.Parallel()
	c := &catalog{says: unlisted}
	registry, err := resourcetype.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range resources.FromFiles(registry, c) {
		made := func(id string) *resources.Call {
			return &resources.Call{Name: "r", Mark: "mark", PhysicalID: id, Now: time.Now(), Properties: &value.Map{}, Data: &value.Map{}, Attributes: &value.Map{}}
		}
		one := made("")
		wait, create := of.Create(t.Context(), one)
		if wait > 0 && create == nil { // it has written something down
			_, create = of.Create(t.Context(), one)
		}
		_, remove := of.Delete(t.Context(), made("id"))
		for what, err := range map[string]error{"create": create, "delete": remove} {
			if !faults.Is(err, faults.Invalid) || faults.As(err).Code != "EndpointNotFound" {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
	}
}
