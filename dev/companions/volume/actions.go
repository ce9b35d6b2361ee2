package volume

// POST /volumes/{id}/action: one word says what is to happen.

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

// doing is one action under way: the volume is held.
type doing struct {
	tx     pgx.Tx
	caller *service.Caller
	s      *Service
	v      *record
	raw    json.RawMessage
	// byService says that a service asks.
	byService bool
}

// read takes the action's argument.
func (d *doing) read(into any) error {
	if err := json.Unmarshal(d.raw, into); err != nil {
		return service.Fail(http.StatusBadRequest, "Invalid input for the action: it is not of the form that the API takes.")
	}
	return nil
}

func (d *doing) status(ctx context.Context, status string) error {
	return setStatus(ctx, d.tx, d.v.ID, status)
}

// action is what a word does. A nil answer is none.
type action struct {
	status int
	admin  bool
	run    func(ctx context.Context, d *doing) (any, error)
}

// moves is an action that only goes from one state to another.
func moves(from []string, to string) func(context.Context, *doing) (any, error) {
	return func(ctx context.Context, d *doing) (any, error) {
		if !slices.Contains(from, d.v.Status) {
			return nil, invalidVolume("Volume %s status must be %s, but the current status is %s.", d.v.ID, from[0], d.v.Status)
		}
		return nil, d.status(ctx, to)
	}
}

var actions = map[string]action{
	"os-reserve":               {status: http.StatusAccepted, run: moves([]string{statusAvailable}, statusAttaching)},
	"os-unreserve":             {status: http.StatusAccepted, run: unreserve},
	"os-attach":                {status: http.StatusAccepted, run: attach},
	"os-begin_detaching":       {status: http.StatusAccepted, run: unlessMigrated(moves([]string{statusInUse}, statusDetaching))},
	"os-roll_detaching":        {status: http.StatusAccepted, run: rollDetaching},
	"os-detach":                {status: http.StatusAccepted, run: detach},
	"os-initialize_connection": {status: http.StatusOK, run: initializeConnection},
	"os-force_detach":          {status: http.StatusAccepted, admin: true, run: forceDetach},
	"os-terminate_connection":  {status: http.StatusAccepted, run: func(ctx context.Context, d *doing) (any, error) { return nil, d.notUsed(ctx, "") }},
	"os-extend":                {status: http.StatusAccepted, run: extend},
	"os-set_bootable":          {status: http.StatusOK, run: setBootable},
	"os-update_readonly_flag":  {status: http.StatusAccepted, run: setReadonly},
	"os-set_image_metadata":    {status: http.StatusOK, run: setImageMetadata},
	"os-unset_image_metadata":  {status: http.StatusOK, run: unsetImageMetadata},
	"os-show_image_metadata":   {status: http.StatusOK, run: showImageMetadata},
	"os-reset_status":          {status: http.StatusAccepted, admin: true, run: resetStatus},
	"os-volume_upload_image":   {status: http.StatusAccepted, run: uploadImage},
	"os-reimage":               {status: http.StatusAccepted, run: reimage},

	"os-migrate_volume":            {status: http.StatusAccepted, admin: true, run: migrate},
	"os-migrate_volume_completion": {status: http.StatusOK, admin: true, run: completeMigration},
}

func (s *Service) volumeAction(w http.ResponseWriter, r *http.Request, caller *service.Caller) error {
	var body map[string]json.RawMessage
	if err := service.Decode(r, &body); err != nil {
		return err
	}
	if len(body) != 1 {
		return service.Fail(http.StatusBadRequest, "The body must name one action.")
	}
	for word, raw := range body {
		if word == "os-force_delete" {
			return s.beginDelete(w, r, caller, false, true)
		}
		a, ok := actions[word]
		if !ok {
			return service.Fail(http.StatusBadRequest, "There is no such action: %s", bounded(word))
		}
		return s.act(w, r, caller, word, a, raw)
	}
	return nil
}

func (s *Service) act(w http.ResponseWriter, r *http.Request, caller *service.Caller, word string, a action, raw json.RawMessage) error {
	if err := writing(r, caller, "volume_extension:volume_actions:"+word); err != nil {
		return err
	}
	byService, err := s.byService(r)
	if err != nil {
		return err
	}
	var answer any
	err = s.write(r.Context(), func(tx pgx.Tx) error {
		v, err := findVolume(r.Context(), tx, caller, r.PathValue("id"), held)
		if err != nil {
			return err
		}
		if a.admin && !caller.Admin() {
			return forbidden("volume_extension:volume_admin_actions:" + word)
		}
		answer, err = a.run(r.Context(), &doing{tx: tx, caller: caller, s: s, v: v, raw: raw, byService: byService})
		return err
	})
	if err != nil {
		return err
	}
	if answer == nil {
		w.WriteHeader(a.status)
		return nil
	}
	return service.JSON(w, a.status, answer)
}

