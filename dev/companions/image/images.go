package image

// Images: made, listed, shown, changed, tagged, deleted.

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/dev/companions/service"
)

func (s *Service) create(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var body map[string]any
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	if err := mayChange(caller, caller.ProjectID()); err != nil {
		return err
	}
	i := &record{ID: uuid.NewString(), Owner: caller.ProjectID(), Status: "queued", Visibility: "shared", Document: map[string]any{}}
	for name, value := range body {
		if name == "id" {
			text, _ := value.(string)
			id, err := uuid.Parse(text)
			if err != nil {
				return service.Fail(http.StatusBadRequest, "Provided object does not match schema 'image': '%s' is not an id.", bounded(text))
			}
			i.ID = id.String()
			continue
		}
		if err := i.set(caller, name, value); err != nil {
			return err
		}
	}
	err := s.Pool.QueryRow(r.Context(), `INSERT INTO image.images (id, owner, status, visibility, protected, document)
		VALUES ($1, $2, $3, $4, $5, $6) RETURNING created_at, updated_at`,
		i.ID, i.Owner, i.Status, i.Visibility, i.Protected, i.Document).Scan(&i.CreatedAt, &i.UpdatedAt)
	if service.Violates(err, "images_pkey") {
		return service.Fail(http.StatusConflict, "Image ID %s already exists!", i.ID)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Location", service.BaseURL(r)+"/v2/images/"+i.ID)
	w.Header().Set("OpenStack-Image-Import-Methods", strings.Join(importMethods, ","))
	w.Header().Set("OpenStack-Image-Store-Ids", store)
	return service.JSON(w, http.StatusCreated, i.view())
}

func (s *Service) show(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	i, err := s.get(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, i.view())
}

// change is one of a patch. In the older of the two types the operation's name is
// the path's key.
type change struct {
	Op      string `json:"op"`
	Path    string `json:"path"`
	Value   any    `json:"value"`
	Add     string `json:"add"`
	Replace string `json:"replace"`
	Remove  string `json:"remove"`
}

const olderPatch = "application/openstack-images-v2.0-json-patch"

// newer is a change of the older type in the words of the newer one.
func (c change) newer() change {
	switch {
	case c.Add != "":
		c.Op, c.Path = "add", c.Add
	case c.Replace != "":
		c.Op, c.Path = "replace", c.Replace
	case c.Remove != "":
		c.Op, c.Path = "remove", c.Remove
	}
	return c
}

// patch is one list of changes to fields, applied whole or not at all.
func (s *Service) patch(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var changes []change
	if err := service.Decode(r, &changes); err != nil {
		return err
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), olderPatch) {
		for i := range changes {
			changes[i] = changes[i].newer()
		}
	}
	i, err := s.change(r.Context(), caller, r.PathValue("id"), func(i *record) error {
		for _, c := range changes {
			path, rooted := strings.CutPrefix(c.Path, "/")
			if !rooted || strings.Contains(path, "/") {
				return service.Fail(http.StatusBadRequest, "Invalid JSON pointer for this resource: '%s'", bounded(c.Path))
			}
			name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path)
			var err error
			switch c.Op {
			case "add", "replace":
				err = i.set(caller, name, c.Value)
			case "remove":
				if _, there := i.Document[name]; !there || slices.Contains(readOnly, name) {
					return service.Fail(http.StatusConflict, "Property %s does not exist.", bounded(name))
				}
				delete(i.Document, name)
			default:
				return service.Fail(http.StatusBadRequest, "Operations must be one of \"add\", \"remove\" or \"replace\".")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, i.view())
}

// listTasks lists what is done to an image in the background: nothing here.
func (s *Service) listTasks(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	if _, err := s.get(r.Context(), caller, r.PathValue("id")); err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, map[string]any{"tasks": []any{}})
}

func (s *Service) tag(add bool) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		name := r.PathValue("tag")
		_, err := s.change(r.Context(), caller, r.PathValue("id"), func(i *record) error {
			tags, _ := i.Document["tags"].([]any)
			at := slices.Index(tags, any(name))
			switch {
			case add && at < 0:
				tags = append(tags, name)
			case !add && at < 0:
				return service.Fail(http.StatusNotFound, "The tag could not be found.")
			case !add:
				tags = slices.Delete(tags, at, at+1)
			}
			return i.set(caller, "tags", tags)
		})
		if err != nil {
			return err
		}
		return service.NoContent(w)
	}
}

// remove deletes the row, then the data: a file without a row is nobody's.
func (s *Service) remove(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	i, err := s.get(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := mayChange(caller, i.Owner); err != nil {
		return err
	}
	gone, err := s.Pool.Exec(r.Context(), `DELETE FROM image.images WHERE id = $1 AND NOT protected`, i.ID)
	if err != nil {
		return err
	}
	if gone.RowsAffected() == 0 {
		return service.Fail(http.StatusForbidden, "Image %s is protected and cannot be deleted.", i.ID)
	}
	for _, path := range []string{s.file(i.ID), s.staged(i.ID)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return service.NoContent(w)
}
