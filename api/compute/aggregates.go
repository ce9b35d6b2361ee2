package compute

// /os-aggregates: sets of hosts with metadata, made by administrators.

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/microversion"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

func (a *API) aggregateOperations() []rest.Operation {
	const one, rule = "/os-aggregates/{id}", "os_compute_api:os-aggregates:"
	return []rest.Operation{
		{Method: "GET", Path: "/os-aggregates", Policy: rule + "index", Success: 200, Handler: a.listAggregates},
		{Method: "POST", Path: "/os-aggregates", Policy: rule + "create", Success: 200, Handler: a.createAggregate},
		{Method: "GET", Path: one, Policy: rule + "show", Success: 200, Handler: a.showAggregate},
		{Method: "PUT", Path: one, Policy: rule + "update", Success: 200, Handler: a.changeAggregate(updateAggregate)},
		{Method: "DELETE", Path: one, Policy: rule + "delete", Success: 200, Handler: a.deleteAggregate},
		{Method: "POST", Path: one + "/action", Action: "add_host", Policy: rule + "add_host", Success: 200, Handler: a.changeAggregate(addHost)},
		{Method: "POST", Path: one + "/action", Action: "remove_host", Policy: rule + "remove_host", Success: 200, Handler: a.changeAggregate(removeHost)},
		{Method: "POST", Path: one + "/action", Action: "set_metadata", Policy: rule + "set_metadata", Success: 200, Handler: a.changeAggregate(setAggregateMetadata)},
		{Method: "POST", Path: one + "/images", Versions: microversion.From(81), Policy: "compute:aggregates:images", Success: 202, Handler: a.cacheImages},
	}
}

func (a *API) listAggregates(r *rest.Request) (*rest.Response, error) {
	all, err := compute.ListAggregates(r.Context(), a.DB.Pool)
	if err != nil {
		return nil, err
	}
	shown := make([]map[string]any, len(all))
	for i, one := range all {
		shown[i] = aggregateView(r, one)
	}
	return rest.JSON(map[string]any{"aggregates": shown}), nil
}

func (a *API) createAggregate(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[struct {
		Name string `json:"name"`
		Zone string `json:"availability_zone"`
	}](r, "aggregate")
	if err != nil {
		return nil, err
	}
	var made *compute.Aggregate
	err = a.DB.InTx(r.Context(), func(tx store.Tx) (err error) {
		made, err = compute.CreateAggregate(r.Context(), tx, strings.TrimSpace(asked.Name), strings.TrimSpace(asked.Zone))
		return err
	})
	if err != nil {
		return nil, err
	}
	shown := aggregateView(r, made)
	delete(shown, "hosts")
	delete(shown, "metadata")
	return rest.JSON(map[string]any{"aggregate": shown}), nil
}

func (a *API) showAggregate(r *rest.Request) (*rest.Response, error) {
	id, err := aggregateID(r)
	if err != nil {
		return nil, err
	}
	one, err := compute.GetAggregate(r.Context(), a.DB.Pool, id)
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"aggregate": aggregateView(r, one)}), nil
}

func (a *API) deleteAggregate(r *rest.Request) (*rest.Response, error) {
	id, err := aggregateID(r)
	if err != nil {
		return nil, err
	}
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		one, err := compute.LockAggregate(r.Context(), tx, id)
		if err != nil {
			return err
		}
		return compute.DeleteAggregate(r.Context(), tx, one)
	})
}

