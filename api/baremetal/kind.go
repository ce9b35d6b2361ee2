package baremetal

// Kinds: what is the same for all resources that clients list, show, make, patch
// and take away. What is a kind's own stands in its hooks.

import (
	"reflect"
	"strings"

	"github.com/google/uuid"

	"holdfast.dev/api/rest"
	"holdfast.dev/internal/pyjson"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/baremetal"
)

// kind is a resource and how its rows are handled. A hook that is nil has
// nothing to say.
type kind[T any] struct {
	*resource
	table *baremetal.Table[T]
	// rule is what the names of its rules begin with.
	rule string
	// param is the parameter of its paths; what is the name that refusals have for
	// a body.
	param, what string
	// misnamed is the refusal of what no row can be called, which %s stands for.
	misnamed string
	// schema is the one that rows after a patch have, and bodies; bodySchema gives
	// that of bodies where versions differ.
	schema     string
	bodySchema func(*rest.Request) string
	// byName says whether the request's version knows names of rows; nil for rows
	// without.
	byName  func(*rest.Request) bool
	filters []filter
	// fresh is what a new one is before its body is read; nil for all zero.
	fresh func() *T

	// list says which rows the caller is shown, before the query is read; what it
	// gives narrows the list that was read.
	list func(*API, *rest.Request) (func(*listing) error, error)
	// may asks rules about a row. Whoever may not see it is told that it isn't
	// there.
	may func(a *API, r *rest.Request, q store.Queryer, row *T, rules ...string) error
	// rules are those that a patch needs; nil for that of updates.
	rules func([]change) []string
	// create settles what is made of a body, in the transaction that keeps it.
	create func(a *API, r *rest.Request, tx store.Tx, body *pyjson.Object, row *T) error
	// created is what is done with a new row once it is kept.
	created func(a *API, r *rest.Request, tx store.Tx, body *pyjson.Object, row *T) error
	// change says whether a row may become another, and settles what it becomes.
	change func(a *API, r *rest.Request, tx store.Tx, before, after *T, changes []change) error
	// remove says whether a row may go, and does what goes before.
	remove func(a *API, r *rest.Request, tx store.Tx, row *T) error
	// dress changes what clients are shown of a row.
	dress func(r *rest.Request, row *T, wanted []string, shown map[string]any)
}

// alwaysNamed is of rows that have names at every version that knows them.
func alwaysNamed(*rest.Request) bool { return true }

// id is the uuid of a row, the first field of every row.
func id[T any](row *T) string { return reflect.ValueOf(row).Elem().Field(0).String() }

// view is what clients are shown of a row: the wanted fields, nil for all.
func (k *kind[T]) view(r *rest.Request, row *T, wanted []string) map[string]any {
	shown := view(r, k.resource, row, id(row), wanted)
	if k.dress != nil {
		k.dress(r, row, wanted, shown)
	}
	return shown
}

// lister answers GETs of the list; detailed at its ".../detail" path.
func (k *kind[T]) lister(a *API, detailed bool) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		l, rows, err := k.page(a, r, detailed)
		if err != nil {
			return nil, err
		}
		return page(r, k.resource, l, rows, id, func(row *T) map[string]any { return k.view(r, row, l.wanted) }), nil
	}
}

// page reads a list's query and the rows that it is for.
func (k *kind[T]) page(a *API, r *rest.Request, detailed bool) (*listing, []*T, error) {
	narrow := func(*listing) error { return nil }
	if k.list != nil {
		var err error
		if narrow, err = k.list(a, r); err != nil {
			return nil, nil, err
		}
	}
	l, err := k.listing(r, k.filters, a.MaxPageSize, detailed)
	if err == nil {
		err = narrow(l)
	}
	if err == nil && l.Marker != "" {
		_, err = k.table.Find(r.Context(), a.DB.Pool, l.Marker, false)
	}
	if err != nil {
		return nil, nil, err
	}
	rows, err := k.table.List(r.Context(), a.DB.Pool, l.List)
	return l, rows, err
}

// find gives the row of the path, if the rules let the caller.
func (k *kind[T]) find(a *API, r *rest.Request, rules ...string) (*T, error) {
	row, err := k.named(r, func(ident string, byName bool) (*T, error) {
		return k.table.Find(r.Context(), a.DB.Pool, ident, byName)
	})
	if err != nil {
		return nil, err
	}
	return row, k.permitted(a, r, a.DB.Pool, row, rules...)
}

