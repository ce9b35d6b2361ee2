package orchestration

// Software configs: what servers are set up by.

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// Config is a row of orchestration.software_configs.
type Config struct {
	ID        string  `db:"id"`
	ProjectID string  `db:"project_id"`
	Name      *string `db:"name"`
	Group     *string `db:"grp"`
	// Content is sealed.
	Content   []byte    `db:"content"`
	CreatedAt time.Time `db:"created_at"`
}

const configColumns = `c.id::text AS id, c.project_id, c.name, c.grp, c.content, c.created_at`

// InsertConfig writes a config that the caller has given an id; one that is there
// already stays.
func InsertConfig(ctx context.Context, tx store.Tx, c *Config) error {
	err := tx.QueryRow(ctx, `INSERT INTO orchestration.software_configs (id, project_id, name, grp, content) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING created_at`,
		c.ID, c.ProjectID, c.Name, c.Group, c.Content).Scan(&c.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert config: %w", store.Translate(err))
	}
	return nil
}

// CountConfigs is how many configs a project has; nobody makes another until the
// transaction ends.
func CountConfigs(ctx context.Context, tx store.Tx, project string) (n int, err error) {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('configs of ' || $1, 0))`, project); err != nil {
		return 0, fmt.Errorf("count configs: %w", store.Translate(err))
	}
	err = tx.QueryRow(ctx, `SELECT count(*) FROM orchestration.software_configs WHERE project_id = $1`, project).Scan(&n)
	return n, store.Translate(err)
}

// ListConfigs gives a page of a project's configs, or of everybody's, the newest
// first. A marker that is none begins at the beginning.
func ListConfigs(ctx context.Context, q store.Queryer, project, marker string, limit int) ([]*Config, error) {
	if uuid.Validate(marker) != nil {
		marker = uuid.Nil.String()
	}
	return configsOf(ctx, q, `WHERE ($1 = '' OR c.project_id = $1)
		AND COALESCE((c.created_at, c.id) < (SELECT m.created_at, m.id FROM orchestration.software_configs m WHERE m.id = $2), true)
		ORDER BY c.created_at DESC, c.id DESC LIMIT $3`, project, marker, limit)
}

// GetConfig gives a config by its id; project "" is any. Errors: NotFound.
func GetConfig(ctx context.Context, q store.Queryer, project, id string) (*Config, error) {
	if uuid.Validate(id) != nil {
		return nil, configNotFound(id)
	}
	found, err := configsOf(ctx, q, `WHERE c.id = $1 AND ($2 = '' OR c.project_id = $2)`, id, project)
	if err == nil && len(found) == 0 {
		err = configNotFound(id)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// DeleteConfig forgets a config; project "" is any. Errors: NotFound.
func DeleteConfig(ctx context.Context, q store.Queryer, project, id string) error {
	if uuid.Validate(id) != nil {
		return configNotFound(id)
	}
	tag, err := q.Exec(ctx, `DELETE FROM orchestration.software_configs WHERE id = $1 AND ($2 = '' OR project_id = $2)`, id, project)
	if err != nil {
		return fmt.Errorf("delete config: %w", store.Translate(err))
	}
	if tag.RowsAffected() == 0 {
		return configNotFound(id)
	}
	return nil
}

func configNotFound(id string) error {
	return faults.New(faults.NotFound, "NotFound", "Software config with id %.255s not found", id)
}

func configsOf(ctx context.Context, q store.Queryer, where string, args ...any) ([]*Config, error) {
	rows, err := q.Query(ctx, `SELECT `+configColumns+` FROM orchestration.software_configs c `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("configs: %w", store.Translate(err))
	}
	found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Config])
	if err != nil {
		return nil, fmt.Errorf("configs: %w", store.Translate(err))
	}
	return found, nil
}
