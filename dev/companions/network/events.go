package network

// Events about ports for the compute service, kept until it has taken them.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Compute is where the events go.
type Compute struct {
	// URL is the compute endpoint, "http://127.0.0.1:8774/v2.1".
	URL string
	// Token gives a token of a service or an administrator.
	Token func(ctx context.Context) (string, error)
}

const (
	eventsAtOnce = 100
	retryAfter   = 2 * time.Second
	// keepFor is how long an event that nobody takes is offered.
	keepFor = 10 * time.Minute
)

// tellStatus tells compute that a server's port went up or down.
func (c *change) tellStatus(ctx context.Context, before, after document) error {
	switch was, is := before.text("status"), after.text("status"); {
	case is == "ACTIVE" && was != "ACTIVE":
		return c.tell(ctx, "network-vif-plugged", after)
	case is == "DOWN" && was == "ACTIVE":
		return c.tell(ctx, "network-vif-unplugged", before)
	}
	return nil
}

// tell stores an event about a port; those that aren't a server's have none.
func (c *change) tell(ctx context.Context, name string, port document) error {
	server := port.text("device_id")
	if c.svc.Compute == nil || server == "" || !strings.HasPrefix(port.text("device_owner"), "compute:") {
		return nil
	}
	event := map[string]any{"name": name, "server_uuid": server, "tag": port["id"]}
	if strings.HasPrefix(name, "network-vif-") && name != "network-vif-deleted" {
		event["status"] = "completed"
	}
	_, err := c.tx.Exec(ctx, `INSERT INTO network.events (event) VALUES ($1)`, event)
	return err
}

// sendEvents sends stored events, oldest first, until ctx ends.
func (s *Service) sendEvents(ctx context.Context) error {
	if s.Compute == nil {
		<-ctx.Done()
		return nil
	}
	s.events.Run(ctx, retryAfter, s.sendWaiting, func(err error) { s.Log.Warn("the compute service took no events", "error", err) })
	return nil
}

func (s *Service) sendWaiting(ctx context.Context) error {
	if _, err := s.Pool.Exec(ctx, `DELETE FROM network.events WHERE made_at < $1`, time.Now().Add(-keepFor)); err != nil {
		return err
	}
	for {
		rows, err := s.Pool.Query(ctx, `SELECT number, event FROM network.events ORDER BY number LIMIT $1`, eventsAtOnce)
		if err != nil {
			return err
		}
		var numbers []int64
		var events []document
		for rows.Next() {
			var number int64
			var event document
			if err := rows.Scan(&number, &event); err != nil {
				return err
			}
			numbers = append(numbers, number)
			events = append(events, event)
		}
		if err := rows.Err(); err != nil || len(events) == 0 {
			return err
		}
		if err := s.post(ctx, events); err != nil {
			return err
		}
		if _, err := s.Pool.Exec(ctx, `DELETE FROM network.events WHERE number = ANY($1)`, numbers); err != nil {
			return err
		}
	}
}

// post hands events over. An answer of 404 says that compute knows none of the
// servers, which ends them as well as success does.
func (s *Service) post(ctx context.Context, events []document) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	token, err := s.Compute.Token(ctx)
	if err != nil {
		return fmt.Errorf("a token for the compute service: %w", err)
	}
	body, err := json.Marshal(map[string]any{"events": events})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(s.Compute.URL, "/")+"/os-server-external-events", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Auth-Token", token)
	// 2.51 brought the last of these events.
	request.Header.Set("OpenStack-API-Version", "compute 2.51")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	switch response.StatusCode {
	case http.StatusOK, http.StatusMultiStatus, http.StatusNotFound:
		return nil
	}
	return fmt.Errorf("the compute service answered with status %d", response.StatusCode)
}

func isIPv4(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is4()
}
