package network

// Tags.

import (
	"net/http"
	"slices"
	"sort"

	"holdfast.dev/dev/companions/service"
)

// tagFilters are the conditions of the four parameters for lists; the argument
// is a list of tags.
var tagFilters = map[string]string{
	"tags":         "r.body->'tags' ?& %s",
	"tags-any":     "r.body->'tags' ?| %s",
	"not-tags":     "NOT r.body->'tags' ?& %s",
	"not-tags-any": "NOT r.body->'tags' ?| %s",
}

// mostTags bounds the tags of one resource, as the API reference does.
const mostTags = 50

func (s *Service) tagsOf(r *http.Request, caller *service.Caller, k *kind) ([]string, error) {
	if k.attribute("tags") == nil {
		return nil, service.Fail(http.StatusNotFound, "The resource could not be found.")
	}
	doc, err := find(r.Context(), s.Pool, caller, k, r.PathValue("id"), unlocked)
	return doc.texts("tags"), err
}

func (s *Service) listTags(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		tags, err := s.tagsOf(r, caller, k)
		if err != nil {
			return err
		}
		return service.JSON(w, http.StatusOK, map[string]any{"tags": tags})
	}
}

func (s *Service) hasTag(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		tags, err := s.tagsOf(r, caller, k)
		if err != nil {
			return err
		}
		if !slices.Contains(tags, r.PathValue("tag")) {
			return tagNotFound(r.PathValue("tag"))
		}
		return service.NoContent(w)
	}
}

// editTags stores what edit makes of a resource's tags.
func (s *Service) editTags(r *http.Request, caller *service.Caller, k *kind, edit func(tags []string) ([]string, error)) error {
	if k.attribute("tags") == nil {
		return service.Fail(http.StatusNotFound, "The resource could not be found.")
	}
	return s.write(r.Context(), caller, func(c *change) error {
		doc, err := c.own(r.Context(), k, r.PathValue("id"), "update")
		if err != nil {
			return err
		}
		if err := mayWriteAtAll(caller, "update_"+k.name); err != nil {
			return err
		}
		tags, err := edit(doc.texts("tags"))
		if err != nil {
			return err
		}
		sort.Strings(tags)
		list := []any{}
		for _, tag := range slices.Compact(tags) {
			list = append(list, tag)
		}
		if len(list) > mostTags {
			return invalid("tags", "the number of tags exceeds the maximum %d.", mostTags)
		}
		doc["tags"] = list
		return c.update(r.Context(), doc)
	})
}

func (s *Service) setTags(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		var body struct {
			Tags []any `json:"tags"`
		}
		if err := service.Decode(r, &body); err != nil {
			return err
		}
		if body.Tags == nil {
			return service.Fail(http.StatusBadRequest, "Invalid tags body: 'tags' is missing.")
		}
		checked, err := listOf(text(60))(body.Tags)
		if err != nil {
			return invalid("tags", "%s", err.Error())
		}
		tags := document{"tags": checked}.texts("tags")
		if err := s.editTags(r, caller, k, func([]string) ([]string, error) { return tags, nil }); err != nil {
			return err
		}
		return service.JSON(w, http.StatusOK, map[string]any{"tags": tags})
	}
}

func (s *Service) clearTags(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		if err := s.editTags(r, caller, k, func([]string) ([]string, error) { return nil, nil }); err != nil {
			return err
		}
		return service.NoContent(w)
	}
}

func (s *Service) addTag(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		if _, err := text(60)(r.PathValue("tag")); err != nil {
			return invalid("tags", "%s", err.Error())
		}
		err := s.editTags(r, caller, k, func(tags []string) ([]string, error) { return append(tags, r.PathValue("tag")), nil })
		if err != nil {
			return err
		}
		w.WriteHeader(http.StatusCreated)
		return nil
	}
}

func (s *Service) dropTag(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		err := s.editTags(r, caller, k, func(tags []string) ([]string, error) {
			at := slices.Index(tags, r.PathValue("tag"))
			if at < 0 {
				return nil, tagNotFound(r.PathValue("tag"))
			}
			return slices.Delete(tags, at, at+1), nil
		})
		if err != nil {
			return err
		}
		return service.NoContent(w)
	}
}

func tagNotFound(tag string) error {
	return service.Typed(http.StatusNotFound, "TagNotFound", "Tag %s could not be found.", tag)
}
