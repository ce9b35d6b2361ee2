package compute

// GET and DELETE of /os-keypairs: the public keys of a user.

import (
	"holdfast.dev/api/rest"
	"holdfast.dev/internal/store"
	"holdfast.dev/internal/store/compute"
)

// keypairUser is whose keypairs the request is about: the caller's own, or from
// 2.10 on another's, if the rule lets an administrator.
func keypairUser(r *rest.Request, rule, asked string) (string, error) {
	if asked == "" || !r.Has(10) {
		return r.Identity.UserID, nil
	}
	return asked, r.Enforce(rule, map[string]any{"user_id": asked})
}

func (a *API) listKeypairs(r *rest.Request) (*rest.Response, error) {
	user, err := keypairUser(r, "os_compute_api:os-keypairs:index", r.Query.Get("user_id"))
	if err != nil {
		return nil, err
	}
	limit, marker := 0, ""
	if r.Has(35) {
		marker = r.Query.Get("marker")
		if limit, err = pageSize(r.Query, a.MaxPageSize); err != nil {
			return nil, err
		}
	}
	page, err := compute.ListKeypairs(r.Context(), a.DB.Pool, user, marker, limit)
	if err != nil {
		return nil, err
	}
	shown := make([]map[string]any, len(page))
	for i, k := range page {
		shown[i] = map[string]any{"keypair": keypairBasics(r, k)}
	}
	body := map[string]any{"keypairs": shown}
	if r.Has(35) && len(page) > 0 {
		if links := nextLinks(r, "os-keypairs", len(page), limit, page[len(page)-1].Name); links != nil {
			body["keypairs_links"] = links
		}
	}
	return rest.JSON(body), nil
}

func (a *API) showKeypair(r *rest.Request) (*rest.Response, error) {
	user, err := keypairUser(r, "os_compute_api:os-keypairs:show", r.Query.Get("user_id"))
	if err != nil {
		return nil, err
	}
	k, err := compute.GetKeypair(r.Context(), a.DB.Pool, user, r.Param("id"))
	if err != nil {
		return nil, err
	}
	shown := keypairBasics(r, k)
	shown["user_id"], shown["id"] = k.UserID, k.ID
	shown["created_at"], shown["updated_at"] = microsecond(&k.CreatedAt), nil
	shown["deleted"], shown["deleted_at"] = false, nil
	return rest.JSON(map[string]any{"keypair": shown}), nil
}

func (a *API) deleteKeypair(r *rest.Request) (*rest.Response, error) {
	user, err := keypairUser(r, "os_compute_api:os-keypairs:delete", r.Query.Get("user_id"))
	if err != nil {
		return nil, err
	}
	err = a.DB.InTx(r.Context(), func(tx store.Tx) error {
		return compute.DeleteKeypair(r.Context(), tx, user, r.Param("id"))
	})
	return nil, err
}

// keypairBasics is what every view of a keypair shows.
func keypairBasics(r *rest.Request, k *compute.Keypair) map[string]any {
	shown := map[string]any{"name": k.Name, "public_key": k.PublicKey, "fingerprint": k.Fingerprint}
	if r.Has(2) {
		shown["type"] = k.Type
	}
	return shown
}
