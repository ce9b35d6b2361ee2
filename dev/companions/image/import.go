package image

// The other way to an image's data: staged first, then imported. And the states
// that an administrator may set.

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"

	"holdfast.dev/dev/companions/service"
)

// store is the only place for data, importMethods are those that need nothing
// from elsewhere.
const store = "file"

var importMethods = []string{"copy-image", "glance-direct"}

func (s *Service) staged(id string) string { return s.file(id) + ".staged" }

func (s *Service) stage(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	i, received, err := s.receive(r, caller)
	if err != nil {
		return err
	}
	defer received.discard()
	_, err = s.change(r.Context(), caller, i.ID, func(i *record) error {
		if err := uploadable(i); err != nil {
			return err
		}
		i.Status = "uploading"
		i.Document["size"] = received.size
		return os.Rename(received.path, s.staged(i.ID))
	})
	if err != nil {
		return err
	}
	return service.NoContent(w)
}

func (s *Service) importImage(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var body struct {
		Method struct {
			Name string `json:"name"`
		} `json:"method"`
		Stores    []string `json:"stores"`
		AllStores bool     `json:"all_stores"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	if !slices.Contains(importMethods, body.Method.Name) {
		return service.Fail(http.StatusBadRequest, "Unknown import method name '%s'.", bounded(body.Method.Name))
	}
	for _, name := range body.Stores {
		if name != store {
			return service.Fail(http.StatusBadRequest, "Store '%s' is not available: there is %s.", bounded(name), store)
		}
	}
	_, err := s.change(r.Context(), caller, r.PathValue("id"), func(i *record) error {
		if body.Method.Name == "copy-image" {
			return copyable(i, body.AllStores)
		}
		return s.importStaged(i)
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// copyable says whether a copy to all stores may be asked for; with one store it
// has been made before.
func copyable(i *record, all bool) error {
	if i.Status != "active" {
		return service.Fail(http.StatusConflict, "Only images with status active can be targeted for copying")
	}
	if !all {
		return service.Fail(http.StatusConflict, "Image is already present at store '%s'", store)
	}
	return nil
}

func (s *Service) importStaged(i *record) error {
	if i.Status != "uploading" {
		return service.Fail(http.StatusConflict, "Image needs to be staged before 'glance-direct' method can be used")
	}
	// An import that was killed before its commit has moved the data already.
	if err := os.Rename(s.staged(i.ID), s.file(i.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	read, err := measure(s.file(i.ID))
	if err != nil {
		return err
	}
	i.activate(read)
	return nil
}

// become sets the state of an image that has its data.
func (s *Service) become(status string) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		if !caller.Admin() {
			return service.Fail(http.StatusForbidden, "You are not authorized to complete this action.")
		}
		_, err := s.change(r.Context(), caller, r.PathValue("id"), func(i *record) error {
			if i.Status != "active" && i.Status != "deactivated" {
				return service.Fail(http.StatusForbidden, "Not allowed to set the status of an image that is %s to %s.", i.Status, status)
			}
			i.Status = status
			return nil
		})
		if err != nil {
			return err
		}
		return service.NoContent(w)
	}
}

func (s *Service) importInfo(w http.ResponseWriter, _ *http.Request, _ *service.Caller) error {
	return service.JSON(w, http.StatusOK, map[string]any{"import-methods": map[string]any{
		"description": "Import methods available.", "type": "array", "value": importMethods}})
}

func (s *Service) storesInfo(w http.ResponseWriter, _ *http.Request, _ *service.Caller) error {
	return service.JSON(w, http.StatusOK, map[string]any{"stores": []any{map[string]any{"id": store, "default": "true"}}})
}
