package image

// Members: the projects that an image is shared with.

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

const mostMembers = 128 // of an image, as Glance's image_member_quota

// member is a row of image.members.
type member struct {
	ImageID, Member, Status string
	CreatedAt, UpdatedAt    time.Time
}

const memberColumns = `image_id::text, member, status, created_at, updated_at`

func (m *member) view() map[string]any {
	return map[string]any{"member_id": m.Member, "image_id": m.ImageID, "status": m.Status, "schema": "/v2/schemas/member",
		"created_at": stamp(m.CreatedAt), "updated_at": stamp(m.UpdatedAt)}
}

// shared finds an image whose members may be spoken of.
func (s *Service) shared(ctx context.Context, caller *service.Caller, id string) (*record, error) {
	i, err := s.get(ctx, caller, id)
	if err == nil && i.Visibility != "shared" {
		err = service.Fail(http.StatusForbidden, "Only shared images have members.")
	}
	return i, err
}

// members are those that the caller may see: the owner all, a member itself.
func (s *Service) members(ctx context.Context, caller *service.Caller, i *record) ([]*member, error) {
	rows, err := s.Pool.Query(ctx, `SELECT `+memberColumns+` FROM image.members WHERE image_id = $1 AND ($2 OR member = $3) ORDER BY created_at, member`,
		i.ID, caller.Admin() || i.Owner == caller.ProjectID(), caller.ProjectID())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[member])
}

func (s *Service) listMembers(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	i, err := s.shared(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	found, err := s.members(r.Context(), caller, i)
	if err != nil {
		return err
	}
	shown := []any{}
	for _, m := range found {
		shown = append(shown, m.view())
	}
	return service.JSON(w, http.StatusOK, map[string]any{"members": shown, "schema": "/v2/schemas/members"})
}

// member finds the one that the path names.
func (s *Service) member(r *http.Request, caller *service.Caller) (*record, *member, error) {
	i, err := s.shared(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return nil, nil, err
	}
	all, err := s.members(r.Context(), caller, i)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(all, func(m *member) bool { return m.Member == r.PathValue("member") })
	if at < 0 {
		return nil, nil, service.Fail(http.StatusNotFound, "%s not found in the member list of the image %s.", bounded(r.PathValue("member")), i.ID)
	}
	return i, all[at], nil
}

func (s *Service) showMember(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	_, m, err := s.member(r, caller)
	if err != nil {
		return err
	}
	return service.JSON(w, http.StatusOK, m.view())
}

func (s *Service) addMember(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var body struct {
		Member *string `json:"member"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	switch {
	case body.Member == nil:
		return service.Fail(http.StatusBadRequest, "Member to be added not specified")
	case *body.Member == "":
		return service.Fail(http.StatusBadRequest, "Member can't be empty")
	case len(*body.Member) > longestName:
		return service.Fail(http.StatusBadRequest, "Invalid image id format: the member has more than %d characters.", longestName)
	}
	i, err := s.shared(r.Context(), caller, r.PathValue("id"))
	if err == nil {
		err = mayChange(caller, i.Owner)
	}
	if err != nil {
		return err
	}
	var made *member
	err = pgx.BeginFunc(r.Context(), s.Pool, func(tx pgx.Tx) error {
		// Whoever adds to an image waits for others, so the bound holds.
		var members int
		if _, err := tx.Exec(r.Context(), `SELECT FROM image.images WHERE id = $1 FOR UPDATE`, i.ID); err != nil {
			return err
		}
		if err := tx.QueryRow(r.Context(), `SELECT count(*) FROM image.members WHERE image_id = $1`, i.ID).Scan(&members); err != nil {
			return err
		}
		if members >= mostMembers {
			return service.Fail(http.StatusRequestEntityTooLarge, "The limit has been exceeded on the number of allowed image members for this image. Attempted: %d, Maximum: %d", members+1, mostMembers)
		}
		rows, err := tx.Query(r.Context(), `INSERT INTO image.members (image_id, member) VALUES ($1, $2) RETURNING `+memberColumns, i.ID, *body.Member)
		if err != nil {
			return err
		}
		made, err = pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByPos[member])
		return err
	})
	switch {
	case service.Violates(err, "members_pkey"):
		return service.Fail(http.StatusConflict, "Member %s is duplicated for image %s", *body.Member, i.ID)
	case service.Violates(err, ""):
		return missing(i.ID)
	case err != nil:
		return err
	}
	return service.JSON(w, http.StatusOK, made.view())
}

// answerMembership is how a member accepts or rejects; its owner can't for it.
func (s *Service) answerMembership(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var body struct {
		Status *string `json:"status"`
	}
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	if body.Status == nil {
		return service.Fail(http.StatusBadRequest, "Status not specified")
	}
	if !slices.Contains([]string{"pending", "accepted", "rejected"}, *body.Status) {
		return service.Fail(http.StatusBadRequest, "Incorrect request: Status must be \"pending\", \"accepted\" or \"rejected\".")
	}
	i, m, err := s.member(r, caller)
	if err != nil {
		return err
	}
	if err := mayChange(caller, m.Member); err != nil {
		return service.Fail(http.StatusForbidden, "Not allowed to update members for image %s.", i.ID)
	}
	err = s.Pool.QueryRow(r.Context(), `UPDATE image.members SET status = $3, updated_at = now() WHERE image_id = $1 AND member = $2 RETURNING updated_at`,
		i.ID, m.Member, *body.Status).Scan(&m.UpdatedAt)
	if service.Missing(err) {
		return missing(i.ID)
	}
	if err != nil {
		return err
	}
	m.Status = *body.Status
	return service.JSON(w, http.StatusOK, m.view())
}

func (s *Service) removeMember(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	i, m, err := s.member(r, caller)
	if err != nil {
		return err
	}
	if err := mayChange(caller, i.Owner); err != nil {
		return service.Fail(http.StatusForbidden, "Not allowed to delete members for image %s.", i.ID)
	}
	if _, err := s.Pool.Exec(r.Context(), `DELETE FROM image.members WHERE image_id = $1 AND member = $2`, i.ID, m.Member); err != nil {
		return err
	}
	return service.NoContent(w)
}
