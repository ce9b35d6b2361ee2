package compute

// PUT /os-services/{id}: hosts taken out of scheduling, put back, declared
// down. Until 2.52 {id} is a verb and the body names the host.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// serviceChange is what to change of a host; nil fields stay.
type serviceChange struct {
	Disabled   *bool
	Reason     string
	ForcedDown *bool
}

func (c serviceChange) make(r *rest.Request, tx store.Tx, host string) error {
	if c.Disabled != nil {
		if err := compute.SetHostDisabled(r.Context(), tx, host, *c.Disabled, c.Reason); err != nil {
			return err
		}
	}
	if c.ForcedDown != nil {
		return compute.SetHostForcedDown(r.Context(), tx, host, *c.ForcedDown)
	}
	return nil
}

// serviceRequest is the body, without a name around it.
type serviceRequest struct {
	Host           string  `json:"host"`
	Binary         string  `json:"binary"`
	Status         *string `json:"status"`
	DisabledReason *string `json:"disabled_reason"`
	ForcedDown     *truth  `json:"forced_down"`
}

func (a *API) updateService(r *rest.Request) (*rest.Response, error) {
	asked, err := readWhole[serviceRequest](r)
	if err != nil {
		return nil, err
	}
	service, err := a.service(r, r.Param("id"))
	if err == nil {
		err = onlyHosts(service.Binary)
	}
	if err != nil {
		return nil, err
	}
	change, err := asked.change()
	if err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		if err := change.make(r, tx, service.ID); err != nil {
			return err
		}
		service, err = compute.GetService(r.Context(), tx, service.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"service": a.serviceView(r, service)}), nil
}

// change reads what 2.53's body asks for.
func (q *serviceRequest) change() (c serviceChange, err error) {
	if q.Status == nil && q.ForcedDown == nil {
		return c, faults.New(faults.Invalid, "NoUpdates", "No updates were requested. Fields 'status' or 'forced_down' should be specified.")
	}
	if q.Status != nil {
		disabled := *q.Status == "disabled"
		if !disabled && q.DisabledReason != nil {
			return c, faults.New(faults.Invalid, "ReasonOfEnabled", "Specifying 'disabled_reason' with status 'enabled' is invalid.")
		}
		c.Disabled = &disabled
	}
	if q.DisabledReason != nil {
		c.Reason = *q.DisabledReason
	}
	if q.ForcedDown != nil {
		down := bool(*q.ForcedDown)
		c.ForcedDown = &down
	}
	return c, nil
}

// updateServiceByVerb is the form until 2.52.
func (a *API) updateServiceByVerb(r *rest.Request) (*rest.Response, error) {
	asked, err := readWhole[serviceRequest](r)
	if err != nil {
		return nil, err
	}
	change, shown, err := asked.byVerb(r, r.Param("id"))
	if err != nil {
		return nil, err
	}
	if err := onlyHosts(asked.Binary); err != nil {
		return nil, err
	}
	host, err := a.hostNamed(r, asked.Host)
	if err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error { return change.make(r, tx, host.ID) })
	if err != nil {
		return nil, err
	}
	shown["host"], shown["binary"] = asked.Host, asked.Binary
	return rest.JSON(map[string]any{"service": shown}), nil
}

// byVerb says what a verb changes and what its answer shows of it.
func (q *serviceRequest) byVerb(r *rest.Request, verb string) (c serviceChange, shown map[string]any, err error) {
	yes, no := true, false
	switch verb {
	case "enable":
		return serviceChange{Disabled: &no}, map[string]any{"status": "enabled"}, nil
	case "disable":
		return serviceChange{Disabled: &yes}, map[string]any{"status": "disabled"}, nil
	case "disable-log-reason":
		if q.DisabledReason == nil {
			return c, nil, faults.New(faults.Invalid, "NoReason", "Missing disabled reason field")
		}
		return serviceChange{Disabled: &yes, Reason: *q.DisabledReason},
			map[string]any{"status": "disabled", "disabled_reason": *q.DisabledReason}, nil
	case "force-down":
		if !r.Has(11) {
			break
		}
		if q.ForcedDown == nil {
			return c, nil, faults.New(faults.Invalid, "NoForcedDown", "Missing forced_down field")
		}
		down := bool(*q.ForcedDown)
		return serviceChange{ForcedDown: &down}, map[string]any{"forced_down": down}, nil
	}
	return c, nil, faults.New(faults.NotFound, "UnknownAction", "Unknown action")
}

// onlyHosts refuses to change the services of the control plane.
func onlyHosts(binary string) error {
	if binary == compute.HostBinary {
		return nil
	}
	return faults.New(faults.Invalid, "NotComputeService",
		"Updating a %s service is not supported. Only nova-compute services can be updated.", binary)
}
