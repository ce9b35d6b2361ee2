package image

// Images: made, listed, shown, changed, tagged, deleted.

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

const mostImages = 1000 // on a page

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
	return service.JSON(w, http.StatusCreated, i.view())
}

// list gives images newest first; every other query word is a filter on what is
// shown.
func (s *Service) list(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	query := r.URL.Query()
	limit := mostImages
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return service.Fail(http.StatusBadRequest, "limit param must be an integer")
		}
		limit = min(n, mostImages)
	}
	before := int64(1<<63 - 1)
	if marker := query.Get("marker"); marker != "" {
		last, err := s.get(r.Context(), caller, marker)
		if err != nil {
			return service.Fail(http.StatusBadRequest, "Invalid marker")
		}
		before = last.Seq
	}
	filters := url.Values{}
	for name, values := range query {
		if !slices.Contains([]string{"limit", "marker", "sort", "sort_key", "sort_dir"}, name) {
			filters[name] = values
		}
	}
	rows, err := s.Pool.Query(r.Context(), `SELECT `+columns+` FROM image.images WHERE `+seenBy+` AND seq < $3 ORDER BY seq DESC`,
		caller.ProjectID(), caller.Admin(), before)
	if err != nil {
		return err
	}
	all, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return err
	}
	shown := []map[string]any{}
	more := false
	for _, i := range all {
		view := i.view()
		if !matches(view, filters) {
			continue
		}
		if more = len(shown) == limit; more {
			break
		}
		shown = append(shown, view)
	}
	answer := map[string]any{"images": shown, "first": "/v2/images", "schema": "/v2/schemas/images"}
	if more && limit > 0 {
		query.Set("marker", shown[limit-1]["id"].(string))
		answer["next"] = "/v2/images?" + query.Encode()
	}
	return service.JSON(w, http.StatusOK, answer)
}

func matches(view map[string]any, filters url.Values) bool {
	hidden, _ := view["os_hidden"].(bool)
	if hidden && filters.Get("os_hidden") != "true" {
		return false
	}
	for name, values := range filters {
		want := values[0]
		switch name {
		case "os_hidden", "member_status":
		case "visibility":
			if want != "all" && view["visibility"] != want {
				return false
			}
		case "tag":
			tags, _ := view["tags"].([]any)
			if !slices.Contains(tags, any(want)) {
				return false
			}
		default:
			if !oneOf(want, view[name]) {
				return false
			}
		}
	}
	return true
}

// oneOf says whether a value is the one wanted, or in "in:a,b".
func oneOf(want string, value any) bool {
	text, ok := value.(string)
	if !ok {
		encoded, err := json.Marshal(value)
		if err != nil {
			return false
		}
		text = string(encoded)
	}
	if list, several := strings.CutPrefix(want, "in:"); several {
		return slices.Contains(strings.Split(list, ","), text)
	}
	return text == want
}

func (s *Service) show(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	i, err := s.get(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, i.view())
}

// patch is one list of changes to fields, applied whole or not at all.
func (s *Service) patch(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var changes []struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	if err := service.Decode(r, &changes); err != nil {
		return err
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
	if err := os.Remove(s.file(i.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return service.NoContent(w)
}
