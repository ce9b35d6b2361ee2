package openstack

// Marks: the names of ports and volumes that are made for servers. By its mark a
// step finds what an earlier run of it has made, and the audit what is left over.

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store/compute"
)

// Mark names what is made for a server's port or block device at a position.
func Mark(serverID string, position int) string {
	return fmt.Sprintf("holdfast-%s-%d", serverID, position)
}

var mark = regexp.MustCompile(`^holdfast-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-([0-9]{1,6})$`)

// listed is what is read of a port or a volume.
type listed struct {
	ID, Name, Status string
	DeviceID         string `json:"device_id"`
	Attachments      []struct{}
}

const (
	// perPage is how many are asked for at once, maxPages how often.
	perPage  = 1000
	maxPages = 1000
)

// MarkedPorts lists the ports of all projects that bear a mark. Errors: Unavailable.
func (s *Session) MarkedPorts(ctx context.Context) ([]compute.Made, error) {
	client, err := s.Network(ctx)
	if err != nil {
		return nil, err
	}
	return marked(ctx, client, "ports", client.ServiceURL("ports"), url.Values{"fields": {"id", "name", "device_id"}, "sort_key": {"id"}, "sort_dir": {"asc"}})
}

// MarkedVolumes lists the volumes of all projects that bear a mark, those that
// are being deleted left out. Errors: Unavailable.
func (s *Session) MarkedVolumes(ctx context.Context) ([]compute.Made, error) {
	client, err := s.Volume(ctx, "")
	if err != nil {
		return nil, err
	}
	return marked(ctx, client, "volumes", client.ServiceURL("volumes", "detail"), url.Values{"all_tenants": {"1"}})
}

// marked are those of a list that bear a mark.
func marked(ctx context.Context, client *gophercloud.ServiceClient, collection, address string, query url.Values) ([]compute.Made, error) {
	var found []compute.Made
	err := pages(ctx, client, collection, address, query, func(one listed) string {
		if m, ok := one.read(); ok {
			found = append(found, m)
		}
		return one.ID
	})
	return found, err
}

// pages reads a list page by page; each is given to see, which gives its id.
func pages[T any](ctx context.Context, client *gophercloud.ServiceClient, collection, address string, query url.Values, see func(T) (id string)) error {
	query.Set("limit", strconv.Itoa(perPage))
	for range maxPages {
		var page map[string][]T
		_, err := client.Get(ctx, address+"?"+query.Encode(), &page, nil)
		if err != nil {
			return faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "the %s can't be listed", collection)
		}
		last := ""
		for _, one := range page[collection] {
			last = see(one)
		}
		if last == "" {
			return nil
		}
		query.Set("marker", last)
	}
	return nil
}

// read says whose it is, by its mark.
func (l listed) read() (compute.Made, bool) {
	parts := mark.FindStringSubmatch(l.Name)
	if parts == nil || strings.HasPrefix(l.Status, "deleting") {
		return compute.Made{}, false
	}
	position, err := strconv.Atoi(parts[2])
	return compute.Made{ID: l.ID, ServerID: parts[1], Position: position, Used: l.DeviceID != "" || len(l.Attachments) > 0}, err == nil
}
