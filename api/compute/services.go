package compute

// GET and DELETE of /os-services, and the words for what a service is like.

import (
	"context"
	"errors"
	"strconv"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

func (a *API) listServices(r *rest.Request) (*rest.Response, error) {
	services, err := compute.ListServices(r.Context(), a.DB.Pool, r.Query.Get("host"), r.Query.Get("binary"))
	if err != nil {
		return nil, err
	}
	shown := make([]map[string]any, len(services))
	for i, s := range services {
		shown[i] = a.serviceView(r, s)
	}
	return rest.JSON(map[string]any{"services": shown}), nil
}

func (a *API) serviceView(r *rest.Request, s *compute.Service) map[string]any {
	shown := map[string]any{
		"id": idFor(r, s.ID, s.Number), "binary": s.Binary, "host": s.Host, "zone": s.Zone,
		"status": enabledWord(s.Disabled), "state": upWord(s.Up(a.HostDownAfter)),
		"updated_at": microsecond(s.LastSeen), "disabled_reason": nullIfEmpty(s.DisabledReason),
	}
	if r.Has(11) {
		shown["forced_down"] = s.ForcedDown
	}
	return shown
}

func (a *API) deleteService(r *rest.Request) (*rest.Response, error) {
	id := r.Param("id")
	if _, err := strconv.Atoi(id); err != nil && !r.Has(53) && !errors.Is(err, strconv.ErrRange) {
		return nil, faults.New(faults.Invalid, "InvalidInput", "Invalid input received: id must be an integer")
	}
	service, err := a.service(r, id)
	if faults.Is(err, faults.NotFound) {
		return nil, faults.New(faults.NotFound, "ServiceNotFound", "Service %s not found.", id)
	}
	if err != nil {
		return nil, err
	}
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error { return compute.DeleteService(r.Context(), tx, service) })
}

// service finds the one that a request names by id.
func (a *API) service(r *rest.Request, id string) (*compute.Service, error) {
	return byID(r, a.DB.Pool, id, compute.GetService, compute.ServiceByNumber)
}

// host finds the one that a request names by its service's id.
func (a *API) host(r *rest.Request, id string) (*compute.Host, error) {
	return byID(r, a.DB.Pool, id, compute.GetHost, compute.HostByNumber)
}

// hostNamed finds the one of a name, in the words of the original, which looks for
// its cell.
func (a *API) hostNamed(r *rest.Request, name string) (*compute.Host, error) {
	host, err := compute.HostByName(r.Context(), a.DB.Pool, name)
	if faults.Is(err, faults.NotFound) {
		err = faults.New(faults.NotFound, "HostMappingNotFound", "Host '%s' is not mapped to any cell", name)
	}
	return host, err
}

// byID finds a host or a service: by its UUID from 2.53, by its number before.
func byID[T any](r *rest.Request, q store.Queryer, id string,
	get func(context.Context, store.Queryer, string) (*T, error), byNumber func(context.Context, store.Queryer, int64) (*T, error)) (*T, error) {
	if r.Has(53) {
		if uuid.Validate(id) != nil {
			return nil, faults.New(faults.Invalid, "InvalidUUID", "Invalid uuid %s", id)
		}
		return get(r.Context(), q, id)
	}
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, faults.New(faults.NotFound, "ComputeHostNotFound", "Compute host %s could not be found.", id)
	}
	return byNumber(r.Context(), q, number)
}

// idFor is the id that the request's microversion knows a host or a service by.
func idFor(r *rest.Request, id string, number int64) any {
	if r.Has(53) {
		return id
	}
	return number
}

func enabledWord(disabled bool) string {
	if disabled {
		return "disabled"
	}
	return "enabled"
}

func upWord(up bool) string {
	if up {
		return "up"
	}
	return "down"
}
