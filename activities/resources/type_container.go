package resources

// OS::Swift::Container: a container of objects.

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
	"holdfast.dev/internal/resourcetype"
)

// Container is OS::Swift::Container.
type Container struct{ REST }

// maxPurged is how many objects one call takes away.
const maxPurged = 100

// head sends a request whose words are all in headers, and gives those of the answer.
func (s *service) head(ctx context.Context, method, path string, headers map[string]string) (http.Header, error) {
	options := &gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{200, 201, 202, 204}, MoreHeaders: headers}
	answer, err := s.client.Request(ctx, method, s.client.ServiceURL(path), options)
	if err != nil {
		return nil, refusal(err)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "the answer of %s %s can't be read", method, path)
	}
	return answer.Header, nil
}

// metadata are headers of what a property says of a container or an account.
func (c *Call) metadata(property string) map[string]string {
	headers := map[string]string{}
	given, _ := c.Properties.Get(property)
	all, _ := given.(*value.Map)
	for i := range all.Len() {
		key, v := all.At(i)
		headers[property+"-"+value.Str(key)] = value.Str(v)
	}
	return headers
}

// pathOf is the path of a name, which can't lead elsewhere.
func pathOf(name string) string { return resourcetype.Scope{Item: name}.Path("$(item)") }

// Create is idempotent by the name.
func (t Container) Create(ctx context.Context, c *Call) (time.Duration, error) {
	name := c.text("name")
	if name == "" {
		name = c.Mark
	}
	if !c.Data.Has(madeKey) {
		c.Data.Set(madeKey, true)
		return soon, nil
	}
	s, err := open(ctx, t.Cloud, c, t.Type.REST.Service, "")
	if err != nil {
		return 0, err
	}
	headers := c.metadata("X-Container-Meta")
	for _, acl := range []string{"X-Container-Read", "X-Container-Write"} {
		if v, _ := c.Properties.Get(acl); v != nil {
			headers[acl] = value.Str(v)
		}
	}
	if _, err := s.head(ctx, http.MethodPut, pathOf(name), headers); err != nil {
		return 0, err
	}
	if account := c.metadata("X-Account-Meta"); len(account) > 0 {
		if _, err := s.head(ctx, http.MethodPost, "", account); err != nil {
			return 0, err
		}
	}
	c.PhysicalID = name
	return 0, s.described(ctx, c)
}

// Update is idempotent since nothing is changed in place.
func (t Container) Update(ctx context.Context, c *Call, _ []string) (time.Duration, error) {
	s, err := open(ctx, t.Cloud, c, t.Type.REST.Service, "")
	if err != nil {
		return 0, err
	}
	return 0, s.described(ctx, c)
}

// Adopt is idempotent as that of any type is.
func (t Container) Adopt(ctx context.Context, c *Call) (time.Duration, error) {
	_, err := t.Update(ctx, c, nil)
	if !faults.Is(err, faults.Unavailable) && ctx.Err() == nil {
		err = nil
	}
	return 0, err
}

// described reads what templates read of the container.
func (s *service) described(ctx context.Context, c *Call) error {
	header, err := s.head(ctx, http.MethodHead, pathOf(c.PhysicalID), nil)
	if err != nil {
		return err
	}
	of := &value.Map{}
	for name := range header {
		of.Set(strings.ToLower(name), header.Get(name))
	}
	root := strings.TrimSuffix(s.client.Endpoint, "/")
	at, err := url.Parse(root)
	if err != nil {
		return faults.Wrap(err, faults.Unavailable, "ServiceUnavailable", "the service's address can't be read")
	}
	for name, v := range map[string]any{
		"DomainName": at.Hostname(), "RootURL": root, "WebsiteURL": root + "/" + c.PhysicalID, "HeadContainer": of, "show": of,
		"ObjectCount": has(of, "x-container-object-count"), "BytesUsed": has(of, "x-container-bytes-used"),
	} {
		c.Attributes.Set(name, v)
	}
	return nil
}

// Delete is idempotent by what is gone. One with objects is kept, unless they are to go.
func (t Container) Delete(ctx context.Context, c *Call) (time.Duration, error) {
	name := c.PhysicalID
	if name == "" && c.Data.Has(madeKey) {
		if name = c.text("name"); name == "" {
			name = c.Mark
		}
	}
	if name == "" {
		return 0, nil
	}
	s, err := open(ctx, t.Cloud, c, t.Type.REST.Service, "")
	if err != nil {
		return 0, err
	}
	at := pathOf(name)
	objects, err := s.list(ctx, at+"?"+url.Values{"format": {"json"}, "limit": {value.Str(value.Int(maxPurged))}}.Encode(), "")
	if faults.Is(err, faults.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if purge, _ := c.Properties.Get("PurgeOnDelete"); len(objects) > 0 && purge != true {
		return 0, faults.New(faults.Invalid, "ResourceActionNotSupported",
			"Deleting non-empty container (%s) when PurgeOnDelete is False is not supported for resource.", name)
	}
	for _, one := range objects {
		_, err := s.head(ctx, http.MethodDelete, at+"/"+pathOf(value.Str(has(one, "name"))), nil)
		if err != nil && !faults.Is(err, faults.NotFound) {
			return 0, err
		}
	}
	if len(objects) == maxPurged {
		return soon, nil
	}
	_, err = s.head(ctx, http.MethodDelete, at, nil)
	switch {
	case faults.Is(err, faults.NotFound):
		return 0, nil
	case faults.Is(err, faults.Conflict) && c.until(blockedFor) > 0:
		return pause, nil // an object has come, or is on its way
	}
	return 0, err
}
