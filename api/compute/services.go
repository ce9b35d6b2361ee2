package compute

// GET and DELETE of /os-services: a host is the service nova-compute.

import (
	"errors"
	"strconv"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// computeBinary is what clients call the service of a host.
const computeBinary = "nova-compute"

func (a *API) listServices(r *rest.Request) (*rest.Response, error) {
	services := []map[string]any{}
	if binary := r.Query.Get("binary"); binary == "" || binary == computeBinary {
		hosts, err := compute.ListHosts(r.Context(), a.DB.Pool, compute.HostFilter{Name: r.Query.Get("host")})
		if err != nil {
			return nil, err
		}
		for _, h := range hosts {
			services = append(services, a.serviceView(r, h))
		}
	}
	return rest.JSON(map[string]any{"services": services}), nil
}

func (a *API) serviceView(r *rest.Request, h *compute.Host) map[string]any {
	shown := map[string]any{
		"id": hostIDFor(r, h), "binary": computeBinary, "host": h.Name, "zone": h.AvailabilityZone,
		"status": enabledWord(h), "state": a.upWord(h),
		"updated_at": microsecond(h.LastSeen), "disabled_reason": nullIfEmpty(h.DisabledReason),
	}
	if r.Has(11) {
		shown["forced_down"] = h.ForcedDown
	}
	return shown
}

func (a *API) deleteService(r *rest.Request) (*rest.Response, error) {
	id := r.Param("id")
	if _, err := strconv.Atoi(id); err != nil && !r.Has(53) && !errors.Is(err, strconv.ErrRange) {
		return nil, faults.New(faults.Invalid, "InvalidInput", "Invalid input received: id must be an integer")
	}
	h, err := a.serviceHost(r, id)
	if faults.Is(err, faults.NotFound) {
		return nil, faults.New(faults.NotFound, "ServiceNotFound", "Service %s not found.", id)
	}
	if err != nil {
		return nil, err
	}
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error { return compute.DeleteHost(r.Context(), tx, h.ID) })
}

// serviceHost finds the host that a request names by id: a UUID from 2.53, a
// number before.
func (a *API) serviceHost(r *rest.Request, id string) (*compute.Host, error) {
	host, err := a.hostByID(r, id)
	if faults.Is(err, faults.NotFound) {
		return nil, faults.New(faults.NotFound, "ServiceNotFound", "Service %s could not be found.", id)
	}
	return host, err
}

func (a *API) hostByID(r *rest.Request, id string) (*compute.Host, error) {
	if r.Has(53) {
		if uuid.Validate(id) != nil {
			return nil, faults.New(faults.Invalid, "InvalidUUID", "Invalid uuid %s", id)
		}
		return compute.GetHost(r.Context(), a.DB.Pool, id)
	}
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, faults.New(faults.NotFound, "ComputeHostNotFound", "Compute host %s could not be found.", id)
	}
	return compute.HostByNumber(r.Context(), a.DB.Pool, number)
}

// hostIDFor is the id that the request's microversion knows a host by.
func hostIDFor(r *rest.Request, h *compute.Host) any {
	if r.Has(53) {
		return h.ID
	}
	return h.Number
}

func enabledWord(h *compute.Host) string {
	if h.Disabled {
		return "disabled"
	}
	return "enabled"
}

func (a *API) upWord(h *compute.Host) string {
	if h.Up(a.HostDownAfter) {
		return "up"
	}
	return "down"
}
