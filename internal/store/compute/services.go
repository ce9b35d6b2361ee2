package compute

// Services, as Nova's clients know them: each host is a nova-compute, and each
// control worker is nova-conductor and nova-scheduler.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast.dev/internal/faults"
	"holdfast.dev/internal/store"
)

const (
	// HostBinary is what clients call the service of a host.
	HostBinary = "nova-compute"
	// InternalZone is where the services are that aren't hosts.
	InternalZone = "internal"
)

// ControlBinaries are what clients call the services of a control worker.
var ControlBinaries = []string{"nova-conductor", "nova-scheduler"}

// Service is a part of the cloud that is heard of at intervals.
type Service struct {
	// Number is what old microversions name the service by. A host's service
	// has the host's id and number.
	Number int64
	ID     string
	// Host is the machine's name, Binary what the service is called there.
	Host, Binary string
	Zone         string
	// Only hosts are ever disabled or declared down.
	Disabled       bool
	DisabledReason string
	ForcedDown     bool
	// SeenAgo is the time since the last heartbeat by the database's clock;
	// negative if there never was one.
	SeenAgo  time.Duration
	LastSeen *time.Time
}

// Up says whether the service is alive, as Host.Up does.
func (s *Service) Up(downAfter time.Duration) bool { return up(s.SeenAgo, s.ForcedDown, downAfter) }

const serviceSelect = `
	SELECT number, id::text, host, "binary", zone, disabled, disabled_reason, forced_down, extract(epoch FROM now() - last_seen)::float8, last_seen
	FROM (
		SELECT number, id, name AS host, '` + HostBinary + `' AS "binary", availability_zone AS zone, disabled, disabled_reason, forced_down, last_seen
		FROM compute.hosts
		UNION ALL
		SELECT number, id, host, "binary", '` + InternalZone + `', false, '', false, last_seen
		FROM compute.services
	) AS s`

type scannedService struct {
	Service
	seenAgo *float64
}

func (s *scannedService) fields() []any {
	return []any{&s.Number, &s.ID, &s.Host, &s.Binary, &s.Zone, &s.Disabled, &s.DisabledReason, &s.ForcedDown, &s.seenAgo, &s.LastSeen}
}

func (s *scannedService) service() *Service {
	s.SeenAgo = seconds(s.seenAgo)
	return &s.Service
}

// BeatControl notes that the control worker of a machine is alive.
func BeatControl(ctx context.Context, q store.Queryer, host string) error {
	_, err := q.Exec(ctx, `INSERT INTO compute.services (host, "binary") SELECT $1, unnest($2::text[])
		ON CONFLICT (host, "binary") DO UPDATE SET last_seen = now()`, host, ControlBinaries)
	return store.Translate(err)
}

// ListServices gives the services in the order of their numbers, of one machine
// or one binary if those aren't "".
func ListServices(ctx context.Context, q store.Queryer, host, binary string) ([]*Service, error) {
	rows, err := q.Query(ctx, serviceSelect+` WHERE ($1 = '' OR host = $1) AND ($2 = '' OR "binary" = $2) ORDER BY number`, host, binary)
	if err != nil {
		return nil, store.Translate(err)
	}
	scanned, err := collect(rows, (*scannedService).fields)
	if err != nil {
		return nil, err
	}
	services := make([]*Service, len(scanned))
	for i, s := range scanned {
		services[i] = s.service()
	}
	return services, nil
}

// GetService gives the service with this id.
func GetService(ctx context.Context, q store.Queryer, id string) (*Service, error) {
	if !isUUID(id) {
		return nil, serviceNotFound(id)
	}
	return oneService(ctx, q, "id", id)
}

// ServiceByNumber gives the service that old microversions name by a number.
func ServiceByNumber(ctx context.Context, q store.Queryer, number int64) (*Service, error) {
	return oneService(ctx, q, "number", number)
}

func oneService(ctx context.Context, q store.Queryer, column string, value any) (*Service, error) {
	var s scannedService
	err := q.QueryRow(ctx, serviceSelect+` WHERE `+column+` = $1`, value).Scan(s.fields()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, serviceNotFound(fmt.Sprint(value))
	}
	if err != nil {
		return nil, store.Translate(err)
	}
	return s.service(), nil
}

// DeleteService forgets a service until it is heard of again; faults.Conflict
// for a host with servers or claims on it.
func DeleteService(ctx context.Context, tx store.Tx, s *Service) error {
	if s.Binary == HostBinary {
		return DeleteHost(ctx, tx, s.ID)
	}
	_, err := tx.Exec(ctx, `DELETE FROM compute.services WHERE id = $1`, s.ID)
	return store.Translate(err)
}

func serviceNotFound(id string) error {
	return faults.New(faults.NotFound, "ServiceNotFound", "Service %s could not be found.", id)
}