// lock is find for a change: what it gives stays so until the transaction ends.
func (k *kind[T]) lock(a *API, r *rest.Request, tx store.Tx, rules ...string) (*T, error) {
	row, err := k.named(r, func(ident string, byName bool) (*T, error) { return k.table.Lock(r.Context(), tx, ident, byName) })
	if err != nil {
		return nil, err
	}
	return row, k.permitted(a, r, tx, row, rules...)
}

// named has the row of the path looked for, unless nothing can be called so.
func (k *kind[T]) named(r *rest.Request, find func(ident string, byName bool) (*T, error)) (*T, error) {
	if ident := r.Param(k.param); !baremetal.IsUUID(ident) && (k.byName == nil || !isLogicalName(r, ident)) {
		return nil, invalid(k.misnamed, ident)
	}
	return sought(r, k.param, func(ident string) (*T, error) { return find(ident, k.byName != nil && k.byName(r)) })
}

func (k *kind[T]) permitted(a *API, r *rest.Request, q store.Queryer, row *T, rules ...string) error {
	if k.may == nil {
		return nil
	}
	return k.may(a, r, q, row, rules...)
}

// shower answers GETs of one.
func (k *kind[T]) shower(a *API) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		return k.show(r, func() (*T, error) { return k.find(a, r, k.rule+"get") })
	}
}

// show answers with a row, once the query has been read.
func (k *kind[T]) show(r *rest.Request, find func() (*T, error)) (*rest.Response, error) {
	if err := k.expected(r, byFields); err != nil {
		return nil, err
	}
	wanted, err := k.wanted(r)
	if err != nil {
		return nil, err
	}
	row, err := find()
	if err != nil {
		return nil, err
	}
	return rest.JSON(k.view(r, row, wanted)), nil
}

// maker answers POSTs.
func (k *kind[T]) maker(a *API) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		schema := k.schema
		if k.bodySchema != nil {
			schema = k.bodySchema(r)
		}
		body, err := object(r, schema, k.what)
		if err != nil {
			return nil, err
		}
		row := k.empty()
		if err := fill(body, row); err != nil {
			return nil, err
		}
		if at := reflect.ValueOf(row).Elem().Field(0); at.String() == "" {
			at.SetString(uuid.NewString())
		}
		settle(row)
		err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
			if k.create != nil {
				if err := k.create(a, r, tx, body, row); err != nil {
					return err
				}
			}
			if err := k.table.Create(r.Context(), tx, row); err != nil {
				return err
			}
			var err error
			if row, err = k.table.Find(r.Context(), tx, id(row), false); err == nil && k.created != nil {
				err = k.created(a, r, tx, body, row)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return rest.JSON(k.view(r, row, nil)).WithHeader("Location", r.Link(k.home(), id(row))), nil
	}
}

func (k *kind[T]) empty() *T {
	if k.fresh == nil {
		return new(T)
	}
	return k.fresh()
}

// patcher answers PATCHes.
func (k *kind[T]) patcher(a *API) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		changes, err := k.readPatch(r)
		if err != nil {
			return nil, err
		}
		rules := []string{k.rule + "update"}
		if k.rules != nil {
			rules = k.rules(changes)
		}
		after := k.empty()
		err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
			before, err := k.lock(a, r, tx, rules...)
			if err != nil {
				return err
			}
			if err := patched(before, changes, k.schema, after); err != nil {
				return err
			}
			if to := id(after); to != "" && to != id(before) {
				return invalid("Cannot overwrite UUID for an existing %s.", strings.ReplaceAll(strings.ToUpper(k.what[:1])+k.what[1:], "_", " "))
			}
			reflect.ValueOf(after).Elem().Field(0).SetString(id(before))
			if k.change != nil {
				if err := k.change(a, r, tx, before, after, changes); err != nil {
					return err
				}
			}
			if err := k.table.Update(r.Context(), tx, after); err != nil {
				return err
			}
			after, err = k.table.Find(r.Context(), tx, id(before), false)
			return err
		})
		if err != nil {
			return nil, err
		}
		return rest.JSON(k.view(r, after, nil)), nil
	}
}

// remover answers DELETEs.
func (k *kind[T]) remover(a *API) rest.Handler {
	return func(r *rest.Request) (*rest.Response, error) {
		return nil, a.DB.InTx(r.Context(), func(tx store.Tx) error {
			row, err := k.lock(a, r, tx, k.rule+"delete")
			if err != nil {
				return err
			}
			if k.remove != nil {
				if err := k.remove(a, r, tx, row); err != nil {
					return err
				}
			}
			return k.table.Delete(r.Context(), tx, row)
		})
	}
}