// changeAggregate is the frame of what changes a locked aggregate and shows it
// afterwards.
func (a *API) changeAggregate(change func(*rest.Request, store.Tx, int64) error) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		id, err := aggregateID(r)
		if err != nil {
			return nil, err
		}
		var after *compute.Aggregate
		err = a.DB.InTx(r.Context(), func(tx store.Tx) (err error) {
			if err = change(r, tx, id); err == nil {
				after, err = compute.GetAggregate(r.Context(), tx, id)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return rest.JSON(map[string]any{"aggregate": aggregateView(r, after)}), nil
	}
}

func updateAggregate(r *rest.Request, tx store.Tx, id int64) error {
	asked, err := readBody[map[string]*string](r, "aggregate")
	if err != nil {
		return err
	}
	one, err := compute.LockAggregate(r.Context(), tx, id)
	if err != nil {
		return err
	}
	if name, ok := (*asked)["name"]; ok {
		if err := compute.RenameAggregate(r.Context(), tx, id, strings.TrimSpace(*name)); err != nil {
			return err
		}
		delete(*asked, "name")
	}
	if len(*asked) == 0 {
		return nil
	}
	return compute.SetAggregateMetadata(r.Context(), tx, one, *asked, "update")
}

func setAggregateMetadata(r *rest.Request, tx store.Tx, id int64) error {
	asked, err := readBody[struct {
		Metadata map[string]*string `json:"metadata"`
	}](r, "set_metadata")
	if err != nil {
		return err
	}
	one, err := compute.LockAggregate(r.Context(), tx, id)
	if err != nil {
		return err
	}
	return compute.SetAggregateMetadata(r.Context(), tx, one, asked.Metadata, "update metadata of")
}

func addHost(r *rest.Request, tx store.Tx, id int64) error {
	name, err := namedHost(r, "add_host")
	if err != nil {
		return err
	}
	host, err := compute.HostByName(r.Context(), tx, name)
	if err != nil {
		return err
	}
	one, err := compute.LockAggregate(r.Context(), tx, id)
	if err != nil {
		return err
	}
	return compute.AddToAggregate(r.Context(), tx, one, host)
}

func removeHost(r *rest.Request, tx store.Tx, id int64) error {
	name, err := namedHost(r, "remove_host")
	if err != nil {
		return err
	}
	err = removeHostByName(r, tx, id, name)
	if faults.Is(err, faults.NotFound) {
		return faults.Wrap(err, faults.NotFound, "AggregateHostNotFound", "Cannot remove host %s in aggregate %d", name, id)
	}
	return err
}

func removeHostByName(r *rest.Request, tx store.Tx, id int64, name string) error {
	host, err := compute.HostByName(r.Context(), tx, name)
	if err != nil {
		return err
	}
	one, err := compute.LockAggregate(r.Context(), tx, id)
	if err != nil {
		return err
	}
	return compute.RemoveFromAggregate(r.Context(), tx, one, host)
}

// namedHost is the host's name in the action.
func namedHost(r *rest.Request, action string) (string, error) {
	asked, err := readBody[struct {
		Host string `json:"host"`
	}](r, action)
	if err != nil {
		return "", err
	}
	return asked.Host, nil
}

// cacheImages asks Glance first, outside of any transaction, and has the aggregate's
// hosts get the images after the answer.
func (a *API) cacheImages(r *rest.Request) (*rest.Response, error) {
	id, err := aggregateID(r)
	if err != nil {
		return nil, err
	}
	asked, err := readBody[[]struct {
		ID string `json:"id"`
	}](r, "cache")
	if err != nil {
		return nil, err
	}
	images := make([]string, len(*asked))
	for i, one := range *asked {
		if slices.Contains(images[:i], one.ID) {
			return nil, faults.New(faults.Invalid, "DuplicateImages", "Duplicate images in request")
		}
		images[i] = one.ID
	}
	if _, err := compute.GetAggregate(r.Context(), a.DB.Pool, id); err != nil {
		return nil, err
	}
	if err := a.seesImages(r, images); err != nil {
		return nil, err
	}
	return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
		if _, err := compute.LockAggregate(r.Context(), tx, id); err != nil {
			return err
		}
		return compute.WantImages(r.Context(), tx, id, images, a.HostDownAfter)
	})
}

// seesImages looks at each image in the caller's name. No more are looked at than a host
// can be wanted to have.
func (a *API) seesImages(r *rest.Request, images []string) error {
	if n := len(images); n > compute.MaxWantedImages {
		return compute.TooManyWanted(n)
	}
	if !a.reachable(r.Identity) {
		return nil
	}
	for _, id := range images {
		_, err := a.Neighbours.Image(r.Context(), r.Identity, id)
		if faults.Is(err, faults.NotFound) {
			return faults.Wrap(err, faults.Invalid, "ImageNotFound", "Image %s could not be found.", id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// aggregateID reads the number in the path.
func aggregateID(r *rest.Request) (int64, error) {
	text := strings.TrimSpace(r.Param("id"))
	id, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, faults.Wrap(err, faults.NotFound, "AggregateNotFound", "Aggregate %s could not be found.", text)
	case err != nil:
		return 0, faults.Wrap(err, faults.Invalid, "InvalidInput", "Invalid input received: id must be an integer")
	}
	return id, nil
}

func aggregateView(r *rest.Request, a *compute.Aggregate) map[string]any {
	shown := map[string]any{
		"id": a.ID, "name": a.Name, "availability_zone": nullIfEmpty(a.Zone()), "hosts": a.Hosts, "metadata": a.Metadata,
		"created_at": microsecond(&a.CreatedAt), "updated_at": microsecond(a.UpdatedAt), "deleted": false, "deleted_at": nil,
	}
	if r.Has(41) {
		shown["uuid"] = a.UUID
	}
	return shown
}
