package compute

// PUT /servers/{id}: what users call a server and say of it.

import (
	"encoding/json"
	"slices"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// serverUpdate is the body; what isn't sent stays.
type serverUpdate struct {
	Name        *string         `json:"name"`
	AccessIPv4  json.RawMessage `json:"accessIPv4"`
	AccessIPv6  json.RawMessage `json:"accessIPv6"`
	DiskConfig  *string         `json:"OS-DCF:diskConfig"`
	Description json.RawMessage `json:"description"`
	Hostname    *string         `json:"hostname"`
	Pinned      json.RawMessage `json:"pinned_availability_zone"`
}

func (a *API) updateServer(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[serverUpdate](r, "server")
	if err != nil {
		return nil, err
	}
	var server *compute.Server
	err = a.onServer(r, "os_compute_api:servers:update", func(tx store.Tx, s *compute.Server) error {
		change, err := asked.change(s)
		if err != nil {
			return err
		}
		if err := compute.ChangeServer(r.Context(), tx, s.ID, change); err != nil {
			return err
		}
		server, err = compute.GetServer(r.Context(), tx, "", s.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	shown, err := a.showChanged(r, server)
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"server": shown}), nil
}

// showChanged is a server as the answers of an update and a rebuild have it.
func (a *API) showChanged(r *rest.Request, server *compute.Server) (map[string]any, error) {
	view, err := a.viewAlone(r, server)
	if err != nil {
		return nil, err
	}
	shown := view.detail()
	if !r.Has(75) {
		for name := range shown {
			if !slices.Contains(shownChanged, name) {
				delete(shown, name)
			}
		}
		shown["addresses"] = plainAddresses(view.addresses())
	}
	return shown, nil
}

// shownChanged are the fields that those answers had until 2.74.
var shownChanged = []string{
	"id", "name", "status", "tenant_id", "user_id", "metadata", "hostId", "image", "flavor", "created", "updated", "addresses",
	"accessIPv4", "accessIPv6", "links", "progress", "fault", "OS-DCF:diskConfig",
	"locked", "description", "tags", "trusted_image_certificates", "server_groups", "locked_reason",
}

// change reads the body for a server.
func (u *serverUpdate) change(s *compute.Server) (c compute.ServerChange, err error) {
	c = compute.ServerChange{Name: u.Name, Hostname: u.Hostname, DiskConfig: u.DiskConfig}
	c.AccessIPv4, c.AccessIPv6 = textOrNone(u.AccessIPv4), textOrNone(u.AccessIPv6)
	if len(u.Description) > 0 {
		var description *string
		if err := json.Unmarshal(u.Description, &description); err != nil {
			return c, notOfType("description", u.Description, "string', 'null")
		}
		c.Description = &description
	}
	c.Zone, err = u.zone(s)
	return c, err
}

// zone unpins a server from its availability zone, or pins it to the one that
// it is in.
func (u *serverUpdate) zone(s *compute.Server) (*string, error) {
	asked := textOrNone(u.Pinned)
	switch {
	case asked == nil, *asked == "", *asked == s.AvailabilityZone:
		return asked, nil
	case s.AvailabilityZone != "":
		return nil, faults.New(faults.Conflict, "AlreadyPinned",
			"Cannot change pinned availability zone directly. Unpin first by setting pinned_availability_zone to null.")
	}
	current := ""
	if s.Host != nil {
		current = s.Host.AvailabilityZone
	}
	if current != *asked {
		return nil, faults.New(faults.Conflict, "NotInZone",
			"Server can only be pinned to its current availability zone '%s', but '%s' was requested.", current, *asked)
	}
	return asked, nil
}

// textOrNone is a text that was sent, "" for null; nil if none was.
func textOrNone(raw json.RawMessage) *string {
	if len(raw) == 0 {
		return nil
	}
	text := ""
	if string(raw) != "null" {
		text = pyStr(raw)
	}
	return &text
}
