package network

// What all kinds have in common: create, show, change, delete.

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"holdfast.dev/dev/companions/service"
)

// mostAtOnce bounds a create of several.
const mostAtOnce = 100

func (s *Service) create(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		given, many, err := k.requests(r)
		if err != nil {
			return err
		}
		if err := mayWriteAtAll(caller, "create_"+k.name); err != nil {
			return err
		}
		docs := make([]document, len(given))
		err = s.write(r.Context(), caller, func(c *change) error {
			for i, one := range given {
				values, err := k.parse(caller, one, true)
				if err != nil {
					return err
				}
				if !caller.Admin() || !values.has("project_id") {
					values["project_id"] = caller.ProjectID()
				}
				if docs[i], err = c.create(r.Context(), k, values); err != nil {
					return err
				}
			}
			return k.derived(r.Context(), c.tx, docs)
		})
		if err != nil {
			return err
		}
		for i := range docs {
			docs[i] = k.show(caller, docs[i], nil)
		}
		if many {
			return service.JSON(w, http.StatusCreated, map[string]any{k.plural: docs})
		}
		return service.JSON(w, http.StatusCreated, map[string]any{k.name: docs[0]})
	}
}

// create stores a new resource of checked values.
func (c *change) create(ctx context.Context, k *kind, values document) (document, error) {
	if err := c.withinQuota(ctx, k, values.text("project_id")); err != nil {
		return nil, err
	}
	values["id"] = uuid.NewString()
	if k.onCreate != nil {
		if err := k.onCreate(ctx, c, values); err != nil {
			return nil, err
		}
	}
	if err := c.insert(ctx, k, values); err != nil {
		return nil, err
	}
	if k.onStored != nil {
		if err := k.onStored(ctx, c, values); err != nil {
			return nil, err
		}
	}
	return c.get(ctx, k, values.text("id"), unlocked)
}

// requests reads {"network": {}} or {"networks": [{}, {}]}.
func (k *kind) requests(r *http.Request) (given []document, many bool, err error) {
	var body map[string]json.RawMessage
	if err := service.Decode(r, &body); err != nil {
		return nil, false, err
	}
	into, text := any(&given), body[k.plural]
	if many = text != nil; !many {
		given, text = make([]document, 1), body[k.name]
		into = &given[0]
	}
	if text == nil {
		return nil, false, service.Fail(http.StatusBadRequest, "Unable to find '%s' in request body", k.name)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, false, service.Fail(http.StatusBadRequest, "Invalid input for '%s': it is not of the form that the API takes.", k.name)
	}
	if len(given) == 0 || len(given) > mostAtOnce {
		return nil, false, service.Fail(http.StatusBadRequest, "Between 1 and %d %s can be made at once.", mostAtOnce, k.plural)
	}
	return given, many, nil
}

func (s *Service) show(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		doc, err := find(r.Context(), s.Pool, caller, k, r.PathValue("id"), unlocked)
		if err != nil {
			return err
		}
		if err := k.derived(r.Context(), s.Pool, []document{doc}); err != nil {
			return err
		}
		return service.JSON(w, http.StatusOK, map[string]any{k.name: k.show(caller, doc, r.URL.Query()["fields"])})
	}
}

func (s *Service) change(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		given, many, err := k.requests(r)
		if err != nil {
			return err
		}
		if many {
			return service.Fail(http.StatusBadRequest, "Unable to find '%s' in request body", k.name)
		}
		var after document
		err = s.write(r.Context(), caller, func(c *change) error {
			before, err := c.own(r.Context(), k, r.PathValue("id"), "update")
			if err != nil {
				return err
			}
			if err := mayWriteAtAll(caller, "update_"+k.name); err != nil {
				return err
			}
			values, err := k.parse(caller, given[0], false)
			if err != nil {
				return err
			}
			after = before.merged(values)
			if k.onUpdate != nil {
				if err := k.onUpdate(r.Context(), c, before, values, after); err != nil {
					return err
				}
			}
			if err := c.update(r.Context(), after); err != nil {
				return err
			}
			return k.derived(r.Context(), c.tx, []document{after})
		})
		if err != nil {
			return err
		}
		return service.JSON(w, http.StatusOK, map[string]any{k.name: k.show(caller, after, nil)})
	}
}

func (s *Service) remove(k *kind) service.Endpoint {
	return func(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
		err := s.write(r.Context(), caller, func(c *change) error {
			doc, err := c.own(r.Context(), k, r.PathValue("id"), "delete")
			if err != nil {
				return err
			}
			if err := mayWriteAtAll(caller, "delete_"+k.name); err != nil {
				return err
			}
			return c.remove(r.Context(), k, doc)
		})
		if err != nil {
			return err
		}
		return service.NoContent(w)
	}
}

func (c *change) remove(ctx context.Context, k *kind, doc document) error {
	if k.onRemove != nil {
		if err := k.onRemove(ctx, c, doc); err != nil {
			return err
		}
	}
	return c.delete(ctx, doc)
}

// mayWriteAtAll refuses those who may only read.
func mayWriteAtAll(caller *service.Caller, rule string) error {
	if caller.Admin() || slices.ContainsFunc([]string{"member", "manager", "service"}, caller.Has) && caller.ProjectID() != "" {
		return nil
	}
	return forbidden(rule)
}

// show leaves out what the caller may not read or hasn't asked for.
func (k *kind) show(caller *service.Caller, doc document, fields []string) document {
	view := document{}
	for name, value := range doc {
		attr := k.attribute(name)
		hidden := attr == nil || attr.adminRead && !caller.Admin()
		if !hidden && (len(fields) == 0 || slices.Contains(fields, name)) {
			view[name] = value
		}
	}
	return view
}

func (k *kind) derived(ctx context.Context, q querier, docs []document) error {
	if k.derive == nil || len(docs) == 0 {
		return nil
	}
	return k.derive(ctx, q, docs)
}
