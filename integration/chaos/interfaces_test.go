package chaos

// Networks and the interfaces that servers have there.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"holdfast.dev/integration/cloud"
	"holdfast.dev/internal/operations"
)

// networkName is the name of the users' network.
const networkName = "net"

// connect gives the users' project its one network, which has room for everybody.
func connect(t *testing.T, c *cloud.Cloud) (network string) {
	t.Helper()
	var there struct{ Networks []struct{ ID string } }
	must(t, c.Networks(t.Context(), http.MethodGet, "/networks", nil, &there))
	if len(there.Networks) > 0 {
		return there.Networks[0].ID
	}
	var made struct{ Network struct{ ID string } }
	must(t, c.Networks(t.Context(), http.MethodPost, "/networks", map[string]any{"network": map[string]string{"name": networkName}}, &made))
	must(t, c.Networks(t.Context(), http.MethodPost, "/subnets", map[string]any{"subnet": map[string]any{
		"network_id": made.Network.ID, "ip_version": 4, "cidr": "10.1.0.0/16",
	}}, nil))
	return made.Network.ID
}

// attachInterface asks for one more interface. The answer comes when the server has
// it; that it was accepted is enough.
func attachInterface(ctx context.Context, c *cloud.Cloud, server string) error {
	answered := make(chan error, 1)
	go func() {
		answered <- c.Do(ctx, http.MethodPost, interfaces(server), map[string]any{"interfaceAttachment": map[string]any{}}, http.StatusOK, nil)
	}()
	for {
		if asked, err := isAsked(ctx, c, operations.ServerAttachInterface, server); err != nil || asked {
			return err
		}
		select {
		case err := <-answered:
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// detachInterface takes its interface from the server.
func detachInterface(ctx context.Context, c *cloud.Cloud, server string) error {
	ports, err := interfacesOf(ctx, c, server)
	if err != nil || len(ports) != 1 {
		return fmt.Errorf("server %s has interfaces %v: %w", server, ports, err)
	}
	return c.Do(ctx, http.MethodDelete, interfaces(server)+"/"+ports[0], nil, http.StatusAccepted, nil)
}

func interfaces(server string) string { return "/v2.1/servers/" + server + "/os-interface" }

func interfacesOf(ctx context.Context, c *cloud.Cloud, server string) (ports []string, err error) {
	var shown struct {
		InterfaceAttachments []struct {
			Port string `json:"port_id"`
		}
	}
	err = c.Do(ctx, http.MethodGet, interfaces(server), nil, http.StatusOK, &shown)
	for _, i := range shown.InterfaceAttachments {
		ports = append(ports, i.Port)
	}
	return ports, err
}

// interfaces is how many its server may have once the operation has ended so.
func (h held) interfaces(result operations.Result) []int {
	done := result == operations.ResultDone
	switch {
	case h.story.kind == operations.ServerAttachInterface && done:
		return []int{2}
	case h.story.kind == operations.ServerDetachInterface && (done || h.turned()):
		return []int{0}
	case h.story.kind == operations.ServerDetachInterface && result == operations.ResultFailed: // as with volumes
		return []int{0, 1}
	}
	return []int{1}
}

// checkInterfaces fails the test unless servers have the interfaces that operations
// leave them, and the network service has their ports and no others.
func checkInterfaces(t *testing.T, c *cloud.Cloud, all []held) {
	t.Helper()
	if !all[0].story.connected {
		return
	}
	want := map[string]string{}
	for _, h := range all {
		op, err := c.Engine.Get(t.Context(), c.DB.Pool, h.op.ID)
		must(t, err)
		ports, err := interfacesOf(t.Context(), c, h.server)
		if isGone(err) {
			continue
		}
		must(t, err)
		if want := h.interfaces(op.Result); !slices.Contains(want, len(ports)) {
			t.Errorf("%s, which has ended as %q: server %s has interfaces %v, want %v of them", h, op.Result, h.server, ports, want)
		}
		for _, port := range ports {
			want[port] = h.server
		}
	}
	var shown struct {
		Ports []struct {
			ID     string
			Server string `json:"device_id"`
		}
	}
	must(t, c.Networks(t.Context(), http.MethodGet, "/ports", nil, &shown))
	for _, port := range shown.Ports {
		if of, ok := want[port.ID]; !ok || of != port.Server {
			t.Errorf("port %s of %q is left, which %q has", port.ID, port.Server, of)
		}
		delete(want, port.ID)
	}
	if len(want) > 0 {
		t.Errorf("servers have interfaces that the network service knows nothing of: %v", want)
	}
}
