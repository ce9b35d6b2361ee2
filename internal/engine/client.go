package engine

// The client of Temporal.

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// TemporalOptions say where the engine's Temporal is.
type TemporalOptions struct {
	// Address is host:port, Namespace one with the search attributes Kind,
	// ProjectId, ResourceId, Host and RequestId, all keywords.
	Address, Namespace string
	// TLS is nil for a server without it.
	TLS *tls.Config
	// Identity is how this process is called in histories; empty: its pid and host.
	Identity string
	// Log is nil for slog's default.
	Log *slog.Logger
}

// Dial makes a client that connects when it is first used, so that a process
// starts while Temporal is down. The caller closes it.
func Dial(o TemporalOptions) (client.Client, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c, err := client.NewLazyClient(client.Options{
		HostPort:          o.Address,
		Namespace:         o.Namespace,
		Identity:          o.Identity,
		Logger:            log.NewStructuredLogger(o.Log),
		ConnectionOptions: client.ConnectionOptions{TLS: o.TLS},
	})
	if err != nil {
		return nil, fmt.Errorf("the client of Temporal at %s: %w", o.Address, err)
	}
	return c, nil
}
