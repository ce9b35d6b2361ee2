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
	"holdfast.dev/internal/engine"
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
	swapping,
}

// swapping is of a volume that Cinder migrates.
var swapping = served(anew(story{kind: operations.ServerSwapVolume, before: "ACTIVE", after: "ACTIVE", lead: []operations.Kind{operations.ServerAttachVolume},
	turn: "records.ReplaceVolume"}, "cinder.BeginSwap", "cinder.BeginSwap.done", "records.ServerSpec", "swap.copy", "swap.pivot", "swap.done",
	"records.ReplaceVolume", "records.ReplaceVolume.done", "cinder.EndSwap", "cinder.EndSwap.done"))

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
	volume, err := volumeOf(ctx, c, server)
	if err != nil {
		return err
	}
	return c.Do(ctx, http.MethodDelete, attachments(server)+"/"+volume, nil, http.StatusAccepted, nil)
}

// swapVolume has Cinder migrate its volume, which then asks for the swap.
func swapVolume(ctx context.Context, c *cloud.Cloud, server string) error {
	volume, err := volumeOf(ctx, c, server)
	if err != nil {
		return err
	}
	body := map[string]any{"os-migrate_volume": map[string]string{"host": "elsewhere"}}
	if err := c.VolumesOfAll(ctx, http.MethodPost, "/volumes/"+volume+"/action", body, nil); err != nil {
		return err
	}
	return c.Await(patience, func(ctx context.Context) error {
		asked, err := isAsked(ctx, c, operations.ServerSwapVolume, server)
		if err == nil && !asked {
			err = fmt.Errorf("no swap of volume %s is asked for", volume)
		}
		return err
	})
}

// isAsked says whether the server has an operation of the kind.
func isAsked(ctx context.Context, c *cloud.Cloud, kind operations.Kind, server string) (bool, error) {
	ops, err := c.Operations(ctx, server)
	return slices.ContainsFunc(ops, func(op engine.Operation) bool { return op.Kind == kind }), err
}

// volumeOf is the server's one volume, once it is in use.
func volumeOf(ctx context.Context, c *cloud.Cloud, server string) (string, error) {
	volumes, err := volumesOf(ctx, c, server)
	if err != nil || len(volumes) != 1 {
		return "", fmt.Errorf("server %s has volumes %v: %w", server, volumes, err)
	}
	return volumes[0], awaitVolume(c, volumes[0], "in-use")
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
	case h.story.kind == operations.ServerSwapVolume, h.story.kind == operations.ServerAttachVolume && done:
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
		if h.story.kind == operations.ServerSwapVolume && len(ids) == 1 {
			h.checkSwap(t, c, ids[0], op.Result)
		}
	}
	c.Eventually("as many volumes are in use as servers have, and no other has anything to do", patience, func(ctx context.Context) error {
		var shown struct{ Volumes []struct{ ID, Status string } }
		if err := c.Volumes(ctx, http.MethodGet, "/volumes/detail", nil, &shown); err != nil {
			return err
		}
		left := inUse
		for _, v := range shown.Volumes {
			switch v.Status {
			case "in-use":
				left--
			case "available":
			default:
				return fmt.Errorf("volume %s is left %s", v.ID, v.Status)
			}
		}
		if left != 0 {
			return fmt.Errorf("servers have %d more volumes than are in use", left)
		}
		return nil
	})
}

// checkSwap fails the test unless Cinder has heard how the swap ended, and it and the
// guest have the volume by one attachment.
func (h held) checkSwap(t *testing.T, c *cloud.Cloud, volume string, result operations.Result) {
	t.Helper()
	var shown struct {
		Volume struct {
			Status      string `json:"migration_status"`
			Attachments []struct {
				ID string `json:"attachment_id"`
			}
		}
	}
	must(t, c.VolumesOfAll(t.Context(), http.MethodGet, "/volumes/"+volume, nil, &shown))
	want := "error"
	if result == operations.ResultDone || h.turned() {
		want = "success"
	}
	if shown.Volume.Status != want {
		t.Errorf("%s, which has ended as %q: the migration of volume %s is %q, want %q", h, result, volume, shown.Volume.Status, want)
	}
	guest, err := c.Guest(h.server)
	if err != nil || len(shown.Volume.Attachments) != 1 || guest.Attachments[volume] != shown.Volume.Attachments[0].ID {
		t.Errorf("%s, which has ended as %q: the guest has volumes by %v, %v; Cinder says %+v", h, result, guest.Attachments, err, shown.Volume)
	}
}
