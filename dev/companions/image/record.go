package image

// An image: its row, who may see it, and how a client sees it.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/dev/companions/service"
)

type record struct {
	ID         string
	Seq        int64
	Owner      string
	Status     string
	Visibility string
	Protected  bool
	Document   map[string]any
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

const columns = `id::text, seq, owner, status, visibility, protected, document, created_at, updated_at`

func scan(row pgx.CollectableRow) (*record, error) {
	var i record
	err := row.Scan(&i.ID, &i.Seq, &i.Owner, &i.Status, &i.Visibility, &i.Protected, &i.Document, &i.CreatedAt, &i.UpdatedAt)
	return &i, err
}

// readOnly are fields that only the service sets, basic those that every image
// shows, with what they are without a value.
var (
	readOnly = []string{"id", "owner", "status", "checksum", "os_hash_algo", "os_hash_value", "size", "virtual_size",
		"created_at", "updated_at", "file", "self", "schema", "direct_url", "locations", "stores"}
	basic = map[string]any{"name": nil, "disk_format": nil, "container_format": nil, "min_disk": 0, "min_ram": 0, "tags": []any{},
		"os_hidden": false, "size": nil, "virtual_size": nil, "checksum": nil, "os_hash_algo": nil, "os_hash_value": nil}
)

var diskFormats = []string{"raw", "qcow2", "vhd", "vhdx", "vmdk", "vdi", "iso", "ploop", "ami", "ari", "aki"}
var containerFormats = []string{"bare", "ovf", "ova", "docker", "compressed", "ami", "ari", "aki"}

// view is the image as a client sees it.
func (i *record) view() map[string]any {
	shown := map[string]any{}
	for name, value := range basic {
		shown[name] = value
	}
	for name, value := range i.Document {
		shown[name] = value
	}
	shown["id"], shown["owner"], shown["status"] = i.ID, i.Owner, i.Status
	shown["visibility"], shown["protected"] = i.Visibility, i.Protected
	shown["created_at"], shown["updated_at"] = stamp(i.CreatedAt), stamp(i.UpdatedAt)
	shown["self"], shown["file"], shown["schema"] = "/v2/images/"+i.ID, "/v2/images/"+i.ID+"/file", "/v2/schemas/image"
	return shown
}

// stamp is a time as clients read it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// set changes one field as its client asks for.
func (i *record) set(caller *service.Caller, name string, value any) error {
	text, isText := value.(string)
	number, isNumber := value.(float64)
	flag, isFlag := value.(bool)
	wrong := service.Fail(http.StatusBadRequest, "Provided object does not match schema 'image': the value of '%s' is not allowed.", bounded(name))
	switch name {
	case "visibility":
		if !slices.Contains([]string{"public", "private", "shared", "community"}, text) {
			return wrong
		}
		if text == "public" && !caller.Admin() {
			return service.Fail(http.StatusForbidden, "You are not authorized to complete publicize_image action.")
		}
		i.Visibility = text
		return nil
	case "protected":
		if !isFlag {
			return wrong
		}
		i.Protected = flag
		return nil
	case "owner":
		if !isText || !caller.Admin() {
			return service.Fail(http.StatusForbidden, "You are not permitted to create images owned by '%s'.", bounded(text))
		}
		i.Owner = text
		return nil
	case "disk_format", "container_format":
		allowed := diskFormats
		if name == "container_format" {
			allowed = containerFormats
		}
		if i.Status != "queued" {
			return service.Fail(http.StatusForbidden, "Attribute %s can be only replaced for a queued image.", name)
		}
		if value != nil && !slices.Contains(allowed, text) {
			return wrong
		}
	case "min_disk", "min_ram":
		if !isNumber || number < 0 || number != float64(int32(number)) {
			return wrong
		}
	case "os_hidden":
		if !isFlag {
			return wrong
		}
	case "tags":
		tags, ok := value.([]any)
		if !ok || len(tags) > mostProperties {
			return wrong
		}
		for _, tag := range tags {
			if tag, ok := tag.(string); !ok || len(tag) > longestName {
				return wrong
			}
		}
	case "name":
		if value != nil && !isText || len(text) > longestName {
			return wrong
		}
	default:
		if slices.Contains(readOnly, name) {
			return service.Fail(http.StatusForbidden, "Attribute '%s' is read-only.", name)
		}
		if !isText || len(text) > longestValue || len(name) > longestName || name == "" {
			return wrong
		}
	}
	i.Document[name] = value
	if len(i.Document) > mostProperties {
		return service.Fail(http.StatusRequestEntityTooLarge, "Maximum %d properties are allowed on an image.", mostProperties)
	}
	return nil
}

// Bounds of what an image may carry.
const (
	mostProperties = 128
	longestName    = 255
	longestValue   = 65535
)

// seenBy says which images a caller may show: $1 is its project, $2 whether it
// administers.
const seenBy = `(i.owner = $1 OR i.visibility IN ('public', 'community') OR $2 OR i.visibility = 'shared' AND EXISTS (
	SELECT FROM image.members m WHERE m.image_id = i.id AND m.member = $1))`

// missing is the answer for what isn't there, or isn't the caller's to see.
func missing(id string) error {
	return service.Fail(http.StatusNotFound, "No image found with ID %s", bounded(id))
}

// get reads an image that the caller may see.
func (s *Service) get(ctx context.Context, caller *service.Caller, id string) (*record, error) {
	parsed, err := uuid.Parse(id)
	if err != nil || len(id) != 36 {
		return nil, missing(id)
	}
	rows, err := s.Pool.Query(ctx, `SELECT `+columns+` FROM image.images i WHERE `+seenBy+` AND i.id = $3`, caller.ProjectID(), caller.Admin(), parsed)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectExactlyOneRow(rows, scan)
	if service.Missing(err) {
		return nil, missing(id)
	}
	return found, err
}

// change locks an image that the caller may change, lets f do it, and writes it.
func (s *Service) change(ctx context.Context, caller *service.Caller, id string, f func(i *record) error) (changed *record, err error) {
	if _, err := s.get(ctx, caller, id); err != nil {
		return nil, err
	}
	err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT `+columns+` FROM image.images WHERE id = $1 FOR UPDATE`, id)
		if err != nil {
			return err
		}
		i, err := pgx.CollectExactlyOneRow(rows, scan)
		if service.Missing(err) {
			return missing(id)
		}
		if err != nil {
			return err
		}
		if err := mayChange(caller, i.Owner); err != nil {
			return err
		}
		if err := f(i); err != nil {
			return err
		}
		changed = i
		return tx.QueryRow(ctx, `UPDATE image.images SET owner = $2, status = $3, visibility = $4, protected = $5, document = $6, updated_at = now()
			WHERE id = $1 RETURNING updated_at`, id, i.Owner, i.Status, i.Visibility, i.Protected, i.Document).Scan(&i.UpdatedAt)
	})
	return changed, err
}

// mayChange refuses strangers to an image, and those who may only read.
func mayChange(caller *service.Caller, owner string) error {
	if caller.Admin() || owner == caller.ProjectID() && owner != "" && (caller.Has("member") || caller.Has("manager") || caller.Has("service")) {
		return nil
	}
	return service.Fail(http.StatusForbidden, "You are not authorized to complete this action.")
}

// bounded is what of a client's text an error repeats.
func bounded(text string) string { return fmt.Sprintf("%.100s", text) }
