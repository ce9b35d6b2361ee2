package chaos

// The kinds that set a server aside, or a copy of it, and bring it back, as stories.

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// aside are in full a cloud each, for what is true of every server in it.
var aside = []story{
	copying(anew(story{kind: operations.ServerCreateImage, before: "ACTIVE", after: "ACTIVE"}, copied...)),
	copying(anew(story{kind: operations.ServerCreateBackup, before: "ACTIVE", after: "ACTIVE", turn: "glance.Rotate"},
		slices.Concat(copied, []string{"glance.Rotate", "glance.Rotate.done"})...)),
	copying(shelved(anew(story{kind: operations.ServerShelve, before: "ACTIVE", after: "SHELVED", turn: "power.force-stop"},
		slices.Concat([]string{"power.stop", "power.done"}, copied, []string{"power.force-stop"})...))),
	shelved(anew(story{kind: operations.ServerShelveOffload, before: "SHELVED", after: "SHELVED_OFFLOADED", lead: []operations.Kind{operations.ServerShelve},
		turn: "destroy.stop"}, "destroy.stop", "destroy.disk", "destroy.undefine", "destroy.done", "placement.Release")),
	shelved(anew(story{kind: operations.ServerUnshelve, before: "SHELVED_OFFLOADED", after: "ACTIVE",
		lead: []operations.Kind{operations.ServerShelve, operations.ServerShelveOffload}, turn: "glance.Delete"}, slices.Concat([]string{"placement.Claim", "placement.Claim.done", "records.ServerSpec"}, onBuildHost,
		[]string{"glance.Delete", "glance.Delete.done"})...)),
	deferred(anew(story{kind: operations.ServerSoftDelete, before: "ACTIVE", after: "SOFT_DELETED", turn: "power.force-stop"}, "power.force-stop", "power.done")),
	deferred(anew(story{kind: operations.ServerRestore, before: "SOFT_DELETED", after: "ACTIVE", lead: []operations.Kind{operations.ServerSoftDelete},
		turn: "power.start", stuck: "SOFT_DELETED"}, "power.start", "power.done")),
}

// copied are the points of a copy of a guest's disk that becomes an image.
var copied = []string{"snapshot.clear", "snapshot.copy", "snapshot.done", "snapshot.drop"}

// copying stories are told by many at once, and a host makes few copies at once.
func copying(s story) story {
	s.cloud.Hosts = 12
	return served(s)
}

// shelved ones are of servers that stay on their hosts until they are taken off.
func shelved(s story) story {
	s.cloud.Config = map[string]any{"compute.shelved_offload_time": "-1s"}
	return served(s)
}

// deferred ones are of servers that can be restored once they are deleted.
func deferred(s story) story {
	s.cloud.Config = map[string]any{"compute.reclaim_instance_interval": "1h"}
	s.byForce = true
	return s
}

// images is how many images of its server the operation leaves, that has ended so.
func (h held) images(status string, result operations.Result) int {
	switch {
	case h.story.kind == operations.ServerCreateImage || h.story.kind == operations.ServerCreateBackup:
		if result == operations.ResultDone || h.turned() {
			return 1
		}
	case h.stands(status, result) == "SHELVED" || h.stands(status, result) == "SHELVED_OFFLOADED":
		return 1
	}
	return 0
}

// checkImages fails the test unless there are the images that operations leave.
func checkImages(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	if !all[0].story.cloud.Services {
		return
	}
	images := imagesOf(t, c)
	for _, h := range all {
		op, err := c.Engine.Get(t.Context(), c.DB.Pool, h.op.ID)
		must(t, err)
		shown, err := c.Show(t.Context(), h.server)
		if err != nil && !isGone(err) {
			t.Fatal(err)
		}
		if got, want := images[h.server], h.images(shown.Status, op.Result); got != want {
			t.Errorf("%s, which has ended as %q with the server in %q: there are %d images of it, want %d", h, op.Result, shown.Status, got, want)
		}
	}
}

// imagesOf is how many images there are of each server.
func imagesOf(t *testing.T, c *cloud.Cloud) map[string]int {
	t.Helper()
	made := map[string]int{}
	var page struct {
		Images []struct {
			Server string `json:"instance_uuid"`
		}
		Next string
	}
	for next := "/images"; next != ""; next = strings.TrimPrefix(page.Next, "/v2") {
		page.Images, page.Next = nil, ""
		must(t, c.Images(t.Context(), http.MethodGet, next, nil, &page))
		for _, image := range page.Images {
			made[image.Server]++
		}
	}
	return made
}
