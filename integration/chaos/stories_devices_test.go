package chaos

// The kinds that give a server devices and take them away, as stories. They ask for
// what has a name in other services too.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// devices are in full a cloud each.
var devices = []story{
	served(anew(story{kind: operations.ServerAttachVolume, before: "ACTIVE", after: "ACTIVE"}, "cinder.Attach", "cinder.Attach.done",
		"records.ServerSpec", "plug.device", "plug.done", "cinder.Complete", "cinder.Complete.done")),
	served(anew(story{kind: operations.ServerDetachVolume, before: "ACTIVE", after: "ACTIVE", lead: []operations.Kind{operations.ServerAttachVolume},
		turn: "unplug.device", stuck: "ACTIVE"}, "unplug.device", "unplug.done", "cinder.Release", "cinder.Release.done")),
	connected(anew(story{kind: operations.ServerAttachInterface, before: "ACTIVE", after: "ACTIVE"}, "neutron.Allocate", "neutron.Allocate.done",
		"records.ServerSpec", "plug.device", "plug.done")),
	connected(anew(story{kind: operations.ServerDetachInterface, before: "ACTIVE", after: "ACTIVE", turn: "unplug.device", stuck: "ACTIVE"},
		"unplug.device", "unplug.done", "neutron.Deallocate", "neutron.Deallocate.done")),
}

// connected ones are of servers with a network, which have an interface there.
func connected(s story) story {
	s.connected = true
	return served(s)
}

// attachVolume gives the server a volume of its own.
func attachVolume(ctx context.Context, c *cloud.Cloud, server string) error {
	var made struct{ Volume struct{ ID string } }
	if err := c.Volumes(ctx, http.MethodPost, "/volumes", map[string]any{"volume": map[string]any{"size": 1}}, &made); err != nil {
		return err
	}
	if err := awaitVolume(c, made.Volume.ID, "available"); err != nil {
		return err
	}
	body := map[string]any{"volumeAttachment": map[string]string{"volumeId": made.Volume.ID}}
	return postAs(ctx, c, cloud.UserToken, "2.101", attachments(server), body, http.StatusAccepted, nil)
}

// detachVolume takes its volume from the server.
func detachVolume(ctx context.Context, c *cloud.Cloud, server string) error {
	volumes, err := volumesOf(ctx, c, server)
	if err != nil || len(volumes) != 1 {
		return fmt.Errorf("server %s has volumes %v: %w", server, volumes, err)
	}
	if err := awaitVolume(c, volumes[0], "in-use"); err != nil {
		return err
	}
	return c.Do(ctx, http.MethodDelete, attachments(server)+"/"+volumes[0], nil, http.StatusAccepted, nil)
}

func attachments(server string) string { return "/v2.1/servers/" + server + "/os-volume_attachments" }

func volumesOf(ctx context.Context, c *cloud.Cloud, server string) (ids []string, err error) {
	var shown struct{ VolumeAttachments []struct{ VolumeID string } }
	err = c.Do(ctx, http.MethodGet, attachments(server), nil, http.StatusOK, &shown)
	for _, a := range shown.VolumeAttachments {
		ids = append(ids, a.VolumeID)
	}
	return ids, err
}

func awaitVolume(c *cloud.Cloud, id, status string) error {
	return c.Await(patience, func(ctx context.Context) error {
		var shown struct{ Volume struct{ Status string } }
		err := c.Volumes(ctx, http.MethodGet, "/volumes/"+id, nil, &shown)
		if err == nil && shown.Volume.Status != status {
			err = fmt.Errorf("volume %s is %s", id, shown.Volume.Status)
		}
		return err
	})
}

// volumes is how many its server may have once the operation has ended so.
func (h held) volumes(result operations.Result) []int {
	done := result == operations.ResultDone
	switch {
	case h.story.kind == operations.ServerAttachVolume && done:
		return []int{1}
	case h.story.kind != operations.ServerDetachVolume || done || h.turned():
		return []int{0}
	case result == operations.ResultFailed: // perhaps beyond its point of no return, by what was let go
		return []int{0, 1}
	}
	return []int{1}
}

// checkVolumes fails the test unless servers have the volumes that operations leave
// them, and the volume service says the same.
func checkVolumes(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	if !all[0].story.cloud.Services {
		return
	}
	inUse := 0
	for _, h := range all {
		op, err := c.Engine.Get(t.Context(), c.DB.Pool, h.op.ID)
		must(t, err)
		ids, err := volumesOf(t.Context(), c, h.server)
		if isGone(err) {
			continue
		}
		must(t, err)
		if want := h.volumes(op.Result); !slices.Contains(want, len(ids)) {
			t.Errorf("%s, which has ended as %q: server %s has volumes %v, want %v of them", h, op.Result, h.server, ids, want)
		}
		inUse += len(ids)
	}
	var shown struct{ Volumes []struct{ ID, Status string } }
	must(t, c.Volumes(t.Context(), http.MethodGet, "/volumes/detail", nil, &shown))
	for _, v := range shown.Volumes {
		if v.Status == "in-use" {
			inUse--
		} else if v.Status != "available" {
			t.Errorf("volume %s is left %s", v.ID, v.Status)
		}
	}
	if inUse != 0 {
		t.Errorf("servers have %d more volumes than are in use", inUse)
	}
}
