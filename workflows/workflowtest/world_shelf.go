package workflowtest

// Servers that go on the shelf, leave their host, and come back.

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"holdfast.dev/internal/operations"
	"holdfast.dev/internal/steps"
)

// Shelve gives the operation what a server is shelved with: an image that its
// request has made, or none for one that boots from a volume.
func (w *World) Shelve(ofVolumes, offload bool) *World {
	asked := steps.ShelveInput{Offload: offload}
	if !ofVolumes {
		w.Image(steps.ImageInput{})
		asked.ImageID = ImageID
	}
	return w.input(asked)
}

// Shelved puts the server on the shelf with its image; offloaded it is on no host.
func (w *World) Shelved(offloaded bool) *World {
	w.Server.ShelvedImage, w.Server.PowerState, w.Server.VMState = ImageID, 4, "shelved"
	w.Glance.Made, w.Glance.OfShelf, w.Glance.Status = true, true, "active"
	if offloaded {
		w.Server.VMState, w.Server.Launched, w.Cinder.Made = "shelved_offloaded", true, w.Cinder.Asked > 0
	}
	return w
}

// Unshelve gives the operation where the server is to run.
func (w *World) Unshelve(to steps.Destination) *World {
	return w.input(steps.UnshelveInput{Destination: to})
}

func (w *World) input(asked any) *World {
	var err error
	if w.Op.Input, err = json.Marshal(asked); err != nil {
		w.broke("the input: %v", err)
	}
	return w
}

func (w *World) offloaded() bool { return w.Server.VMState == "shelved_offloaded" && !w.Server.Deleted }

// checkShelf: the image is there exactly for as long as the server is on the
// shelf, or if it is owed.
func (w *World) checkShelf(t *testing.T) {
	t.Helper()
	if there, want := w.Glance.Status == "active", w.Server.ShelvedImage != "" && !w.Server.Deleted; there != want && !w.owes(operations.EffectImage, "") {
		t.Errorf("the image is there: %t, and the server has it: %t", there, want)
	}
}

// payShelf is PayDebts for what a server had on a host: a server that is on one
// again has it there.
func (w *World) payShelf(e operations.Effect) {
	switch {
	case e.Kind == operations.EffectHalt:
		if h := w.Hosts[e.Host]; h.Guests[e.Ref] {
			h.Power = powers[steps.PowerStart]
		}
	case w.Server.Host != "":
	case e.Kind == operations.EffectBindings:
		w.Neutron.Bound = ""
	default:
		w.Cinder.Attached, w.Cinder.InUse = "", false
	}
}

func (n neutron) Unbind(_ context.Context, in steps.UnbindIn) (struct{}, error) {
	w := n.w
	return fenced(w, "neutron.Unbind", in.Fence, func() (struct{}, error) {
		if w.Neutron.Down {
			return struct{}{}, errDown
		}
		w.underGuest("ports")
		w.Neutron.Bound = ""
		return struct{}{}, nil
	})
}

func (c cinder) Disconnect(_ context.Context, in steps.DisconnectIn) (struct{}, error) {
	w := c.w
	return fenced(w, "cinder.Disconnect", in.Fence, func() (struct{}, error) {
		if w.Cinder.Down {
			return struct{}{}, errDown
		}
		w.underGuest("volumes")
		w.Cinder.Attached, w.Cinder.InUse = "", false
		return struct{}{}, nil
	})
}

// underGuest: what a guest has is taken only when it is gone, or owed.
func (w *World) underGuest(what string) {
	for name, h := range w.Hosts {
		if h.Guests[ServerID] && !w.owes(operations.EffectGuest, name) {
			w.broke("%s were taken from under the guest on %s", what, name)
		}
	}
}

// Calls are the calls of steps so far.
func (w *World) Calls() []Call { return slices.Clone(w.calls) }
