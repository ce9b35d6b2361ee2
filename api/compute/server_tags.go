package compute

// /servers/{server_id}/tags: labels by which users find servers, from 2.26.

import (
	"net/http"
	"slices"
	"strings"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

const (
	maxTags   = 50
	maxTagLen = 60
)

func tagging(name string) precondition { return precondition{name: name, vmStates: settled} }

func (a *API) listTags(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, "os_compute_api:os-server-tags:index")
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"tags": append([]string{}, server.Tags...)}), nil
}

func (a *API) showTag(r *rest.Request) (*rest.Response, error) {
	server, err := a.serverOf(r, "os_compute_api:os-server-tags:show")
	if err == nil && !slices.Contains(server.Tags, r.Param("id")) {
		err = faults.New(faults.NotFound, "NoTag", "Server %s has no tag '%s'", server.ID, r.Param("id"))
	}
	return nil, err
}

// addTag answers 201 for a new tag and 204 for one that is there.
func (a *API) addTag(r *rest.Request) (*rest.Response, error) {
	tag := r.Param("id")
	if err := validTag(tag); err != nil {
		return nil, err
	}
	added := false
	err := a.onServer(r, "os_compute_api:os-server-tags:update", func(tx store.Tx, server *compute.Server) error {
		if err := tagging("update tag").check(r, server); err != nil {
			return err
		}
		if !slices.Contains(server.Tags, tag) && len(server.Tags) >= maxTags {
			return tooManyTags()
		}
		var err error
		added, err = compute.AddTag(r.Context(), tx, server.ID, tag)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !added {
		return &rest.Response{Status: http.StatusNoContent}, nil
	}
	answer := &rest.Response{Status: http.StatusCreated}
	return answer.WithHeader("Location", r.Link("servers", r.Param("server_id"), "tags", tag)), nil
}

func (a *API) setTags(r *rest.Request) (*rest.Response, error) {
	asked, err := readBody[[]string](r, "tags")
	if err != nil {
		return nil, err
	}
	tags := slices.Compact(slices.Sorted(slices.Values(*asked)))
	if len(tags) > maxTags {
		return nil, tooManyTags()
	}
	for _, tag := range tags {
		if err := validTag(tag); err != nil {
			return nil, err
		}
	}
	err = a.onServer(r, "os_compute_api:os-server-tags:update_all", func(tx store.Tx, server *compute.Server) error {
		if err := tagging("update tags").check(r, server); err != nil {
			return err
		}
		return compute.SetTags(r.Context(), tx, server.ID, tags)
	})
	if err != nil {
		return nil, err
	}
	return rest.JSON(map[string]any{"tags": append([]string{}, tags...)}), nil
}

func (a *API) deleteTag(r *rest.Request) (*rest.Response, error) {
	return nil, a.onServer(r, "os_compute_api:os-server-tags:delete", func(tx store.Tx, server *compute.Server) error {
		if err := tagging("delete tag").check(r, server); err != nil {
			return err
		}
		had, err := compute.RemoveTag(r.Context(), tx, server.ID, r.Param("id"))
		if err == nil && !had {
			err = faults.New(faults.NotFound, "InstanceTagNotFound", "Instance %s has no tag '%s'", server.ID, r.Param("id"))
		}
		return err
	})
}

func (a *API) deleteTags(r *rest.Request) (*rest.Response, error) {
	return nil, a.onServer(r, "os_compute_api:os-server-tags:delete_all", func(tx store.Tx, server *compute.Server) error {
		if err := tagging("delete tags").check(r, server); err != nil {
			return err
		}
		return compute.SetTags(r.Context(), tx, server.ID, nil)
	})
}

func validTag(tag string) error {
	why := ""
	switch {
	case tag == "":
		why = "'' is too short"
	case len([]rune(tag)) > maxTagLen:
		why = "'" + tag + "' is too long"
	case strings.ContainsAny(tag, "/,"):
		why = "'" + tag + "' does not match '^[^,/]*$'"
	default:
		return nil
	}
	return faults.New(faults.Invalid, "InvalidTag",
		"Tag '%s' is invalid. It must be a non empty string without characters '/' and ','. Validation error message: %s", tag, why)
}

func tooManyTags() error {
	return faults.New(faults.Invalid, "TooManyTags", "The number of tags exceeded the per-server limit %d", maxTags)
}
