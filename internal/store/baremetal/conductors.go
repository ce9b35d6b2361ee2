package baremetal

// Conductors: who is there to work on nodes.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

// Conductor is a process that works on nodes; fields as in Node.
type Conductor struct {
	Hostname string `json:"hostname"`
	Group    string `json:"conductor_group"`
	// Drivers are the hardware types that it knows.
	Drivers []string `json:"drivers"`
	// LinkAddress is where it answers the API's questions.
	LinkAddress string `json:"-"`
	// DownAfter is the silence after which it counts as down; 0 is a minute.
	DownAfter time.Duration `json:"-"`

	ID        int64     `json:"-"`
	Alive     bool      `json:"alive"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

const usualDownAfter = time.Minute

// BeatConductor says that a conductor is alive. A name that moves to another
// group takes its new nodes with it.
func BeatConductor(ctx context.Context, q store.Queryer, c Conductor) error {
	var id int64
	err := q.QueryRow(ctx, `INSERT INTO baremetal.conductors (hostname, conductor_group, drivers, down_after, link_address) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (hostname) DO UPDATE SET conductor_group = $2, drivers = $3, down_after = $4, link_address = $5, updated_at = now() RETURNING id`,
		c.Hostname, c.Group, c.Drivers, cmp.Or(c.DownAfter, usualDownAfter), c.LinkAddress).Scan(&id)
	if err != nil {
		return fmt.Errorf("heartbeat of conductor %s: %w", c.Hostname, store.Translate(err))
	}
	return nil
}

// ConductorLink is where a conductor that is alive answers questions. Errors: NotFound.
func ConductorLink(ctx context.Context, q store.Queryer, hostname string) (address string, err error) {
	err = q.QueryRow(ctx, `SELECT link_address FROM baremetal.conductors WHERE hostname = $1 AND link_address <> '' AND `+alive, hostname).Scan(&address)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", faults.New(faults.NotFound, "NoValidHost", "No valid host was found. Reason: conductor %s answers no questions", hostname)
	}
	return address, store.Translate(err)
}

// alive is the condition of a conductor that works, as it says itself; which of them
// works on a node is a column of the node's.
const alive = `updated_at > now() - down_after`

// Conductors are all that have ever been there, dead ones too.
func Conductors(ctx context.Context, q store.Queryer) ([]*Conductor, error) {
	rows, err := q.Query(ctx, `SELECT id, hostname, conductor_group, drivers, `+alive+`, created_at, updated_at FROM baremetal.conductors`)
	if err != nil {
		return nil, fmt.Errorf("conductors: %w", store.Translate(err))
	}
	return collect(rows, func(c *Conductor) []any {
		return []any{&c.ID, &c.Hostname, &c.Group, &c.Drivers, &c.Alive, &c.CreatedAt, &c.UpdatedAt}
	})
}

// DriversHosts are the conductors alive that know each hardware type, by name.
func DriversHosts(ctx context.Context, q store.Queryer) (map[string][]string, error) {
	rows, err := q.Query(ctx, `SELECT driver, array_agg(hostname ORDER BY hostname) FROM baremetal.conductors, unnest(drivers) driver
		WHERE `+alive+` GROUP BY driver`)
	if err != nil {
		return nil, fmt.Errorf("conductors: %w", store.Translate(err))
	}
	hosts, driver, names := map[string][]string{}, "", []string(nil)
	_, err = pgx.ForEachRow(rows, []any{&driver, &names}, func() error {
		hosts[driver] = slices.Clone(names)
		return nil
	})
	return hosts, store.Translate(err)
}