// settle gives the volume the state that its attachments call for.
func settle(ctx context.Context, tx pgx.Tx, id string) error {
	_, err := tx.Exec(ctx, `UPDATE volume.volumes v SET updated_at = now(), status = coalesce((
		SELECT CASE WHEN bool_or(a.status = 'attached') THEN 'in-use' WHEN bool_or(a.status = 'attaching') THEN 'attaching' WHEN count(*) > 0 THEN 'reserved' END
		FROM volume.attachments a WHERE a.volume_id = v.id), 'available') WHERE v.id = $1`, id)
	return err
}

func unreserve(ctx context.Context, d *doing) (any, error) {
	if d.v.Status != statusAttaching {
		return nil, nil
	}
	return nil, settle(ctx, d.tx, d.v.ID)
}

func rollDetaching(ctx context.Context, d *doing) (any, error) {
	if d.v.Status != statusDetaching {
		return nil, nil
	}
	return nil, settle(ctx, d.tx, d.v.ID)
}

func attach(ctx context.Context, d *doing) (any, error) {
	var in struct {
		Instance   *string `json:"instance_uuid"`
		Host       *string `json:"host_name"`
		Mountpoint *string `json:"mountpoint"`
		Mode       *string `json:"mode"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	if (in.Instance == nil) == (in.Host == nil) {
		return nil, service.Fail(http.StatusBadRequest, "Invalid request to attach volume to an invalid target")
	}
	mode := "rw"
	if in.Mode != nil {
		mode = *in.Mode
	}
	if mode != "rw" && mode != "ro" {
		return nil, service.Fail(http.StatusBadRequest, "Invalid request to attach volume with an invalid mode. Attaching mode should be 'rw' or 'ro'")
	}
	if d.v.Status != statusAttaching && d.v.Status != statusAvailable {
		return nil, invalidVolume("status must be available or attaching")
	}
	_, err := d.tx.Exec(ctx, `INSERT INTO volume.attachments (id, volume_id, project_id, instance, host, mountpoint, mode, status, attached_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 'attached', now())`, uuid.NewString(), d.v.ID, d.v.ProjectID, in.Instance, in.Host, in.Mountpoint, mode)
	if err != nil {
		return nil, err
	}
	return nil, settle(ctx, d.tx, d.v.ID)
}

// notUsed refuses all but services where a server may be using the volume, by one
// of its attachments or any (Cinder 23 and on).
func (d *doing) notUsed(ctx context.Context, attachment string) error {
	if d.byService {
		return nil
	}
	var server string
	err := d.tx.QueryRow(ctx, `SELECT instance FROM volume.attachments WHERE volume_id = $1 AND ($2 = '' OR id::text = $2)
		AND instance IS NOT NULL AND connector IS NOT NULL ORDER BY number LIMIT 1`, d.v.ID, attachment).Scan(&server)
	if service.Missing(err) {
		return nil
	}
	if err == nil {
		err = usedBy(server)
	}
	return err
}

func usedBy(server string) error {
	return service.Fail(http.StatusConflict, "Detach volume from instance %s using the Compute API", server)
}

func detach(ctx context.Context, d *doing) (any, error) {
	return d.detach(ctx, statusInUse, statusDetaching)
}

func forceDetach(ctx context.Context, d *doing) (any, error) { return d.detach(ctx, d.v.Status) }

// detach takes the volume away in one of these states.
func (d *doing) detach(ctx context.Context, in ...string) (any, error) {
	var asked *struct {
		AttachmentID *string `json:"attachment_id"`
	}
	if err := d.read(&asked); err != nil {
		return nil, err
	}
	id := ""
	if asked != nil && asked.AttachmentID != nil {
		id = *asked.AttachmentID
	}
	if err := d.notUsed(ctx, id); err != nil {
		return nil, err
	}
	if !slices.Contains(in, d.v.Status) {
		return nil, invalidVolume("Unable to detach volume. Volume status must be 'in-use' and attach_status must be 'attached' to detach.")
	}
	if _, err := d.tx.Exec(ctx, `DELETE FROM volume.attachments WHERE volume_id = $1 AND ($2 = '' OR id::text = $2)`, d.v.ID, id); err != nil {
		return nil, err
	}
	return nil, settle(ctx, d.tx, d.v.ID)
}

func initializeConnection(_ context.Context, d *doing) (any, error) {
	var in struct {
		Connector map[string]any `json:"connector"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	if in.Connector == nil {
		return nil, service.Fail(http.StatusBadRequest, "Must specify 'connector'.")
	}
	return map[string]any{"connection_info": map[string]any{"driver_volume_type": driverType, "data": d.s.connection(d.v, "")}}, nil
}

func extend(ctx context.Context, d *doing) (any, error) {
	var in struct {
		NewSize any `json:"new_size"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	size, err := sizeOf(in.NewSize, false)
	if err != nil {
		return nil, err
	}
	if d.v.Status != statusAvailable {
		return nil, invalidVolume("Volume %s status must be '('available',)' to extend, currently %s.", d.v.ID, d.v.Status)
	}
	if size <= d.v.Size {
		return nil, service.Fail(http.StatusBadRequest, "Invalid input received: New size for extend must be greater than current size. (current: %d, extended: %d).", d.v.Size, size)
	}
	if err := withinQuota(ctx, d.tx, d.v.ProjectID, 0, 0, size-d.v.Size); err != nil {
		return nil, err
	}
	_, err = d.tx.Exec(ctx, `UPDATE volume.volumes SET size = $2, status = 'extending', updated_at = now() WHERE id = $1`, d.v.ID, size)
	return nil, err
}

func setBootable(ctx context.Context, d *doing) (any, error) {
	var in struct {
		Bootable *bool `json:"bootable"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	if in.Bootable == nil {
		return nil, service.Fail(http.StatusBadRequest, "Must specify bootable in request.")
	}
	_, err := d.tx.Exec(ctx, `UPDATE volume.volumes SET bootable = $2, updated_at = now() WHERE id = $1`, d.v.ID, *in.Bootable)
	return nil, err
}

func setReadonly(ctx context.Context, d *doing) (any, error) {
	var in struct {
		Readonly *bool `json:"readonly"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	if in.Readonly == nil {
		return nil, service.Fail(http.StatusBadRequest, "Must specify readonly in request.")
	}
	if d.v.Status != statusAvailable {
		return nil, invalidVolume("Volume %s status must be available to update readonly flag, but current status is: %s.", d.v.ID, d.v.Status)
	}
	_, err := d.tx.Exec(ctx, `UPDATE volume.volumes SET readonly = $2, updated_at = now() WHERE id = $1`, d.v.ID, *in.Readonly)
	return nil, err
}

func setImageMetadata(ctx context.Context, d *doing) (any, error) {
	var in struct {
		Metadata map[string]string `json:"metadata"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	if err := checkMetadata(in.Metadata); err != nil {
		return nil, err
	}
	all := d.v.ImageMetadata
	for key, value := range in.Metadata {
		all[key] = value
	}
	return map[string]any{"metadata": all}, d.imageMetadata(ctx, all)
}

func (d *doing) imageMetadata(ctx context.Context, all map[string]string) error {
	if err := checkMetadata(all); err != nil {
		return err
	}
	_, err := d.tx.Exec(ctx, `UPDATE volume.volumes SET image_metadata = $2, updated_at = now() WHERE id = $1`, d.v.ID, all)
	return err
}

func unsetImageMetadata(ctx context.Context, d *doing) (any, error) {
	var in struct {
		Key string `json:"key"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	if _, ok := d.v.ImageMetadata[in.Key]; !ok {
		return nil, service.Fail(http.StatusNotFound, "Volume %s image metadata has no metadata with key %s.", d.v.ID, bounded(in.Key))
	}
	delete(d.v.ImageMetadata, in.Key)
	return nil, d.imageMetadata(ctx, d.v.ImageMetadata)
}

func showImageMetadata(_ context.Context, d *doing) (any, error) {
	return map[string]any{"metadata": d.v.ImageMetadata}, nil
}

// resettable are the states that an administrator may set, resettableMigrations those of
// a migration.
var resettable = []string{statusCreating, statusAvailable, statusDeleting, statusError, "error_deleting", "error_extending", statusAttaching, statusDetaching, statusInUse, statusReserved}

var resettableMigrations = []string{migrationMigrating, "error", "success", "completing", "none", migrationStarting}

func resetStatus(ctx context.Context, d *doing) (any, error) {
	var in struct {
		Status    string `json:"status"`
		Migration string `json:"migration_status"`
	}
	if err := d.read(&in); err != nil {
		return nil, err
	}
	switch {
	case in.Status == "" && in.Migration == "":
		return nil, service.Fail(http.StatusBadRequest, "Must specify 'status', 'attach_status' or 'migration_status' for update.")
	case in.Status != "" && !slices.Contains(resettable, in.Status):
		return nil, service.Fail(http.StatusBadRequest, "Must specify a valid status, not '%s'", bounded(in.Status))
	case in.Migration != "" && !slices.Contains(resettableMigrations, in.Migration):
		return nil, service.Fail(http.StatusBadRequest, "Must specify a valid migration status, not '%s'", bounded(in.Migration))
	}
	if in.Migration != "" {
		_, err := d.tx.Exec(ctx, `UPDATE volume.volumes SET migration_status = NULLIF($2, 'none'), updated_at = now() WHERE id = $1`, d.v.ID, in.Migration)
		if err != nil {
			return nil, err
		}
	}
	if in.Status == "" {
		return nil, nil
	}
	return nil, d.status(ctx, in.Status)
}
