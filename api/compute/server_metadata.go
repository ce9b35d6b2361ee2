package compute

// /servers/{server_id}/metadata: words that users keep with a server.

import (
	"maps"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/servers"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

var settled = []servers.VMState{servers.VMActive, servers.VMPaused, servers.VMSuspended, servers.VMStopped}

var (
	updatesMetadata = precondition{name: "update metadata", vmStates: settled, launched: true, unlocked: true}
	deletesMetadata = precondition{name: "delete metadata", vmStates: settled, launched: true, unlocked: true}
)

func (a *API) listMetadata(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, "os_compute_api:server-metadata:index")
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"metadata": orEmpty(server.Metadata)}), nil
}

func (a *API) showMetadataItem(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, "os_compute_api:server-metadata:show")
	if err != nil {
		return nil, err
	}
	value, ok := server.Metadata[r.Param("id")]
	if !ok {
		return nil, noMetadataItem()
	}
	return rest.JSON(map[string]any{"meta": map[string]string{r.Param("id"): value}}), nil
}

// addMetadata puts new items beside the old; it answers all of them.
func (a *API) addMetadata(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[map[string]string](r, "metadata")
	if err != nil {
		return nil, err
	}
	all, err := a.changeMetadata(r, "os_compute_api:server-metadata:create", func(had map[string]string) map[string]string {
		maps.Copy(had, *asked)
		return had
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"metadata": all}), nil
}

// replaceMetadata has the new items alone.
func (a *API) replaceMetadata(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[map[string]string](r, "metadata")
	if err != nil {
		return nil, err
	}
	all, err := a.changeMetadata(r, "os_compute_api:server-metadata:update_all", func(map[string]string) map[string]string { return orEmpty(*asked) })
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"metadata": all}), nil
}

func (a *API) setMetadataItem(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[map[string]string](r, "meta")
	if err != nil {
		return nil, err
	}
	value, ok := (*asked)[r.Param("id")]
	if !ok {
		return nil, faults.New(faults.Invalid, "BodyMismatch", "Request body and URI mismatch")
	}
	_, err = a.changeMetadata(r, "os_compute_api:server-metadata:update", func(had map[string]string) map[string]string {
		had[r.Param("id")] = value
		return had
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"meta": map[string]string{r.Param("id"): value}}), nil
}

func (a *API) deleteMetadataItem(r *rest.Request) (*rest.Response, error) {
	return nil, a.onServer(r, "os_compute_api:server-metadata:delete", func(tx store.Tx, server *compute.Server) error {
		if _, ok := server.Metadata[r.Param("id")]; !ok {
			return noMetadataItem()
		}
		if err := deletesMetadata.check(r, server); err != nil {
			return err
		}
		delete(server.Metadata, r.Param("id"))
		return compute.SetMetadata(r.Context(), tx, server.ID, server.Metadata)
	})
}

// changeMetadata changes what the server has within the quota, and gives it.
func (a *API) changeMetadata(r *rest.Request, rule string, change func(had map[string]string) map[string]string) (all map[string]string, err error) {
	err = a.onServer(r, rule, func(tx store.Tx, server *compute.Server) error {
		if err := updatesMetadata.check(r, server); err != nil {
			return err
		}
		all = change(orEmpty(server.Metadata))
		limits, err := compute.Limits(r.Context(), tx, server.ProjectID)
		if err != nil {
			return err
		}
		if err := fewEnough(all, limits["metadata_items"]); err != nil {
			return err
		}
		return compute.SetMetadata(r.Context(), tx, server.ID, all)
	})
	return all, err
}

// fewEnough holds metadata against its quota; -1 is no limit.
func fewEnough(metadata map[string]string, most int64) error {
	if most >= 0 && int64(len(metadata)) > most {
		return faults.New(faults.OverLimit, "MetadataLimitExceeded", "Maximum number of metadata items exceeds %d", most)
	}
	return nil
}

func noMetadataItem() error {
	return faults.New(faults.NotFound, "MetadataItemNotFound", "Metadata item was not found")
}
