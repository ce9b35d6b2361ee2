package resources

// The ports of a server of which another takes the place: it lets go of those that
// the other is given too, and gets them back when it takes its place back.

import (
	"context"
	"net/http"
	"time"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/hot/value"
)

// givenPorts are the ids of the ports that a server's properties name.
func (w *work) givenPorts(ctx context.Context) ([]string, error) {
	if err := w.resolve(ctx); err != nil {
		return nil, err
	}
	v, _ := w.scope.Properties.Get("networks")
	networks, _ := v.([]any)
	var ports []string
	for _, one := range networks {
		m, _ := one.(*value.Map)
		if port, _ := m.Get("port"); port != nil {
			ports = append(ports, value.Str(port))
		}
	}
	return ports, nil
}

// pluggedInto says which device has a port; empty is none.
func (w *work) pluggedInto(ctx context.Context, port string) (string, error) {
	network, err := open(ctx, w.Cloud, w.call, "network", "")
	if err != nil {
		return "", err
	}
	object, err := network.get(ctx, "ports/"+port, "port")
	if err != nil {
		return "", err
	}
	m, _ := object.(*value.Map)
	device, _ := m.Get("device_id")
	text, _ := device.(string)
	return text, nil
}

// takeOver takes ports out of another server that has them. It is idempotent by what
// they are plugged into; what keeps them is waited for, and then told. One that went
// wrong, or is gone, has nothing taken out of it.
func (w *work) takeOver(ctx context.Context, ports []string, from string) (time.Duration, error) {
	for _, port := range ports {
		device, err := w.pluggedInto(ctx, port)
		if err != nil {
			return 0, err
		}
		if device != from {
			continue
		}
		object, err := w.get(ctx, "servers/"+from, "server")
		if faults.Is(err, faults.NotFound) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		m, _ := object.(*value.Map)
		if status, _ := m.Get("status"); status == "ERROR" {
			return 0, nil
		}
		_, err = w.do(ctx, http.MethodDelete, "servers/"+from+"/os-interface/"+port, nil)
		late := w.call.until(blockedFor) <= 0
		switch {
		case faults.Is(err, faults.Conflict) && !late, err == nil, faults.Is(err, faults.NotFound):
			return pause, nil
		default:
			return 0, err
		}
	}
	return 0, nil
}

// Return implements Returner: the ports that the server has let go of are plugged into
// it. It is idempotent by what they are plugged into.
func (t Server) Return(ctx context.Context, c *Call) (time.Duration, error) {
	w, err := t.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	ports, err := w.givenPorts(ctx)
	if err != nil || len(ports) == 0 {
		return 0, err
	}
	heir, err := t.idOf(ctx, c)
	if err != nil {
		return 0, err
	}
	if heir != "" {
		if wait, err := w.takeOver(ctx, ports, heir); wait > 0 || err != nil {
			return wait, err
		}
	}
	for _, port := range ports {
		device, err := w.pluggedInto(ctx, port)
		switch {
		case err != nil:
			return 0, err
		case device == c.PhysicalID:
			continue
		}
		body := value.NewMap("interfaceAttachment", value.NewMap("port_id", port))
		_, err = w.do(ctx, http.MethodPost, "servers/"+c.PhysicalID+"/os-interface", body)
		if faults.Is(err, faults.Conflict) && c.until(blockedFor) > 0 {
			return pause, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// idOf is the server that the call's Before is, though nobody has heard that it was
// made; empty if there is none.
func (t Server) idOf(ctx context.Context, c *Call) (string, error) {
	if c.Before.PhysicalID != "" {
		return c.Before.PhysicalID, nil
	}
	other := *c
	other.PhysicalID, other.Mark = "", c.Before.Mark
	w, err := t.begin(ctx, &other)
	if err != nil {
		return "", err
	}
	return w.find(ctx)
}
