package cloud

// A bootable image and a network, made through the services' APIs.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"holdfast.dev/dev/companions/service"
	"holdfast.dev/dev/image"
)

// The names of what is seeded.
const (
	imageName   = "holdfast-test"
	networkName = "private"
	subnetRange = "192.168.233.0/24"
)

// asker sends requests as one user.
type asker struct {
	login  *service.Login
	client *http.Client
}

func (c *cloud) as(u user) (*asker, error) {
	password, err := c.password(u.Name)
	if err != nil {
		return nil, err
	}
	return &asker{service.NewLogin(c.at.url("identity")+"/v3", u.Name, password, u.Project), &http.Client{Timeout: 5 * time.Minute}}, nil
}

// do sends a body and decodes the answer into out, if that isn't nil.
func (a *asker) do(ctx context.Context, method, url, kind string, body io.Reader, out any) error {
	token, err := a.login.Token(ctx)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	request.Header.Set("X-Auth-Token", token)
	request.Header.Set("Content-Type", kind)
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: status %d: %s", method, url, response.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

func (a *asker) json(ctx context.Context, method, url string, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return a.do(ctx, method, url, "application/json", bytes.NewReader(text), out)
}

// seedImage makes the public test image of a cloud that has none of its name.
// Simulated hosts read no images, so theirs is empty.
func (c *cloud) seedImage(ctx context.Context) error {
	admin, err := c.as(users[0])
	if err != nil {
		return err
	}
	base := c.at.url("image") + "/v2/images"
	var found struct{ Images []struct{ ID, Status string } }
	if err := admin.json(ctx, http.MethodGet, base+"?name="+url.QueryEscape(imageName), nil, &found); err != nil {
		return err
	}
	for _, i := range found.Images {
		if i.Status == "active" {
			return nil
		}
		// An upload that was cut short.
		if err := admin.json(ctx, http.MethodDelete, base+"/"+i.ID, nil, nil); err != nil {
			return err
		}
	}
	description := map[string]any{"name": imageName, "visibility": "public", "disk_format": "raw", "container_format": "bare"}
	data := io.Reader(bytes.NewReader(make([]byte, 1<<20)))
	if c.Driver == DriverLibvirt {
		c.say("%-12s being made from Debian packages\n", "test image")
		path, err := image.Build(ctx, c.path("test-image"))
		if err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		data, description["disk_format"] = file, "qcow2"
		for name, value := range image.Properties {
			description[name] = value
		}
	}
	var made struct{ ID string }
	if err := admin.json(ctx, http.MethodPost, base, description, &made); err != nil {
		return err
	}
	return admin.do(ctx, http.MethodPut, base+"/"+made.ID+"/file", "application/octet-stream", data, nil)
}

// seedNetwork makes demo's network, once.
func (c *cloud) seedNetwork(ctx context.Context) error {
	demo, err := c.as(users[1])
	if err != nil {
		return err
	}
	base := c.at.url("network") + "/v2.0"
	var found struct {
		Networks []struct {
			ID      string
			Subnets []string
		}
	}
	if err := demo.json(ctx, http.MethodGet, base+"/networks?name="+networkName, nil, &found); err != nil {
		return err
	}
	var made struct{ Network struct{ ID string } }
	switch {
	case len(found.Networks) > 0 && len(found.Networks[0].Subnets) > 0:
		return nil
	case len(found.Networks) > 0:
		made.Network.ID = found.Networks[0].ID
	default:
		if err := demo.json(ctx, http.MethodPost, base+"/networks", map[string]any{"network": map[string]any{"name": networkName}}, &made); err != nil {
			return err
		}
	}
	return demo.json(ctx, http.MethodPost, base+"/subnets", map[string]any{"subnet": map[string]any{
		"name": networkName, "network_id": made.Network.ID, "ip_version": 4, "cidr": subnetRange}}, nil)
}
